"""Recording corrections of what agents put out: no twins, the newest wins, and everything can be taken back.

One request, or a whole file of them, is one revision. Who repeats a correction is counted, not stored again; who
corrects the same thing otherwise supersedes what was said before. What a model records waits for a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.corrections import (
    ANONYMOUS,
    Request,
    replacement_made,
    request_for,
    work_out_request,
    write_request,
)
from engine.entries import Entry, claim_statements, unique_keys
from engine.errors import InvalidInput, NotAllowed, UnknownNode
from engine.ids import new_id, require
from engine.inputs import NAME_LIMIT, optional_text
from engine.learnings import Contradiction, Doubt, Found, invalidations, restore, told, write_invalidations
from engine.planning import Plan, born, now
from engine.reasons import counted, quoted
from engine.records import ClaimChange
from engine.runs import RunBook
from engine.states import Lifeline, State
from engine.store.claims import fetch_claims
from engine.store.commit import ChangeSet
from engine.store.corrections import (
    Known,
    correction_lives,
    fetch_corrections,
    known_by,
    superseded_by,
)
from engine.store.snapshot import Snapshot
from engine.values import shown

LIVE = ("applied", "pending")


@dataclass
class Noted:
    """What became of one entry: the correction it made, or the one that it repeats."""

    correction_id: str
    created: bool
    status: str
    supersedes: list[str] = field(default_factory=list)


class Ledger:
    """The records that matter for some entries: those in the graph, and those that this revision adds."""

    def __init__(self, snap: Snapshot, entries: Sequence[Entry]) -> None:
        self._revision = snap.revision
        slots = unique_keys(entries, "slot_key")
        self._by = {
            "once_key": known_by(snap, "once_key", unique_keys(entries, "once_key")),
            "same_key": known_by(snap, "same_key", unique_keys(entries, "same_key")),
            "slot_key": known_by(snap, "slot_key", slots),
            "result_key": known_by(snap, "result_key", slots),
        }
        self.status = {
            known.id: known.life.at(snap.revision).status
            for found in self._by.values()
            for group in found.values()
            for known in group
        }

    def live(self, key: str, value: str | None) -> list[Known]:
        """Return the records with this key that stand or wait."""
        return [known for known in self._by[key].get(value or "", []) if self.status[known.id] in LIVE]

    def add(self, entry: Entry, known: Known, status: str) -> None:
        """Take note of a record that this revision adds."""
        self.status[known.id] = status
        for key in self._by:
            value = getattr(entry, key)
            if value is not None:
                self._by[key][value].append(known)

    def twin(self, entry: Entry) -> Known | None:
        """Return the record that an entry repeats.

        Raises:
            NotAllowed: its idempotency key was used for another correction.
        """
        once = self._by["once_key"].get(entry.once_key or "", [])
        if once:
            if once[-1].same_key != entry.same_key:
                raise NotAllowed(
                    f"The idempotency key {entry.idempotency_key!r} was used for another correction, {once[-1].id}. "
                    "Use a new key for a new correction."
                )
            return once[-1]
        return next(iter(self.live("same_key", entry.same_key)), None)

    def outdated(self, entry: Entry) -> list[Known]:
        """Return the records that an entry supersedes: other fixes of the same value, and fixes to it."""
        found = [known for known in self.live("slot_key", entry.slot_key) if known.same_key != entry.same_key]
        found += self.live("result_key", entry.slot_key)
        return list({known.id: known for known in found if self.status[known.id] == "applied"}.values())


@dataclass
class Recording:
    """Plans entries as one revision."""

    entries: Sequence[Entry]
    contradiction: Contradiction | None
    kind: str = "record"
    refuse: bool = True
    """An entry that cannot be recorded refuses all; else it is left out, and `facts["refused"]` says why."""

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Plan the records; the result is one `Noted` an entry that was recorded, in order.

        Raises:
            NotAllowed: an idempotency key was used for something else, or a claim is not current.
            UnknownNode: a claim or run of this workspace is named that is not there.
        """
        change = ChangeSet(revision)
        if any(entry.claim_id for entry in self.entries):
            return self._of_claim(snap, change)
        ledger, runs = Ledger(snap, self.entries), RunBook(snap, change, self.entries)
        noted: list[Noted] = []
        doubts: list[Doubt] = []
        refused: dict[int, str] = {}
        for at, entry in enumerate(self.entries):
            try:
                runs.check(entry)
                known = ledger.twin(entry)
            except (NotAllowed, UnknownNode) as error:
                if self.refuse:
                    raise
                refused[at] = str(error)
                continue
            if known is not None:
                noted.append(self._repeat(change, ledger, runs, entry, known))
                if ledger.status[known.id] == "applied" and known.life.at(snap.revision).status == "pending":
                    doubts.append(doubt_of(known.id, entry))
            else:
                made = create_output(change, entry, runs)
                status = "pending" if entry.author_kind == "model" else "applied"
                older = [] if status == "pending" else ledger.outdated(entry)
                for other in older:
                    supersede(change, made, other.id, other.life)
                    ledger.status[other.id] = "superseded"
                life = Lifeline(revision, (revision,), (State(status),))
                ledger.add(entry, Known(made, entry.same_key, entry.author_kind, life), status)
                noted.append(Noted(made, True, status, [other.id for other in older]))
                if status == "applied":
                    doubts.append(doubt_of(made, entry))
        found = invalidations(snap, doubts, {}, self.contradiction)
        write_invalidations(snap, change, found)
        first = self.entries[0]
        return Plan(
            change,
            self.kind,
            _summary(first, noted, found) if noted else "",
            first.reviewer or (first.agent_name if first.author_kind == "model" else ANONYMOUS),
            first.reason if len(self.entries) == 1 else "",
            noted[0].correction_id if noted else "",
            noted,
            {"noted": noted, "invalidated": found, "refused": refused},
        )

    def _repeat(self, change: ChangeSet, ledger: Ledger, runs: RunBook, entry: Entry, known: Known) -> Noted:
        see_again(change, known.id, entry, runs)
        status = ledger.status[known.id]
        older: list[Known] = []
        if status == "pending" and entry.author_kind == "human":
            # A person says the same: that is the approval it waited for.
            older = ledger.outdated(entry)
            for other in older:
                supersede(change, known.id, other.id, other.life)
                ledger.status[other.id] = "superseded"
            if known.life.born < change.revision:
                change.move("Correction", known.id, known.life, State("applied"))
                change.update("Correction", known.id, approved_by=entry.reviewer or ANONYMOUS)
            ledger.status[known.id] = status = "applied"
        return Noted(known.id, False, status, [other.id for other in older])

    def _of_claim(self, snap: Snapshot, change: ChangeSet) -> Plan:
        """A record that names a claim is that claim's correction."""
        if len(self.entries) > 1:
            raise InvalidInput("Corrections that name a claim are recorded one by one.", "claim_id")
        (entry,) = self.entries
        claim_id = str(entry.claim_id)
        claim = fetch_claims(snap, [claim_id]).get(claim_id)
        if claim is None:
            raise UnknownNode(f"There is no claim {claim_id} in this workspace.")
        ledger, runs = Ledger(snap, self.entries), RunBook(snap, change, self.entries)
        runs.check(entry)
        known = ledger.twin(entry)
        if known is not None and (ledger.status[known.id] == "applied" or entry.author_kind == "model"):
            see_again(change, known.id, entry, runs)
            return self._seen(change, entry, known.id, ledger.status[known.id])
        done = replacement_made(snap, claim, entry) if claim.status != "current" else None
        if done is not None:
            see_again(change, done, entry, runs)
            return self._seen(change, entry, done, "applied")
        request = request_for([(claim_id, claim_statements(entry, claim.statement))])
        if entry.author_kind == "model":
            work_out_request(snap, request)  # what could not be done now is refused now
            made = create_pending(change, entry, runs, claim.statement, request.changes[0].statement)
            noted = Noted(made, True, "pending")
            summary = f"{entry.agent_name} proposed to correct {quoted(claim.statement)}."
            return Plan(change, self.kind, summary, entry.agent_name, entry.reason, made, [noted], {"noted": [noted]})
        existing = known.id if known is not None else None
        if existing is not None:
            see_again(change, existing, entry, runs)
        plan = correct_claim(snap, change, request, entry, existing, self.contradiction)
        runs.hang(plan.ref, entry)
        noted = Noted(plan.ref, existing is None, "applied")
        plan.result = [noted]
        plan.facts["noted"] = [noted]
        return plan

    def _seen(self, change: ChangeSet, entry: Entry, correction_id: str, status: str) -> Plan:
        noted = [Noted(correction_id, False, status)]
        summary = _summary(entry, noted, [])
        facts: dict[str, Any] = {"noted": noted, "invalidated": []}
        return Plan(change, self.kind, summary, entry.reviewer or ANONYMOUS, entry.reason, correction_id, noted, facts)


@dataclass(frozen=True)
class Approving:
    """Plans that a pending correction takes effect: a person has looked at it."""

    correction_id: str
    reviewer: str
    contradiction: Contradiction | None

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """One that stands already changes nothing.

        Raises:
            UnknownNode: there is no such correction.
            NotAllowed: it was reverted, superseded, or the claim that it names is no longer current.
        """
        change = ChangeSet(revision)
        correction = fetch_corrections(snap, [require(self.correction_id, "Correction")]).get(self.correction_id)
        if correction is None:
            raise UnknownNode(f"There is no correction {self.correction_id} in this workspace.")
        if correction.status == "active":
            return Plan(change, "approve", result=correction.id)
        if correction.status != "pending":
            raise NotAllowed(f"{correction.id} is {correction.status}; only a pending correction can be approved.")
        reviewer = optional_text(self.reviewer, "reviewer", NAME_LIMIT) or ANONYMOUS
        entry = entry_of(correction, reviewer)
        if correction.claim_id is not None:
            request = Request(changes=(ClaimChange(claim_id=correction.claim_id, statement=correction.statement),))
            plan = correct_claim(snap, change, request, entry, correction.id, self.contradiction)
            plan.result = correction.id
            return plan
        ledger = Ledger(snap, [entry])
        older = ledger.outdated(entry)
        for other in older:
            supersede(change, correction.id, other.id, other.life)
        change.move("Correction", correction.id, correction_lives(snap, [correction.id])[correction.id], APPLIED)
        change.update("Correction", correction.id, approved_by=reviewer)
        found = invalidations(snap, [doubt_of(correction.id, entry)], {}, self.contradiction)
        write_invalidations(snap, change, found)
        summary = f"Approved a correction of {_what(entry)} that {entry.agent_name} had recorded."
        return Plan(change, "approve", summary, reviewer, "", correction.id, correction.id, {"invalidated": found})


@dataclass(frozen=True)
class Reverting:
    """Plans that a record is taken back: what it superseded stands again, and so do learnings that it invalidated."""

    correction_id: str
    reviewer: str
    reason: str

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """One that was reverted already changes nothing.

        Raises:
            UnknownNode: there is no such correction.
        """
        change = ChangeSet(revision)
        correction = fetch_corrections(snap, [require(self.correction_id, "Correction")]).get(self.correction_id)
        if correction is None:
            raise UnknownNode(f"There is no correction {self.correction_id} in this workspace.")
        if correction.status == "reverted":
            return Plan(change, "revert", result=correction.id)
        reviewer = optional_text(self.reviewer, "reviewer", NAME_LIMIT) or ANONYMOUS
        change.move("Correction", correction.id, correction_lives(snap, [correction.id])[correction.id], UNDONE)
        for older, life in superseded_by(snap, correction.id).items():
            change.end("SUPERSEDES", ("Correction", correction.id), ("Correction", older))
            if life.at(snap.revision).status != "superseded":
                continue
            if correction.superseded_by is not None:
                change.link("SUPERSEDES", ("Correction", correction.superseded_by), ("Correction", older))
            else:
                change.move("Correction", older, life, APPLIED)
        restored = restore(snap, change, [correction.id])
        back = f"; {counted(restored, 'learning')} stand again" if restored else ""
        summary = f"Reverted a correction of {_what(entry_of(correction, reviewer))}{back}."
        reason = optional_text(self.reason, "reason", 5_000)
        return Plan(change, "revert", summary, reviewer, reason, correction.id, correction.id)


APPLIED = State("applied")
UNDONE = State("undone")


def correct_claim(
    snap: Snapshot,
    change: ChangeSet,
    request: Request,
    entry: Entry,
    existing: str | None,
    contradiction: Contradiction | None,
) -> Plan:
    """Plan a claim's correction with everything that a record says of it."""
    assessed = work_out_request(snap, replace(request, tenant_id=entry.tenant_id), contradiction)
    return write_request(snap, change, assessed, entry.reviewer, entry.reason, entry=entry, existing=existing)


def create_output(change: ChangeSet, entry: Entry, runs: RunBook) -> str:
    """Write a correction of what an agent put out. Return its id."""
    status = "pending" if entry.author_kind == "model" else "applied"
    made = change.create(
        "Correction",
        new_id("Correction"),
        kind="output",
        reviewer=entry.reviewer or (entry.agent_name if entry.author_kind == "model" else ANONYMOUS),
        reason=entry.reason,
        at=now(),
        day=now()[:10],
        **entry.properties(),
        **born(change.revision, status),
    )
    runs.hang(made, entry)
    return made


def create_pending(change: ChangeSet, entry: Entry, runs: RunBook, says: str, statement: str | None) -> str:
    """Write a claim's correction that waits for a person. Return its id."""
    made = change.create(
        "Correction",
        new_id("Correction"),
        kind="retract" if statement is None else "correct",
        text=says,
        statement=statement,
        reviewer=entry.reviewer or entry.agent_name,
        reason=entry.reason,
        at=now(),
        day=now()[:10],
        **entry.properties(),
        **born(change.revision, "pending"),
    )
    change.link("PROPOSES", ("Correction", made), ("Claim", str(entry.claim_id)))
    runs.hang(made, entry)
    return made


def see_again(change: ChangeSet, correction_id: str, entry: Entry, runs: RunBook) -> None:
    """Count that the same correction was recorded once more."""
    sighting = change.create(
        "Sighting",
        new_id("Sighting"),
        at=now(),
        run=entry.run_id,
        session=entry.session_id,
        author_kind=entry.author_kind,
        actor=entry.reviewer or None,
        born=change.revision,
    )
    change.link("SEEN_AGAIN", ("Correction", correction_id), ("Sighting", sighting))
    runs.hang(correction_id, entry, again=True)


def supersede(change: ChangeSet, newer: str, older: str, life: Lifeline) -> None:
    """Let one record stand in the place of another."""
    change.link("SUPERSEDES", ("Correction", newer), ("Correction", older))
    if life.born < change.revision:
        change.move("Correction", older, life, State("superseded"))
        return
    for row in change.nodes["Correction"]:  # both are new: the older one begins as what it is
        if row["id"] == older:
            row["state"] = State("superseded").encode()


def entry_of(correction: Any, reviewer: str) -> Entry:
    """Return a stored correction as the entry that a person now stands behind."""
    from engine.entries import checked_entry

    return checked_entry(
        agent_name=correction.agent_name or "unknown",
        original_value=correction.original_value,
        corrected_value=correction.corrected_value,
        field=correction.field,
        reason=correction.reason,
        entity_key=correction.entity_key,
        run_id=correction.run_id,
        session_id=correction.session_id,
        original_input=correction.original_input,
        tags=correction.tags,
        scope=correction.scope,
        user_id=correction.user_id,
        tenant_id=correction.tenant_id,
        claim_id=correction.claim_id,
        author_kind=correction.author_kind,
        reviewer=reviewer,
    )


def doubt_of(correction_id: str, entry: Entry) -> Doubt:
    """Return what an entry says is wrong."""
    user = entry.user_id if entry.scope == "user" else None
    old = shown(entry.original_value)
    return Doubt(correction_id, entry.field, entry.entity_key, old, entry.tenant_id, user)


def _what(entry: Entry) -> str:
    where = " / ".join(part for part in (entry.entity_key, entry.field) if part)
    return quoted(where or shown(entry.original_value) or "an empty value")


def _summary(first: Entry, noted: Sequence[Noted], found: Sequence[Found]) -> str:
    created = sum(note.created for note in noted)
    also = told(found)
    if len(noted) > 1:
        again = len(noted) - created
        return f"Recorded {counted(created, 'correction')}, {again} seen again{also}."
    if not created:
        return f"Saw a correction of {_what(first)} again{also}."
    if noted[0].status == "pending":
        return f"{first.agent_name} recorded a correction of {_what(first)}, which waits for a person."
    wrong, right = quoted(shown(first.original_value) or "nothing"), quoted(shown(first.corrected_value) or "nothing")
    return f"Recorded for {first.agent_name}: {wrong} should be {right}{also}."
