"""Runs of agents, our own and others': what corrections hang on, and what accuracy is measured over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.correction_records import Value
from engine.entries import INPUT_LIMIT, Entry, checked_name, party
from engine.errors import InvalidInput, UnknownNode
from engine.ids import derived_id, require
from engine.planning import Plan, now
from engine.reasons import quoted, shorten
from engine.store.commit import ChangeSet
from engine.store.corrections import fetch_corrections
from engine.store.runs import has_output, known_runs, runs_of_corrections, shown_to
from engine.store.snapshot import Snapshot
from engine.values import check_characters, encoded, shown
from engine.whole_values import came_back

_OURS: Final = re.compile(r"r_[0-9a-f]{16}", re.ASCII)


def run_node(agent: str, run_id: str, tenant: str | None) -> str:
    """Return the id of the node of a run: our own id, or the one that an agent's own name for it always gives."""
    if _OURS.fullmatch(run_id):
        return run_id
    return derived_id("AgentRun", "recorded", tenant or "", agent, run_id)


class RunBook:
    """The runs that some entries name: those that are there, and those that this revision makes known."""

    def __init__(self, snap: Snapshot, change: ChangeSet, entries: Sequence[Entry]) -> None:
        nodes = {run_node(entry.agent_name, entry.run_id, entry.tenant_id): entry for entry in entries if entry.run_id}
        self._change = change
        self._snap = snap
        self._known = known_runs(snap, nodes)
        self._hung: set[tuple[str, str]] = set()

    def check(self, entry: Entry) -> None:
        """Raise UnknownNode if an entry names a run by an id of ours that is not there."""
        run = entry.run_id
        if run is not None and _OURS.fullmatch(run) and run not in self._known:
            raise UnknownNode(f"There is no run {run} in this workspace.")

    def hang(self, correction_id: str, entry: Entry, again: bool = False) -> None:
        """Let a correction hang on the run that its entry names, which becomes known by it.

        `again`: the correction was there before, and may hang on the run already.
        """
        if entry.run_id is None:
            return
        node = run_node(entry.agent_name, entry.run_id, entry.tenant_id)
        if node not in self._known:
            self._known.add(node)
            write_run(self._change, node, entry.agent_name, entry.run_id, entry.tenant_id, entry.original_input, None)
        hangs = again and node in runs_of_corrections(self._snap, [correction_id])
        if hangs or (correction_id, node) in self._hung:
            return
        self._hung.add((correction_id, node))
        self._change.link("OF_RUN", ("Correction", correction_id), ("AgentRun", node))


def write_run(
    change: ChangeSet,
    node: str,
    agent: str,
    run_id: str,
    tenant: str | None,
    given: str | None,
    output: str | None,
) -> None:
    """Write a run that an agent of others made."""
    change.create(
        "AgentRun",
        node,
        kind="recorded",
        name=agent,
        agent=agent,
        run=run_id,
        question=given,
        answer=output,
        outcome="recorded",
        tenant=tenant,
        tenant_key=party("tenant", tenant),
        agent_key=party("agent", agent),
        at=now(),
        born=change.revision,
    )


def heeded(original: Value, corrected: Value, output: str) -> bool | None:
    """Return whether a run that was shown a correction kept to it; None when the old value cannot be looked for."""
    back = came_back(original, corrected, output)
    return None if back is None else not back


def write_shown(
    snap: Snapshot, change: ChangeSet, run: str, corrections: Sequence[str], output: str | None
) -> dict[str, bool | None]:
    """Write which corrections a run was shown, and whether it kept to each. Return that."""
    verdicts: dict[str, bool | None] = {}
    for correction in fetch_corrections(snap, corrections).values():
        verdict = None if output is None else heeded(correction.original_value, correction.corrected_value, output)
        verdicts[correction.id] = verdict
        told = None if verdict is None else ("yes" if verdict else "no")
        change.link("SHOWN", ("AgentRun", run), ("Correction", correction.id), heeded=told)
    return verdicts


@dataclass(frozen=True)
class RecordedRun:
    """Plans the record of one run of an agent of others."""

    agent_name: str
    run_id: str
    given: object = None
    output: Value = None
    shown: Sequence[str] = ()
    tenant_id: str | None = None

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """The result is the run's id as its agent calls it. What was reported already changes nothing.

        Raises:
            InvalidInput: the agent has no name, or a text is too long.
            UnknownNode: a correction is named that is not there.
        """
        agent = checked_name(self.agent_name, "agent_name")
        if agent is None:
            raise InvalidInput("`agent_name` is missing. Name the agent that ran.", "agent_name")
        run_id = checked_name(self.run_id, "run_id")
        if run_id is None:
            raise InvalidInput("`run_id` is blank. Name the run, or leave it out.", "run_id")
        tenant = checked_name(self.tenant_id, "tenant_id")
        encoded(self.output, "output")
        given, output = _long(self.given, "input"), _long(shown(self.output), "output")
        change = ChangeSet(revision)
        node = run_node(agent, run_id, tenant)
        if _OURS.fullmatch(run_id):
            raise InvalidInput("Ids that begin with r_ are the workbench's own. Choose another `run_id`.", "run_id")
        ids = [require(correction, "Correction") for correction in self.shown]
        visible = {c.id for c in fetch_corrections(snap, ids).values() if c.tenant_id in (None, tenant)}
        missing = set(ids) - visible
        if missing:
            raise UnknownNode(f"There is no correction {min(missing)} in this workspace.")
        known = known_runs(snap, [node])
        if node not in known:
            write_run(change, node, agent, run_id, tenant, given, output)
        else:
            # A correction may have made the run known before its agent reported it.
            news = {"question": given, "answer": output} if not has_output(snap, node) else {}
            news = {key: value for key, value in news.items() if value is not None}
            if news:
                change.update("AgentRun", node, **news)
            ids = [name for name in ids if name not in shown_to(snap, node)]
        write_shown(snap, change, node, ids, output)
        what = f" on {quoted(shorten(given))}" if given else ""
        return Plan(change, "run", f"{agent} ran{what}.", agent, "", node, run_id)


def _long(text: object, what: str) -> str | None:
    if text is None or text == "":
        return None
    if type(text) is not str:
        raise InvalidInput(f"`{what}` must be text, not {type(text).__name__}.", what)
    if len(text) > INPUT_LIMIT:
        raise InvalidInput(f"`{what}` has {len(text):,} characters; at most {INPUT_LIMIT:,} are taken.", what)
    check_characters(text, what)
    return text
