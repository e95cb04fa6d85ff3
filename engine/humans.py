"""People as sources: what a reviewer says is evidence of its own."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import NotAllowed
from engine.ids import derived_id, digest, new_id
from engine.ingest import write_version
from engine.inputs import statement_key
from engine.origins import encode
from engine.planning import born
from engine.store.claims import HUMAN_ORIGIN
from engine.store.commit import ChangeSet
from engine.store.snapshot import Snapshot
from engine.store.sources import fetch_sources
from engine.terms import index_terms


@dataclass
class Human:
    """A person as a source: every statement of theirs is a version of its own with one fragment."""

    source_id: str
    versions: int

    @classmethod
    def find(cls, snap: Snapshot, change: ChangeSet, name: str) -> Human:
        """Return the person called `name`, written into the change set if they are new."""
        source_id = derived_id("Source", "human", name)
        known = fetch_sources(snap, [source_id]).get(source_id)
        if known is None:
            change.create(
                "Source",
                source_id,
                name=name,
                kind="human",
                **born(change.revision, "active", note=encode({HUMAN_ORIGIN})),
            )
            return cls(source_id, 0)
        if known.status == "withdrawn":
            raise NotAllowed(
                f"What {name} said was withdrawn, so a correction cannot rest on it. Undo that withdrawal first."
            )
        return cls(source_id, len(known.versions))

    def states(self, change: ChangeSet, statement: str) -> tuple[str, str]:
        """Write a claim that rests on these words alone. Return it and the fragment that holds them."""
        self.versions += 1
        version_id = new_id("SourceVersion")
        spans = [(0, len(statement))]
        ((fragment_id, _),) = write_version(change, version_id, statement, digest(self.source_id, statement), spans)
        change.link("HAS_VERSION", ("Source", self.source_id), ("SourceVersion", version_id), n=self.versions)
        claim_id = change.create(
            "Claim",
            new_id("Claim"),
            statement=statement,
            statement_key=statement_key(statement),
            terms=index_terms(statement),
            confidence=0.0,
            confidence_kind=HUMAN_ORIGIN,
            **born(change.revision, "current"),
        )
        change.link(
            "EVIDENCE",
            ("Claim", claim_id),
            ("SourceFragment", fragment_id),
            id=new_id("Evidence"),
            quote=statement,
            starts=[0],
            ends=[len(statement)],
            source=self.source_id,
            version=version_id,
            role="correction",
        )
        return claim_id, fragment_id
