"""A run of eval cases in a thread of its own, so that the page stays usable and the run can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import engine
from engine.evals import Agent, CaseResult, EvalRun, run_cases

WORKERS: Final = 4


class _Stopped(Exception):
    pass


@dataclass
class EvalJob:
    """One run. `results` grows while it goes on; the thread writes and the page reads."""

    about: str
    cases: Sequence[engine.EvalCase]
    results: list[CaseResult] = field(default_factory=list)
    unanswered: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self, agent: Agent) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._work, args=(agent,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask no further case; what was answered stays."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before its end."""
        return self._stop.is_set() and len(self.results) < len(self.cases)

    @property
    def running(self) -> bool:
        """Whether answers are still awaited. A run that was stopped awaits none."""
        return self._thread is not None and self._thread.is_alive() and not self._stop.is_set()

    @property
    def run(self) -> EvalRun:
        """What is there so far, in the order of the cases."""
        place = {case.correction_id: at for at, case in enumerate(self.cases)}
        return EvalRun(results=sorted(self.results, key=lambda result: place[result.case.correction_id]))

    def _work(self, agent: Agent) -> None:
        try:
            run_cases(self.cases, agent, on_result=self._took, workers=WORKERS)
        except _Stopped:
            return

    def _took(self, done: int, total: int, result: CaseResult) -> None:
        if self._stop.is_set():
            raise _Stopped
        self.results.append(result)


def verdict(result: CaseResult) -> str:
    """Return what became of a case in a word or two; a mistake that came back is told from any other answer."""
    if result.error is not None:
        return "no answer"
    if result.passed:
        return "right"
    return "came back" if result.came_back else "wrong otherwise"
