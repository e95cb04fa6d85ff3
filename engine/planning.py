"""How every change is made: planned against one revision, committed as the next, planned again when beaten to it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from engine.errors import DatabaseUnavailable
from engine.ids import kind_of
from engine.impact import Change, Outcome, Reach, assess
from engine.states import State
from engine.store.commit import ChangeSet, EventInfo, commit
from engine.store.database import Database
from engine.store.snapshot import Snapshot, head
from engine.store.structure import load_reach

ATTEMPTS: Final = 200
LONGEST_PAUSE: Final = 0.25


@dataclass
class Plan:
    """One change: what it writes, what history says of it, and what it returns."""

    change: ChangeSet
    kind: str
    summary: str = ""
    actor: str = ""
    reason: str = ""
    ref: str = ""
    result: Any = None
    facts: dict[str, Any] = field(default_factory=dict)


Planner = Callable[[Snapshot, int], Plan]


def now() -> str:
    """Return the present as ISO 8601 in UTC, in a form that sorts as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def carry_out(database: Database, graph: str, workspace_id: str, planner: Planner) -> tuple[Plan, int]:
    """Plan and commit until the plan holds for the revision it was made for. Return it with its revision.

    A plan that writes nothing commits nothing, and its revision is the one that it was made against.
    """
    for attempt in range(ATTEMPTS):
        top = head(database, graph, workspace_id)
        plan = planner(Snapshot(database, graph, workspace_id, top.revision), top.revision + 1)
        if plan.change.empty:
            return plan, top.revision
        # The clock of the machine may jump back; history's never does.
        at = max(now(), top.at)
        event = EventInfo(plan.kind, plan.actor, plan.reason, plan.summary, plan.ref, at)
        if commit(database, graph, workspace_id, top.revision, plan.change, event):
            return plan, plan.change.revision
        time.sleep(random.uniform(0, min(LONGEST_PAUSE, 0.002 * 2 ** min(attempt, 10))))  # noqa: S311
    raise DatabaseUnavailable(
        f"Other writers were faster {ATTEMPTS} times in a row; nothing was changed. Try again in a moment."
    )


def write_outcome(change: ChangeSet, reach: Reach, outcome: Outcome) -> None:
    """Put the new states of everything in reach into the change set."""
    for name, fate in outcome.fates.items():
        change.move(kind_of(name), name, reach.lives[name], fate.after)


def spread(snap: Snapshot, change: ChangeSet, by_hand: Change) -> tuple[Reach, Outcome]:
    """Work out what `by_hand` does downstream of what it touches, and put it into the change set."""
    seeds = {*by_hand.statuses, *by_hand.ways, *by_hand.grounds}
    reach = load_reach(snap, seeds, {p for ways in by_hand.ways.values() for way in ways for p in way.premises})
    outcome = assess(reach, by_hand, change.revision)
    write_outcome(change, reach, outcome)
    return reach, outcome


def born(revision: int, status: str, supported: bool = True, note: str = "") -> dict[str, object]:
    """Return the properties of a node that begins with this revision."""
    state = State(status, supported, 0 if supported else revision, note)
    return {"born": revision, "since": revision, "state": state.encode()}
