"""A source replaced by a new version: which quotes still stand, moved or are gone. Nothing follows by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.errors import EvidenceRejected, InvalidInput, NotAllowed, UnknownNode
from engine.evidence import Accepted, write_evidence
from engine.ids import new_id, require
from engine.ingest import open_source, write_version
from engine.inputs import checked_text
from engine.origins import resolve, write_merged
from engine.planning import Plan
from engine.quotes import Quotes
from engine.reasons import counted, quoted
from engine.records import Claim, MovedQuote, ProposedClaim, Source, SourceReplacement
from engine.segmentation import fragments
from engine.store.claims import fetch_claims
from engine.store.commit import ChangeSet
from engine.store.snapshot import Snapshot
from engine.store.sources import fragment_spans, sources_with_text, version_text
from engine.store.structure import claims_quoting


def rewritable(snap: Snapshot, source_id: str) -> Source:
    """Return a source that may get a new version.

    Raises:
        UnknownNode: there is none with this id.
        NotAllowed: it was withdrawn, or is a human.
    """
    source = open_source(snap, source_id)
    if source.kind == "human":
        raise NotAllowed(f"{quoted(source.name)} is a person; correct what they said instead.")
    return source


def compare_quotes(snap: Snapshot, source_id: str, old_text: str, new_text: str) -> list[MovedQuote]:
    """Return what becomes of each quote of a source's current claims in another text of it."""
    quotes = Quotes(new_text)
    found = []
    for claim in fetch_claims(snap, claims_quoting(snap, source_id)).values():
        if claim.status != "current":
            continue
        for evidence in claim.evidence:
            if evidence.source_id != source_id:
                continue
            verdict = quotes.check(evidence.quote)
            stands_as_it_did = verdict.valid and (old_text == new_text or verdict.spans == evidence.spans)
            fate: Literal["kept", "moved", "gone"] = (
                "kept" if stands_as_it_did else "moved" if verdict.valid else "gone"
            )
            found.append(
                MovedQuote(
                    claim_id=claim.id,
                    statement=claim.statement,
                    quote=evidence.quote,
                    fate=fate,
                    spans=verdict.spans,
                    reason=verdict.reason,
                    did_you_mean=verdict.did_you_mean,
                    suggestion=verdict.suggestion,
                )
            )
    return found


@dataclass
class NewVersion:
    """Plans a new version of a source. Claims stay as they are, on the words of the old one."""

    source_id: str
    text: str

    def __post_init__(self) -> None:
        checked_text(self.text)
        self.sha256 = hashlib.sha256(self.text.encode("utf-8")).hexdigest()
        self.spans = fragments(self.text)

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """A text that is the newest version already changes nothing."""
        source = rewritable(snap, self.source_id)
        newest = source.versions[-1]
        change = ChangeSet(revision)
        version_id = newest.id
        if newest.sha256 != self.sha256:
            same = sources_with_text(snap, self.sha256)
            others = [s for s in same if s.source_id != self.source_id]
            if others:
                origins = resolve(snap, self.source_id, others, None, self.source_id, None)
                write_merged(change, snap, origins.merged)
            if same:
                version_id = same[0].version_id
            else:
                version_id = new_id("SourceVersion")
                write_version(change, version_id, self.text, self.sha256, self.spans)
            change.link(
                "HAS_VERSION", ("Source", self.source_id), ("SourceVersion", version_id), n=len(source.versions) + 1
            )
        moved = compare_quotes(snap, self.source_id, version_text(snap, newest.id), self.text)
        gone = sum(quote.fate == "gone" for quote in moved)
        return Plan(
            change,
            "replace",
            f"New version of {quoted(source.name)}: {counted(gone, 'quote')} no longer in it.",
            ref=self.source_id,
            result=(version_id, moved, change.empty),
        )


@dataclass
class Reanchoring:
    """Plans that claims rest on their source's newest version instead of an older one."""

    source_id: str
    claim_ids: Sequence[str]
    quotes: dict[str, str] | None = None

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Claims that rest on it already change nothing.

        Raises:
            EvidenceRejected: a quote does not stand in the newest version.
        """
        source = rewritable(snap, self.source_id)
        version_id = source.versions[-1].id
        text = Quotes(version_text(snap, version_id))
        places = fragment_spans(snap, version_id)
        claims = fetch_claims(snap, [require(claim_id, "Claim") for claim_id in self.claim_ids])
        change = ChangeSet(revision)
        for claim_id in self.claim_ids:
            claim = claims.get(claim_id)
            if claim is None:
                raise UnknownNode(f"There is no claim {claim_id} in this workspace.")
            self._reanchor(change, claim, version_id, text, places)
        return Plan(
            change,
            "reanchor",
            f"Anchored {counted(len(self.claim_ids), 'claim')} in the newest version of {quoted(source.name)}.",
            ref=self.source_id,
            result=list(self.claim_ids),
        )

    def _reanchor(
        self, change: ChangeSet, claim: Claim, version_id: str, text: Quotes, places: list[tuple[str, tuple[int, int]]]
    ) -> None:
        old = [e for e in claim.evidence if e.source_id == self.source_id and e.version_id != version_id]
        if not old and not any(e.source_id == self.source_id for e in claim.evidence):
            raise InvalidInput(f"{claim.id} has no evidence in this source.")
        if claim.status != "current":
            raise NotAllowed(f"{claim.id} is {claim.status}; only a current claim is anchored anew.")
        has = {e.quote for e in claim.evidence if e.version_id == version_id and e.source_id == self.source_id}
        for evidence in old:
            quote = (self.quotes or {}).get(claim.id, evidence.quote)
            verdict = text.check(quote)
            if not verdict.valid:
                raise EvidenceRejected(f"{claim.id}: {verdict.reason}")
            for fragment_id in evidence.fragment_ids:
                change.end("EVIDENCE", ("Claim", claim.id), ("SourceFragment", fragment_id), evidence.id)
            if quote not in has:
                has.add(quote)
                proposal = ProposedClaim(claim.statement, quote)
                accepted = Accepted(claim.statement, quote, tuple(verdict.spans), proposal)
                write_evidence(change, claim.id, self.source_id, version_id, places, accepted)


def report(plan: Plan, source_id: str, revision: int) -> SourceReplacement:
    """Return what a new version means for the claims of its source."""
    version_id, moved, unchanged = plan.result
    return SourceReplacement(
        source_id=source_id,
        version_id=version_id,
        revision=revision,
        unchanged=unchanged,
        kept=[quote for quote in moved if quote.fate == "kept"],
        moved=[quote for quote in moved if quote.fate == "moved"],
        gone=[quote for quote in moved if quote.fate == "gone"],
    )
