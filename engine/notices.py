"""Telling others that something happened, in a way that cannot break or slow the change that it is about."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from engine.record import Record

NoticeKind: TypeAlias = Literal[
    "memory.correction.recorded", "memory.correction.applied", "memory.learning.invalidated"
]
MOST: Final = 10_000  # notices that wait for slow subscribers; later ones are dropped, and counted
log = logging.getLogger(__name__)


class Notice(Record):
    """Something that was committed. `ids` are of what it is about, `detail` is plain data."""

    kind: NoticeKind
    workspace_id: str
    revision: int
    ids: list[str]
    detail: dict[str, Any]


Subscriber: TypeAlias = Callable[[Notice], object]


class Notices:
    """Delivers notices in order, on a thread of its own. What a subscriber raises is logged and goes no further."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[Subscriber, frozenset[str] | None]] = []
        self._waiting: queue.Queue[Notice | None] = queue.Queue(MOST)
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None
        self.dropped = 0
        """How many notices were not delivered because subscribers were too slow."""

    def subscribe(self, subscriber: Subscriber, kinds: frozenset[str] | None) -> Callable[[], None]:
        """Call `subscriber` with every notice of these kinds (None: all) from now on. Return what ends that."""
        entry = (subscriber, kinds)
        with self._mutex:
            self._subscribers.append(entry)
            if self._thread is None:
                self._thread = threading.Thread(target=self._deliver, daemon=True, name="corrigenda-notices")
                self._thread.start()

        def end() -> None:
            with self._mutex:
                if entry in self._subscribers:
                    self._subscribers.remove(entry)

        return end

    def publish(self, notice: Notice) -> None:
        """Hand a notice over for delivery; never waits."""
        if not self._subscribers:
            return
        try:
            self._waiting.put_nowait(notice)
        except queue.Full:
            self.dropped += 1
            log.warning("A notice was dropped: subscribers are %d behind.", MOST)

    def flush(self) -> None:
        """Wait until everything that was published has been delivered."""
        if self._thread is not None:
            self._waiting.join()

    def close(self, timeout: float = 5.0) -> None:
        """Deliver what waits, for at most `timeout` seconds, and stop."""
        if self._thread is not None:
            try:
                self._waiting.put(None, timeout=timeout)
            except queue.Full:
                return
            self._thread.join(timeout)

    def _deliver(self) -> None:
        while True:
            notice = self._waiting.get()
            try:
                if notice is None:
                    return
                with self._mutex:
                    wanted = [one for one, kinds in self._subscribers if kinds is None or notice.kind in kinds]
                for subscriber in wanted:
                    try:
                        subscriber(notice)
                    except Exception:
                        log.exception("A subscriber to %s failed.", notice.kind)
            finally:
                self._waiting.task_done()
