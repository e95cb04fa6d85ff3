"""`ws.corrections`: corrections as records, and everything that can be done about them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.correction_records import (
    AuthorKind,
    Caller,
    Correction,
    ImportReport,
    RecordPreview,
    RejectedRow,
    Scope,
    Value,
)
from engine.correction_view import CorrectionsView
from engine.corrections import Unmaking
from engine.entries import Entry, checked_entry
from engine.errors import InvalidInput
from engine.learnings import invalidations
from engine.planning import Plan, Planner
from engine.recording import Approving, Ledger, Noted, Recording, Reverting, doubt_of
from engine.row_import import entries_of
from engine.runs import RecordedRun
from engine.services import Services
from engine.store.corrections import OF_MEMORY, fetch_corrections

if TYPE_CHECKING:
    from engine.workspace import Workspace


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
        wrong. One that names a claim is that claim's correction, with everything that
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
            author_kind=author_kind,
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
        # What a model records waits; a person who says the same as one that waits approves it.
        takes_effect = entry.author_kind == "human" and (twin is None or ledger.status[twin.id] == "pending")
        older = ledger.outdated(entry) if takes_effect else []
        contradiction = self._services.contradiction(invalidate_contradicted)
        found = invalidations(snap, [doubt_of("", entry)], {}, contradiction) if takes_effect else []
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

        Raises:
            InvalidInput: `mapping` or a default names what is no part of a correction.
        """
        taken, rejected = entries_of(rows, mapping, defaults)
        if not taken:
            return ImportReport(created=0, seen_again=0, superseded=0, rejected=rejected, revision=self._view.revision)
        entries = list(taken.values())
        contradiction = self._services.contradiction(invalidate_contradicted)
        plan, revision = self._change(Recording(entries, contradiction, kind="import", refuse=False).plan)
        refused: dict[int, str] = plan.facts["refused"]
        numbers = list(taken)
        rejected += [RejectedRow(row=numbers[at], field=None, reason=why) for at, why in refused.items()]
        self._tell(plan, revision, [entry for at, entry in enumerate(entries) if at not in refused])
        noted: Sequence[Noted] = plan.result
        return ImportReport(
            created=sum(note.created for note in noted),
            seen_again=sum(not note.created for note in noted),
            superseded=sum(len(note.supersedes) for note in noted),
            rejected=sorted(rejected, key=lambda row: row.row),
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
        for entry, note in zip(entries, noted, strict=True):
            if note.created:
                self._services.metrics.corrected(entry.agent_name, entry.author_kind)
        self._workspace._announce("memory.correction.recorded", revision, [note.correction_id for note in noted], {
            "created": sum(note.created for note in noted),
            "seen_again": sum(not note.created for note in noted),
            "supersedes": [older for note in noted for older in note.supersedes],
        })  # fmt: skip
        applied = [note.correction_id for note in noted if note.status == "applied" and note.created]
        self._workspace._announce_effects(plan, revision, applied)
