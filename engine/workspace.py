"""A workspace at its newest revision: everything that can be read, and everything that can be changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine import comparison, versions
from engine.agent_registry import Agents
from engine.asking import Asking
from engine.correction_memory import Corrections
from engine.correction_records import CorrectionHit
from engine.corrections import Applying, Request, Unmaking, request_for, work_out_request
from engine.decisions import Decided, Derivation, Done, Justified, Planned, kept
from engine.documents import read_document
from engine.errors import EvidenceRejected, InvalidInput
from engine.evidence_log import EvidenceLog, OnStep
from engine.extraction import extractor_for
from engine.ids import kind_of
from engine.ingest import NewText, Outcome, Submitted
from engine.learning_memory import Learnings
from engine.learnings import Found
from engine.notices import Notice, NoticeKind, Subscriber
from engine.planning import Plan, Planner, carry_out
from engine.recording import Reverting
from engine.records import (
    Action,
    Answer,
    Applied,
    Because,
    Claim,
    Decision,
    Impact,
    IngestReport,
    Preview,
    ProposedClaim,
    Reaffirm,
    Rebase,
    SourceKind,
    SourceReplacement,
    Withdraw,
)
from engine.reminders import ANALYST, EXTRACTOR, Reminders, remind
from engine.services import Services
from engine.settlement import Settling
from engine.store import history
from engine.store.claims import fetch_claims
from engine.store.corrections import correction_lives, fetch_corrections
from engine.store.database import Database
from engine.store.snapshot import Snapshot, head
from engine.tokens import Tokens
from engine.versions import NewVersion, Reanchoring
from engine.view import WorkspaceView, moment

if TYPE_CHECKING:
    from pandas import DataFrame


class Workspace(WorkspaceView):
    """A workspace as it is now. Every change is one revision, whole or not at all."""

    def __init__(
        self, database: Database, graph: str, workspace_id: str, turn: threading.Lock, services: Services
    ) -> None:
        super().__init__(database, graph, workspace_id, -1, services)
        self._turn = turn  # writers of one process take turns rather than beat each other to the next revision

    @property
    def corrections(self) -> Corrections:
        """Corrections as records: of claims, and of what agents put out."""
        return Corrections(self, self._services)

    @property
    def learnings(self) -> Learnings:
        """What agents and people concluded."""
        return Learnings(self)

    @property
    def tokens(self) -> Tokens:
        """Who may use the HTTP API, and as whom."""
        return Tokens(self)

    @property
    def agents(self) -> Agents:
        """The agents whose corrections are taken."""
        return Agents(self)

    def subscribe(self, subscriber: Subscriber, *kinds: str) -> Callable[[], None]:
        """Call `subscriber` with each `Notice` of these kinds (none named: all) about this workspace.

        Notices are delivered in order, after the change was committed, on another thread. What a subscriber raises
        is logged and goes no further. Call what is returned to end it.
        """

        def mine(notice: Notice) -> None:
            if notice.workspace_id == self.id:
                subscriber(notice)

        return self._services.notices.subscribe(mine, frozenset(kinds) or None)

    def _announce(self, kind: NoticeKind, revision: int, ids: Sequence[str], detail: dict[str, object]) -> None:
        notice = Notice(kind=kind, workspace_id=self.id, revision=revision, ids=list(ids), detail=detail)
        self._services.notices.publish(notice)

    def _announce_effects(self, plan: Plan, revision: int, applied: Sequence[str]) -> None:
        """Tell which corrections took effect, and which learnings that invalidated."""
        if applied:
            impact: Impact | None = plan.facts.get("impact")
            counts = impact.counts if impact is not None else {}
            self._announce("memory.correction.applied", revision, applied, {"impact": counts})
        found: Sequence[Found] = plan.facts.get("invalidated", ())
        if found:
            self._services.metrics.invalidated(len(found))
            self._announce(
                "memory.learning.invalidated",
                revision,
                [entry.learning.id for entry in found],
                {"corrections": [entry.correction_id for entry in found], "why": [entry.why for entry in found]},
            )

    @property
    def revision(self) -> int:
        """How many changes have been committed."""
        return head(self._database, self._graph, self.id).revision

    def _snapshot(self) -> Snapshot:
        return Snapshot(self._database, self._graph, self.id, self.revision)

    def at(self, when: int | datetime) -> WorkspaceView:
        """Return the workspace as of a revision or a moment; every read of it answers as of then.

        Raises:
            InvalidInput: the revision does not exist yet, or `when` is neither.
        """
        snap = self._snapshot()
        if isinstance(when, datetime):
            revision = history.revision_at(snap, moment(when))
        elif type(when) is int:
            revision = when
        else:
            raise InvalidInput("`at` takes a revision (a whole number) or a datetime.")
        if not 0 <= revision <= snap.revision:
            raise InvalidInput(f"There is no revision {revision}; the newest is {snap.revision}.")
        return WorkspaceView(self._database, self._graph, self.id, revision, self._services)

    def compare(self, before: int | datetime, after: int | datetime | None = None) -> DataFrame:
        """Return what changed between two moments (`after`: now): one row a node, with how it was and is.

        Columns: id, kind, title, before, after; a node that was not there is `absent`.
        """
        now = self.revision if after is None else after
        return comparison.compare(self.at(before), self.at(now))

    def _change(self, planner: Planner) -> tuple[Plan, int]:
        with self._turn:
            return carry_out(self._database, self._graph, self.id, planner)

    def _as_of(self, revision: int) -> WorkspaceView:
        return WorkspaceView(self._database, self._graph, self.id, revision, self._services)

    # Building memory

    def ingest(
        self,
        text: str,
        name: str | None = None,
        origin: str | None = None,
        copy_of: str | None = None,
        extractor: str | None = "auto",
        *,
        kind: SourceKind = "document",
        derived_from: Sequence[str] | None = None,
    ) -> IngestReport:
        """Take in a text, and the claims whose quotes stand in it. A text that is here already changes nothing.

        Args:
            text: stored exactly as it is.
            name: what people call it; the first line when left out.
            origin: where it comes from in the first place; sources with one origin are one witness.
            copy_of: the id of a source that this is a copy of.
            extractor: "auto", "rules", "model", or None to store the text and extract nothing.
            kind: "document", "message" or "agent".
            derived_from: ids of claims, decisions or runs that an agent's text was made from: it is no witness
                beside theirs.

        Raises:
            InvalidInput: the text is empty or cannot be stored exactly.
            UnknownNode: `copy_of` or `derived_from` names nothing that is here.
            ModelUnavailable: "model" was asked for and none is configured.
        """
        if kind not in ("document", "message", "agent"):
            raise InvalidInput("`kind` is document, message or agent; humans speak through corrections.")
        derived = list(derived_from) if derived_from else None
        chosen = extractor_for(extractor)
        shown = self._remind(EXTRACTOR, text) if chosen is not None and isinstance(text, str) else []
        reminders = Reminders(tuple(hit.correction for hit in shown))
        text_in = NewText(text, name, kind, origin, copy_of, derived, chosen, reminders)
        _ = text_in.reviewed, text_in.fragments  # the slow part, before anybody has to wait for a turn
        return self._report(*self._change(text_in.plan))

    def ingest_file(
        self,
        path_or_bytes: str | Path | bytes,
        name: str | None = None,
        origin: str | None = None,
        copy_of: str | None = None,
        extractor: str | None = "auto",
    ) -> IngestReport:
        """Take in a file: txt, md, html, pdf, docx and other text. What was read is the source's text.

        Raises:
            InvalidInput: the file cannot be read as what it says it is; the message says what to do.
        """
        if isinstance(path_or_bytes, bytes | bytearray):
            if not name:
                raise InvalidInput("Give the bytes a file name, so that their format is known.")
            data, label = bytes(path_or_bytes), name
        else:
            if not isinstance(path_or_bytes, str | Path):
                raise InvalidInput(f"A file is a path or bytes, not {type(path_or_bytes).__name__}.")
            path = Path(path_or_bytes)
            try:
                data = path.read_bytes()
            except (OSError, ValueError) as error:
                raise InvalidInput(f"{path} cannot be read: {error}.") from error
            label = name or path.name
        document = read_document(data, label)
        report = self.ingest(document.text, label, origin, copy_of, extractor)
        return report.model_copy(update={"notes": [*document.notes, *report.notes]})

    def submit_claims(self, source_id: str, proposals: Sequence[ProposedClaim]) -> IngestReport:
        """Propose claims for a source that is here; each is kept only if its quote stands in the text exactly.

        Raises:
            UnknownNode: there is no such source.
            NotAllowed: the source was withdrawn.
        """
        return self._report(*self._change(Submitted(source_id, proposals).plan))

    def add_claim(self, source_id: str, statement: str, evidence_quote: str) -> Claim:
        """Make one claim by hand and return it.

        Raises:
            EvidenceRejected: the quote is not evidence; the error carries the rejection.
        """
        report = self.submit_claims(source_id, [ProposedClaim(statement, evidence_quote)])
        if report.rejected:
            raise EvidenceRejected(report.rejected[0].reason, report.rejected[0])
        return report.claims[0]

    def derive(self, statement: str, because: Because) -> Claim:
        """Record a claim that follows from others.

        `because` is a list of alternatives: ids (each suffices) or lists of ids (all needed).

        Raises:
            InvalidInput: `because` is empty or not of that form.
            UnknownNode: it names nothing that is here.
            NotAllowed: it names what was superseded, retracted or withdrawn.
        """
        plan, revision = self._change(Derivation(statement, kept(because)).plan)
        return self._as_of(revision).claim(plan.result)

    def decide(self, title: str, because: Because, rationale: str = "") -> Decision:
        """Record a decision; the same request again finds the first one's. `because`, errors: see `derive`."""
        plan, revision = self._change(Decided(title, kept(because), rationale).plan)
        return self._as_of(revision).decision(plan.result)

    def justify(self, node_id: str, because: Because) -> Claim | Decision:
        """Give a claim or decision one more way to be held up. Cycles may arise; self-reference is refused."""
        plan, revision = self._change(Justified(node_id, kept(because)).plan)
        view = self._as_of(revision)
        return view.claim(plan.result) if kind_of(plan.result) == "Claim" else view.decision(plan.result)

    def plan(self, description: str, because: Sequence[str]) -> Action:
        """Plan an action that hangs on decisions, all of which are needed."""
        plan, revision = self._change(Planned(description, kept(because)).plan)
        return self._as_of(revision).action(plan.result)

    def mark_done(self, action_id: str) -> Action:
        """Record that an action was carried out; NotAllowed while it is on hold or cancelled."""
        plan, revision = self._change(Done(action_id).plan)
        return self._as_of(revision).action(plan.result)

    def _report(self, plan: Plan, revision: int) -> IngestReport:
        outcome: Outcome = plan.result
        snap = Snapshot(self._database, self._graph, self.id, revision)
        return IngestReport(
            source_id=outcome.source_id,
            version_id=outcome.version_id,
            revision=revision,
            fragments=outcome.fragments,
            claims=list(fetch_claims(snap, outcome.claims).values()),
            rejected=outcome.rejected,
            unchanged=outcome.unchanged,
            extractor=outcome.extractor,
            notes=outcome.notes,
            shown=outcome.shown,
        )

    def replace_source(self, source_id: str, text: str) -> SourceReplacement:
        """Record a new version of a source. Its claims stay as they are; the report says what to look at.

        Raises:
            UnknownNode: there is no such source.
            NotAllowed: the source was withdrawn.
        """
        plan, revision = self._change(NewVersion(source_id, text).plan)
        return versions.report(plan, source_id, revision)

    def reanchor(
        self, source_id: str, claim_ids: Sequence[str], quotes: Mapping[str, str] | None = None
    ) -> list[Claim]:
        """Let claims rest on their source's newest version; `quotes` gives a new quote for some (id → quote).

        Raises:
            EvidenceRejected: a quote does not stand in the newest version; nothing was changed.
        """
        planner = Reanchoring(source_id, list(claim_ids), dict(quotes) if quotes else None)
        plan, revision = self._change(planner.plan)
        snap = Snapshot(self._database, self._graph, self.id, revision)
        return list(fetch_claims(snap, plan.result).values())

    # Asking

    def ask(self, question: str, on_step: OnStep | None = None) -> Answer:
        """Answer a question from what is here, citing only what this run searched and fetched.

        `on_step` is called with each step as it happens. With no evidence the decision is "No source-backed
        answer yet", marked `needs_review`, and there is no action.
        """
        asking = Asking.with_rules(question, EvidenceLog(self._snapshot, on_step, self._remind))
        asking.consider()
        plan, revision = self._change(asking.plan)
        self._services.metrics.ran(ANALYST)
        return self._as_of(revision).run(plan.result)

    def _remind(self, agent: str, text: str) -> list[CorrectionHit]:
        return remind(self._snapshot(), self._services.recaller, agent, text)

    # Correcting

    def preview(self, claim_id: str, statement: str | None, *, invalidate_contradicted: bool = True) -> Preview:
        """Return what correcting a claim with `statement` (None: retracting it) would do. Changes nothing.

        Raises:
            UnknownNode: there is no such claim.
            NotAllowed: the claim is not current; the message names what replaced it.
            InvalidInput: the statement is empty, or what the claim says already.
        """
        return self._worked_out(request_for([(claim_id, statement)]), invalidate_contradicted)

    def preview_several(self, changes: Mapping[str, str | None]) -> Preview:
        """Return what correcting several claims at once would do: id → statement, or None to retract."""
        if not isinstance(changes, Mapping):
            raise InvalidInput("`preview_several` takes a mapping: claim id → statement, or None to retract.")
        return self._worked_out(request_for(list(changes.items())))

    def preview_withdrawal(self, source_id: str) -> Preview:
        """Return what withdrawing a source would do: every claim that rests on it alone is retracted."""
        return self._worked_out(Request(source_id=source_id))

    def preview_undo(self, correction_id: str) -> Preview:
        """Return what undoing a correction would do; `undoes` lists it and those that go with it."""
        return self._worked_out(Request(undo=correction_id))

    def _worked_out(self, request: Request, invalidate_contradicted: bool = True) -> Preview:
        contradiction = self._services.contradiction(invalidate_contradicted)
        return work_out_request(self._snapshot(), request, contradiction).preview

    def apply(self, preview: Preview, reviewer: str = "", reason: str = "") -> Applied:
        """Make the change that a preview showed, as one revision.

        The same preview sent twice is applied once: the second time returns the first one's replacement with
        `already_applied`.

        Raises:
            StalePreview: something else would happen now than what was shown; it carries the fresh preview.
        """
        if not isinstance(preview, Preview):
            raise InvalidInput("`apply` takes what `ws.preview` returned.")
        contradiction = self._services.contradiction(preview.invalidate_contradicted)
        with self._services.metrics.timed("apply_correction"):
            plan, revision = self._change(Applying(preview, reviewer, reason, contradiction).plan)
        applied = self._applied(plan, revision)
        if not applied.already_applied:
            if preview.kind != "undo":
                self._services.metrics.corrected(None, "human", len(applied.corrections))
                self._announce("memory.correction.recorded", revision, plan.result, {"created": len(plan.result)})
            self._announce_effects(plan, revision, [] if preview.kind == "undo" else plan.result)
        return applied

    def undo(self, correction_id: str, reviewer: str = "", reason: str = "") -> Applied:
        """Undo a correction, with those that corrected its replacement later, as one revision.

        Afterwards everything derived is as if the undone corrections had never been. A record of what an agent put
        out is reverted: see `ws.corrections.revert`.

        Raises:
            UnknownNode: there is no such correction.
        """
        found = self.correction(correction_id)
        if found.kind == "output" or found.status == "pending":
            plan, revision = self._change(Reverting(correction_id, reviewer, reason).plan)
            reverted = self._as_of(revision).correction(correction_id)
            return Applied(
                correction=reverted,
                corrections=[reverted],
                replacement=None,
                impact=Impact(),
                revision=revision,
                already_applied=plan.change.empty,
            )
        plan, revision = self._change(Unmaking(correction_id, reviewer, reason).plan)
        return self._applied(plan, revision)

    def _applied(self, plan: Plan, revision: int) -> Applied:
        """Return what a correction or an undo did, also when it was done by an earlier request."""
        snap = Snapshot(self._database, self._graph, self.id, revision)
        corrections = list(fetch_corrections(snap, plan.result).values())
        first = corrections[0]
        already = plan.change.empty
        undone = first.status == "reverted"
        if already:
            revision = correction_lives(snap, [first.id])[first.id].changed(revision) if undone else first.revision
        if "impact" in plan.facts:
            impact: Impact = plan.facts["impact"]
        elif undone:
            impact = work_out_request(replace(snap, revision=revision - 1), Request(undo=first.id)).preview.impact
        else:
            impact = self.impact_of(first.id)
        replacement = None
        if first.replacement_id is not None and not undone:
            replacement = fetch_claims(snap, [first.replacement_id])[first.replacement_id]
        return Applied(
            correction=first,
            corrections=corrections,
            replacement=replacement,
            impact=impact,
            revision=revision,
            already_applied=already,
        )

    def settle(
        self,
        decision_id: str,
        settlement: Reaffirm | Rebase | Withdraw,
        reviewer: str = "",
        reason: str = "",
    ) -> Decision:
        """Settle a decision that needs review; return it, or the one that supersedes it.

        Its held actions are released (reaffirm; rebase, where they follow to the new decision) or cancelled
        (withdraw).

        Raises:
            NotAllowed: it does not need review, or what it is to rest on does not stand.
        """
        if not isinstance(settlement, Reaffirm | Rebase | Withdraw):
            raise InvalidInput("Settle with Reaffirm(because), Rebase(title, because) or Withdraw().")
        plan, revision = self._change(Settling(decision_id, settlement, reviewer, reason).plan)
        return self._as_of(revision).decision(plan.result)
