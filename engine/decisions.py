"""Concluding: derived claims, decisions, further justifications, and actions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from engine.errors import InvalidInput, NotAllowed, UnknownNode
from engine.ids import digest, kind_of, new_id, require
from engine.impact import OPEN, Change, action_status
from engine.inputs import STATEMENT_LIMIT, checked_text, optional_text, statement_key
from engine.planning import Plan, born, spread
from engine.reasons import shorten
from engine.store.claims import claims_with_keys
from engine.store.commit import ChangeSet
from engine.store.decisions import fetch_actions, same_request
from engine.store.snapshot import Snapshot
from engine.store.structure import Found, find, ways_of
from engine.support import Way
from engine.terms import index_terms

TITLE_LIMIT: Final = 2_000
PREMISES_LIMIT: Final = 1_000


def alternatives(because: object) -> list[frozenset[str]]:
    """Return `because` as sets of premises, each of which suffices; repeated ones once.

    Raises:
        InvalidInput: it is not a list of ids and lists of ids, or it is empty.
        UnknownNode: an item is not the id of a claim or a decision.
    """
    shape = "`because` is a list whose items are ids (each suffices) or lists of ids (all are needed)"
    if isinstance(because, str) or not isinstance(because, Iterable):
        raise InvalidInput(f"{shape}, not {type(because).__name__}.")
    groups: list[frozenset[str]] = []
    for item in because:
        members = [item] if isinstance(item, str) else item
        if not isinstance(members, list | tuple | set | frozenset):
            raise InvalidInput(f"{shape}; {type(item).__name__} is neither.")
        group = frozenset(require(member, "Claim", "Decision") for member in members)
        if not group:
            raise InvalidInput(f"{shape}; an empty list holds nothing up.")
        if group not in groups:
            groups.append(group)
    if not groups:
        raise InvalidInput("Nothing to rest on was named: choose at least one claim or decision (`because` is empty).")
    if sum(map(len, groups)) > PREMISES_LIMIT:
        raise InvalidInput(f"`because` names more than {PREMISES_LIMIT} premises. Group them in decisions.")
    return groups


def kept(because: object) -> object:
    """Return `because` such that it can be read more than once: a plan may have to be made again."""
    return list(because) if isinstance(because, Iterable) and not isinstance(because, str) else because


def premises(snap: Snapshot, groups: Sequence[frozenset[str]]) -> dict[str, Found]:
    """Return the nodes that `groups` name.

    Raises:
        UnknownNode: one is not there.
        NotAllowed: one is superseded, retracted or withdrawn, so nothing new may rest on it.
    """
    names = {name for group in groups for name in group}
    found = find(snap, names)
    for name in sorted(names):
        if name not in found:
            raise UnknownNode(f"There is no {kind_of(name).lower()} {name} in this workspace.")
        status = found[name].life.at(snap.revision).status
        if status not in OPEN:
            raise NotAllowed(
                f"{name} (“{shorten(found[name].title)}”) is {status}; nothing new may rest on it. "
                "Cite what replaced it."
            )
    return found


def holds(snap: Snapshot, found: dict[str, Found], groups: Sequence[frozenset[str]]) -> bool:
    """Return whether any of `groups` is supported throughout."""
    return any(all(found[p].life.at(snap.revision).supported for p in group) for group in groups)


def write_ways(change: ChangeSet, node: tuple[str, str], groups: Sequence[frozenset[str]]) -> list[Way]:
    """Write one justification for each group of premises."""
    ways = []
    for group in groups:
        way = Way(new_id("Justification"), group)
        for premise in sorted(group):
            change.link("RESTS_ON", node, (kind_of(premise), premise), j=way.id)
        ways.append(way)
    return ways


def request_key(*parts: object) -> str:
    """Return what two requests for the same thing share."""
    return digest(json.dumps(parts, ensure_ascii=False, sort_keys=True))


def canonical(groups: Sequence[frozenset[str]]) -> list[list[str]]:
    """Return the groups in an order of their own, for comparing."""
    return sorted(sorted(group) for group in groups)


@dataclass(frozen=True)
class Derivation:
    """Plans a claim that follows from others."""

    statement: str
    because: object

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """A current claim that says this already gets the justification instead of a twin."""
        statement = checked_text(self.statement, "statement", STATEMENT_LIMIT).strip()
        groups = alternatives(self.because)
        key = statement_key(statement)
        for known in claims_with_keys(snap, [key]).get(key, []):
            if known.life.at(snap.revision).status == "current":
                return Justified(known.id, self.because).plan(snap, revision)
        found = premises(snap, groups)
        change = ChangeSet(revision)
        claim_id = change.create(
            "Claim",
            new_id("Claim"),
            statement=statement,
            statement_key=key,
            terms=index_terms(statement),
            confidence_kind="derived",
            **born(revision, "current", holds(snap, found, groups)),
        )
        write_ways(change, ("Claim", claim_id), groups)
        return Plan(change, "derive", f"Derived “{shorten(statement)}”.", ref=claim_id, result=claim_id)


@dataclass(frozen=True)
class Decided:
    """Plans a decision; the same request again finds the first one's decision."""

    title: str
    because: object
    rationale: str = ""

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """One that no premise holds up is written as in need of review."""
        title = checked_text(self.title, "title", TITLE_LIMIT).strip()
        groups = alternatives(self.because)
        change = ChangeSet(revision)
        rationale = optional_text(self.rationale, "rationale", STATEMENT_LIMIT)
        key = request_key("decide", title, rationale, canonical(groups))
        for known, life in same_request(snap, "Decision", key):
            if life.at(snap.revision).status in OPEN:
                return Plan(change, "decide", result=known)
        decision_id = write_decision(snap, change, title, rationale, groups, key, premises(snap, groups))
        return Plan(change, "decide", f"Decided “{shorten(title)}”.", ref=decision_id, result=decision_id)


def write_decision(
    snap: Snapshot,
    change: ChangeSet,
    title: str,
    rationale: str,
    groups: Sequence[frozenset[str]],
    key: str,
    found: dict[str, Found],
) -> str:
    """Write a decision and its justifications. Return its id."""
    stands = holds(snap, found, groups)
    decision_id = change.create(
        "Decision",
        new_id("Decision"),
        title=title,
        rationale=rationale,
        request_key=key,
        **born(change.revision, "standing" if stands else "needs_review", stands),
    )
    write_ways(change, ("Decision", decision_id), groups)
    return decision_id


@dataclass(frozen=True)
class Justified:
    """Plans one more way to hold up a claim or a decision that is there."""

    node_id: str
    because: object

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Justifications that the node has already change nothing."""
        kind = kind_of(require(self.node_id, "Claim", "Decision"))
        groups = alternatives(self.because)
        if any(self.node_id in group for group in groups):
            raise InvalidInput(f"{self.node_id} cannot be among its own premises: nothing holds itself up.")
        node = find(snap, [self.node_id]).get(self.node_id)
        if node is None:
            raise UnknownNode(f"There is no {kind.lower()} {self.node_id} in this workspace.")
        status = node.life.at(snap.revision).status
        if status not in OPEN:
            raise NotAllowed(f"{self.node_id} is {status} and cannot be held up any more.")
        premises(snap, groups)
        has = {way.premises for way in ways_of(snap, [self.node_id]).ways.get(self.node_id, [])}
        new = [group for group in groups if group not in has]
        change = ChangeSet(revision)
        if new:
            ways = write_ways(change, (kind, self.node_id), new)
            spread(snap, change, Change(ways={self.node_id: tuple(ways)}))
        return Plan(
            change,
            "justify",
            f"Gave “{shorten(node.title)}” further support.",
            ref=self.node_id,
            result=self.node_id,
        )


@dataclass(frozen=True)
class Planned:
    """Plans an action that hangs on decisions, all of which are needed."""

    description: str
    because: object

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """An action on a decision that needs review begins on hold."""
        description = checked_text(self.description, "description", TITLE_LIMIT).strip()
        decisions = decision_ids(self.because)
        change = ChangeSet(revision)
        key = request_key("plan", description, sorted(decisions))
        for known, life in same_request(snap, "Action", key):
            if life.at(snap.revision).status in ("proposed", "held"):
                return Plan(change, "plan", result=known)
        found = premises(snap, [frozenset(decisions)])
        marked = any(found[d].life.at(snap.revision).status == "needs_review" for d in decisions)
        action_id = write_action(change, description, decisions, key, marked)
        return Plan(change, "plan", f"Planned “{shorten(description)}”.", ref=action_id, result=action_id)


def decision_ids(because: object) -> list[str]:
    """Return the decisions that an action hangs on.

    Raises:
        InvalidInput: none is named.
        UnknownNode: an item is not the id of a decision.
    """
    if isinstance(because, str) or not isinstance(because, Iterable):
        raise InvalidInput("`because` is a list of decision ids, all of which are needed.")
    decisions = list(dict.fromkeys(require(item, "Decision") for item in because))
    if not decisions:
        raise InvalidInput("An action hangs on at least one decision: `because` is empty.")
    return decisions


def write_action(change: ChangeSet, description: str, decisions: Sequence[str], key: str, marked: bool) -> str:
    """Write an action. Return its id."""
    action_id = change.create(
        "Action",
        new_id("Action"),
        description=description,
        request_key=key,
        **born(change.revision, action_status("proposed", marked)),
    )
    for decision in decisions:
        change.link("BECAUSE_OF", ("Action", action_id), ("Decision", decision))
    return action_id


@dataclass(frozen=True)
class Done:
    """Plans that an action was carried out."""

    action_id: str

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """One that is done already changes nothing; one on hold or cancelled is refused."""
        require(self.action_id, "Action")
        action = fetch_actions(snap, [self.action_id]).get(self.action_id)
        if action is None:
            raise UnknownNode(f"There is no action {self.action_id} in this workspace.")
        change = ChangeSet(revision)
        if action.status in ("held", "cancelled"):
            todo = (
                "Settle the decision that it waits for first."
                if action.status == "held"
                else "Plan it again if it should be done after all."
            )
            raise NotAllowed(f"“{shorten(action.description)}” is {action.status}. {todo}")
        if action.status == "proposed":
            life = find(snap, [self.action_id])[self.action_id].life
            change.move("Action", self.action_id, life, life.at(snap.revision)._replace(status="done"))
        return Plan(
            change,
            "done",
            f"Done: “{shorten(action.description)}”.",
            ref=self.action_id,
            result=self.action_id,
        )
