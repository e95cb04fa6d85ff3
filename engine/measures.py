"""What the corrections of a workspace come to: counts, accuracy with its uncertainty, recurrence."""

from __future__ import annotations

import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final

from engine.correction_records import Caller, CorrectionStats
from engine.entries import checked_caller, party
from engine.errors import InvalidInput
from engine.states import State
from engine.store import measures
from engine.store.corrections import status_of
from engine.store.measures import Which
from engine.store.snapshot import Snapshot

COUNTED: Final = ("active", "superseded")
"""What people did correct: reverted ones are taken back, pending ones are yet to be looked at."""
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
    for name, value in (
        ("agent_name", agent_name), ("entity_key", entity_key), ("field", field), ("tenant_id", tenant_id),
    ):  # fmt: skip
        if value is not None and type(value) is not str:
            raise InvalidInput(f"`{name}` is text, not {type(value).__name__}.", name)
    checked_caller(caller)
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
        user=caller.user_id.strip() if caller is not None and caller.user_id else None,
        since=_moment(since, "since"),
        until=_moment(until, "until"),
    )


def stats(snap: Snapshot, chosen: Which) -> CorrectionStats:
    """Return what the chosen corrections come to."""
    # Two passes at once: the database has more than one thread, and neither needs the other.
    with ThreadPoolExecutor(1) as beside:
        entities = beside.submit(measures.by_entity, snap, chosen)
        tallied = measures.tally(snap, chosen)
    by: dict[str, Counter[str]] = {name: Counter() for name in measures.TALLIED}
    for values, number in tallied:
        status = status_of(State(str(values["status"])))
        values["author_kind"] = values["author_kind"] or "human"
        by["status"][status] += number
        if status in COUNTED:
            for name in measures.TALLIED[1:]:
                if value := values[name]:
                    by[name][value] += number
    total = sum(by["status"][status] for status in COUNTED)
    runs = measures.runs(snap, chosen)
    corrected = min(measures.corrected_runs(snap, chosen), runs)
    again = measures.repeated(snap, chosen)
    return CorrectionStats(
        total=total,
        by_entity_key=entities.result(),
        by_field=_most_first(by["field"]),
        by_agent=_most_first(by["agent"]),
        by_author_kind=_most_first(by["author_kind"]),
        by_author=_most_first(by["author"]),
        by_status=_most_first(by["status"]),
        by_day=dict(sorted(by["day"].items())),
        runs=runs,
        corrected_runs=corrected,
        first_pass_accuracy=1 - corrected / runs if runs else None,
        accuracy_interval=wilson(runs - corrected, runs),
        recurred=again,
        recurrence_rate=again / total if total else None,
    )


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


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
