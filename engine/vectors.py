"""Keeping the vectors of corrections complete: a few at once when they are needed, many in the background.

Vectors belong to one space. When the model changes, those of the new space are made from the beginning, and those
of the old one go when the new ones are complete; what is searched in between is one space, and said to be partial.
Programs that share a database should use the same model: each makes its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.embeddings import Embedder
from engine.errors import WorkbenchError
from engine.store.recall import (
    Unembedded,
    embedded_until,
    ensure_index,
    forget_other_spaces,
    mark_embedded,
    to_embed,
    without_vector,
    write_vectors,
)
from engine.store.snapshot import Snapshot, chunks
from engine.values import decoded, shown

PASSAGE: Final = "c2"  # raise it when `passage` gives another text: the vectors are then of another space
AT_ONCE: Final = 32  # about a second of the local model; more are made in the background
BATCH: Final = 32
VALUE: Final = 300  # characters of each value that go into a vector
GIVEN: Final = 600  # characters of the original input that go into a vector
log = logging.getLogger(__name__)


def passage(correction: Unembedded) -> str:
    """Return the text whose vector stands for a correction."""
    original = shown(decoded(correction.original)) if correction.encoded else correction.original
    corrected = correction.corrected
    if correction.encoded and corrected is not None:
        corrected = shown(decoded(corrected))
    named = correction.field.replace("_", " ").capitalize() if correction.field else ""
    where = " of ".join(part for part in (named, correction.entity) if part)
    change = f"not {original[:VALUE]} but {(corrected or '')[:VALUE]}."
    parts = [correction.given[:GIVEN]] if correction.given else []
    parts += [f"{where}: {change}" if where else change, *filter(None, [correction.reason])]
    return " ".join(parts)


@dataclass
class Progress:
    """How far the vectors of a workspace are. `error` says why the making of them stopped."""

    done: int = 0
    total: int = 0
    running: bool = False
    error: str = ""


@dataclass
class VectorKeeper:
    """Makes vectors that are missing. Shared by the threads of one workbench."""

    embedder: Embedder
    _until: dict[str, int] = field(default_factory=dict)
    _progress: dict[str, Progress] = field(default_factory=dict)
    _workers: dict[str, threading.Thread] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _mutex: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def space(self) -> str:
        """The space of the vectors: the model's, and which texts they are made from."""
        return f"{self.embedder.space}.{PASSAGE}"

    def missing(self, snap: Snapshot) -> int:
        """Make the vectors that are missing, if they are few; else see to it that they are being made.

        Return how many are still missing then.

        Raises:
            ModelUnavailable: the model does not answer.
        """
        graph = snap.graph
        if self._until.get(graph, -1) >= snap.revision:
            return 0
        if self._busy(graph):
            progress = self.progress(snap)
            return max(progress.total - progress.done, 1)
        with self._lock(graph):
            since = max(self._until.get(graph, 0), embedded_until(snap, self.space))
            if since >= snap.revision:
                self._until[graph] = since
                return 0
            todo = without_vector(snap, self.space, since)
            if len(todo) <= AT_ONCE:
                self._make(snap, todo, Progress(), since)
                return 0
        self._in_background(snap, len(todo))
        return len(todo)

    def progress(self, snap: Snapshot) -> Progress:
        """Return how far a workspace's vectors are."""
        return self._progress.get(snap.graph, Progress())

    def wait(self, snap: Snapshot, timeout: float | None = None) -> bool:
        """Wait until the vectors in the background are made. Return whether they are."""
        worker = self._workers.get(snap.graph)
        if worker is not None:
            worker.join(timeout)
        return worker is None or not worker.is_alive()

    def close(self) -> None:
        """Stop making vectors; those that are missing are made another time."""
        self._stop.set()
        for worker in list(self._workers.values()):
            worker.join(10)

    def _lock(self, graph: str) -> threading.Lock:
        with self._mutex:
            return self._locks.setdefault(graph, threading.Lock())

    def _busy(self, graph: str) -> bool:
        worker = self._workers.get(graph)
        return worker is not None and worker.is_alive()

    def _make(self, snap: Snapshot, todo: Sequence[str], progress: Progress, since: int) -> None:
        if todo:
            ensure_index(snap.database, snap.graph, self.embedder.dimensions)
        for ids in chunks(todo, BATCH):
            if self._stop.is_set():
                return
            corrections = to_embed(snap, ids)
            vectors = self.embedder.passages([passage(correction) for correction in corrections])
            write_vectors(snap.database, snap.graph, self.space, corrections, vectors)
            progress.done += len(ids)
        mark_embedded(snap.database, snap.graph, self.space, self.embedder.dimensions, snap.revision)
        if todo and not since:
            forget_other_spaces(snap.database, snap.graph, self.space)
        self._until[snap.graph] = max(snap.revision, self._until.get(snap.graph, 0))

    def _in_background(self, snap: Snapshot, total: int) -> None:
        with self._mutex:
            if self._busy(snap.graph):
                return
            progress = self._progress[snap.graph] = Progress(total=total, running=True)
            worker = threading.Thread(target=self._work, args=(snap, progress), daemon=True, name="corrigenda-vectors")
            self._workers[snap.graph] = worker
            worker.start()

    def _work(self, snap: Snapshot, progress: Progress) -> None:
        try:
            with self._lock(snap.graph):
                since = embedded_until(snap, self.space)
                todo = without_vector(snap, self.space, since)
                progress.total = len(todo)
                self._make(snap, todo, progress, since)
        except WorkbenchError as error:
            progress.error = str(error)
            log.warning("Vectors of corrections are incomplete: %s", error)
        finally:
            progress.running = False
