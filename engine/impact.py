"""What a change brings down, over plain data: every node it reaches in exactly one tier, and why.

Only what is reachable from the change is looked at. What lost its last support is flagged, no more and no less.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from engine.states import Lifeline, State
from engine.support import Ground, Node, Way, supported, ways_that_hold

Tier: TypeAlias = Literal["acted", "needs_review", "held", "weakened", "restored", "untouched"]


@dataclass(frozen=True, slots=True)
class Reached:
    """A node in reach of a change, as it was before it."""

    id: str
    kind: str
    title: str
    state: State
    node: Node
    because: tuple[str, ...] = ()  # an action's decisions, all needed


@dataclass(slots=True)
class Reach:
    """Everything a change can reach, what was changed included, and the support of what lies just outside."""

    nodes: dict[str, Reached]
    outside: dict[str, State] = field(default_factory=dict)
    outside_titles: dict[str, str] = field(default_factory=dict)
    lives: dict[str, Lifeline] = field(default_factory=dict)

    def graph(self) -> dict[str, Node]:
        """Return the part that support is computed over: claims and decisions."""
        return {name: reached.node for name, reached in self.nodes.items() if reached.kind != "Action"}

    def title(self, name: str) -> str:
        """Return what a person calls a node in reach or just outside."""
        return self.nodes[name].title if name in self.nodes else self.outside_titles.get(name, name)


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed by hand: statuses of claims and decisions, sources that (no longer) stand, new supports."""

    statuses: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, bool] = field(default_factory=dict)
    ways: Mapping[str, tuple[Way, ...]] = field(default_factory=dict)
    grounds: Mapping[str, tuple[Ground, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fate:
    """What a change does to one node."""

    id: str
    tier: Tier | None  # None: the node was changed by hand
    path: tuple[str, ...]
    before: State
    after: State
    supports_before: int
    supports_after: int
    kept: tuple[Way, ...] = ()
    lost: tuple[Way, ...] = ()
    kept_grounds: tuple[Ground, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The fate of every node in reach, and the support structure after the change."""

    fates: dict[str, Fate]
    graph: dict[str, Node]
    standing: set[str]
    retracted: tuple[str, ...] = ()

    def tier(self, tier: Tier) -> list[Fate]:
        """Return the fates in one tier, by id."""
        return sorted((fate for fate in self.fates.values() if fate.tier == tier), key=lambda fate: fate.id)


OPEN = {"current", "standing", "needs_review"}


def changed_graph(graph: Mapping[str, Node], change: Change) -> dict[str, Node]:
    """Return the support structure after `change`."""
    after = {}
    for name, node in graph.items():
        grounds = tuple(
            ground._replace(standing=change.sources[ground.source]) if ground.source in change.sources else ground
            for ground in node.grounds
        )
        after[name] = Node(
            name,
            change.statuses[name] in OPEN if name in change.statuses else node.open,
            grounds + change.grounds.get(name, ()),
            node.ways + change.ways.get(name, ()),
        )
    return after


def seeds_of(reach: Reach, change: Change) -> list[str]:
    """Return the nodes that the change touches by hand, in a fixed order."""
    touched = {*change.statuses, *change.ways, *change.grounds}
    if change.sources:
        touched |= {
            name
            for name, reached in reach.nodes.items()
            if any(ground.source in change.sources for ground in reached.node.grounds)
        }
    return sorted(touched & reach.nodes.keys())


def assess(
    reach: Reach,
    change: Change,
    revision: int,
    edited: Iterable[str] | None = None,
    replayed: Mapping[str, State] | None = None,
) -> Outcome:
    """Return what `change` does to everything in `reach`, if it is made as `revision`.

    `edited` names the nodes that the change is about (they get no tier); by default those with a new status.
    `replayed` gives the marks that nodes would bear by a replay of history; without it marks are only added.
    """
    graph = reach.graph()
    given = {name: state.supported for name, state in reach.outside.items()}
    outside_standing = {name for name, stands in given.items() if stands}
    before = {name for name in graph if reach.nodes[name].state.supported}
    after_graph = changed_graph(graph, change)
    after = supported(after_graph, given)
    statuses = dict(change.statuses)
    retracted = tuple(
        sorted(
            name
            for name, node in graph.items()
            if reach.nodes[name].state.status == "current"
            and name not in after
            and name not in statuses
            and any(not change.sources.get(ground.source, True) for ground in node.grounds)
        )
    )
    statuses |= dict.fromkeys(retracted, "retracted")
    by_hand = set(change.statuses if edited is None else edited) | set(retracted)
    lost_nodes = before - after
    gained_nodes = after - before
    carriers = {name: ways_that_hold(graph[name], before | outside_standing) for name in lost_nodes}
    carriers |= {name: ways_that_hold(after_graph[name], after | outside_standing) for name in gained_nodes}
    paths = _paths(reach, seeds_of(reach, change), carriers)

    fates: dict[str, Fate] = {}
    for name, node in graph.items():
        reached = reach.nodes[name]
        held_before = ways_that_hold(node, before | outside_standing) if node.open else []
        held_after = ways_that_hold(after_graph[name], after | outside_standing) if after_graph[name].open else []
        still = {way.id for way in held_after}
        lost = tuple(way for way in held_before if way.id not in still)
        grounds_before = {g.source for g in node.grounds if g.standing} if node.open else set()
        grounds_after = tuple(g for g in after_graph[name].grounds if g.standing and after_graph[name].open)
        supports_before = len(held_before) + len(grounds_before)
        supports_after = len(held_after) + len({g.source for g in grounds_after})
        status = statuses.get(name, reached.state.status)
        cause = reached.state.cause
        tier: Tier | None
        if name in lost_nodes:
            tier = "needs_review"
            cause = revision
            if reached.kind == "Decision" and status == "standing":
                status = "needs_review"
        elif name in gained_nodes:
            tier = "restored"
            cause = 0 if reached.kind == "Claim" else cause
        elif name in after and (lost or len(grounds_before) > len({g.source for g in grounds_after})):
            tier = "weakened"
        elif name in after and supports_after > supports_before:
            tier = "restored"
        else:
            tier = "untouched"
        if replayed is not None and name not in lost_nodes:
            was, would = reached.state.status, replayed[name].status
            if (was, would) == ("needs_review", "standing") and name not in after:
                pass  # without support it stays marked, whatever took the support away
            else:
                status, cause = would, replayed[name].cause
                if (was, would) == ("needs_review", "standing"):
                    tier = "restored"
                elif (was, would) == ("standing", "needs_review"):
                    tier = "needs_review"
        fates[name] = Fate(
            name,
            None if name in by_hand else tier,
            paths.get(name, (name,)),
            reached.state,
            reached.state._replace(status=status, supported=name in after, cause=cause),
            supports_before,
            supports_after,
            tuple(held_after),
            lost,
            grounds_after,
        )
    for name, reached in reach.nodes.items():
        if reached.kind == "Action":
            fates[name] = _action_fate(name, reached, reach, fates, paths)
    return Outcome(fates, after_graph, after | outside_standing, retracted)


def _action_fate(
    name: str, reached: Reached, reach: Reach, fates: Mapping[str, Fate], paths: Mapping[str, tuple[str, ...]]
) -> Fate:
    """An action hangs on all its decisions: one that needs review puts it on hold, or makes it an exposure."""
    marked = [d for d in reached.because if d in fates and fates[d].after.status == "needs_review"]
    newly = [d for d in marked if fates[d].tier == "needs_review"]
    elsewhere = any(
        reach.outside[d].status == "needs_review" for d in reached.because if d not in fates and d in reach.outside
    )
    status = action_status(reached.state.status, bool(marked) or elsewhere)
    tier: Tier = "untouched"
    if newly and reached.state.status == "done":
        tier = "acted"
    elif newly and reached.state.status in ("proposed", "held"):
        tier = "held"
    elif reached.state.status == "held" and status == "proposed":
        tier = "restored"
    via = newly or [d for d in reached.because if d in paths]
    path = (*min((paths[d] for d in via if d in paths), key=len, default=()), name)
    before = sum(1 for d in reached.because if _standing(d, fates, reach, after=False))
    after = sum(1 for d in reached.because if _standing(d, fates, reach, after=True))
    return Fate(name, tier, path, reached.state, reached.state._replace(status=status), before, after)


def _standing(name: str, fates: Mapping[str, Fate], reach: Reach, after: bool) -> bool:
    if name in fates:
        return (fates[name].after if after else fates[name].before).status == "standing"
    return name in reach.outside and reach.outside[name].status == "standing"


def action_status(status: str, marked: bool) -> str:
    """Return an action's status when one of its decisions needs review (`marked`), or none does."""
    if status == "proposed" and marked:
        return "held"
    if status == "held" and not marked:
        return "proposed"
    return status


def _paths(reach: Reach, seeds: Iterable[str], carriers: Mapping[str, list[Way]]) -> dict[str, tuple[str, ...]]:
    """Return for every node a shortest path from the change.

    `carriers` are the nodes that lost or gained support, each with the justifications that carried it there:
    those are reached through one another; every other node through the nearest of them.
    """
    carried: dict[str, list[str]] = defaultdict(list)
    for name in sorted(carriers):
        for premise in sorted({premise for way in carriers[name] for premise in way.premises}):
            carried[premise].append(name)
    dependents: dict[str, list[str]] = defaultdict(list)
    for name in sorted(reach.nodes):
        reached = reach.nodes[name]
        for premise in sorted({p for way in reached.node.ways for p in way.premises} | set(reached.because)):
            dependents[premise].append(name)
    paths: dict[str, tuple[str, ...]] = {seed: (seed,) for seed in seeds}
    for neighbours in (carried, dependents):
        queue = deque(list(paths))
        while queue:
            name = queue.popleft()
            for dependent in neighbours[name]:
                if dependent not in paths:
                    paths[dependent] = (*paths[name], dependent)
                    queue.append(dependent)
    return paths
