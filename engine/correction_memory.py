"""`ws.corrections`: corrections as records, from recording one to measuring what all of them come to."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from engine import measures
from engine.correction_records import (
    AuthorKind,
    Caller,
    Correction,
    CorrectionHit,
    CorrectionPage,
    CorrectionStats,
    EvalCase,
    ImportReport,
    RecordPreview,
    RejectedRow,
    Scope,
    Value,
)
from engine.corrections import Unmaking
from engine.entries import Entry, checked_entry
from engine.errors import InvalidInput, UnknownNode
from engine.ids import require
from engine.learnings import invalidations
from engine.planning import Plan, Planner
from engine.prompt_section import section
from engine.recall import Recalled
from engine.recording import Approving, Ledger, Noted, Recording, Reverting, doubt_of
from engine.runs import RecordedRun
from engine.services import Services
from engine.store.corrections import OF_MEMORY, fetch_corrections
from engine.store.measures import heeded_rows, listed
from engine.store.snapshot import Snapshot
from engine.vectors import Progress

if TYPE_CHECKING:
    from pandas import DataFrame

    from engine.view import WorkspaceView
    from engine.workspace import Workspace

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
        if found is None or (caller is not None and found.tenant_id not in (None, caller.tenant_id)):
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

        chosen = measures.which(since=since, caller=caller)
        rows = [dict(zip(HEEDED_COLUMNS, row, strict=True)) for row in heeded_rows(self._snapshot(), chosen)]
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


class Corrections(CorrectionsView):
    """The corrections of a workspace as it is now, and everything that can be done about them."""

    def __init__(self, workspace: Workspace, services: Services) -> None:
        super().__init__(workspace, services)
        self._workspace = workspace

    def _change(self, planner: Planner) -> tuple[Plan, int]:
        return self._workspace._change(planner)

    def record(
        self,
        agent_name: str,
        original_value: Value,
        corrected_value: Value,
        field: str | None = None,
        reason: str | None = None,
        entity_key: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
        original_input: str | None = None,
        tags: Sequence[str] = (),
        scope: Scope = "agent",
        user_id: str | None = None,
        tenant_id: str | None = None,
        claim_id: str | None = None,
        idempotency_key: str | None = None,
        *,
        author_kind: AuthorKind = "human",
        reviewer: str = "",
        invalidate_contradicted: bool = True,
    ) -> Correction:
        """Record what an agent put out and what it should have been. Return the correction.

        The same correction again is counted (`times_seen`), not stored twice. A new one of the same agent, field,
        entity and original value supersedes the older one; so does one that finds an older one's corrected value
        wrong, where both name the entity. One that names a claim is that claim's correction, with everything that
        brings down. What a model records is pending until `approve`.

        Args:
            agent_name: whose output was wrong.
            original_value: what it put out. Values are anything that JSON can say; blank ones are legal.
            corrected_value: what is right.
            field: which part of the output it is about.
            reason: why, in the reviewer's words.
            entity_key: what it is about: a customer, a document, a product.
            run_id: the run that put it out, as the agent calls it.
            session_id: the conversation or job that the run belongs to.
            original_input: what the agent had been given; it makes the correction an eval case.
            tags: words to find it by.
            scope: who is to learn from it: `user`, `agent`, `tenant` or `global`.
            user_id, tenant_id: whose it is; required by the scope of that name.
            claim_id: the claim that was wrong. `original_value` is then its statement, or a part of it.
            idempotency_key: two requests with one key are one.
            author_kind: `human`, or `model` for what a model says of itself or of others.
            reviewer: who says so.
            invalidate_contradicted: also invalidate models' learnings that say the old value about the same thing.

        Raises:
            InvalidInput: a value cannot be stored, the values are equal, or the scope lacks its id.
            NotAllowed: the idempotency key was used for another correction, or the claim is not current.
            UnknownNode: there is no such claim or run.
        """
        entry = checked_entry(
            agent_name=agent_name,
            original_value=original_value,
            corrected_value=corrected_value,
            field=field,
            reason=reason,
            entity_key=entity_key,
            run_id=run_id,
            session_id=session_id,
            original_input=original_input,
            tags=tags,
            scope=scope,
            user_id=user_id,
            tenant_id=tenant_id,
            claim_id=claim_id,
            idempotency_key=idempotency_key,
            author_kind=_author_kind(author_kind),
            reviewer=reviewer,
        )
        with self._services.metrics.timed("record_correction"):
            contradiction = self._services.contradiction(invalidate_contradicted)
            plan, revision = self._change(Recording([entry], contradiction).plan)
        self._tell(plan, revision, [entry])
        return self._as_of(revision, plan.result[0].correction_id)

    def preview(
        self,
        agent_name: str,
        original_value: Value,
        corrected_value: Value,
        *,
        invalidate_contradicted: bool = True,
        **more: Any,
    ) -> RecordPreview:
        """Return what `record` would do with the same arguments: what it repeats, supersedes and invalidates.

        What the correction of a claim brings down is shown by `ws.preview`.
        """
        entry = checked_entry(
            agent_name=agent_name, original_value=original_value, corrected_value=corrected_value, **more
        )
        snap = self._snapshot()
        if entry.claim_id is not None:
            raise InvalidInput("What the correction of a claim would do is shown by `ws.preview`.", "claim_id")
        ledger = Ledger(snap, [entry])
        twin = ledger.twin(entry)
        older = [] if twin is not None else ledger.outdated(entry)
        contradiction = self._services.contradiction(invalidate_contradicted)
        found = [] if twin is not None else invalidations(snap, [doubt_of("", entry)], {}, contradiction)
        return RecordPreview(
            same_as=twin.id if twin is not None else None,
            supersedes=[*fetch_corrections(snap, [known.id for known in older]).values()],
            invalidates=[entry.shown for entry in found],
        )

    def approve(
        self,
        correction_id: str,
        reviewer: str = "",
        *,
        invalidate_contradicted: bool = True,
        caller: Caller | None = None,
    ) -> Correction:
        """Let a pending correction take effect, now that a person has looked at it. Return it.

        Raises:
            UnknownNode: there is no such correction.
            NotAllowed: it is not pending, or the claim that it names is no longer current.
        """
        self._found(self._snapshot(), correction_id, caller)
        contradiction = self._services.contradiction(invalidate_contradicted)
        plan, revision = self._change(Approving(correction_id, reviewer, contradiction).plan)
        correction = self._as_of(revision, correction_id)
        if not plan.change.empty:
            self._workspace._announce_effects(plan, revision, [correction_id])
        return correction

    def revert(
        self, correction_id: str, reviewer: str = "", reason: str = "", *, caller: Caller | None = None
    ) -> Correction:
        """Take a correction back: it is never shown again, and what it superseded or invalidated stands again.

        For a claim's correction this is `ws.undo`. Return it as it is then.

        Raises:
            UnknownNode: there is no such correction.
        """
        found = self._found(self._snapshot(), correction_id, caller)
        if found.kind in OF_MEMORY and found.status != "pending":
            _, revision = self._change(Unmaking(correction_id, reviewer, reason).plan)
        else:
            _, revision = self._change(Reverting(correction_id, reviewer, reason).plan)
        return self._as_of(revision, correction_id)

    def record_run(
        self,
        agent_name: str,
        input: str | None = None,
        output: Value = None,
        run_id: str | None = None,
        *,
        shown: Iterable[str] = (),
        tenant_id: str | None = None,
    ) -> str:
        """Record that an agent ran, so that accuracy can be told. Return the run's id.

        `shown` has the ids of the corrections that it was shown; with `output`, whether it kept to them is recorded.
        """
        name = run_id if run_id is not None else f"run-{uuid.uuid4()}"
        plan, _ = self._change(RecordedRun(agent_name, name, input, output, tuple(shown), tenant_id).plan)
        if not plan.change.empty:
            self._services.metrics.ran(agent_name)
        return name

    def import_rows(
        self,
        rows: Iterable[Mapping[str, Any]],
        mapping: Mapping[str, str] | None = None,
        *,
        invalidate_contradicted: bool = True,
        **defaults: Any,
    ) -> ImportReport:
        """Record many corrections as one revision. Rows that cannot be recorded are reported, with why.

        Args:
            rows: maps from column to value.
            mapping: argument of `record` → column; by default columns have the names of the arguments.
            invalidate_contradicted: as for `record`.
            defaults: arguments that a row does not give: `agent_name="extractor"`.
        """
        entries: list[Entry] = []
        rejected: list[RejectedRow] = []
        for number, row in enumerate(rows, 1):
            try:
                entries.append(checked_entry(**_arguments(row, mapping, defaults)))
            except (InvalidInput, UnknownNode) as error:
                field = error.field if isinstance(error, InvalidInput) else None
                rejected.append(RejectedRow(row=number, field=field, reason=str(error)))
        if not entries:
            return ImportReport(created=0, seen_again=0, superseded=0, rejected=rejected, revision=self._view.revision)
        contradiction = self._services.contradiction(invalidate_contradicted)
        plan, revision = self._change(Recording(entries, contradiction, kind="import").plan)
        self._tell(plan, revision, entries)
        noted: Sequence[Noted] = plan.result
        return ImportReport(
            created=sum(note.created for note in noted),
            seen_again=sum(not note.created for note in noted),
            superseded=sum(len(note.supersedes) for note in noted),
            rejected=rejected,
            revision=revision,
        )

    def wait_for_vectors(self, timeout: float | None = None) -> bool:
        """Make the vectors that are missing, and wait for them. Return whether all are there."""
        keeper = self._services.recaller.keeper
        if keeper is None:
            return False
        snap = self._snapshot()
        return keeper.missing(snap) == 0 or (keeper.wait(snap, timeout) and keeper.missing(snap) == 0)

    def _as_of(self, revision: int, correction_id: str) -> Correction:
        return self._workspace._as_of(revision).correction(correction_id)

    def _tell(self, plan: Plan, revision: int, entries: Sequence[Entry]) -> None:
        """Count and announce what was recorded."""
        noted: Sequence[Noted] = plan.facts["noted"]
        for entry in entries:
            self._services.metrics.corrected(entry.agent_name, entry.author_kind)
        self._workspace._announce("memory.correction.recorded", revision, [note.correction_id for note in noted], {
            "created": sum(note.created for note in noted),
            "seen_again": sum(not note.created for note in noted),
            "supersedes": [older for note in noted for older in note.supersedes],
        })  # fmt: skip
        applied = [note.correction_id for note in noted if note.status == "applied" and note.created]
        self._workspace._announce_effects(plan, revision, applied)


def _arguments(
    row: Mapping[str, Any], mapping: Mapping[str, str] | None, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of `record` that a row gives."""
    if mapping is None:
        given = {key: value for key, value in row.items() if key in IMPORTED}
    else:
        unknown = set(mapping) - set(IMPORTED)
        if unknown:
            raise InvalidInput(
                f"`mapping` names {min(unknown)!r}, which is no part of a correction; there are {', '.join(IMPORTED)}.",
                "mapping",
            )
        given = {argument: row.get(column) for argument, column in mapping.items()}
    kept = {
        key: value for key, value in given.items() if value is not None or key in ("original_value", "corrected_value")
    }
    arguments = {**defaults, **kept}
    for needed in ("agent_name", "original_value", "corrected_value"):
        if needed not in arguments:
            raise InvalidInput(f"`{needed}` is missing: map a column to it, or give it for all rows.", needed)
    return arguments


IMPORTED: Final = (
    "agent_name", "original_value", "corrected_value", "field", "reason", "entity_key", "run_id", "session_id",
    "original_input", "tags", "scope", "user_id", "tenant_id", "idempotency_key", "reviewer",
)  # fmt: skip


def _statuses(status: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if status is None:
        return None
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
    if not born.isdigit() or len(born) > 15 or not name.startswith("k_"):
        raise InvalidInput("`cursor` is not one that a page gave. Begin without one.", "cursor")
    return int(born), require(name, "Correction")


def _author_kind(author_kind: object) -> AuthorKind:
    if author_kind not in ("human", "model"):
        raise InvalidInput("`author_kind` is human or model.", "author_kind")
    return author_kind
