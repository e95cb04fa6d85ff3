"""Correcting: what a change would do, shown before it is made, and made only if that is still so.

A correction is evidence, not an edit: the replacement claim rests on the reviewer's own words and inherits nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engine.correction_records import Correction
from engine.effects import impact_of
from engine.entries import Entry, audience, claim_statements, index_text, party
from engine.errors import InvalidInput, NotAllowed, StalePreview, UnknownNode
from engine.humans import Human
from engine.ids import digest, kind_of, new_id, require
from engine.impact import OPEN, Change, Outcome, Reach, assess
from engine.inputs import STATEMENT_LIMIT, checked_text, optional_text, statement_key
from engine.learnings import (
    Contradiction,
    Doubt,
    Found,
    changed_words,
    invalidations,
    restore,
    told,
    write_invalidations,
)
from engine.planning import Plan, born, now, write_outcome
from engine.reasons import counted, join, quoted, shorten
from engine.records import Claim, ClaimChange, Impact, Preview
from engine.stale import differences
from engine.states import State
from engine.store.claims import fetch_claims
from engine.store.commit import ChangeSet
from engine.store.corrections import (
    correction_lives,
    corrections_by_request,
    corrections_of,
    corrections_saying,
    fetch_corrections,
    proposals_for,
    undone_at,
)
from engine.store.history import event
from engine.store.snapshot import Snapshot
from engine.store.sources import fetch_sources, source_lives
from engine.store.structure import claims_quoting, find, load_reach
from engine.undo import Undoing, work_out
from engine.undo import write as write_undoing

REVIEWER_LIMIT: Final = 200
REASON_LIMIT: Final = 5_000
ANONYMOUS: Final = "A reviewer"
NEVER: Final = 2**53
"""The revision at which a correction is outdated that is not."""


@dataclass(frozen=True)
class Request:
    """What a reviewer asks for: claims to correct or retract, a source to withdraw, or a correction to undo."""

    changes: tuple[ClaimChange, ...] = ()
    source_id: str | None = None
    undo: str | None = None
    tenant_id: str | None = None

    @property
    def kind(self) -> str:
        """One word for it, as previews and history have it."""
        if self.undo:
            return "undo"
        if self.source_id:
            return "withdraw"
        if len(self.changes) > 1:
            return "several"
        return "correct" if self.changes[0].statement is not None else "retract"


@dataclass
class Assessment:
    """A request worked out against one revision."""

    request: Request
    reach: Reach
    change: Change
    outcome: Outcome
    preview: Preview
    undoing: Undoing | None = None
    keys: list[str] = field(default_factory=list)
    invalidated: list[Found] = field(default_factory=list)
    """Each with what was corrected (a claim or a source) in the place of a correction, which is yet to be made."""


def request_for(changes: Sequence[tuple[str, str | None]]) -> Request:
    """Return the request to correct (or, with None, retract) claims.

    Raises:
        InvalidInput: a statement is empty, or a claim is named twice.
    """
    checked = []
    for claim_id, statement in changes:
        require(claim_id, "Claim")
        said = statement
        if said is not None:
            said = checked_text(said, "statement", STATEMENT_LIMIT).strip()
        checked.append(ClaimChange(claim_id=claim_id, statement=said))
    if not checked:
        raise InvalidInput("Nothing to correct: name at least one claim.")
    if len({change.claim_id for change in checked}) < len(checked):
        raise InvalidInput("A claim is named twice. Correct each claim once.")
    return Request(changes=tuple(checked))


def request_of(preview: Preview) -> Request:
    """Return the request that a preview was made for."""
    if preview.kind == "undo":
        return Request(undo=preview.undoes[0])
    if preview.kind == "withdraw":
        return Request(source_id=preview.source_id)
    return Request(changes=tuple(preview.changes))


def request_made(corrections: Sequence[Correction]) -> Request:
    """Return the request that made these corrections, which share a revision."""
    first = corrections[0]
    if first.kind == "withdraw":
        return Request(source_id=first.source_id)
    return Request(changes=tuple(ClaimChange(claim_id=str(k.claim_id), statement=k.statement) for k in corrections))


def work_out_request(snap: Snapshot, request: Request, contradiction: Contradiction | None = None) -> Assessment:
    """Work out what a request would do to the workspace as of `snap`. Changes nothing.

    With `contradiction`, also which learnings say what it finds wrong.

    Raises:
        UnknownNode: it names what is not there.
        NotAllowed: a claim is not current, or the source is withdrawn already.
        InvalidInput: a replacement says what the claim says already.
    """
    revision = snap.revision + 1
    undoing = None
    claims: dict[str, Claim] = {}
    keys: list[str] = []
    claim_revision = 0
    if request.undo is not None:
        named = fetch_corrections(snap, [require(request.undo, "Correction")]).get(request.undo)
        if named is not None and (named.kind == "output" or named.status == "pending"):
            raise NotAllowed(f"{request.undo} changed no claim: revert it with `ws.corrections.revert`.")
        undoing = work_out(snap, request.undo, revision)
        if undoing.corrections[0].undone is not None:
            raise NotAllowed(f"{request.undo} was undone already, in revision {undoing.corrections[0].undone}.")
        reach, change, outcome = undoing.reach, undoing.change, undoing.outcome
        claims = fetch_claims(snap, undoing.edited)
        claim_revision = max((claim.revision for claim in claims.values()), default=0)
    elif request.source_id is not None:
        source = fetch_sources(snap, [require(request.source_id, "Source")]).get(request.source_id)
        if source is None:
            raise UnknownNode(f"There is no source {request.source_id} in this workspace.")
        if source.status == "withdrawn":
            raise NotAllowed(f"“{shorten(source.name)}” is withdrawn already.")
        reach = load_reach(snap, claims_quoting(snap, request.source_id))
        change = Change(sources={request.source_id: False})
        outcome = assess(reach, change, revision)
        claims = fetch_claims(snap, outcome.retracted)
        claim_revision = source.revision
        keys = [digest("withdraw", request.source_id, str(source.revision))]
    else:
        claims = fetch_claims(snap, [c.claim_id for c in request.changes])
        for asked in request.changes:
            _check(claims.get(asked.claim_id), asked)
        change = Change(
            statuses={c.claim_id: "retracted" if c.statement is None else "superseded" for c in request.changes}
        )
        reach = load_reach(snap, change.statuses)
        outcome = assess(reach, change, revision)
        claim_revision = max(claim.revision for claim in claims.values())
        keys = [_request_key(c, reach.lives[c.claim_id].changed(snap.revision)) for c in request.changes]
    first = request.changes[0] if request.changes else None
    invalidated = [] if undoing else _invalidated(snap, request, outcome, claims, contradiction)
    preview = Preview(
        kind=request.kind,  # type: ignore[arg-type]
        claim=claims.get(first.claim_id) if first else next(iter(claims.values()), None),
        statement=first.statement if first else None,
        changes=list(request.changes),
        claims=list(claims.values()),
        source_id=request.source_id,
        undoes=[c.id for c in undoing.corrections] if undoing else [],
        workspace_id=snap.workspace_id,
        workspace_revision=snap.revision,
        claim_revision=claim_revision,
        digest="",
        impact=impact_of(snap, reach, change, outcome),
        invalidates=[found.shown for found in invalidated],
        invalidate_contradicted=contradiction is not None,
    )
    preview = preview.model_copy(update={"digest": shown_digest(preview)})
    return Assessment(request, reach, change, outcome, preview, undoing, keys, invalidated)


def _invalidated(
    snap: Snapshot,
    request: Request,
    outcome: Outcome,
    claims: dict[str, Claim],
    contradiction: Contradiction | None,
) -> list[Found]:
    first = request.source_id or request.changes[0].claim_id
    changed = {change.claim_id: change.statement for change in request.changes}
    lost = {
        name: name if name in changed else first
        for name, fate in outcome.fates.items()
        if kind_of(name) != "Action" and not (fate.after.supported and fate.after.status in OPEN)
    }
    doubts = [
        Doubt(
            claim_id,
            None,
            None,
            claims[claim_id].statement,
            request.tenant_id,
            words=changed_words(claims[claim_id].statement, statement),
        )
        for claim_id, statement in changed.items()
    ]
    return invalidations(snap, doubts, lost, contradiction)


def shown_digest(preview: Preview) -> str:
    """Return the digest of all that a preview shows, the workspace's revision aside."""
    shown = preview.model_dump(mode="json", exclude={"digest", "workspace_revision"})
    return digest(json.dumps(shown, ensure_ascii=False, sort_keys=True))


def _check(claim: Claim | None, asked: ClaimChange) -> None:
    if claim is None:
        raise UnknownNode(f"There is no claim {asked.claim_id} in this workspace.")
    if claim.status != "current":
        instead = f" Correct {claim.superseded_by}, which replaced it." if claim.superseded_by else ""
        raise NotAllowed(f"{claim.id} (“{shorten(claim.statement)}”) is {claim.status} already.{instead}")
    if asked.statement is not None and statement_key(asked.statement) == statement_key(claim.statement):
        raise InvalidInput("The replacement says what the claim says already. Type what is right.")


def _request_key(asked: ClaimChange, claim_since: int) -> str:
    what = ["retract"] if asked.statement is None else ["correct", asked.statement]
    return digest(asked.claim_id, str(claim_since), *what)


@dataclass
class Applying:
    """Plans what a preview showed; refuses when something else would happen now."""

    preview: Preview
    reviewer: str = ""
    reason: str = ""
    contradiction: Contradiction | None = None

    def __post_init__(self) -> None:
        for value, what, limit in (
            (self.reviewer, "reviewer", REVIEWER_LIMIT),
            (self.reason, "reason", REASON_LIMIT),
        ):
            optional_text(value, what, limit)
        if shown_digest(self.preview) != self.preview.digest:
            raise InvalidInput("This preview was altered after it was made. Make it again with `ws.preview`.")

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Plan the correction, or find that it was made already.

        Raises:
            StalePreview: what was shown would not happen any more.
        """
        if self.preview.workspace_id != snap.workspace_id:
            raise InvalidInput("This preview was made for another workspace.")
        request = request_of(self.preview)
        change = ChangeSet(revision)
        done = already_done(snap, self.preview)
        if done:
            return Plan(change, request.kind, result=done)
        try:
            now_shown = work_out_request(snap, request, self.contradiction)
        except (NotAllowed, UnknownNode) as error:
            raise self._stale(snap, str(error)) from error
        if now_shown.preview.digest != self.preview.digest:
            changed = differences(self.preview, now_shown.preview)
            raise StalePreview(
                f"What you were shown would no longer happen: {' '.join(changed)} Look at the fresh preview.",
                now_shown.preview,
                changed,
            )
        return write_request(
            snap,
            change,
            now_shown,
            optional_text(self.reviewer, "reviewer", REVIEWER_LIMIT),
            optional_text(self.reason, "reason", REASON_LIMIT),
        )

    def _stale(self, snap: Snapshot, why: str) -> StalePreview:
        """The request cannot be made any more: show it for what stands in the claim's place now."""
        message = f"What you were shown would no longer happen: {why}"
        named = [change.claim_id for change in self.preview.changes] or [c.id for c in self.preview.claims]
        claims = fetch_claims(snap, named)
        if len(self.preview.changes) == 1 and claims:
            claim = next(iter(claims.values()))
            while claim.superseded_by:
                claim = fetch_claims(snap, [claim.superseded_by])[claim.superseded_by]
            asked = self.preview.changes[0].statement
            says_it = asked is not None and statement_key(asked) == statement_key(claim.statement)
            if claim.status == "current" and not says_it:
                return StalePreview(message, work_out_request(snap, request_for([(claim.id, asked)])).preview, [why])
            claims = {claim.id: claim}
        # Nothing is left to be done: the fresh preview shows what is there, and no effect.
        nothing = self.preview.model_copy(
            update={
                "claim": next(iter(claims.values()), None),
                "claims": list(claims.values()),
                "workspace_revision": snap.revision,
                "claim_revision": max((claim.revision for claim in claims.values()), default=0),
                "impact": Impact(),
            }
        )
        return StalePreview(message, nothing.model_copy(update={"digest": shown_digest(nothing)}), [why])


@dataclass(frozen=True)
class Unmaking:
    """Plans an undo that nobody was shown beforehand: whatever it does then, it does as one revision."""

    correction_id: str
    reviewer: str = ""
    reason: str = ""

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """A correction that is undone already changes nothing; those undone with it are named again.

        Raises:
            UnknownNode: there is no such correction.
        """
        reviewer = optional_text(self.reviewer, "reviewer", REVIEWER_LIMIT)
        reason = optional_text(self.reason, "reason", REASON_LIMIT)
        change = ChangeSet(revision)
        require(self.correction_id, "Correction")
        life = correction_lives(snap, [self.correction_id]).get(self.correction_id)
        if life is not None and life.at(snap.revision).status == "undone":
            undone = life.changed(snap.revision)
            happened = event(snap, undone)
            asked = str(happened["ref"]) if happened else self.correction_id
            return Plan(change, "undo", result=[asked, *(k for k in undone_at(snap, undone) if k != asked)])
        return write_request(snap, change, work_out_request(snap, Request(undo=self.correction_id)), reviewer, reason)


def already_done(snap: Snapshot, preview: Preview) -> list[str]:
    """Return the corrections that carried out this very preview's request, if it was carried out."""
    if preview.kind == "undo":
        undone = [k.id for k in fetch_corrections(snap, preview.undoes).values() if k.status == "reverted"]
        return undone if len(undone) == len(preview.undoes) else []
    if preview.kind == "withdraw":
        wanted = [[digest("withdraw", str(preview.source_id), str(preview.claim_revision))]]
    else:
        found_lives = find(snap, [c.claim_id for c in preview.changes])
        wanted = [
            [_request_key(c, since) for since in found_lives[c.claim_id].life.since]
            if c.claim_id in found_lives
            else []
            for c in preview.changes
        ]
    made = corrections_by_request(snap, [key for keys in wanted for key in keys])
    done = [made[key] for keys in wanted for key in keys if key in made]
    return done if len(done) == len(wanted) else []


def write_request(
    snap: Snapshot,
    change: ChangeSet,
    assessed: Assessment,
    reviewer: str,
    reason: str,
    *,
    entry: Entry | None = None,
    existing: str | None = None,
) -> Plan:
    """Write a request that was worked out for this very revision.

    `entry` is the record that asked for it, where one did; `existing` the correction that waited for it.
    """
    request = assessed.request
    who = reviewer or ANONYMOUS
    write_outcome(change, assessed.reach, assessed.outcome)
    facts: dict[str, Any] = {"impact": assessed.preview.impact, "invalidated": assessed.invalidated}
    counts = assessed.preview.impact.counts
    brings = join(
        [
            f"{counts[tier]} {words}"
            for tier, words in (
                ("acted", "acted on"),
                ("needs_review", "to review"),
                ("held", "held"),
                ("weakened", "weakened"),
                ("restored", "restored"),
            )
            if counts[tier]
        ]
    )
    brings = (f" ({brings})" if brings else "") + told(assessed.invalidated)
    if assessed.undoing is not None:
        write_undoing(snap, change, assessed.undoing)
        ids = [correction.id for correction in assessed.undoing.corrections]
        restore(snap, change, ids)
        back = [name for name, state in assessed.change.statuses.items() if state == "current"]
        for older in corrections_saying(snap, back):
            change.update("Correction", older, outdated=NEVER)
        summary = f"Undid {counted(len(ids), 'correction')}{brings}."
        return Plan(change, "undo", summary, who, reason, ids[0], ids, facts)
    if request.source_id is not None:
        source = fetch_sources(snap, [request.source_id])[request.source_id]
        correction = _correction(change, "withdraw", source.name, None, who, reason, assessed.keys[0])
        _invalidate(snap, change, assessed, {request.source_id: correction})
        _outdate(snap, change, assessed.outcome.retracted)
        lives = source_lives(snap)
        state = lives[request.source_id].at(snap.revision)
        change.move("Source", request.source_id, lives[request.source_id], state._replace(status="withdrawn"))
        change.link("WITHDRAWS", ("Correction", correction), ("Source", request.source_id))
        for claim in assessed.outcome.retracted:
            change.link("CORRECTS", ("Correction", correction), ("Claim", claim), role="withdrawn")
        summary = f"Withdrew {quoted(source.name)}{brings}."
        return Plan(change, "withdraw", summary, who, reason, correction, [correction], facts)
    claims = {claim.id: claim for claim in assessed.preview.claims}
    made: dict[str, str] = {}
    human: Human | None = None
    for asked, key in zip(request.changes, assessed.keys, strict=True):
        old = claims[asked.claim_id]
        if asked.statement is None:
            correction = _correction(change, "retract", old.statement, None, who, reason, key, entry, existing)
        else:
            human = human or Human.find(snap, change, who)
            correction = _correction(
                change, "correct", old.statement, asked.statement, who, reason, key, entry, existing
            )
            replacement, fragment = human.states(change, asked.statement)
            change.link("SUPERSEDES", ("Claim", replacement), ("Claim", old.id))
            change.link("REPLACES_WITH", ("Correction", correction), ("Claim", replacement))
            change.link("SAYS", ("Correction", correction), ("SourceFragment", fragment))
        change.link("CORRECTS", ("Correction", correction), ("Claim", old.id), role="corrected")
        made[asked.claim_id] = correction
    if existing is not None:
        change.move("Correction", existing, correction_lives(snap, [existing])[existing], State("applied"))
    for claim_id, pending, life in proposals_for(snap, made):
        if pending != existing:  # the claim is no longer what it proposed to correct
            change.move("Correction", pending, life, State("superseded"))
            change.link("SUPERSEDES", ("Correction", made[claim_id]), ("Correction", pending))
    _outdate(snap, change, [*made, *assessed.outcome.retracted])
    _invalidate(snap, change, assessed, made)
    first = request.changes[0]
    what = quoted(claims[first.claim_id].statement)
    if len(made) > 1:
        summary = f"Corrected {len(made)} claims, {what} among them{brings}."
    elif first.statement is None:
        summary = f"Retracted {what}{brings}."
    else:
        summary = f"Corrected {what} to {quoted(first.statement)}{brings}."
    ids = list(made.values())
    return Plan(change, request.kind, summary, who, reason, ids[0], ids, facts)


def _outdate(snap: Snapshot, change: ChangeSet, claims: Sequence[str]) -> None:
    """Mark the corrections whose own replacement falls: what they said is right is known to be wrong."""
    for older in corrections_saying(snap, claims):
        change.update("Correction", older, outdated=change.revision)


def _invalidate(snap: Snapshot, change: ChangeSet, assessed: Assessment, made: dict[str, str]) -> None:
    """Write the invalidations, now that the corrections have ids."""
    found = [replace(found, correction_id=made[found.correction_id]) for found in assessed.invalidated]
    assessed.invalidated[:] = found
    write_invalidations(snap, change, found)


def _correction(
    change: ChangeSet,
    kind: str,
    original: str,
    statement: str | None,
    who: str,
    reason: str,
    key: str,
    entry: Entry | None = None,
    existing: str | None = None,
) -> str:
    if entry is not None:
        record = entry.properties()
    else:
        # What everybody who uses this memory may learn from.
        record = {
            "scope": "global",
            "author_kind": "human",
            # That a source was withdrawn says nothing about anybody's output.
            "audience": audience("global", None, None, None) if kind != "withdraw" else None,
            "tenant_key": party("tenant", None),
            "terms": index_text(None, None, original, statement, reason, None),
        }
    props = {
        "kind": kind,
        "text": original,
        "statement": statement,
        "reviewer": who,
        "reason": reason,
        "request_key": key,
    }
    if existing is not None:
        change.update("Correction", existing, request_key=key, approved_by=who)
        return existing
    when = now()
    made = {**record, **props, "at": when, "day": when[:10]}
    return change.create("Correction", new_id("Correction"), **made, **born(change.revision, "applied"))


def replacement_made(snap: Snapshot, claim: Claim, entry: Entry) -> str | None:
    """Return the correction that made of a claim what an entry asks for, where one did."""
    made = {k: life for k, role, life in corrections_of(snap, [claim.id]).get(claim.id, []) if role == "corrected"}
    standing = [k for k, life in made.items() if life.at(snap.revision).status == "applied"]
    asked = claim_statements(entry, claim.statement)
    for correction in fetch_corrections(snap, standing).values():
        if correction.tenant_id not in (None, entry.tenant_id):
            continue  # another tenant's is never shown
        said = correction.statement
        if said == asked or (said is not None and asked is not None and statement_key(said) == statement_key(asked)):
            return correction.id
    return None
