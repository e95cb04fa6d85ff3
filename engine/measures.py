"""What the corrections of a workspace come to: counts, accuracy with its uncertainty, recurrence."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, Final

from engine.correction_records import Caller, CorrectionStats
from engine.entries import party
from engine.errors import InvalidInput
from engine.states import State
from engine.store import measures
from engine.store.corrections import status_of
from engine.store.measures import Which
from engine.store.snapshot import Snapshot

Z: Final = 1.959963984540054  # of 95 %


def which(
    *,
    agent_name: str | None = None,
    entity_key: str | None = None,
    field: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    caller: Caller | None = None,
    tenant_id: str | None = None,
) -> Which:
    """Return which corrections are meant. With `caller`, none but its own tenant's and those of no tenant."""
    tenants: tuple[str, ...] | None = None
    if caller is not None:
        tenants = tuple(dict.fromkeys(party("tenant", name) for name in (None, caller.tenant_id)))
    if tenant_id is not None:
        wanted = party("tenant", tenant_id)
        tenants = (wanted,) if tenants is None or wanted in tenants else ()
    return Which(
        tenants=tenants,
        agent=party("agent", agent_name) if agent_name is not None else None,
        entity=party("entity", entity_key) if entity_key is not None else None,
        field=field,
        since=_moment(since, "since"),
        until=_moment(until, "until"),
    )


def stats(snap: Snapshot, chosen: Which) -> CorrectionStats:
    """Return what the chosen corrections come to."""
    statuses = measures.by_status(snap, chosen)
    by_status: dict[str, int] = {status_of(State(stored)): number for stored, number in statuses.items()}
    total = by_status.get("active", 0) + by_status.get("superseded", 0)
    runs = measures.runs(snap, chosen)
    corrected = min(measures.corrected_runs(snap, chosen), runs)
    again = measures.repeated(snap, chosen)
    return CorrectionStats(
        total=total,
        by_entity_key=measures.counted_by(snap, chosen, "entity"),
        by_field=measures.counted_by(snap, chosen, "field"),
        by_agent=measures.counted_by(snap, chosen, "agent"),
        by_author_kind=measures.counted_by(snap, chosen, "author_kind"),
        by_author=measures.counted_by(snap, chosen, "author"),
        by_status=by_status,
        by_day=dict(sorted(measures.counted_by(snap, chosen, "day").items())),
        runs=runs,
        corrected_runs=corrected,
        first_pass_accuracy=1 - corrected / runs if runs else None,
        accuracy_interval=wilson(runs - corrected, runs),
        recurred=again,
        recurrence_rate=again / total if total else None,
    )


def accuracy(snap: Snapshot, chosen: Which) -> list[dict[str, Any]]:
    """Return one row a day: day, runs, corrected_runs, first_pass_accuracy, low, high (95 % Wilson interval)."""
    rows = []
    for day, runs, corrected in measures.accuracy_by_day(snap, chosen):
        low, high = wilson(runs - corrected, runs) or (0.0, 1.0)
        rows.append(
            {
                "day": day,
                "runs": runs,
                "corrected_runs": corrected,
                "first_pass_accuracy": 1 - corrected / runs,
                "low": low,
                "high": high,
            }
        )
    return rows


def wilson(right: int, total: int) -> tuple[float, float] | None:
    """Return the 95 % Wilson score interval of a share (Wilson 1927); None when there is nothing to divide by."""
    if total <= 0:
        return None
    share = right / total
    scale = 1 + Z * Z / total
    centre = (share + Z * Z / (2 * total)) / scale
    half = Z * math.sqrt(share * (1 - share) / total + Z * Z / (4 * total * total)) / scale
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def _moment(at: object, what: str) -> str | None:
    from engine.view import moment

    if at is None:
        return None
    if not isinstance(at, datetime):
        raise InvalidInput(f"`{what}` is a datetime.", what)
    return moment(at)
