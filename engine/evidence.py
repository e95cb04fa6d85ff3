"""Evidence: proposals checked against the text itself, and what is kept of them as claims."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.errors import InvalidInput
from engine.ids import new_id
from engine.impact import Change
from engine.inputs import STATEMENT_LIMIT, checked_text, statement_key
from engine.planning import born, spread
from engine.quotes import Quotes
from engine.reasons import counted
from engine.records import ProposedClaim, Rejection, Span
from engine.store.claims import claims_with_keys, fetch_claims
from engine.store.commit import ChangeSet
from engine.store.snapshot import Snapshot
from engine.store.structure import sources_states
from engine.support import Ground
from engine.terms import index_terms


@dataclass(frozen=True)
class Accepted:
    """A proposal whose quote stands in the text, with every place where it does."""

    statement: str
    quote: str
    spans: tuple[Span, ...]
    proposal: ProposedClaim


@dataclass(frozen=True)
class Reviewed:
    """Proposals after the rules: what may become a claim, and what may not and why."""

    accepted: list[Accepted] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)


def review(text: str, proposals: Iterable[ProposedClaim]) -> Reviewed:
    """Check each proposal's quote against the text itself."""
    quotes = Quotes(text)
    reviewed = Reviewed()
    for proposal in proposals:
        try:
            checked_text(proposal.statement, "statement", STATEMENT_LIMIT)
        except InvalidInput as error:
            reviewed.rejected.append(Rejection(proposal=proposal, code="statement", reason=str(error)))
            continue
        verdict = quotes.check(proposal.evidence_quote)
        if verdict.valid:
            reviewed.accepted.append(
                Accepted(proposal.statement.strip(), proposal.evidence_quote, tuple(verdict.spans), proposal)
            )
        else:
            reviewed.rejected.append(
                Rejection(
                    proposal=proposal,
                    code=verdict.code,
                    reason=verdict.reason,
                    did_you_mean=verdict.did_you_mean,
                    suggestion=verdict.suggestion,
                )
            )
    return reviewed


@dataclass
class Taken:
    """Claims that came of accepted proposals, in their order."""

    claims: list[str] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def accept(
    snap: Snapshot,
    change: ChangeSet,
    source_id: str,
    version_id: str,
    places: Sequence[tuple[str, Span]],
    accepted: Sequence[Accepted],
    confidence_kind: str,
) -> Taken:
    """Write accepted proposals as claims, or as evidence of claims that say the same already."""
    taken = Taken()
    keys = {statement_key(proposal.statement) for proposal in accepted}
    known = claims_with_keys(snap, keys)
    details = fetch_claims(snap, (found.id for group in known.values() for found in group))
    current = {
        key: next((f.id for f in group if f.life.at(snap.revision).status == "current"), None)
        for key, group in known.items()
    }
    here = {
        key: [
            details[found.id]
            for found in group
            if details[found.id].status != "current"
            and any(evidence.version_id == version_id for evidence in details[found.id].evidence)
        ]
        for key, group in known.items()
    }
    made: dict[str, str] = {}
    given: set[tuple[str, str]] = set()
    listed: set[str] = set()
    gained: dict[str, list[Ground]] = {}
    corrected_elsewhere = 0
    for proposal in accepted:
        key = statement_key(proposal.statement)
        claim_id = made.get(key) or current.get(key)
        if claim_id is None and here.get(key):
            old = here[key][0]
            taken.rejected.append(
                Rejection(
                    proposal=proposal.proposal,
                    code="corrected_before",
                    reason=f"This statement of this text was {old.status} before, as {old.id}. "
                    "Undo that correction if it should stand again.",
                )
            )
            continue
        if claim_id is None:
            corrected_elsewhere += key in known
            claim_id = made[key] = new_id("Claim")
            change.create(
                "Claim",
                claim_id,
                statement=proposal.statement,
                statement_key=key,
                terms=index_terms(f"{proposal.statement}\n{proposal.quote}"),
                confidence_kind=confidence_kind,
                **born(change.revision, "current"),
            )
        if claim_id not in listed:
            listed.add(claim_id)
            taken.claims.append(claim_id)
        has = details[claim_id].evidence if claim_id in details else []
        if (claim_id, proposal.quote) in given or any(
            (e.source_id, e.version_id, e.quote) == (source_id, version_id, proposal.quote) for e in has
        ):
            continue
        given.add((claim_id, proposal.quote))
        evidence_id = write_evidence(change, claim_id, source_id, version_id, places, proposal)
        if claim_id in details and not details[claim_id].supported:
            gained.setdefault(claim_id, []).append(Ground(evidence_id, source_id, frozenset({source_id})))
    if gained:
        states = sources_states(snap, [source_id])
        if source_id not in states or states[source_id].status == "active":
            spread(snap, change, Change(grounds={claim: tuple(new) for claim, new in gained.items()}))
    if corrected_elsewhere:
        taken.notes.append(
            f"{counted(corrected_elsewhere, 'statement')} taken from this text had been corrected where "
            "another text said the same. Look whether the correction holds here too."
        )
    return taken


def touched(places: Sequence[tuple[str, Span]], spans: Sequence[Span]) -> list[str]:
    """Return the fragments, which tile a text in order, that any of `spans` touches."""
    found: dict[str, None] = {}
    for start, end in spans:
        first = bisect_right(places, start, key=lambda place: place[1][0]) - 1
        last = bisect_left(places, end, key=lambda place: place[1][0])
        found |= dict.fromkeys(fragment for fragment, _ in places[first:last])
    return list(found)


def write_evidence(
    change: ChangeSet,
    claim_id: str,
    source_id: str,
    version_id: str,
    places: Sequence[tuple[str, Span]],
    proposal: Accepted,
    role: str = "quoted",
) -> str:
    """Link a claim to every fragment that any occurrence of its quote touches. Return the evidence's id."""
    evidence_id = new_id("Evidence")
    for fragment_id in touched(places, proposal.spans):
        change.link(
            "EVIDENCE",
            ("Claim", claim_id),
            ("SourceFragment", fragment_id),
            id=evidence_id,
            quote=proposal.quote,
            starts=[a for a, _ in proposal.spans],
            ends=[b for _, b in proposal.spans],
            source=source_id,
            version=version_id,
            role=role,
        )
    return evidence_id
