"""Taking a text in: the source, its version and fragments, and the claims whose quotes stand in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.errors import InvalidInput, NotAllowed, UnknownNode
from engine.evidence import Reviewed, accept, review
from engine.extraction import Extractor
from engine.ids import derived_id, new_id, require
from engine.inputs import NAME_LIMIT, checked_text
from engine.origins import encode, resolve, write_merged
from engine.planning import Plan, born
from engine.reasons import counted, shorten
from engine.records import ProposedClaim, Rejection, Source, SourceKind, Span
from engine.reminders import Reminders
from engine.segmentation import fragments
from engine.store.claims import claims_of_version, fetch_claims
from engine.store.commit import ChangeSet
from engine.store.snapshot import Snapshot
from engine.store.sources import (
    SameText,
    fetch_sources,
    fragment_spans,
    record_exists,
    sources_named,
    sources_with_text,
    version_text,
)


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
    shown: list[str] = field(default_factory=list)


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
        reminders: Reminders | None = None,
    ) -> None:
        self.reminders = reminders or Reminders()
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
            self._reviewed = (
                review(self.text, self.extractor.propose(self.text, self.reminders.section))
                if self.extractor
                else Reviewed()
            )
        return self._reviewed

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Plan the ingest; a text that this source has already changes nothing."""
        change = ChangeSet(revision)
        same_text = sources_with_text(snap, self.sha256)
        for same in same_text:
            if same.name == self.name:
                return self._known(snap, change, same)
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
        record = write_record(change, source_id, version_id, extractor, rejected)
        self.reminders.write(change, record)
        notes += self.reminders.warnings(self.text)
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
                [correction.id for correction in self.reminders.corrections],
            ),
        )

    @property
    def fragments(self) -> list[Span]:
        """The spans that tile the text."""
        if self._fragments is None:
            self._fragments = fragments(self.text)
        return self._fragments

    def _known(self, snap: Snapshot, change: ChangeSet, same: SameText) -> Plan:
        """The text is here under this name: at most, where it comes from is declared only now."""
        source_id, version_id = same.source_id, same.version_id
        note = "This text is here already; nothing was changed."
        if self.origin is not None or self.copy_of is not None or self.derived_from:
            origins = resolve(snap, source_id, [same], self.origin, self.copy_of, self.derived_from)
            state = same.life.at(snap.revision)
            write_merged(change, snap, origins.merged)
            if source_id not in origins.merged:
                change.move("Source", source_id, same.life, state._replace(note=encode(origins.names)))
            if not change.empty:
                note = "This text is here already; where it comes from was recorded."
        claims = [
            claim.id
            for claim in fetch_claims(snap, claims_of_version(snap, version_id)).values()
            if claim.status == "current" and any(e.source_id == source_id for e in claim.evidence)
        ]
        return Plan(
            change,
            "ingest",
            f"Recorded where “{shorten(self.name)}” comes from.",
            ref=source_id,
            result=Outcome(
                source_id,
                version_id,
                len(fragment_spans(snap, version_id)),
                claims,
                [],
                change.empty,
                [note],
                None,
            ),
        )


class Submitted:
    """Plans claims proposed for a source that is there."""

    def __init__(self, source_id: str, proposals: Sequence[ProposedClaim]) -> None:
        self.source_id = require(source_id, "Source")
        try:
            self.proposals = list(proposals)
        except TypeError as error:
            raise InvalidInput("Proposals come as a list of ProposedClaim(statement, evidence_quote).") from error
        for proposal in self.proposals:
            if not isinstance(proposal, ProposedClaim):
                raise InvalidInput(
                    f"Each proposal must be a ProposedClaim(statement, evidence_quote), not {type(proposal).__name__}."
                )
        self._reviewed: dict[str, Reviewed] = {}

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Plan the claims; those that are there with this very evidence change nothing."""
        source = open_source(snap, self.source_id)
        version_id = source.versions[-1].id
        if version_id not in self._reviewed:
            self._reviewed[version_id] = review(version_text(snap, version_id), self.proposals)
        reviewed = self._reviewed[version_id]
        change = ChangeSet(revision)
        places = fragment_spans(snap, version_id)
        taken = accept(snap, change, self.source_id, version_id, places, reviewed.accepted, "proposed")
        rejected = [*reviewed.rejected, *taken.rejected]
        record_id = derived_id(
            "IngestRecord",
            self.source_id,
            version_id,
            *(part for p in self.proposals for part in (p.statement, p.evidence_quote)),
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


def open_source(snap: Snapshot, source_id: str) -> Source:
    """Return a source that something new may rest on.

    Raises:
        UnknownNode: there is none with this id.
        NotAllowed: it was withdrawn.
    """
    source = fetch_sources(snap, [require(source_id, "Source")]).get(source_id)
    if source is None:
        raise UnknownNode(f"There is no source {source_id} in this workspace.")
    if source.status == "withdrawn":
        raise NotAllowed(
            f"“{shorten(source.name)}” was withdrawn, so nothing new can rest on it. Undo the withdrawal first."
        )
    return source


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
) -> str:
    """Keep what was rejected, and by whom it was proposed. Return the record's id."""
    record = change.create(
        "IngestRecord",
        record_id or new_id("IngestRecord"),
        source=source_id,
        version=version_id,
        extractor=extractor or "none",
        rejected=json.dumps([rejection.model_dump() for rejection in rejected]),  # ASCII: whatever was proposed fits
        born=change.revision,
    )
    change.link("INGESTED", ("IngestRecord", record), ("SourceVersion", version_id))
    return record
