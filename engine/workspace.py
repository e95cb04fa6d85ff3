"""A workspace at its newest revision: everything that can be read, and everything that can be changed."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine import comparison, versions
from engine.asking import Asking
from engine.corrections import Applying, Request, Unmaking, request_for, work_out_request
from engine.decisions import Decided, Derivation, Done, Justified, Planned, kept
from engine.documents import read_document
from engine.errors import EvidenceRejected, InvalidInput
from engine.evidence_log import EvidenceLog, OnStep
from engine.extraction import extractor_for
from engine.ids import kind_of
from engine.ingest import NewText, Outcome, Submitted
from engine.planning import Plan, Planner, carry_out
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
from engine.settlement import Settling
from engine.store import history
from engine.store.claims import fetch_claims
from engine.store.corrections import correction_lives, fetch_corrections
from engine.store.database import Database
from engine.store.snapshot import Snapshot, head
from engine.versions import NewVersion, Reanchoring
from engine.view import WorkspaceView, moment

if TYPE_CHECKING:
    from pandas import DataFrame


class Workspace(WorkspaceView):
    """A workspace as it is now. Every change is one revision, whole or not at all."""

    def __init__(self, database: Database, graph: str, workspace_id: str, turn: threading.Lock) -> None:
        super().__init__(database, graph, workspace_id, -1)
        self._turn = turn  # writers of one process take turns rather than beat each other to the next revision

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
        return WorkspaceView(self._database, self._graph, self.id, revision)

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
        return WorkspaceView(self._database, self._graph, self.id, revision)

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
        text_in = NewText(text, name, kind, origin, copy_of, derived, extractor_for(extractor))
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
        asking = Asking.with_rules(question, EvidenceLog(self._snapshot, on_step))
        asking.consider()
        plan, revision = self._change(asking.plan)
        return self._as_of(revision).run(plan.result)

    # Correcting

    def preview(self, claim_id: str, statement: str | None) -> Preview:
        """Return what correcting a claim with `statement` (None: retracting it) would do. Changes nothing.

        Raises:
            UnknownNode: there is no such claim.
            NotAllowed: the claim is not current; the message names what replaced it.
            InvalidInput: the statement is empty, or what the claim says already.
        """
        return work_out_request(self._snapshot(), request_for([(claim_id, statement)])).preview

    def preview_several(self, changes: Mapping[str, str | None]) -> Preview:
        """Return what correcting several claims at once would do: id → statement, or None to retract."""
        if not isinstance(changes, Mapping):
            raise InvalidInput("`preview_several` takes a mapping: claim id → statement, or None to retract.")
        return work_out_request(self._snapshot(), request_for(list(changes.items()))).preview

    def preview_withdrawal(self, source_id: str) -> Preview:
        """Return what withdrawing a source would do: every claim that rests on it alone is retracted."""
        return work_out_request(self._snapshot(), Request(source_id=source_id)).preview

    def preview_undo(self, correction_id: str) -> Preview:
        """Return what undoing a correction would do; `undoes` lists it and those that go with it."""
        return work_out_request(self._snapshot(), Request(undo=correction_id)).preview

    def apply(self, preview: Preview, reviewer: str = "", reason: str = "") -> Applied:
        """Make the change that a preview showed, as one revision.

        The same preview sent twice is applied once: the second time returns the first one's replacement with
        `already_applied`.

        Raises:
            StalePreview: something else would happen now than what was shown; it carries the fresh preview.
        """
        if not isinstance(preview, Preview):
            raise InvalidInput("`apply` takes what `ws.preview` returned.")
        return self._applied(*self._change(Applying(preview, reviewer, reason).plan))

    def undo(self, correction_id: str, reviewer: str = "", reason: str = "") -> Applied:
        """Undo a correction, with those that corrected its replacement later, as one revision.

        Afterwards everything derived is as if the undone corrections had never been.

        Raises:
            UnknownNode: there is no such correction.
        """
        plan, revision = self._change(Unmaking(correction_id, reviewer, reason).plan)
        return self._applied(plan, revision)

    def _applied(self, plan: Plan, revision: int) -> Applied:
        """Return what a correction or an undo did, also when it was done by an earlier request."""
        snap = Snapshot(self._database, self._graph, self.id, revision)
        corrections = list(fetch_corrections(snap, plan.result).values())
        first = corrections[0]
        already = plan.change.empty
        undone = first.status == "undone"
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
