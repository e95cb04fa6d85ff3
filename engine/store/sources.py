"""Sources, their versions and fragments: every query that reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from engine.records import Fragment, Source, SourceVersion, Span
from engine.states import Lifeline
from engine.store.snapshot import LIFE_S, Snapshot
from engine.store.structure import source_origins

_SOURCES: Final = (
    f"MATCH (s:Source) WHERE s.id IN $ids AND s.born <= $r RETURN s.id, s.name, s.kind, s.copy_of, {LIFE_S}"
)
_ALL: Final = (
    f"MATCH (s:Source) WHERE s.born <= $r RETURN s.id, s.name, s.kind, s.copy_of, {LIFE_S} ORDER BY s.born, s.id"
)
_VERSIONS: Final = (
    "MATCH (s:Source) WHERE s.id IN $ids MATCH (s)-[e:HAS_VERSION]->(v:SourceVersion) WHERE e.born <= $r "
    "RETURN s.id, v.id, e.n, v.sha256, v.length, e.born ORDER BY e.n"
)
_SAME_TEXT: Final = (
    "MATCH (v:SourceVersion {sha256: $sha256})<-[e:HAS_VERSION]-(s:Source) "
    f"WHERE e.born <= $r AND s.kind <> 'human' RETURN s.id, s.name, v.id, {LIFE_S}, e.n ORDER BY s.born, s.id"
)
_BY_NAME: Final = "MATCH (s:Source) WHERE s.name = $name AND s.born <= $r RETURN s.id ORDER BY s.born, s.id"
_WITH_ORIGIN: Final = f"MATCH (s:Source) WHERE s.born <= $r RETURN s.id, {LIFE_S}"
_FRAGMENTS: Final = (
    "MATCH (v:SourceVersion {id: $version})-[:HAS_FRAGMENT]->(f:SourceFragment) "
    "RETURN f.id, f.start, f.end ORDER BY f.start"
)
_TEXT: Final = (
    "MATCH (v:SourceVersion {id: $version})-[:HAS_FRAGMENT]->(f:SourceFragment) RETURN f.text ORDER BY f.start"
)
_FRAGMENT: Final = (
    "MATCH (f:SourceFragment) WHERE f.id IN $ids AND f.born <= $r "
    "MATCH (s:Source)-[e:HAS_VERSION]->(v:SourceVersion)-[:HAS_FRAGMENT]->(f) WHERE e.born <= $r "
    "RETURN f.id, f.text, f.start, f.end, s.id, s.name, v.id, e.born ORDER BY e.born DESC, s.id DESC"
)
_COUNTS: Final = (
    "MATCH (c:Claim)-[e:EVIDENCE]->(f:SourceFragment) "
    "WHERE e.born <= $r AND (e.died IS NULL OR e.died > $r) RETURN e.source, count(DISTINCT c.id)"
)
_RECORD: Final = "MATCH (i:IngestRecord {id: $id}) WHERE i.born <= $r RETURN i.id"
_REJECTED: Final = (
    "MATCH (i:IngestRecord) WHERE i.source = $source AND i.born <= $r "
    "RETURN i.extractor, i.rejected, i.born ORDER BY i.born"
)


@dataclass(frozen=True, slots=True)
class SameText:
    """A source that has a text already."""

    source_id: str
    name: str
    version_id: str
    life: Lifeline


def _source(row: list[Any], versions: list[SourceVersion], revision: int) -> Source:
    source_id, name, kind, copy_of, columns = row
    life = Lifeline.read(columns)
    state = life.at(revision)
    return Source(
        id=source_id,
        name=name,
        kind=kind,
        status=state.status,  # type: ignore[arg-type]
        origins=sorted(source_origins(state)),
        copy_of=copy_of,
        versions=versions,
        revision=max([life.changed(revision), *(version.revision for version in versions)]),
        born=life.born,
    )


def fetch_sources(snap: Snapshot, ids: Iterable[str]) -> dict[str, Source]:
    """Return those of `ids` that are sources of the snapshot, in the order asked for."""
    wanted = list(dict.fromkeys(ids))
    rows = {row[0]: row for row in snap.rows_for(_SOURCES, wanted)}
    versions = _versions(snap, rows)
    return {i: _source(rows[i], versions[i], snap.revision) for i in wanted if i in rows}


def all_sources(snap: Snapshot) -> list[Source]:
    """Return every source, oldest first."""
    rows = snap.rows(_ALL)
    versions = _versions(snap, [row[0] for row in rows])
    return [_source(row, versions[row[0]], snap.revision) for row in rows]


def _versions(snap: Snapshot, ids: Iterable[str]) -> dict[str, list[SourceVersion]]:
    versions: dict[str, list[SourceVersion]] = defaultdict(list)
    for source, version, n, sha256, length, born in snap.rows_for(_VERSIONS, ids):
        versions[source].append(SourceVersion(id=version, n=n, sha256=sha256, length=length, revision=born))
    return versions


def claim_counts(snap: Snapshot) -> dict[str, int]:
    """Return how many claims have evidence in each source."""
    return dict(snap.rows(_COUNTS))


def sources_with_text(snap: Snapshot, sha256: str) -> list[SameText]:
    """Return the sources, oldest first, that have a version with this content hash."""
    return [
        SameText(source, name, version, Lifeline.read(life))
        for source, name, version, life, _ in snap.rows(_SAME_TEXT, sha256=sha256)
    ]


def sources_named(snap: Snapshot, name: str) -> list[str]:
    """Return the ids of sources with exactly this name, oldest first."""
    return [row[0] for row in snap.rows(_BY_NAME, name=name)]


def source_lives(snap: Snapshot) -> dict[str, Lifeline]:
    """Return the lifeline of every source."""
    return {source: Lifeline.read(life) for source, life in snap.rows(_WITH_ORIGIN)}


def fragment_spans(snap: Snapshot, version_id: str) -> list[tuple[str, Span]]:
    """Return the fragments of a version with their spans, in order."""
    return [(fragment, (start, end)) for fragment, start, end in snap.rows(_FRAGMENTS, version=version_id)]


def version_text(snap: Snapshot, version_id: str) -> str:
    """Return the exact text of a version: its fragments tile it."""
    return "".join(row[0] for row in snap.rows(_TEXT, version=version_id))


def fetch_fragments(snap: Snapshot, ids: Iterable[str]) -> dict[str, Fragment]:
    """Return fragments with their text; a text that several sources share is named by the oldest."""
    return {
        fragment: Fragment(
            id=fragment,
            text=text,
            start=start,
            end=end,
            source_id=source,
            source_name=name,
            version_id=version,
        )
        for fragment, text, start, end, source, name, version, _ in snap.rows_for(_FRAGMENT, ids)
    }


def record_exists(snap: Snapshot, record_id: str) -> bool:
    """Return whether an ingest record with this id is there."""
    return bool(snap.rows(_RECORD, id=record_id))


def rejections(snap: Snapshot, source_id: str) -> list[tuple[str, str, int]]:
    """Return (extractor, rejections as JSON, revision) of each ingest of a source, oldest first."""
    return [(row[0], row[1], row[2]) for row in snap.rows(_REJECTED, source=source_id)]
