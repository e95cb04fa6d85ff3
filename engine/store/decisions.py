"""Decisions and actions: every query that reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from engine.records import Action, Decision
from engine.states import Lifeline
from engine.store.claims import justifications
from engine.store.snapshot import ALIVE, LIFE_A, LIFE_D, LIFE_P, Snapshot
from engine.store.structure import upstream, ways_of
from engine.support import single_points

_DECISIONS: Final = (
    f"MATCH (d:Decision) WHERE d.id IN $ids AND d.born <= $r RETURN d.id, d.title, d.rationale, {LIFE_D}"
)
_SUPERSEDES: Final = (
    f"MATCH (d:Decision) WHERE d.id IN $ids MATCH (d)-[e:SUPERSEDES]->(o:Decision) WHERE {ALIVE} RETURN d.id, o.id"
)
_SUPERSEDED: Final = (
    f"MATCH (d:Decision) WHERE d.id IN $ids MATCH (n:Decision)-[e:SUPERSEDES]->(d) WHERE {ALIVE} RETURN d.id, n.id"
)
_RUN: Final = {
    kind: f"MATCH (d:{kind}) WHERE d.id IN $ids MATCH (d)-[:MADE_BY]->(r:AgentRun) RETURN d.id, r.id"
    for kind in ("Decision", "Action")
}
_ACTIONS: Final = f"MATCH (a:Action) WHERE a.id IN $ids AND a.born <= $r RETURN a.id, a.description, {LIFE_A}"
_BECAUSE: Final = (
    f"MATCH (a:Action) WHERE a.id IN $ids MATCH (a)-[e:BECAUSE_OF]->(d:Decision) WHERE {ALIVE} RETURN a.id, d.id"
)
_ACTIONS_OF: Final = (
    f"MATCH (d:Decision) WHERE d.id IN $ids MATCH (a:Action)-[e:BECAUSE_OF]->(d) WHERE {ALIVE} RETURN d.id, a.id"
)
_SAME: Final = {
    kind: f"MATCH (d:{kind} {{request_key: $key}}) WHERE d.born <= $r RETURN d.id, {LIFE_D} ORDER BY d.born"
    for kind in ("Decision", "Action")
}
_ALL_DECISIONS: Final = (
    f"MATCH (d:Decision) WHERE d.born <= $r RETURN d.id, d.title, d.rationale, {LIFE_D} ORDER BY d.born, d.id"
)
_ALL_WAYS: Final = f"MATCH (d:Decision)-[e:RESTS_ON]->(p) WHERE {ALIVE} RETURN d.id, e.j, p.id, {LIFE_P}"
_ALL_ACTIONS: Final = f"MATCH (a:Action) WHERE a.born <= $r RETURN a.id, a.description, {LIFE_A} ORDER BY a.born, a.id"
_ALL_BECAUSE: Final = f"MATCH (a:Action)-[e:BECAUSE_OF]->(d:Decision) WHERE {ALIVE} RETURN a.id, d.id"


def fetch_decisions(snap: Snapshot, ids: Iterable[str]) -> dict[str, Decision]:
    """Return those of `ids` that are decisions of the snapshot, whole, in the order asked for."""
    wanted = list(dict.fromkeys(ids))
    rows = {row[0]: row for row in snap.rows_for(_DECISIONS, wanted)}
    if not rows:
        return {}
    ways = ways_of(snap, rows)
    structure = upstream(snap, rows)
    standing = {name for name, state in structure.states.items() if state.supported}
    fragile = single_points(structure.graph, structure.claims, rows, standing)
    newer = dict(snap.rows_for(_SUPERSEDED, rows))
    older = dict(snap.rows_for(_SUPERSEDES, rows))
    runs = dict(snap.rows_for(_RUN["Decision"], rows))
    decisions = {}
    for decision_id in wanted:
        if decision_id not in rows:
            continue
        _, title, rationale, columns = rows[decision_id]
        life = Lifeline.read(columns)
        state = life.at(snap.revision)
        because = justifications(snap, ways.ways.get(decision_id, []), ways.premises, ways.born)
        opened = structure.graph[decision_id].open
        decisions[decision_id] = Decision(
            id=decision_id,
            title=title,
            rationale=rationale,
            status=state.status,  # type: ignore[arg-type]
            supported=state.supported,
            support_count=sum(way.holds for way in because) if opened else 0,
            fragile_on=fragile[decision_id].all,
            because=because,
            revision=max(life.changed(snap.revision), *(way.born for way in because), 0),
            born=life.born,
            supersedes=older.get(decision_id),
            superseded_by=newer.get(decision_id),
            run_id=runs.get(decision_id),
        )
    return decisions


def fetch_actions(snap: Snapshot, ids: Iterable[str]) -> dict[str, Action]:
    """Return those of `ids` that are actions of the snapshot, in the order asked for."""
    wanted = list(dict.fromkeys(ids))
    rows = {row[0]: row for row in snap.rows_for(_ACTIONS, wanted)}
    because = _grouped(snap.rows_for(_BECAUSE, rows))
    runs = dict(snap.rows_for(_RUN["Action"], rows))
    actions = {}
    for action_id in wanted:
        if action_id in rows:
            _, description, columns = rows[action_id]
            life = Lifeline.read(columns)
            actions[action_id] = Action(
                id=action_id,
                description=description,
                status=life.at(snap.revision).status,  # type: ignore[arg-type]
                because=because.get(action_id, []),
                revision=life.changed(snap.revision),
                born=life.born,
                run_id=runs.get(action_id),
            )
    return actions


def actions_of(snap: Snapshot, decisions: Iterable[str]) -> list[str]:
    """Return the actions that hang on any of `decisions`."""
    return sorted({action for _, action in snap.rows_for(_ACTIONS_OF, decisions)})


def same_request(snap: Snapshot, kind: str, key: str) -> list[tuple[str, Lifeline]]:
    """Return the decisions or actions that were made by the same request, oldest first."""
    return [(node_id, Lifeline.read(life)) for node_id, life in snap.rows(_SAME[kind], key=key)]


def decision_rows(snap: Snapshot) -> list[dict[str, Any]]:
    """Return one plain row a decision, oldest first, for frames."""
    ways: dict[str, dict[str, bool]] = defaultdict(dict)
    for decision, way, _, life in snap.rows(_ALL_WAYS):
        holds = Lifeline.read(life).at(snap.revision).supported
        ways[decision][way] = ways[decision].get(way, True) and holds
    rows = []
    for decision_id, title, rationale, columns in snap.rows(_ALL_DECISIONS):
        life = Lifeline.read(columns)
        state = life.at(snap.revision)
        opened = state.status in ("standing", "needs_review")
        rows.append(
            {
                "id": decision_id,
                "title": title,
                "status": state.status,
                "supported": state.supported,
                "support_count": sum(ways[decision_id].values()) if opened else 0,
                "justifications": len(ways[decision_id]),
                "rationale": rationale,
                "revision": life.changed(snap.revision),
                "born": life.born,
            }
        )
    return rows


def action_rows(snap: Snapshot) -> list[dict[str, Any]]:
    """Return one plain row an action, oldest first, for frames."""
    because = _grouped(snap.rows(_ALL_BECAUSE))
    rows = []
    for action_id, description, columns in snap.rows(_ALL_ACTIONS):
        life = Lifeline.read(columns)
        rows.append(
            {
                "id": action_id,
                "description": description,
                "status": life.at(snap.revision).status,
                "because": because.get(action_id, []),
                "revision": life.changed(snap.revision),
                "born": life.born,
            }
        )
    return rows


def _grouped(pairs: Iterable[list[str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, member in pairs:
        groups[name].append(member)
    return {name: sorted(members) for name, members in groups.items()}
