"""Which claims and origins carry most: what would fall if any one of them were withdrawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

from engine.effects import origin_names
from engine.store.decisions import action_rows
from engine.store.snapshot import Snapshot
from engine.store.structure import whole
from engine.support import single_points

CANDIDATES: Final = 1_000


def load_bearing_rows(snap: Snapshot, limit: int) -> list[dict[str, Any]]:
    """Return one plain row a claim or origin, those that most would fall with first.

    `falls` counts the claims and decisions that have no support without it (itself not counted), `actions` the
    actions not done yet that would be held. In a workspace with more than a thousand claims (or origins) only the
    thousand with the most direct dependents are tried.
    """
    structure = whole(snap)
    standing = {name for name, state in structure.states.items() if state.supported}
    direct: Counter[str] = Counter()
    quoting: Counter[str] = Counter()
    for name in standing:
        node = structure.graph[name]
        direct.update({premise for way in node.ways for premise in way.premises if premise in standing})
        quoting.update({origin for g in node.grounds if g.standing for origin in g.origins})
    claims = {name for name, _ in direct.most_common() if name.startswith("c_")}
    if len(claims) > CANDIDATES:
        claims = set(sorted(claims, key=lambda name: (-direct[name], name))[:CANDIDATES])
    origins = set(sorted(quoting, key=lambda name: (-quoting[name], name))[:CANDIDATES])
    points = single_points(structure.graph, claims, standing, standing, origins)
    falls: dict[str, set[str]] = defaultdict(set)
    for name, fragility in points.items():
        for point in fragility.all:
            falls[point].add(name)
    waiting = [row for row in action_rows(snap) if row["status"] in ("proposed", "held")]
    names = origin_names(snap, origins)
    rows: list[dict[str, Any]] = [
        {
            "id": point,
            "kind": "Claim" if point in structure.graph else "Origin",
            "title": structure.titles.get(point) or names.get(point, point),
            "falls": len(fallen),
            "decisions": sum(name.startswith("d_") for name in fallen),
            "actions": sum(any(d in fallen for d in row["because"]) for row in waiting),
            "claims": sum(name.startswith("c_") for name in fallen),
        }
        for point, fallen in falls.items()
    ]
    rows.sort(key=lambda row: (-row["falls"], -row["decisions"], row["kind"], row["title"], row["id"]))
    return rows[:limit]
