"""The product view, read from the graph: only what people see, and readable relations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from engine.ids import kind_of
from engine.states import Lifeline
from engine.store.corrections import status_of
from engine.store.snapshot import ALIVE, LIFE_D, Snapshot
from engine.store.structure import by_kind

_NODES: Final = {
    kind: f"MATCH (d:{kind}) WHERE {which}d.born <= $r RETURN d.id, {title}, {LIFE_D}"
    for kind, title, which in (
        ("Source", "d.name", ""),
        ("Claim", "d.statement", ""),
        ("Decision", "d.title", ""),
        ("Action", "d.description", ""),
        # What an agent's output was corrected to belongs to its run, not to this picture.
        ("Correction", "coalesce(d.statement, d.text)", "d.kind IN ['correct', 'retract', 'withdraw'] AND "),
    )
}
_SOME: Final = {kind: query.replace("WHERE", "WHERE d.id IN $ids AND") for kind, query in _NODES.items()}
# Each gives (upstream, downstream); the relation is read along the arrow.
_EDGES: Final = {
    "STATES": (
        f"MATCH (b:Claim)-[e:EVIDENCE]->(f:SourceFragment) WHERE {ALIVE} RETURN DISTINCT e.source, b.id",
        "MATCH (k:Correction)-[e:REPLACES_WITH]->(b:Claim) WHERE e.born <= $r RETURN k.id, b.id",
    ),
    "SUPPORTS": (
        f"MATCH (b:Decision)-[e:RESTS_ON]->(a) WHERE {ALIVE} RETURN DISTINCT a.id, b.id",
        f"MATCH (b:Claim)-[e:RESTS_ON]->(a) WHERE {ALIVE} RETURN DISTINCT a.id, b.id",
    ),
    "LEADS_TO": (f"MATCH (b:Action)-[e:BECAUSE_OF]->(a:Decision) WHERE {ALIVE} RETURN a.id, b.id",),
    "SUPERSEDES": (
        f"MATCH (a:Claim)-[e:SUPERSEDES]->(b:Claim) WHERE {ALIVE} RETURN a.id, b.id",
        f"MATCH (a:Decision)-[e:SUPERSEDES]->(b:Decision) WHERE {ALIVE} RETURN a.id, b.id",
    ),
    "CORRECTS": ("MATCH (k:Correction)-[e:CORRECTS]->(b:Claim) WHERE e.born <= $r RETURN k.id, b.id",),
}
_AROUND: Final = {
    # kind → queries that give (relation, upstream, downstream) one step away from `ids`
    "Source": (
        "MATCH (s:Source) WHERE s.id IN $ids MATCH (s)-[:HAS_VERSION]->(:SourceVersion)-[:HAS_FRAGMENT]->(f) "
        f"MATCH (c:Claim)-[e:EVIDENCE]->(f) WHERE e.source = s.id AND {ALIVE} RETURN DISTINCT 'STATES', s.id, c.id",
    ),
    "Claim": (
        f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (c)-[e:EVIDENCE]->(f) WHERE {ALIVE} "
        "RETURN DISTINCT 'STATES', e.source, c.id",
        f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (c)-[e:RESTS_ON]->(p) WHERE {ALIVE} "
        "RETURN DISTINCT 'SUPPORTS', p.id, c.id",
        f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (d)-[e:RESTS_ON]->(c) WHERE {ALIVE} "
        "RETURN DISTINCT 'SUPPORTS', c.id, d.id",
        f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (c)-[e:SUPERSEDES]->(o) WHERE {ALIVE} "
        "RETURN 'SUPERSEDES', c.id, o.id",
        f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (n)-[e:SUPERSEDES]->(c) WHERE {ALIVE} "
        "RETURN 'SUPERSEDES', n.id, c.id",
        "MATCH (c:Claim) WHERE c.id IN $ids MATCH (k:Correction)-[e:CORRECTS]->(c) WHERE e.born <= $r "
        "RETURN 'CORRECTS', k.id, c.id",
        "MATCH (c:Claim) WHERE c.id IN $ids MATCH (k:Correction)-[e:REPLACES_WITH]->(c) WHERE e.born <= $r "
        "RETURN 'STATES', k.id, c.id",
    ),
    "Decision": (
        f"MATCH (d:Decision) WHERE d.id IN $ids MATCH (d)-[e:RESTS_ON]->(p) WHERE {ALIVE} "
        "RETURN DISTINCT 'SUPPORTS', p.id, d.id",
        f"MATCH (d:Decision) WHERE d.id IN $ids MATCH (o)-[e:RESTS_ON]->(d) WHERE {ALIVE} "
        "RETURN DISTINCT 'SUPPORTS', d.id, o.id",
        f"MATCH (d:Decision) WHERE d.id IN $ids MATCH (a:Action)-[e:BECAUSE_OF]->(d) WHERE {ALIVE} "
        "RETURN 'LEADS_TO', d.id, a.id",
        f"MATCH (d:Decision) WHERE d.id IN $ids MATCH (d)-[e:SUPERSEDES]->(o) WHERE {ALIVE} "
        "RETURN 'SUPERSEDES', d.id, o.id",
        f"MATCH (d:Decision) WHERE d.id IN $ids MATCH (n)-[e:SUPERSEDES]->(d) WHERE {ALIVE} "
        "RETURN 'SUPERSEDES', n.id, d.id",
    ),
    "Action": (
        f"MATCH (a:Action) WHERE a.id IN $ids MATCH (a)-[e:BECAUSE_OF]->(d) WHERE {ALIVE} "
        "RETURN 'LEADS_TO', d.id, a.id",
    ),
    "Correction": (
        "MATCH (k:Correction) WHERE k.id IN $ids MATCH (k)-[e:CORRECTS]->(c) WHERE e.born <= $r "
        "RETURN 'CORRECTS', k.id, c.id",
        "MATCH (k:Correction) WHERE k.id IN $ids MATCH (k)-[e:REPLACES_WITH]->(c) WHERE e.born <= $r "
        "RETURN 'STATES', k.id, c.id",
    ),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A node as people see it."""

    id: str
    kind: str
    label: str
    status: str


def _seen(kind: str, row: list[Any], revision: int) -> Seen:
    state = Lifeline.read(row[2]).at(revision)
    status = state.status
    if kind == "Claim" and status == "current" and not state.supported:
        status = "unsupported"
    if kind == "Correction":
        status = status_of(state)
    return Seen(row[0], kind, row[1], status)


def all_nodes(snap: Snapshot) -> dict[str, Seen]:
    """Return every node of the product view."""
    return {row[0]: _seen(kind, row, snap.revision) for kind, query in _NODES.items() for row in snap.rows(query)}


def some_nodes(snap: Snapshot, ids: Iterable[str]) -> dict[str, Seen]:
    """Return those of `ids` that are there."""
    return {
        row[0]: _seen(kind, row, snap.revision)
        for kind, group in by_kind(ids).items()
        if kind in _SOME
        for row in snap.rows_for(_SOME[kind], group)
    }


def all_edges(snap: Snapshot) -> set[tuple[str, str, str]]:
    """Return every (relation, upstream, downstream) of the product view."""
    return {(relation, a, b) for relation, queries in _EDGES.items() for query in queries for a, b in snap.rows(query)}


def edges_around(snap: Snapshot, ids: Iterable[str]) -> set[tuple[str, str, str]]:
    """Return every (relation, upstream, downstream) that has one of `ids` at an end."""
    return {
        (relation, a, b)
        for kind, group in by_kind(ids).items()
        for query in _AROUND.get(kind, ())
        for relation, a, b in snap.rows_for(query, group)
    }


def is_seen(node_id: str) -> bool:
    """Return whether an id names a kind that people see."""
    return kind_of(node_id) in _NODES
