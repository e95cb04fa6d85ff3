"""Where the nodes of the product view stand: columns by kind from left to right, computed here, never by physics.

A browser that lays out a graph by forces takes minutes at a few hundred nodes and never draws the same picture
twice. Here the same graph always gives the same picture, and a picture's left is what its right rests on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

COLUMN: Final = 230
ROW: Final = 128
DEEPEST: Final = 4
"""How many columns one kind may take: a longer chain stays in the last of them, and a cycle ends there."""
SWEEPS: Final = 6

Edge = tuple[str, str, str]
"""(source, target, relation), along the arrow."""


def positions(kinds: Mapping[str, str], edges: Sequence[Edge]) -> dict[str, tuple[int, int]]:
    """Return x and y of every node of `kinds` (id → kind). Edges to ids that are not there are passed over."""
    known = [(a, b, relation) for a, b, relation in edges if a in kinds and b in kinds]
    column = columns(kinds, known)
    order = _ordered(column, known)
    placed = {
        name: (column[name] * COLUMN, round((place - (len(names) - 1) / 2) * ROW))
        for names in order
        for place, name in enumerate(names)
    }
    placed.update(_corrections(kinds, known, placed))
    return placed


def columns(kinds: Mapping[str, str], edges: Iterable[Edge]) -> dict[str, int]:
    """Return the column of every node but the Corrections, which stand above the others.

    Sources are in column 0; claims follow, those derived from others further right; then decisions likewise;
    actions last. A column that nothing stands in takes no room.
    """
    supports = [(a, b) for a, b, relation in edges if relation == "SUPPORTS"]
    level = {
        **_levels(kinds, supports, "Claim"),
        **_levels(kinds, supports, "Decision"),
    }
    rank = {"Source": 0, "Claim": 1, "Decision": 1 + DEEPEST, "Action": 1 + 2 * DEEPEST}
    wide = {name: rank[kind] + level.get(name, 0) for name, kind in kinds.items() if kind in rank}
    narrow = {wide_column: place for place, wide_column in enumerate(sorted(set(wide.values())))}
    return {name: narrow[wide_column] for name, wide_column in wide.items()}


def _levels(kinds: Mapping[str, str], supports: Iterable[tuple[str, str]], kind: str) -> dict[str, int]:
    """Return how many steps of its own kind lie before each node, `DEEPEST - 1` at most."""
    inner = [(a, b) for a, b in supports if kinds[a] == kind and kinds[b] == kind]
    level = {name: 0 for name, is_kind in kinds.items() if is_kind == kind}
    for _ in range(DEEPEST - 1):
        for a, b in inner:
            level[b] = max(level[b], min(level[a] + 1, DEEPEST - 1))
    return level


def _ordered(column: Mapping[str, int], edges: Iterable[Edge]) -> list[list[str]]:
    """Return the names of each column from top to bottom, so ordered that few edges cross.

    The barycentre heuristic (Sugiyama, Tagawa, Toda 1981): each node moves to the mean height of its neighbours,
    sweeping to and fro. Ties keep their order, so the result depends on the input alone.
    """
    neighbours: dict[str, list[str]] = defaultdict(list)
    for a, b, _ in edges:
        if a in column and b in column and column[a] != column[b]:
            neighbours[a].append(b)
            neighbours[b].append(a)
    order: list[list[str]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for name in column:
        order[column[name]].append(name)
    height = _heights(order)
    for sweep in range(SWEEPS):
        rightward = sweep % 2 == 0
        places = range(len(order)) if rightward else reversed(range(len(order)))
        for place in places:
            for name in order[place]:
                side = [n for n in neighbours[name] if (column[n] < place) == rightward]
                if side:
                    height[name] = sum(height[n] for n in side) / len(side)
            order[place].sort(key=lambda name: height[name])
            height.update(_heights([order[place]]))
    return order


def _heights(order: Iterable[Sequence[str]]) -> dict[str, float]:
    return {name: place - (len(names) - 1) / 2 for names in order for place, name in enumerate(names)}


def _corrections(
    kinds: Mapping[str, str], edges: Iterable[Edge], placed: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """Return places in rows above everything else, each near the claims it corrects or puts in."""
    touched: dict[str, list[int]] = {name: [] for name, kind in kinds.items() if kind == "Correction"}
    for a, b, _ in edges:
        if a in touched and b in placed:
            touched[a].append(placed[b][0])
    top = min((y for _, y in placed.values()), default=0) - ROW
    taken: dict[int, int] = defaultdict(int)
    found: dict[str, tuple[int, int]] = {}
    for name, claims in touched.items():
        x = (min(claims) if claims else COLUMN) - COLUMN // 2
        found[name] = (x, top - ROW * taken[x])
        taken[x] += 1
    return found
