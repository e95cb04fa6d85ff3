"""What a replay of history needs, read from the graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from engine.impact import Reach
from engine.states import Lifeline
from engine.store.corrections import OF_MEMORY, took_effect
from engine.store.snapshot import LIFE_K, LIFE_S, Snapshot
from engine.store.structure import by_kind, source_origins, ways_of
from engine.support import Ground
from engine.timeline import Past, PastCorrection, PastNode

_CORRECTIONS: Final = f"MATCH (k:Correction) WHERE k.kind IN $kinds AND k.born <= $r RETURN k.id, k.kind, {LIFE_K}"
_TARGETS: Final = (
    "MATCH (k:Correction)-[e:CORRECTS]->(c:Claim) WHERE e.born <= $r AND e.role = 'corrected' RETURN k.id, c.id"
)
_REPLACEMENTS: Final = "MATCH (k:Correction)-[e:REPLACES_WITH]->(c:Claim) WHERE e.born <= $r RETURN k.id, c.id"
_WITHDRAWN: Final = "MATCH (k:Correction)-[e:WITHDRAWS]->(s:Source) WHERE e.born <= $r RETURN k.id, s.id"
_GROUNDS: Final = (
    "MATCH (c:Claim) WHERE c.id IN $ids MATCH (c)-[e:EVIDENCE]->(f:SourceFragment) WHERE e.born <= $r "
    "RETURN DISTINCT c.id, e.id, e.source, e.born, e.died"
)
_SOURCES: Final = f"MATCH (s:Source) WHERE s.id IN $ids RETURN s.id, {LIFE_S}"
_EVENTS: Final = (
    "MATCH (v:Event) WHERE v.revision >= $start AND v.revision <= $r AND v.kind IN $kinds "
    "RETURN v.revision, v.kind, v.ref"
)


def past_corrections(snap: Snapshot) -> list[PastCorrection]:
    """Return every correction with what it was about and when it was undone."""
    targets: dict[str, list[str]] = defaultdict(list)
    for correction, claim in snap.rows(_TARGETS):
        targets[correction].append(claim)
    replacements = dict(snap.rows(_REPLACEMENTS))
    sources = dict(snap.rows(_WITHDRAWN))
    found = []
    for correction, kind, columns in snap.rows(_CORRECTIONS, kinds=OF_MEMORY):
        life = Lifeline.read(columns)
        applied = took_effect(life)
        if applied is None or applied > snap.revision:
            continue
        undone = life.changed(snap.revision) if life.at(snap.revision).status == "undone" else None
        found.append(
            PastCorrection(
                correction,
                applied,
                tuple(sorted(targets[correction])),
                "superseded" if kind == "correct" else "retracted",
                replacements.get(correction),
                sources.get(correction),
                undone,
            )
        )
    return sorted(found, key=lambda correction: (correction.revision, correction.id))


def load_past(snap: Snapshot, reach: Reach, corrections: list[PastCorrection], start: int) -> Past:
    """Return the history of everything in `reach`."""
    names = [name for name, reached in reach.nodes.items() if reached.kind != "Action"]
    ways = ways_of(snap, names)
    rows = list(snap.rows_for(_GROUNDS, by_kind(names).get("Claim", [])))
    sources = _source_lives(snap, {row[2] for row in rows})
    grounds: dict[str, list[tuple[Ground, int, int | None]]] = defaultdict(list)
    for claim, evidence, source, born, died in rows:
        origins = source_origins(sources[source].at(snap.revision))
        grounds[claim].append((Ground(evidence, source, origins), born, died))
    nodes = {
        name: PastNode(
            name,
            reach.lives[name],
            tuple(grounds[name]),
            tuple((way, ways.born[way.id]) for way in ways.ways.get(name, ())),
        )
        for name in names
    }
    outside = {name: found.life for name, found in ways.premises.items() if name not in nodes}
    settled: dict[int, dict[str, str]] = defaultdict(dict)
    marked: dict[int, set[str]] = {}
    for revision, kind, ref in snap.rows(_EVENTS, start=start, kinds=["settle", "undo"]):
        if kind == "settle" and ref in nodes:
            settled[revision][ref] = nodes[ref].life.at(revision).status
        elif kind == "undo":
            marked[revision] = {
                name
                for name, node in nodes.items()
                if node.decision and node.life.born <= revision and node.life.at(revision).status == "needs_review"
            }
    return Past(nodes, outside, sources, corrections, dict(settled), marked)


def _source_lives(snap: Snapshot, ids: Iterable[str]) -> dict[str, Lifeline]:
    return {source: Lifeline.read(life) for source, life in snap.rows_for(_SOURCES, ids)}
