"""`ws.corrections` as far as it is read: finding corrections, and what all of them come to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from engine import measures
from engine.correction_records import (
    Caller,
    Correction,
    CorrectionHit,
    CorrectionPage,
    CorrectionStats,
    EvalCase,
)
from engine.entries import checked_caller, may_see
from engine.errors import InvalidInput, UnknownNode
from engine.ids import require
from engine.prompt_section import section
from engine.recall import Recalled
from engine.services import Services
from engine.store.corrections import fetch_corrections
from engine.store.measures import heeded_rows, listed
from engine.store.snapshot import Snapshot
from engine.vectors import Progress

if TYPE_CHECKING:
    from pandas import DataFrame

    from engine.view import WorkspaceView

COLUMNS: Final = (
    "id", "kind", "status", "agent_name", "entity_key", "field", "original_value", "corrected_value", "reason",
    "tags", "scope", "user_id", "tenant_id", "author_kind", "reviewer", "times_seen", "run_id", "session_id",
    "original_input", "claim_id", "superseded_by", "created_at", "revision",
)  # fmt: skip
TYPES: Final = {"times_seen": "int64", "revision": "int64", "created_at": "datetime64[us, UTC]"}
HEEDED_COLUMNS: Final = (
    "run", "run_id", "agent_name", "at", "correction_id", "field", "entity_key", "heeded",
)  # fmt: skip
ACCURACY_COLUMNS: Final = ("day", "runs", "corrected_runs", "first_pass_accuracy", "low", "high")
STATUSES: Final = {"active": "applied", "pending": "pending", "superseded": "superseded", "reverted": "undone"}
PAGE: Final = 50
LARGEST_PAGE: Final = 500
Hits: TypeAlias = list[CorrectionHit]
Cases: TypeAlias = list[EvalCase]


class CorrectionsView:
    """The corrections of a workspace as of one revision. With a `caller`, only what that caller's tenant may see."""

    def __init__(self, view: WorkspaceView, services: Services) -> None:
        self._view = view
        self._services = services

    def _snapshot(self) -> Snapshot:
        return self._view._snapshot()

    # Reading

    def get(self, correction_id: str, caller: Caller | None = None) -> Correction:
        """Return one correction.

        Raises:
            UnknownNode: there is none with this id, or it is another tenant's.
        """
        return self._found(self._snapshot(), correction_id, caller)

    def _found(self, snap: Snapshot, correction_id: str, caller: Caller | None) -> Correction:
        found = fetch_corrections(snap, [require(correction_id, "Correction")]).get(correction_id)
        checked_caller(caller)
        if found is None or not may_see(caller, found.tenant_id, found.scope, found.user_id):
            raise UnknownNode(f"There is no correction {correction_id} in this workspace.")
        return found

    def list(
        self,
        agent_name: str | None = None,
        entity_key: str | None = None,
        field: str | None = None,
        since: datetime | None = None,
        *,
        until: datetime | None = None,
        status: str | Sequence[str] | None = None,
        tenant_id: str | None = None,
        caller: Caller | None = None,
        limit: int | None = None,
    ) -> DataFrame:
        """Return one row a correction, newest first: id, kind, status, agent_name, entity_key, field, values, …

        `status` keeps "active", "pending", "superseded" or "reverted" ones; by default every one is there.
        """
        from pandas import DataFrame

        snap = self._snapshot()
        chosen = measures.which(
            agent_name=agent_name, entity_key=entity_key, field=field, since=since, until=until,
            caller=caller, tenant_id=tenant_id,
        )  # fmt: skip
        found = listed(snap, chosen, _statuses(status), _limit(limit), None)
        rows = [correction.model_dump() for correction in fetch_corrections(snap, [name for name, _ in found]).values()]
        return DataFrame(rows, columns=list(COLUMNS), dtype="object").astype(TYPES)

    def page(
        self,
        limit: int = PAGE,
        cursor: str | None = None,
        *,
        agent_name: str | None = None,
        entity_key: str | None = None,
        field: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        status: str | Sequence[str] | None = None,
        caller: Caller | None = None,
    ) -> CorrectionPage:
        """Return some corrections, newest first, and the cursor that goes on after them (None: there are no more).

        Raises:
            InvalidInput: the cursor is not one that a page gave, or `limit` is not between 1 and 500.
        """
        if type(limit) is not int or not 1 <= limit <= LARGEST_PAGE:
            raise InvalidInput(f"`limit` is a whole number from 1 to {LARGEST_PAGE}.", "limit")
        snap = self._snapshot()
        chosen = measures.which(
            agent_name=agent_name, entity_key=entity_key, field=field, since=since, until=until, caller=caller
        )
        found = listed(snap, chosen, _statuses(status), limit + 1, _place(cursor))
        items = fetch_corrections(snap, [name for name, _ in found[:limit]])
        following = None
        if len(found) > limit:
            name, born = found[limit - 1]
            following = f"{born}.{name}"
        return CorrectionPage(items=[*items.values()], next_cursor=following)

    def search(
        self,
        query: str,
        caller: Caller | None = None,
        top_k: int = 3,
        min_score: float | None = None,
        entity_key: str | None = None,
    ) -> Hits:
        """Return the active corrections that matter for `query` and that `caller` may see, best first.

        Nothing is returned for what has nothing to do with any correction: below the relevance floor (`min_score`,
        from 0 to 1; the default was calibrated on data) a correction is left out. Without a caller, only global
        corrections are searched.
        """
        return self.recall(query, caller, top_k, min_score, entity_key).hits

    def recall(
        self,
        query: str,
        caller: Caller | None = None,
        top_k: int = 3,
        min_score: float | None = None,
        entity_key: str | None = None,
    ) -> Recalled:
        """Return what `search` does, and how it searched: by words and meaning, or by words only and why."""
        with self._services.metrics.timed("search_corrections"):
            who = caller if caller is not None else Caller()
            return self._services.recaller.recall(self._snapshot(), query, who, top_k, min_score, entity_key)

    def prompt_section(
        self,
        query: str,
        caller: Caller | None = None,
        top_k: int = 3,
        min_score: float | None = None,
        entity_key: str | None = None,
    ) -> str:
        """Return the corrections that matter for `query` as a section of a prompt; "" when none does.

        Everything that somebody wrote is escaped, cut and on one line.
        """
        return section([hit.correction for hit in self.search(query, caller, top_k, min_score, entity_key)])

    @property
    def search_mode(self) -> str:
        """A sentence that says which embedding model search uses, or that it goes by words only."""
        return self._services.embeddings

    @property
    def embedding_progress(self) -> Progress:
        """How far vectors that are made in the background are."""
        keeper = self._services.recaller.keeper
        return keeper.progress(self._snapshot()) if keeper is not None else Progress()

    # Measuring

    def stats(
        self,
        agent_name: str | None = None,
        entity_key: str | None = None,
        field: str | None = None,
        since: datetime | None = None,
        *,
        until: datetime | None = None,
        tenant_id: str | None = None,
        caller: Caller | None = None,
    ) -> CorrectionStats:
        """Return what the corrections come to: counts by entity, field, agent, author and day, and accuracy."""
        chosen = measures.which(
            agent_name=agent_name, entity_key=entity_key, field=field, since=since, until=until,
            caller=caller, tenant_id=tenant_id,
        )  # fmt: skip
        return measures.stats(self._snapshot(), chosen)

    def accuracy(
        self,
        agent_name: str | None = None,
        since: datetime | None = None,
        *,
        until: datetime | None = None,
        caller: Caller | None = None,
    ) -> DataFrame:
        """Return one row a day: day, runs, corrected_runs, first_pass_accuracy, low, high (95 % Wilson interval)."""
        from pandas import DataFrame

        chosen = measures.which(agent_name=agent_name, since=since, until=until, caller=caller)
        return DataFrame(measures.accuracy(self._snapshot(), chosen), columns=list(ACCURACY_COLUMNS))

    def heeded(
        self, agent_name: str | None = None, since: datetime | None = None, *, caller: Caller | None = None
    ) -> DataFrame:
        """Return one row for each correction that a run was shown: whether the run kept to it.

        `heeded` is None where that cannot be told: the old value is blank, or the run's output is not known.
        """
        from pandas import DataFrame

        runs, which = measures.which(since=since, caller=caller), measures.which(caller=caller)
        found = heeded_rows(self._snapshot(), runs, which)
        rows = [dict(zip(HEEDED_COLUMNS, row, strict=True)) for row in found]
        for row in rows:
            row["heeded"] = {"yes": True, "no": False}.get(row["heeded"])
            row["at"] = datetime.fromisoformat(row["at"])
        kept = [row for row in rows if agent_name is None or row["agent_name"] == agent_name]
        return DataFrame(kept, columns=list(HEEDED_COLUMNS), dtype="object")

    def eval_cases(
        self,
        agent_name: str | None = None,
        entity_key: str | None = None,
        field: str | None = None,
        since: datetime | None = None,
        *,
        caller: Caller | None = None,
        limit: int | None = None,
    ) -> Cases:
        """Return fixed mistakes as cases, oldest first: each active correction that knows its original input."""
        snap = self._snapshot()
        chosen = measures.which(agent_name=agent_name, entity_key=entity_key, field=field, since=since, caller=caller)
        found = listed(snap, chosen, ("applied",), _limit(limit), None, with_input=True)
        corrections = fetch_corrections(snap, [name for name, _ in reversed(found)])
        return [
            EvalCase(
                input=str(correction.original_input),
                expected=correction.corrected_value,
                original=correction.original_value,
                field=correction.field,
                correction_id=correction.id,
                agent_name=correction.agent_name,
                entity_key=correction.entity_key,
            )
            for correction in corrections.values()
        ]


def _statuses(status: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if status is None:
        return None
    if not isinstance(status, str | list | tuple | set | frozenset):
        raise InvalidInput(f"`status` is one or more of {', '.join(STATUSES)}.", "status")
    wanted = [status] if isinstance(status, str) else list(status)
    for name in wanted:
        if name not in STATUSES:
            raise InvalidInput(f"`status` is {name!r}; it is one of {', '.join(STATUSES)}.", "status")
    return tuple(STATUSES[name] for name in wanted)


def _limit(limit: object) -> int | None:
    if limit is None:
        return None
    if type(limit) is not int or limit < 1:
        raise InvalidInput("`limit` is a whole number of at least 1, or None for all.", "limit")
    return limit


def _place(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    born, _, name = str(cursor).partition(".")
    if not (born.isascii() and born.isdigit()) or len(born) > 15 or not name.startswith("k_"):
        raise InvalidInput("`cursor` is not one that a page gave. Begin without one.", "cursor")
    return int(born), require(name, "Correction")
