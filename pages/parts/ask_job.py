"""A question that is being answered in a thread of its own, so that the page stays usable and it can be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import engine

Asking = Callable[["AskJob"], engine.Answer]


@dataclass
class AskJob:
    """One run under way. The thread writes and the page reads."""

    question: str
    steps: list[engine.Step] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    """What each agent has written of its present answer."""
    answer: engine.Answer | None = None
    error: engine.WorkbenchError | None = None
    cancel: engine.Cancel = field(default_factory=engine.Cancel)
    _begun: float = field(default_factory=time.monotonic)
    _thread: threading.Thread | None = None

    def start(self, asking: Asking) -> None:
        """Begin; `asking` is given the job, whose methods it passes on as callbacks."""
        self._thread = threading.Thread(target=self._work, args=(asking,), daemon=True, name="corrigenda-ask")
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until it is over, but no longer than this."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def running(self) -> bool:
        """Whether an answer is still awaited."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self._begun

    def took_step(self, step: engine.Step) -> None:
        """Keep a step; what its agent was writing led to it."""
        self.steps.append(step)
        self.said.pop(step.agent, None)

    def heard(self, agent: str, text: str) -> None:
        """Keep what an agent has written so far."""
        self.said[agent] = text

    def _work(self, asking: Asking) -> None:
        try:
            self.answer = asking(self)
        except engine.WorkbenchError as error:
            self.error = error
