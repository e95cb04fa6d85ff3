"""Counting corrections and runs: every query that aggregates them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from engine.store.snapshot import Snapshot

_STATE: Final = (
    "CASE WHEN k.since <= $r THEN k.state "
    "ELSE [i IN range(0, size(coalesce(k.past_since, [])) - 1) WHERE k.past_since[i] <= $r | k.past_state[i]][-1] END"
)
_COUNTED: Final = f"WITH k, {_STATE} AS state WHERE state STARTS WITH 'applied' OR state STARTS WITH 'superseded'"


@dataclass(frozen=True)
class Which:
    """Which corrections are counted. Tenants, agents and entities are named by their keys."""

    tenants: tuple[str, ...] | None = None
    agent: str | None = None
    entity: str | None = None
    field: str | None = None
    user: str | None = None
    since: str | None = None
    until: str | None = None

    @property
    def condition(self) -> str:
        """The condition on a correction `k`; made of our own texts, with everything named as a parameter."""
        parts = ["k.born <= $r"]
        if self.tenants is not None:
            parts.append("k.tenant_key IN $tenants")
        if self.agent is not None:
            parts.append("k.agent_key = $agent")
        if self.entity is not None:
            parts.append("k.entity_key = $entity")
        if self.field is not None:
            parts.append("k.field = $field")
        if self.user is not None:
            # What one user corrected for himself is no other's.
            parts.append("(k.scope IS NULL OR k.scope <> 'user' OR k.user = $user)")
        if self.since is not None:
            parts.append("k.at >= $since")
        if self.until is not None:
            parts.append("k.at < $until")
        return " AND ".join(parts)

    @property
    def run_condition(self) -> str:
        """The condition on a run `n`; runs have neither field nor entity."""
        parts = ["n.born <= $r"]
        if self.tenants is not None:
            parts.append("n.tenant_key IN $tenants")
        if self.agent is not None:
            parts.append("n.agent_key = $agent")
        if self.since is not None:
            parts.append("n.at >= $since")
        if self.until is not None:
            parts.append("n.at < $until")
        return " AND ".join(parts)

    def params(self) -> dict[str, object]:
        """Return what is named as parameters."""
        named: dict[str, object] = {
            "tenants": list(self.tenants) if self.tenants is not None else None,
            "agent": self.agent,
            "entity": self.entity,
            "field": self.field,
            "user": self.user,
            "since": self.since,
            "until": self.until,
        }
        return {key: value for key, value in named.items() if value is not None}


TALLIED: Final = ("status", "agent", "field", "author_kind", "author", "day")


def tally(snap: Snapshot, which: Which) -> list[tuple[dict[str, str | None], int]]:
    """Return how many corrections share each combination of what has few values; `status` is as stored.

    One pass over the corrections, however much is asked of them.
    """
    query = (
        f"MATCH (k:Correction) WHERE {which.condition} "
        f"RETURN {_STATE} AS state, k.agent, k.field, k.author_kind, k.reviewer, k.day, count(*)"
    )
    rows = snap.rows(query, **which.params())
    return [(dict(zip(TALLIED, [row[0].partition(":")[0], *row[1:-1]], strict=True)), row[-1]) for row in rows]


def by_entity(snap: Snapshot, which: Which) -> dict[str, int]:
    """Return how many corrections that count are about each entity, most first."""
    query = f"MATCH (k:Correction) WHERE {which.condition} {_COUNTED} RETURN k.entity, count(*)"
    rows = [(name, times) for name, times in snap.rows(query, **which.params()) if name]
    return dict(sorted(rows, key=lambda row: (-row[1], row[0])))


def repeated(snap: Snapshot, which: Which) -> int:
    """Return how many corrections were recorded again after the first time."""
    query = (
        "MATCH (g:Sighting) WITH g MATCH (k)-[e:SEEN_AGAIN]->(g) "
        f"WHERE {which.condition} AND e.born <= $r WITH DISTINCT k {_COUNTED} RETURN count(k)"
    )
    return int(snap.rows(query, **which.params())[0][0])


def runs(snap: Snapshot, which: Which) -> int:
    """Return how many runs there are."""
    query = f"MATCH (n:AgentRun) WHERE {which.run_condition} RETURN count(n)"
    return int(snap.rows(query, **which.params())[0][0])


def corrected_runs(snap: Snapshot, which: Which) -> int:
    """Return how many of those runs have a correction that counts."""
    query = (
        "MATCH (n:AgentRun) WITH n MATCH (k)-[e:OF_RUN]->(n) "
        f"WHERE {which.condition} AND {which.run_condition} "
        f"AND e.born <= $r WITH k, n, {_STATE} AS state "
        "WHERE state STARTS WITH 'applied' OR state STARTS WITH 'superseded' RETURN count(DISTINCT n)"
    )
    return int(snap.rows(query, **which.params())[0][0])


def accuracy_by_day(snap: Snapshot, which: Which) -> list[tuple[str, int, int]]:
    """Return (day, runs, corrected runs), oldest first."""
    every = f"MATCH (n:AgentRun) WHERE {which.run_condition} RETURN substring(n.at, 0, 10) AS day, count(n)"
    wrong = (
        "MATCH (n:AgentRun) WITH n MATCH (k)-[e:OF_RUN]->(n) "
        f"WHERE {which.condition} AND {which.run_condition} "
        f"AND e.born <= $r WITH k, n, {_STATE} AS state "
        "WHERE state STARTS WITH 'applied' OR state STARTS WITH 'superseded' "
        "RETURN substring(n.at, 0, 10) AS day, count(DISTINCT n)"
    )
    corrected = dict(snap.rows(wrong, **which.params()))
    return sorted((day, total, corrected.get(day, 0)) for day, total in snap.rows(every, **which.params()))


_LIST: Final = "MATCH (k:Correction) WHERE {} WITH k, " + _STATE + " AS state WHERE {} RETURN k.id, k.born"
_ORDER: Final = " ORDER BY k.born DESC, k.id DESC LIMIT $limit"


# `+ ''` keeps the id out of the range index, which answers `<` on text wrongly.


def listed(
    snap: Snapshot,
    which: Which,
    statuses: tuple[str, ...] | None,
    limit: int | None,
    after: tuple[int, str] | None,
    with_input: bool = False,
) -> list[tuple[str, int]]:
    """Return (correction, revision) newest first, from just after a place in that order."""
    condition = which.condition
    params: dict[str, Any] = which.params()
    if after is not None:
        condition += " AND (k.born < $born OR (k.born = $born AND k.id + '' < $id))"
        params |= {"born": after[0], "id": after[1]}
    if with_input:
        condition += " AND k.input IS NOT NULL"
    state = "true"
    if statuses is not None:
        state = "split(state, ':')[0] IN $statuses"
        params["statuses"] = list(statuses)
    query = _LIST.format(condition, state)
    query += _ORDER if limit is not None else " ORDER BY k.born DESC, k.id DESC"
    if limit is not None:
        params["limit"] = limit
    return [(row[0], row[1]) for row in snap.rows(query, **params)]


_HEEDED: Final = (
    "MATCH (n:AgentRun)-[e:SHOWN]->(k:Correction) WHERE {} AND e.born <= $r "
    "RETURN n.id, n.run, n.agent, n.at, k.id, k.field, k.entity, e.heeded ORDER BY n.born, n.id, k.id"
)


def heeded_rows(snap: Snapshot, runs: Which, which: Which) -> list[list[Any]]:
    """Return one row for each correction (of `which`) that a run (of `runs`) was shown, oldest first."""
    condition = f"{runs.run_condition} AND {which.condition}"
    return snap.rows(_HEEDED.format(condition), **(which.params() | runs.params()))
