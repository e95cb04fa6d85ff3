"""Which agents there are, and which runs they reported: every query that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from engine.states import Lifeline
from engine.store.snapshot import Snapshot

_LIFE: Final = "[n.born, n.state, n.since, n.past_state, n.past_since]"
_REGISTERED: Final = f"MATCH (n:Agent) WHERE n.born <= $r RETURN n.id, n.agent, n.tenant, {_LIFE} ORDER BY n.born, n.id"
_SOME: Final = f"MATCH (n:Agent) WHERE n.id IN $ids AND n.born <= $r RETURN n.id, n.agent, n.tenant, {_LIFE}"
# A caller sees what belongs to its tenant and what belongs to none; the owner of the workspace (`$all`) everything.
_SEEN: Final = "($all OR x.tenant_key IN $tenants) AND x.born <= $r"
_ACTIVE: Final = {
    label: f"MATCH (x:{label}) WHERE x.agent_key = $agent AND {_SEEN} RETURN x.id LIMIT 1"
    for label in ("Correction", "AgentRun")
}
_NAMES: Final = {
    label: f"MATCH (x:{label}) WHERE x.agent IS NOT NULL AND {_SEEN} RETURN DISTINCT x.agent ORDER BY x.agent"
    for label in ("Correction", "AgentRun")
}
# `+ ''` keeps the id out of the range index, which answers `<` on text wrongly.
_RUNS: Final = (
    f"MATCH (x:AgentRun) WHERE x.agent_key = $agent AND {_SEEN} "
    "AND (x.born < $before OR (x.born = $before AND x.id + '' < $name)) "
    "RETURN x.id, x.run, x.question, x.answer, x.tenant, x.at, x.born ORDER BY x.born DESC, x.id DESC LIMIT $limit"
)
_TENANT: Final = "MATCH (x:AgentRun) WHERE x.id IN $ids AND x.born <= $r RETURN x.tenant"
LATEST: Final = 2**53


def registrations(snap: Snapshot, ids: Sequence[str] | None = None) -> dict[str, tuple[str, str | None, Lifeline]]:
    """Return id → (agent, tenant, lifeline) of the agents that were registered: all of them, or some by id."""
    rows = snap.rows(_REGISTERED) if ids is None else snap.rows_for(_SOME, ids)
    return {row[0]: (row[1], row[2], Lifeline.read(row[3])) for row in rows}


def has_worked(snap: Snapshot, agent_key: str, tenants: Sequence[str] | None) -> bool:
    """Return whether an agent has runs or corrections that these tenants (by key; None: all) may see."""
    return any(snap.rows(query, agent=agent_key, **_within(tenants)) for query in _ACTIVE.values())


def names_at_work(snap: Snapshot, tenants: Sequence[str] | None) -> list[str]:
    """Return the names of agents that have runs or corrections that these tenants may see."""
    return sorted({row[0] for query in _NAMES.values() for row in snap.rows(query, **_within(tenants))})


def reported_runs(
    snap: Snapshot, agent_key: str, tenants: Sequence[str] | None, limit: int, before: tuple[int, str] | None
) -> list[dict[str, Any]]:
    """Return runs that an agent reported, newest first, from just after a place in that order."""
    born, name = before if before is not None else (LATEST, "")
    rows = snap.rows(_RUNS, agent=agent_key, limit=limit, before=born, name=name, **_within(tenants))
    names = ("node", "run_id", "input", "output", "tenant_id", "at", "revision")
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [run | {"at": datetime.fromisoformat(run["at"])} for run in found]


def run_tenants(snap: Snapshot, run: str) -> list[str | None]:
    """Return the tenant of the run that one of our own ids names, as a list of one; none when there is no such run."""
    return [row[0] for row in snap.rows_for(_TENANT, [run])]


def _within(tenants: Sequence[str] | None) -> dict[str, Any]:
    return {"all": tenants is None, "tenants": list(tenants or ())}
