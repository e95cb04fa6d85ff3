"""What stands, and on what: the least fixed point of support, over plain data.

A claim stands on evidence or on justifications, a decision on justifications; a justification ("way") holds when
every premise is supported, and one that holds suffices. Nodes that hold up only each other are not supported.

The fixed point is counted in one pass over the premises, after Dowling and Gallier, "Linear-time algorithms for
testing the satisfiability of propositional Horn formulae" (1984). Terms are those of truth maintenance (Doyle 1979).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple


class Way(NamedTuple):
    """A justification: premises that are needed together."""

    id: str
    premises: frozenset[str]


class Ground(NamedTuple):
    """A piece of evidence. It needs all of `origins`: an echo of two sources falls with either."""

    id: str
    source: str
    origins: frozenset[str]
    standing: bool = True


@dataclass(frozen=True, slots=True)
class Node:
    """A claim or a decision. `open` says that its status lets it be supported at all."""

    id: str
    open: bool = True
    grounds: tuple[Ground, ...] = ()
    ways: tuple[Way, ...] = ()

    def with_(self, **changes: object) -> Node:
        """Return a copy with some fields replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]


SupportGraph = Mapping[str, Node]


def supported(graph: SupportGraph, outside: Mapping[str, bool] | None = None) -> set[str]:
    """Return the nodes of `graph` that are supported.

    `outside` gives the support of premises that are not in `graph`; one in neither counts as unsupported.
    """
    given = outside or {}
    waiting: dict[tuple[str, int], int] = {}
    needed_by: dict[str, list[tuple[str, int]]] = defaultdict(list)
    ready: deque[str] = deque()
    standing: set[str] = set()

    def stand(node: Node) -> None:
        if node.open and node.id not in standing:
            standing.add(node.id)
            ready.append(node.id)

    for node in graph.values():
        if not node.open:
            continue
        if any(ground.standing for ground in node.grounds):
            stand(node)
        for index, way in enumerate(node.ways):
            missing = 0
            for premise in way.premises:
                if premise in graph:
                    needed_by[premise].append((node.id, index))
                    missing += 1
                elif not given.get(premise, False):
                    missing = -1
                    break
            if missing == 0:
                stand(node)
            elif missing > 0:
                waiting[node.id, index] = missing
    while ready:
        for key in needed_by[ready.popleft()]:
            if key in waiting:
                waiting[key] -= 1
                if not waiting[key]:
                    stand(graph[key[0]])
    return standing


def ways_that_hold(node: Node, standing: Iterable[str] | set[str]) -> list[Way]:
    """Return the justifications of `node` whose premises all stand."""
    ground = standing if isinstance(standing, set) else set(standing)
    return [way for way in node.ways if way.premises <= ground]


def support_count(node: Node, standing: set[str]) -> int:
    """Return how many supports hold: justifications, and for a claim the sources its evidence stands in."""
    return len({g.source for g in node.grounds if g.standing}) + len(ways_that_hold(node, standing))


@dataclass(frozen=True, slots=True)
class Fragility:
    """The single points of failure of a node: withdrawing any one alone leaves it unsupported."""

    claims: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def all(self) -> list[str]:
        """Claims first, then origins."""
        return [*self.claims, *self.origins]


@dataclass(slots=True)
class _Points:
    """Numbers the candidates, so that a set of them is one integer."""

    bit: dict[tuple[str, str], int] = field(default_factory=dict)

    def of(self, kind: str, name: str) -> int:
        return 1 << self.bit.setdefault((kind, name), len(self.bit))


def single_points(
    graph: SupportGraph,
    claims: set[str],
    wanted: Iterable[str],
    standing: set[str] | None = None,
    origins: set[str] | None = None,
) -> dict[str, Fragility]:
    """Return what each of `wanted` cannot do without, among `claims` and `origins` (None: all origins).

    `graph` must hold everything upstream of `wanted`. For every node the set of single failures that it survives
    is the least fixed point of "some support survives", where a justification survives what all its premises
    survive: why-provenance read as sets of failures (Green, Karvounarakis, Tannen 2007). An unsupported node is
    fragile on nothing.
    """
    standing = supported(graph) if standing is None else standing
    points = _Points()
    own: dict[str, int] = {}
    ground_fails: dict[str, list[int]] = {}
    ways: dict[str, list[frozenset[str]]] = {}
    dependents: dict[str, list[str]] = defaultdict(list)
    for name in sorted(standing):
        node = graph[name]
        own[name] = points.of("claim", name) if name in claims else 0
        ground_fails[name] = [
            sum(points.of("origin", o) for o in ground.origins if origins is None or o in origins)
            for ground in node.grounds
            if ground.standing
        ]
        ways[name] = [way.premises for way in ways_that_hold(node, standing)]
        for premises in ways[name]:
            for premise in premises:
                dependents[premise].append(name)
    everything = (1 << len(points.bit)) - 1
    survives = dict.fromkeys(standing, 0)
    queue = deque(sorted(standing))
    queued = set(queue)
    while queue:
        name = queue.popleft()
        queued.discard(name)
        mask = 0
        for fails in ground_fails[name]:
            mask |= everything & ~fails
        for premises in ways[name]:
            together = everything
            for premise in premises:
                together &= survives[premise]
            mask |= together
        mask &= ~own[name]
        if mask != survives[name]:
            survives[name] = mask
            for dependent in dependents[name]:
                if dependent not in queued:
                    queued.add(dependent)
                    queue.append(dependent)
    names = list(points.bit)
    result = {}
    for name in wanted:
        if name not in standing:
            result[name] = Fragility()
            continue
        fatal = everything & ~survives[name] & ~own[name]
        found: dict[str, list[str]] = {"claim": [], "origin": []}
        while fatal:
            low = fatal & -fatal
            kind, point = names[low.bit_length() - 1]
            found[kind].append(point)
            fatal ^= low
        result[name] = Fragility(tuple(sorted(found["claim"])), tuple(sorted(found["origin"])))
    return result


def origins_behind(graph: SupportGraph, name: str, standing: set[str]) -> set[str]:
    """Return every origin that some holding support of `name` rests on; `graph` must hold all upstream of it."""
    seen: set[str] = set()
    found: set[str] = set()
    stack = [name] if name in standing else []
    while stack:
        node = graph[stack.pop()]
        if node.id in seen:
            continue
        seen.add(node.id)
        for ground in node.grounds:
            if ground.standing:
                found |= ground.origins
        for way in ways_that_hold(node, standing):
            stack.extend(way.premises)
    return found


WITNESSES_KEPT = 24
ROUNDS = 200  # how often a node in a tangle of cycles is looked at again


def smallest_witness(graph: SupportGraph, name: str, standing: set[str]) -> tuple[list[str], bool]:
    """Return a smallest set of claims with evidence that holds `name` up, and whether it is surely smallest.

    `graph` must hold everything upstream. Minimal witnesses as in Buneman, Khanna, Tan, "Why and where"
    (2001): every node keeps its smallest sets; where there are more than fit, the smallest kept are used and the
    second value is False. An unsupported node has the empty set.
    """
    if name not in standing:
        return [], True
    kept: dict[str, list[frozenset[str]]] = {}
    dependents: dict[str, list[str]] = defaultdict(list)
    ways = {node: ways_that_hold(graph[node], standing) for node in standing}
    for node, held in ways.items():
        for way in held:
            for premise in way.premises:
                dependents[premise].append(node)
    exact = True
    queue = deque(sorted(node for node in standing if any(g.standing for g in graph[node].grounds)))
    rounds: dict[str, int] = defaultdict(int)
    while queue:
        node = queue.popleft()
        found: set[frozenset[str]] = set()
        if any(ground.standing for ground in graph[node].grounds):
            found.add(frozenset({node}))
        for way in ways[node]:
            if all(premise in kept for premise in way.premises):
                together = {frozenset[str]()}
                for premise in sorted(way.premises):
                    together, cut = _smallest({a | b for a in together for b in kept[premise]})
                    exact = exact and not cut
                found |= together
        found, cut = _smallest(found)
        exact = exact and not cut
        listed = sorted(found, key=lambda witness: (len(witness), sorted(witness)))
        rounds[node] += 1
        if listed == kept.get(node):
            continue
        if rounds[node] > ROUNDS:
            exact = False
            continue
        kept[node] = listed
        queue.extend(dependents[node])
    return sorted(kept[name][0]), exact


def _smallest(witnesses: set[frozenset[str]]) -> tuple[set[frozenset[str]], bool]:
    """Return the witnesses that contain no other, the smallest of them; and whether any had to be left out."""
    minimal: list[frozenset[str]] = []
    for witness in sorted(witnesses, key=lambda w: (len(w), sorted(w))):
        if not any(smaller <= witness for smaller in minimal):
            minimal.append(witness)
    return set(minimal[:WITNESSES_KEPT]), len(minimal) > WITNESSES_KEPT
