"""The support structure, read from the graph: what rests on a node, and what a node rests on.

Always one step at a time, level by level: variable-length patterns drop nodes or enumerate every path here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from engine.ids import kind_of
from engine.impact import OPEN, Reach, Reached
from engine.states import Lifeline, State
from engine.store.snapshot import ALIVE, LIFE_D, LIFE_P, LIFE_S, Snapshot
from engine.support import Ground, Node, Way

_DEPENDENTS: Final = {
    kind: f"MATCH (p:{kind}) WHERE p.id IN $ids MATCH (d)-[e:{relations}]->(p) WHERE {ALIVE} "
    f"RETURN DISTINCT d.id, coalesce(d.statement, d.title, d.description), {LIFE_D}"
    for kind, relations in (("Claim", "RESTS_ON"), ("Decision", "RESTS_ON|BECAUSE_OF"))
}
_NODES: Final = {
    kind: f"MATCH (d:{kind}) WHERE d.id IN $ids AND d.born <= $r "
    f"RETURN d.id, coalesce(d.statement, d.title, d.description), {LIFE_D}"
    for kind in ("Claim", "Decision", "Action")
}
_WAYS: Final = {
    kind: f"MATCH (d:{kind}) WHERE d.id IN $ids MATCH (d)-[e:RESTS_ON]->(p) WHERE {ALIVE} "
    f"RETURN d.id, e.j, p.id, coalesce(p.statement, p.title), {LIFE_P}, e.born"
    for kind in ("Claim", "Decision")
}
_BECAUSE: Final = (
    f"MATCH (a:Action) WHERE a.id IN $ids MATCH (a)-[e:BECAUSE_OF]->(p:Decision) WHERE {ALIVE} "
    f"RETURN a.id, p.id, p.title, {LIFE_P}"
)
_GROUNDS: Final = (
    f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (c)-[e:EVIDENCE]->(f:SourceFragment) WHERE {ALIVE} "
    "RETURN DISTINCT c.id, e.id, e.source"
)
_SOURCES: Final = f"MATCH (s:Source) WHERE s.id IN $ids AND s.born <= $r RETURN s.id, {LIFE_S}"
_QUOTING: Final = (
    f"MATCH (s:Source {{id: $source}})-[:HAS_VERSION]->(:SourceVersion)-[:HAS_FRAGMENT]->(f) "
    f"MATCH (c:Claim)-[e:EVIDENCE]->(f) WHERE {ALIVE} AND e.source = $source RETURN DISTINCT c.id"
)
_ALL_WAYS: Final = {
    kind: f"MATCH (d:{kind})-[e:RESTS_ON]->(p) WHERE {ALIVE} RETURN d.id, e.j, p.id" for kind in ("Claim", "Decision")
}
_ALL_NODES: Final = {
    kind: f"MATCH (d:{kind}) WHERE d.born <= $r RETURN d.id, coalesce(d.statement, d.title), {LIFE_D}"
    for kind in ("Claim", "Decision")
}
_ALL_GROUNDS: Final = (
    f"MATCH (c:Claim)-[e:EVIDENCE]->(f:SourceFragment) WHERE {ALIVE} RETURN DISTINCT c.id, e.id, e.source"
)
_ALL_SOURCES: Final = f"MATCH (s:Source) WHERE s.born <= $r RETURN s.id, {LIFE_S}"


@dataclass(frozen=True, slots=True)
class Found:
    """A node as a query gives it."""

    id: str
    title: str
    life: Lifeline


def source_origins(state: State) -> frozenset[str]:
    """Return the origins that a source's state names."""
    return frozenset(json.loads(state.note))


def by_kind(ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the ids grouped by the kind that each names."""
    groups: dict[str, list[str]] = defaultdict(list)
    for node_id in ids:
        groups[kind_of(node_id)].append(node_id)
    return groups


def find(snap: Snapshot, ids: Iterable[str]) -> dict[str, Found]:
    """Return those of `ids` (claims, decisions, actions) that are there."""
    found = {}
    for kind, group in by_kind(ids).items():
        if kind in _NODES:
            for node_id, title, life in snap.rows_for(_NODES[kind], group):
                found[node_id] = Found(node_id, title, Lifeline.read(life))
    return found


def dependents(snap: Snapshot, ids: Iterable[str]) -> dict[str, Found]:
    """Return what rests directly on any of `ids`: claims, decisions and actions."""
    found = {}
    for kind, group in by_kind(ids).items():
        if kind in _DEPENDENTS:
            for node_id, title, life in snap.rows_for(_DEPENDENTS[kind], group):
                found[node_id] = Found(node_id, title, Lifeline.read(life))
    return found


def downstream(snap: Snapshot, seeds: Iterable[str]) -> dict[str, Found]:
    """Return `seeds` and everything that rests on them, at any depth."""
    reached = find(snap, seeds)
    frontier = set(reached)
    while frontier:
        level = dependents(snap, frontier)
        frontier = level.keys() - reached.keys()
        reached |= {node_id: level[node_id] for node_id in frontier}
    return reached


@dataclass(slots=True)
class Ways:
    """Justifications of some nodes, and the premises they name."""

    ways: dict[str, list[Way]]
    born: dict[str, int]
    premises: dict[str, Found]


def ways_of(snap: Snapshot, ids: Iterable[str]) -> Ways:
    """Return the justifications of `ids`."""
    groups: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    born: dict[str, int] = {}
    premises: dict[str, Found] = {}
    for kind, group in by_kind(ids).items():
        if kind not in _WAYS:
            continue
        for node_id, way, premise, title, life, since in snap.rows_for(_WAYS[kind], group):
            groups[node_id][way].add(premise)
            born[way] = since
            if premise not in premises:
                premises[premise] = Found(premise, title, Lifeline.read(life))
    ways = {
        node_id: [Way(way, frozenset(group)) for way, group in sorted(ways.items(), key=lambda w: (born[w[0]], w[0]))]
        for node_id, ways in groups.items()
    }
    return Ways(ways, born, premises)


def sources_states(snap: Snapshot, ids: Iterable[str]) -> dict[str, State]:
    """Return the states of sources."""
    return {source: Lifeline.read(life).at(snap.revision) for source, life in snap.rows_for(_SOURCES, ids)}


def grounds_of(snap: Snapshot, ids: Iterable[str]) -> dict[str, list[Ground]]:
    """Return the evidence of claims, each piece with the origins it needs."""
    rows = list(snap.rows_for(_GROUNDS, by_kind(ids).get("Claim", [])))
    states = sources_states(snap, {source for _, _, source in rows})
    return _grounds(rows, states)


def _grounds(rows: Iterable[list[str]], states: dict[str, State]) -> dict[str, list[Ground]]:
    grounds: dict[str, list[Ground]] = defaultdict(list)
    for claim, evidence, source in sorted(map(tuple, rows)):
        state = states[source]
        grounds[claim].append(Ground(evidence, source, source_origins(state), state.status == "active"))
    return grounds


def claims_quoting(snap: Snapshot, source: str) -> list[str]:
    """Return the claims that have evidence in a source."""
    return sorted(row[0] for row in snap.rows(_QUOTING, source=source))


def load_reach(snap: Snapshot, seeds: Iterable[str], premises: Iterable[str] = ()) -> Reach:
    """Return `seeds` and everything downstream, ready for `impact.assess`.

    `premises` are those of justifications that are only about to be made.
    """
    found = downstream(snap, seeds)
    ways = ways_of(snap, found)
    grounds = grounds_of(snap, found)
    because: dict[str, list[str]] = defaultdict(list)
    outside = {name: node for name, node in ways.premises.items() if name not in found}
    outside |= find(snap, set(premises) - found.keys() - outside.keys())
    for action, decision, title, life in snap.rows_for(_BECAUSE, by_kind(found).get("Action", [])):
        because[action].append(decision)
        if decision not in found:
            outside.setdefault(decision, Found(decision, title, Lifeline.read(life)))
    nodes = {}
    for name, node in found.items():
        state = node.life.at(snap.revision)
        nodes[name] = Reached(
            name,
            kind_of(name),
            node.title,
            state,
            Node(name, state.status in OPEN, tuple(grounds.get(name, ())), tuple(ways.ways.get(name, ()))),
            tuple(sorted(because.get(name, ()))),
        )
    return Reach(
        nodes,
        {name: node.life.at(snap.revision) for name, node in outside.items()},
        {name: node.title for name, node in outside.items()},
        {name: node.life for name, node in found.items()},
    )


@dataclass(slots=True)
class Structure:
    """A closed piece of the support structure: everything upstream of what was asked for."""

    graph: dict[str, Node]
    states: dict[str, State]
    titles: dict[str, str]
    way_born: dict[str, int]

    @property
    def claims(self) -> set[str]:
        """The claims in it."""
        return {name for name in self.graph if name.startswith("c_")}


def upstream(snap: Snapshot, ids: Iterable[str]) -> Structure:
    """Return `ids` (claims and decisions) and everything that they rest on, at any depth."""
    found = {k: v for k, v in find(snap, ids).items() if kind_of(k) in ("Claim", "Decision")}
    ways: dict[str, list[Way]] = {}
    born: dict[str, int] = {}
    frontier = set(found)
    while frontier:
        level = ways_of(snap, frontier)
        ways |= level.ways
        born |= level.born
        frontier = level.premises.keys() - found.keys()
        found |= {name: level.premises[name] for name in frontier}
    grounds = grounds_of(snap, found)
    states = {name: node.life.at(snap.revision) for name, node in found.items()}
    return Structure(
        {
            name: Node(
                name,
                states[name].status in OPEN,
                tuple(grounds.get(name, ())),
                tuple(ways.get(name, ())),
            )
            for name in found
        },
        states,
        {name: node.title for name, node in found.items()},
        born,
    )


def whole(snap: Snapshot) -> Structure:
    """Return the support structure of the whole workspace, in six queries."""
    found = {
        node_id: Found(node_id, title, Lifeline.read(life))
        for query in _ALL_NODES.values()
        for node_id, title, life in snap.rows(query)
    }
    groups: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for query in _ALL_WAYS.values():
        for node_id, way, premise in snap.rows(query):
            groups[node_id][way].add(premise)
    sources = {source: Lifeline.read(life).at(snap.revision) for source, life in snap.rows(_ALL_SOURCES)}
    grounds = _grounds(snap.rows(_ALL_GROUNDS), sources)
    states = {name: node.life.at(snap.revision) for name, node in found.items()}
    return Structure(
        {
            name: Node(
                name,
                states[name].status in OPEN,
                tuple(grounds.get(name, ())),
                tuple(Way(way, frozenset(p)) for way, p in sorted(groups[name].items())),
            )
            for name in found
        },
        states,
        {name: node.title for name, node in found.items()},
        {},
    )
