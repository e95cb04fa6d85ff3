"""Where evidence comes from in the first place: which sources are one witness.

A copy, a text that is the same under another name, and two sources declared to have one origin are one witness.
What an agent wrote has the origins of what it was derived from, all of them: an echo is no second witness.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import UnknownNode
from engine.ids import kind_of, require
from engine.inputs import NAME_LIMIT, checked_text
from engine.states import Lifeline
from engine.store.commit import ChangeSet
from engine.store.runs import made_by
from engine.store.snapshot import Snapshot
from engine.store.sources import SameText, source_lives
from engine.store.structure import source_origins, sources_states, upstream


@dataclass(frozen=True)
class Origins:
    """The origins of a new source, and what other sources' origins turn out to be with it."""

    names: frozenset[str]
    merged: dict[str, frozenset[str]]
    note: str | None = None


def encode(origins: Iterable[str]) -> str:
    """Return origins as a source's state keeps them."""
    return json.dumps(sorted(origins), ensure_ascii=False)


def resolve(
    snap: Snapshot,
    source_id: str,
    same_text: list[SameText],
    origin: str | None,
    copy_of: str | None,
    derived_from: list[str] | None,
) -> Origins:
    """Work out the origins of the source `source_id`, which is not written yet.

    Raises:
        UnknownNode: `copy_of` or `derived_from` names nothing that is there.
        InvalidInput: `origin` is blank or cannot be stored.
    """
    if origin is not None:
        checked_text(origin, "origin", NAME_LIMIT)
    if not same_text and copy_of is None and not derived_from:
        return Origins(frozenset({source_id if origin is None else origin}), {})
    lives = source_lives(snap)
    at = snap.revision
    groups = [source_origins(same.life.at(at)) for same in same_text]
    if copy_of is not None:
        if require(copy_of, "Source") not in lives:
            raise UnknownNode(f"There is no source {copy_of} in this workspace to be a copy of.")
        groups.append(source_origins(lives[copy_of].at(at)))
    if derived_from:
        groups.append(_behind(snap, derived_from) or frozenset({source_id}))
    if origin is not None:
        groups.append(frozenset({origin}))
    names = groups[0]
    others = {name for group in groups[1:] for name in group} - names
    note = None
    # Only whole witnesses can turn out to be one; what needs several origins just needs those as well.
    if others and not derived_from and all(len(group) == 1 for group in groups):
        merged = _merge(lives, at, others, next(iter(names)))
        if origin is not None and origin in others:
            note = (
                f"The origin “{origin}” is the same witness as one that is here already "
                f"({', '.join(sorted(names))}): the text is the same, or was declared a copy."
            )
    else:
        names = names | others
        merged = {}
    return Origins(names, merged, note)


def _merge(lives: dict[str, Lifeline], at: int, others: set[str], into: str) -> dict[str, frozenset[str]]:
    """Return the sources whose origins must now be called `into`."""
    merged = {}
    for source, life in lives.items():
        names = source_origins(life.at(at))
        if names & others:
            merged[source] = (names - others) | {into}
    return merged


def write_merged(change: ChangeSet, snap: Snapshot, merged: dict[str, frozenset[str]]) -> None:
    """Give sources their merged origins from this revision on."""
    if not merged:
        return
    lives = source_lives(snap)
    for source, names in merged.items():
        state = lives[source].at(snap.revision)
        change.move("Source", source, lives[source], state._replace(note=encode(names)))


def _behind(snap: Snapshot, node_ids: list[str]) -> frozenset[str]:
    """Return the origins that claims, decisions and runs rest on."""
    nodes: list[str] = []
    sources: list[str] = []
    for node_id in node_ids:
        kind = kind_of(node_id)
        if kind == "AgentRun":
            made = made_by(snap, "Decision", [node_id])
            if not made:
                raise UnknownNode(f"There is no run {node_id} in this workspace to be derived from.")
            nodes.extend(made)
        elif kind == "Source":
            sources.append(node_id)
        else:
            nodes.append(require(node_id, "Claim", "Decision"))
    structure = upstream(snap, nodes)
    missing = [node for node in nodes if node not in structure.graph]
    if missing:
        raise UnknownNode(f"There is no node {missing[0]} in this workspace to be derived from.")
    # Whatever it was made from counts, also what does not stand today: support may come back.
    found = {origin for node in structure.graph.values() for ground in node.grounds for origin in ground.origins}
    states = sources_states(snap, sources)
    for source in sources:
        if source not in states:
            raise UnknownNode(f"There is no source {source} in this workspace to be derived from.")
        found |= source_origins(states[source])
    return frozenset(found)
