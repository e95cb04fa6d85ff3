"""From what a change does to what a reviewer is shown: effects with titles, paths, fragility and a sentence each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.impact import Change, Fate, Outcome, Reach, Tier, changed_graph
from engine.reasons import why
from engine.records import Effect, Impact
from engine.store.claims import HUMAN_ORIGIN
from engine.store.snapshot import Snapshot
from engine.store.sources import fetch_sources
from engine.store.structure import Structure, upstream
from engine.support import Fragility, single_points, supported

TIERS: tuple[Tier, ...] = ("acted", "needs_review", "held", "weakened", "restored", "untouched")


@dataclass(frozen=True)
class Frailty:
    """What some nodes hang on, with the names of what that is."""

    of: dict[str, Fragility]
    titles: dict[str, str]


def frailty(snap: Snapshot, structure: Structure, names: Iterable[str]) -> Frailty:
    """Return the single points of failure of `names` within a structure that holds all upstream of them."""
    found = single_points(structure.graph, structure.claims, names, supported(structure.graph))
    origins = {origin for fragility in found.values() for origin in fragility.origins}
    return Frailty(found, structure.titles | origin_names(snap, origins))


def origin_names(snap: Snapshot, origins: Iterable[str]) -> dict[str, str]:
    """Return what a person calls each origin: the source's name where the origin is a source."""
    every = set(origins)
    ids = {origin for origin in every if origin.startswith("s_")}
    people = {HUMAN_ORIGIN: "what reviewers said"} if HUMAN_ORIGIN in every else {}
    return people | {source_id: source.name for source_id, source in fetch_sources(snap, ids).items()}


def impact_of(snap: Snapshot, reach: Reach, change: Change, outcome: Outcome) -> Impact:
    """Return the impact record of an outcome."""
    kept = [
        fate.id
        for fate in outcome.fates.values()
        if fate.tier in ("weakened", "restored") and reach.nodes[fate.id].kind != "Action"
    ]
    shown = Frailty({}, {})
    if kept:
        premises = {premise for ways in change.ways.values() for way in ways for premise in way.premises}
        structure = upstream(snap, {*kept, *premises})
        structure.graph = changed_graph(structure.graph, change)
        shown = frailty(snap, structure, kept)

    def title(name: str) -> str:
        return shown.titles.get(name) or reach.title(name)

    def effect(fate: Fate) -> Effect:
        reached = reach.nodes[fate.id]
        fragility = shown.of.get(fate.id)
        return Effect(
            id=fate.id,
            kind=reached.kind,  # type: ignore[arg-type]
            title=reached.title,
            path=list(fate.path),
            path_titles=[title(name) for name in fate.path],
            supports_before=fate.supports_before,
            supports_after=fate.supports_after,
            fragile_on=fragility.all if fragility else [],
            status_before=_status(fate.before.status, fate.before.supported, reached.kind),
            status_after=_status(fate.after.status, fate.after.supported, reached.kind),
            why=why(fate, reached.kind, title, fragility),
        )

    def tier(name: Tier) -> list[Effect]:
        return [effect(fate) for fate in sorted(outcome.tier(name), key=lambda f: (len(f.path), f.path))]

    return Impact(**{name: tier(name) for name in TIERS})


def _status(status: str, stands: bool, kind: str) -> str:
    """A derived claim that lost its support stays current; a reader must see that it does not stand."""
    return "unsupported" if kind == "Claim" and status == "current" and not stands else status
