"""Agent runs, their steps and handoffs: every query that reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from engine.records import Step
from engine.store.snapshot import Snapshot

# Runs that agents of others reported have a kind; those that were asked here have none.
_RUNS: Final = (
    "MATCH (r:AgentRun) WHERE r.born <= $r AND r.kind IS NULL "
    "RETURN r.id, r.question, r.name, r.outcome, r.at, r.born ORDER BY r.born, r.id"
)
_RUN: Final = (
    "MATCH (r:AgentRun) WHERE r.id IN $ids AND r.born <= $r AND r.kind IS NULL "
    "RETURN r.id, r.question, r.name, r.outcome, r.at, r.born, r.answer, r.allowed, r.refused"
)
_STEPS: Final = (
    "MATCH (r:AgentRun {id: $id})-[:STEP]->(t:AuditEvent) RETURN t.n, t.actor, t.kind, t.summary, t.detail ORDER BY t.n"
)
_MADE: Final = {
    kind: f"MATCH (r:AgentRun) WHERE r.id IN $ids MATCH (d:{kind})-[:MADE_BY]->(r) WHERE d.born <= $r "
    "RETURN r.id, d.id ORDER BY d.id"
    for kind in ("Decision", "Action")
}


_KNOWN: Final = "MATCH (r:AgentRun) WHERE r.id IN $ids AND r.born <= $r RETURN r.id"
_OF_CORRECTIONS: Final = (
    "MATCH (k:Correction) WHERE k.id IN $ids MATCH (k)-[e:OF_RUN]->(r:AgentRun) WHERE e.born <= $r RETURN r.id"
)


_OUTPUT: Final = "MATCH (r:AgentRun {id: $id}) WHERE r.answer IS NOT NULL RETURN r.id"
_SHOWN: Final = (
    "MATCH (r:AgentRun {id: $id})-[e:SHOWN]->(k:Correction) WHERE e.born <= $r RETURN k.id, e.heeded ORDER BY k.id"
)


def has_output(snap: Snapshot, run: str) -> bool:
    """Return whether it is known what a run put out."""
    return bool(snap.rows(_OUTPUT, id=run))


def shown_to(snap: Snapshot, run: str) -> dict[str, str | None]:
    """Return the corrections that a run was shown, each with whether it kept to it ("yes", "no", None)."""
    return {row[0]: row[1] for row in snap.rows(_SHOWN, id=run)}


def known_runs(snap: Snapshot, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` that are runs, asked here or reported."""
    return {row[0] for row in snap.rows_for(_KNOWN, ids)}


def runs_of_corrections(snap: Snapshot, corrections: Iterable[str]) -> set[str]:
    """Return the runs that corrections hang on."""
    return {row[0] for row in snap.rows_for(_OF_CORRECTIONS, corrections)}


def run_rows(snap: Snapshot) -> list[dict[str, Any]]:
    """Return one plain row a run, oldest first."""
    rows = snap.rows(_RUNS)
    decisions = dict(snap.rows_for(_MADE["Decision"], [row[0] for row in rows]))
    return [
        {
            "id": run,
            "question": question,
            "agent": agent,
            "outcome": outcome,
            "at": datetime.fromisoformat(at),
            "revision": born,
            "decision_id": decisions.get(run),
        }
        for run, question, agent, outcome, at, born in rows
    ]


def run_row(snap: Snapshot, run_id: str) -> dict[str, Any] | None:
    """Return everything that is kept of one run, or None."""
    rows = list(snap.rows_for(_RUN, [run_id]))
    if not rows:
        return None
    run, question, agent, outcome, _, born, answer, allowed, refused = rows[0]
    steps = [
        Step(n=n, agent=actor, kind=kind, summary=summary, detail=json.loads(detail))
        for n, actor, kind, summary, detail in snap.rows(_STEPS, id=run_id)
    ]
    return {
        "id": run,
        "question": question,
        "agent": agent,
        "outcome": outcome,
        "revision": born,
        "answer": answer,
        "cited": json.loads(allowed),
        "refused": json.loads(refused),
        "steps": steps,
        "decisions": made_by(snap, "Decision", [run_id]),
        "actions": made_by(snap, "Action", [run_id]),
    }


def made_by(snap: Snapshot, kind: str, runs: Iterable[str]) -> list[str]:
    """Return the decisions or actions that runs made."""
    return [row[1] for row in snap.rows_for(_MADE[kind], runs)]
