"""What would be, had some corrections never been: history replayed without them, over plain data.

Undoing is not reversing. Other corrections, settlements and new support came after, and what they would have done
without the undone ones differs from what they did. So the part of the graph that the undone corrections reach is
replayed from just before the first of them, and everything else is taken as it was.

Rules of the replay, beside those of support:

* a claim that an undone correction put in is never current;
* a decision is marked when it loses support, and by what a reviewer settled it is unmarked;
* one that began unsupported, or that an earlier undo left unsupported, is marked only if it still is so here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.impact import OPEN
from engine.states import Lifeline, State
from engine.support import Ground, Node, Way, supported


@dataclass(frozen=True, slots=True)
class PastNode:
    """A claim or decision, with everything that ever held it up and the revisions between which it did."""

    id: str
    life: Lifeline
    grounds: tuple[tuple[Ground, int, int | None], ...] = ()  # ground, born, died
    ways: tuple[tuple[Way, int], ...] = ()  # way, born

    @property
    def decision(self) -> bool:
        """A decision, not a claim."""
        return self.id.startswith("d_")


@dataclass(frozen=True, slots=True)
class PastCorrection:
    """A correction as history has it. `undone` is the revision that undid it."""

    id: str
    revision: int
    claims: tuple[str, ...] = ()
    status: str = "superseded"  # what the claims became
    replacement: str | None = None
    source: str | None = None
    undone: int | None = None


@dataclass(slots=True)
class Past:
    """The part of history that a replay needs."""

    nodes: dict[str, PastNode]
    outside: dict[str, Lifeline]
    sources: dict[str, Lifeline]
    corrections: list[PastCorrection]
    settled: dict[int, dict[str, str]] = field(default_factory=dict)  # revision → decision → its new status
    marked_by_undo: dict[int, set[str]] = field(default_factory=dict)  # revision of an undo → decisions marked then


def excluded_with(corrections: Iterable[PastCorrection], undone: Iterable[str]) -> tuple[set[str], int]:
    """Return every correction that a replay must leave out, and the revision that it must start at.

    Corrections that were undone after the replay's start are left out from the start on, which is what their
    undo made of history; they may in turn move the start back.
    """
    every = list(corrections)
    out = set(undone)
    start = min(correction.revision for correction in every if correction.id in out)
    while True:
        more = {c.id for c in every if c.undone is not None and c.undone >= start} - out
        if not more:
            return out, start
        out |= more
        start = min(start, *(c.revision for c in every if c.id in more))


def replay(past: Past, without: set[str], start: int, until: int) -> dict[str, State]:
    """Return the state of every node at `until`, had the corrections `without` never been.

    `start` is the first revision at which history differs.
    """
    before = start - 1
    never = {c.replacement for c in past.corrections if c.id in without and c.replacement}
    active = {source: life.at(before).status == "active" for source, life in past.sources.items()}
    states = {name: node.life.at(before) for name, node in past.nodes.items() if node.life.born <= before}
    steps = _steps(past, without, start, until)
    for revision in sorted(steps):
        previous = {name for name, state in states.items() if state.supported}
        for name, node in past.nodes.items():
            if node.life.born == revision:
                status = "superseded" if name in never else node.life.states[0].status
                states[name] = State(status, False, revision)
        retracting: set[str] = set()
        for correction in steps[revision]:
            for claim in correction.claims:
                if claim in states:
                    states[claim] = states[claim]._replace(status=correction.status)
            if correction.source is not None:
                active[correction.source] = False
                retracting.add(correction.source)
        for name, status in past.settled.get(revision, {}).items():
            if name in states:
                states[name] = states[name]._replace(status=status)
        standing = _supported_at(past, states, active, revision)
        for name, state in list(states.items()):
            node = past.nodes[name]
            new = state._replace(supported=name in standing)
            if name in standing:
                new = new._replace(cause=0 if not node.decision else new.cause)
            elif name in previous:
                new = new._replace(cause=revision)
                if node.decision and new.status == "standing":
                    new = new._replace(status="needs_review")
            elif node.decision and new.status == "standing" and name in past.marked_by_undo.get(revision, ()):
                new = new._replace(status="needs_review", cause=revision)
            if node.decision and node.life.born == revision and state.status == "needs_review" and new.supported:
                new = new._replace(status="standing", cause=0)
            if (
                retracting
                and not node.decision
                and new.status == "current"
                and not new.supported
                and any(g.source in retracting for g, born, died in node.grounds if _there(born, died, revision))
            ):
                new = new._replace(status="retracted")
            states[name] = new
    return states


def _there(born: int, died: int | None, revision: int) -> bool:
    return born <= revision and (died is None or died > revision)


def _steps(past: Past, without: set[str], start: int, until: int) -> dict[int, list[PastCorrection]]:
    """Return the revisions at which anything here changes, each with the corrections to be carried out."""
    steps: dict[int, list[PastCorrection]] = defaultdict(list)
    revisions: set[int] = {start}
    for node in past.nodes.values():
        revisions.add(node.life.born)
        revisions |= {born for _, born in node.ways}
        for _, born, died in node.grounds:
            revisions |= {born} if died is None else {born, died}
    for life in past.outside.values():
        revisions.update(life.since)
    revisions |= past.settled.keys() | past.marked_by_undo.keys()
    for correction in past.corrections:
        if correction.id not in without and start <= correction.revision <= until:
            steps[correction.revision].append(correction)
    for revision in revisions:
        if start <= revision <= until:
            steps[revision]  # a step at which nothing is corrected
    return steps


def _supported_at(past: Past, states: dict[str, State], active: dict[str, bool], revision: int) -> set[str]:
    graph = {
        name: Node(
            name,
            state.status in OPEN,
            tuple(
                ground._replace(standing=active.get(ground.source, True))
                for ground, born, died in past.nodes[name].grounds
                if _there(born, died, revision)
            ),
            tuple(way for way, born in past.nodes[name].ways if born <= revision),
        )
        for name, state in states.items()
    }
    given = {name: life.born <= revision and life.at(revision).supported for name, life in past.outside.items()}
    return supported(graph, given)
