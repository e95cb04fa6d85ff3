"""Agent runs, their steps and handoffs: every query that reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from engine.records import Step
from engine.store.snapshot import Snapshot

_RUNS: Final = (
    "MATCH (r:AgentRun) WHERE r.born <= $r "
    "RETURN r.id, r.question, r.name, r.outcome, r.at, r.born ORDER BY r.born, r.id"
)
_RUN: Final = (
    "MATCH (r:AgentRun) WHERE r.id IN $ids AND r.born <= $r "
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
