"""Undoing corrections: which ones go together, and what is then as if they had never been."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import UnknownNode
from engine.ids import require
from engine.impact import Change, Outcome, Reach, assess
from engine.states import State
from engine.store.commit import ChangeSet
from engine.store.corrections import correction_lives
from engine.store.past import load_past, past_corrections
from engine.store.snapshot import Snapshot
from engine.store.sources import source_lives
from engine.store.structure import claims_quoting, load_reach
from engine.timeline import PastCorrection, excluded_with, replay


@dataclass(frozen=True)
class Undoing:
    """Corrections that are undone as one revision, and what that does."""

    corrections: list[PastCorrection]
    reach: Reach
    change: Change
    outcome: Outcome
    edited: tuple[str, ...]
    again_retracted: dict[str, str]  # claim → the withdrawal that would have taken it


def chain_of(corrections: list[PastCorrection], correction_id: str) -> list[PastCorrection]:
    """Return a correction with those that corrected its replacement later, oldest first.

    Raises:
        UnknownNode: there is no such correction.
    """
    by_id = {correction.id: correction for correction in corrections}
    if require(correction_id, "Correction") not in by_id:
        raise UnknownNode(f"There is no correction {correction_id} in this workspace.")
    found = [by_id[correction_id]]
    for correction in found:  # grows as the chain is followed
        found.extend(
            later
            for later in corrections
            if correction.replacement in later.claims and later.undone is None and later not in found
        )
    return found


def work_out(snap: Snapshot, correction_id: str, revision: int) -> Undoing:
    """Return what undoing a correction, with its chain, would do as `revision`."""
    history = past_corrections(snap)
    chain = chain_of(history, correction_id)
    gone, start = excluded_with(history, {correction.id for correction in chain})
    reach = load_reach(snap, _seeds(snap, [c for c in history if c.id in gone]))
    past = load_past(snap, reach, history, start)
    states = replay(past, gone, start, snap.revision)
    edited = set(_named(chain))
    statuses = {
        name: state.status
        for name, state in states.items()
        if name.startswith("c_") and state.status != reach.nodes[name].state.status
    }
    change = Change(statuses=statuses, sources={c.source: True for c in chain if c.source is not None})
    outcome = assess(reach, change, revision, edited | statuses.keys(), states)
    again = {
        name: withdrawal
        for name, status in statuses.items()
        if status == "retracted" and (withdrawal := _withdrawal_of(reach, history, gone, name)) is not None
    }
    return Undoing(chain, reach, change, outcome, tuple(sorted(edited)), again)


def write(snap: Snapshot, change: ChangeSet, undoing: Undoing) -> None:
    """Put the undoing into the change set; the new states of what it reaches are written apart."""
    ids = [correction.id for correction in undoing.corrections]
    for correction_id, life in correction_lives(snap, ids).items():
        change.move("Correction", correction_id, life, State("undone"))
    for correction in undoing.corrections:
        if correction.replacement is not None:
            for claim in correction.claims:
                change.end("SUPERSEDES", ("Claim", correction.replacement), ("Claim", claim))
    withdrawn = {c.source for c in undoing.corrections if c.source is not None}
    if withdrawn:
        lives = source_lives(snap)
        for source in sorted(withdrawn):
            state = lives[source].at(snap.revision)
            change.move("Source", source, lives[source], state._replace(status="active"))
    for claim, withdrawal in sorted(undoing.again_retracted.items()):
        change.link("CORRECTS", ("Correction", withdrawal), ("Claim", claim), role="withdrawn")


def _named(corrections: Iterable[PastCorrection]) -> list[str]:
    return [
        name
        for correction in corrections
        for name in (*correction.claims, *([correction.replacement] if correction.replacement else []))
    ]


def _seeds(snap: Snapshot, corrections: Iterable[PastCorrection]) -> set[str]:
    every = list(corrections)
    seeds = set(_named(every))
    for correction in every:
        if correction.source is not None:
            seeds |= set(claims_quoting(snap, correction.source))
    return seeds


def _withdrawal_of(reach: Reach, history: list[PastCorrection], gone: set[str], claim: str) -> str | None:
    sources = {ground.source for ground in reach.nodes[claim].node.grounds}
    return next(
        (c.id for c in reversed(history) if c.source in sources and c.id not in gone and c.undone is None),
        None,
    )
