"""Taking a text in: the source, its version and fragments, and the claims whose quotes stand in it."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.errors import InvalidInput, NotAllowed, UnknownNode
from engine.extraction import Extractor
from engine.ids import derived_id, digest, new_id, require
from engine.impact import Change
from engine.origins import encode, resolve, write_merged
from engine.planning import Plan, born, spread
from engine.quotes import Quotes
from engine.reasons import counted, shorten
from engine.records import ProposedClaim, Rejection, SourceKind, Span
from engine.segmentation import fragments
from engine.store.claims import claims_of_version, claims_with_keys, fetch_claims
from engine.store.commit import ChangeSet
from engine.store.snapshot import Snapshot
from engine.store.sources import (
    fetch_sources,
    fragment_spans,
    record_exists,
    sources_named,
    sources_with_text,
    version_text,
)
from engine.store.structure import sources_states
from engine.support import Ground
from engine.terms import index_terms

STATEMENT_LIMIT: Final = 10_000
NAME_LIMIT: Final = 500
TEXT_LIMIT: Final = 50_000_000


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


@dataclass(frozen=True)
class Outcome:
    """What an ingest wrote."""

    source_id: str
    version_id: str
    fragments: int
    claims: list[str]
    rejected: list[Rejection]
    unchanged: bool
    notes: list[str]
    extractor: str | None


def checked_text(text: object, what: str = "text", limit: int = TEXT_LIMIT) -> str:
    """Return `text` if it can be stored exactly; raise InvalidInput, naming `what`, if it cannot."""
    if type(text) is not str:
        raise InvalidInput(f"The {what} must be a string, not {type(text).__name__}.")
    if not text or not text.strip():
        raise InvalidInput(f"The {what} is empty. Give at least one word.")
    if len(text) > limit:
        raise InvalidInput(f"The {what} has {len(text):,} characters; at most {limit:,} are taken. Split it.")
    for position, character in enumerate(text) if "\0" in text or not text.isascii() else ():
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise InvalidInput(
                f"The {what} has a character at offset {position} that cannot be stored "
                f"(U+{ord(character):04X}). Remove it, or decode the file with its right encoding."
            )
    return text


def statement_key(statement: str) -> str:
    """Return what two statements share when they are the same but for layout."""
    return digest(unicodedata.normalize("NFC", " ".join(statement.split())))


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


def default_name(text: str) -> str:
    """Return the first line that says something, as a source's name."""
    line = next((line for line in text.splitlines() if line.strip()), "Untitled")
    return shorten(line, 60)


class NewText:
    """Plans the ingest of a text; the slow parts are done once, however often the plan is made."""

    def __init__(
        self,
        text: str,
        name: str | None,
        kind: SourceKind,
        origin: str | None,
        copy_of: str | None,
        derived_from: list[str] | None,
        extractor: Extractor | None,
    ) -> None:
        self.text = checked_text(text)
        self.name = checked_text(name, "name", NAME_LIMIT) if name is not None else default_name(text)
        self.kind = kind
        self.origin = origin
        self.copy_of = copy_of
        self.derived_from = derived_from
        self.sha256 = hashlib.sha256(text.encode("utf-8")).hexdigest()
        self.extractor = extractor
        self._reviewed: Reviewed | None = None
        self._fragments: list[Span] | None = None

    @property
    def reviewed(self) -> Reviewed:
        """The extractor's proposals after the rules."""
        if self._reviewed is None:
            self._reviewed = review(self.text, self.extractor.propose(self.text)) if self.extractor else Reviewed()
        return self._reviewed

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Plan the ingest; a text that this source has already changes nothing."""
        change = ChangeSet(revision)
        same_text = sources_with_text(snap, self.sha256)
        for same in same_text:
            if same.name == self.name:
                return self._unchanged(snap, change, same.source_id, same.version_id)
        source_id = new_id("Source")
        origins = resolve(snap, source_id, same_text, self.origin, self.copy_of, self.derived_from)
        write_merged(change, snap, origins.merged)
        notes = [origins.note] if origins.note else []
        if sources_named(snap, self.name):
            notes.append(
                f"Another source is called “{shorten(self.name)}” already, with a different text; "
                "both are kept. To record a new version of a source, replace it."
            )
        change.create(
            "Source",
            source_id,
            name=self.name,
            kind=self.kind,
            copy_of=self.copy_of,
            **born(revision, "active", note=encode(origins.names)),
        )
        if same_text:
            version_id = same_text[0].version_id
            places = fragment_spans(snap, version_id)
        else:
            version_id = new_id("SourceVersion")
            places = write_version(change, version_id, self.text, self.sha256, self.fragments)
        change.link("HAS_VERSION", ("Source", source_id), ("SourceVersion", version_id), n=1)
        taken = accept(snap, change, source_id, version_id, places, self.reviewed.accepted, "extracted")
        rejected = [*self.reviewed.rejected, *taken.rejected]
        extractor = self.extractor.name if self.extractor else None
        write_record(change, source_id, version_id, extractor, rejected)
        return Plan(
            change,
            "ingest",
            f"Took in “{shorten(self.name)}”: {counted(len(taken.claims), 'claim')}, {len(rejected)} rejected.",
            ref=source_id,
            result=Outcome(
                source_id,
                version_id,
                len(places),
                taken.claims,
                rejected,
                False,
                notes + taken.notes,
                extractor,
            ),
        )

    @property
    def fragments(self) -> list[Span]:
        """The spans that tile the text."""
        if self._fragments is None:
            self._fragments = fragments(self.text)
        return self._fragments

    def _unchanged(self, snap: Snapshot, change: ChangeSet, source_id: str, version_id: str) -> Plan:
        claims = [
            claim.id
            for claim in fetch_claims(snap, claims_of_version(snap, version_id)).values()
            if claim.status == "current" and any(e.source_id == source_id for e in claim.evidence)
        ]
        return Plan(
            change,
            "ingest",
            result=Outcome(
                source_id,
                version_id,
                len(fragment_spans(snap, version_id)),
                claims,
                [],
                True,
                ["This text is here already; nothing was changed."],
                None,
            ),
        )


class Submitted:
    """Plans claims proposed for a source that is there."""

    def __init__(self, source_id: str, proposals: Sequence[ProposedClaim]) -> None:
        self.source_id = require(source_id, "Source")
        self.proposals = list(proposals)
        for proposal in self.proposals:
            if not isinstance(proposal, ProposedClaim):
                raise InvalidInput(
                    f"Each proposal must be a ProposedClaim(statement, evidence_quote), not {type(proposal).__name__}."
                )
        self._reviewed: dict[str, Reviewed] = {}

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Plan the claims; those that are there with this very evidence change nothing."""
        source = fetch_sources(snap, [self.source_id]).get(self.source_id)
        if source is None:
            raise UnknownNode(f"There is no source {self.source_id} in this workspace.")
        if source.status == "withdrawn":
            raise NotAllowed(
                f"“{shorten(source.name)}” was withdrawn, so nothing new can rest on it. Undo the withdrawal first."
            )
        version_id = source.versions[-1].id
        if version_id not in self._reviewed:
            self._reviewed[version_id] = review(version_text(snap, version_id), self.proposals)
        reviewed = self._reviewed[version_id]
        change = ChangeSet(revision)
        places = fragment_spans(snap, version_id)
        taken = accept(snap, change, self.source_id, version_id, places, reviewed.accepted, "proposed")
        rejected = [*reviewed.rejected, *taken.rejected]
        record_id = derived_id(
            "IngestRecord", self.source_id, version_id, *(p.model_dump_json() for p in self.proposals)
        )
        if not change.empty or (rejected and not record_exists(snap, record_id)):
            record_id = record_id if not record_exists(snap, record_id) else new_id("IngestRecord")
            write_record(change, self.source_id, version_id, "submitted", rejected, record_id)
        return Plan(
            change,
            "ingest",
            f"Took {counted(len(taken.claims), 'proposed claim')} for “{shorten(source.name)}”, "
            f"{len(rejected)} rejected.",
            ref=self.source_id,
            result=Outcome(
                self.source_id,
                version_id,
                len(places),
                taken.claims,
                rejected,
                change.empty,
                taken.notes,
                "submitted",
            ),
        )


def write_version(
    change: ChangeSet, version_id: str, text: str, sha256: str, spans: Sequence[Span]
) -> list[tuple[str, Span]]:
    """Write a version and the fragments that tile it. Return the fragments with their spans."""
    revision = change.revision
    change.create("SourceVersion", version_id, sha256=sha256, length=len(text), born=revision)
    places = []
    for start, end in spans:
        fragment_id = change.create(
            "SourceFragment",
            new_id("SourceFragment"),
            text=text[start:end],
            start=start,
            end=end,
            born=revision,
        )
        change.link("HAS_FRAGMENT", ("SourceVersion", version_id), ("SourceFragment", fragment_id))
        places.append((fragment_id, (start, end)))
    return places


def write_record(
    change: ChangeSet,
    source_id: str,
    version_id: str,
    extractor: str | None,
    rejected: Sequence[Rejection],
    record_id: str | None = None,
) -> None:
    """Keep what was rejected, and by whom it was proposed."""
    record = change.create(
        "IngestRecord",
        record_id or new_id("IngestRecord"),
        source=source_id,
        version=version_id,
        extractor=extractor or "none",
        rejected=json.dumps([rejection.model_dump() for rejection in rejected], ensure_ascii=False),
        born=change.revision,
    )
    change.link("INGESTED", ("IngestRecord", record), ("SourceVersion", version_id))


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
        if claim_id not in taken.claims:
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
    for fragment_id, (start, end) in places:
        if any(a < end and start < b for a, b in proposal.spans):
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
