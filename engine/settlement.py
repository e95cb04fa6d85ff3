"""Settling: what a reviewer makes of a decision that lost its support. The engine never does it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.corrections import ANONYMOUS, REASON_LIMIT, REVIEWER_LIMIT
from engine.decisions import (
    TITLE_LIMIT,
    alternatives,
    canonical,
    holds,
    premises,
    request_key,
    write_decision,
    write_ways,
)
from engine.errors import InvalidInput, NotAllowed, UnknownNode
from engine.ids import require
from engine.impact import Change
from engine.inputs import STATEMENT_LIMIT, checked_text, optional_text
from engine.planning import Plan, spread
from engine.reasons import quoted
from engine.records import Reaffirm, Rebase, Withdraw
from engine.states import Lifeline
from engine.store.commit import ChangeSet
from engine.store.decisions import actions_of, fetch_actions, same_request
from engine.store.snapshot import Snapshot
from engine.store.structure import find, ways_of
from engine.support import Way


@dataclass(frozen=True)
class Settling:
    """Plans the settlement of a decision that needs review."""

    decision_id: str
    settlement: Reaffirm | Rebase | Withdraw
    reviewer: str = ""
    reason: str = ""

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """The same settlement sent again changes nothing.

        Raises:
            UnknownNode: there is no such decision.
            NotAllowed: it does not need review, or what it is to rest on does not stand.
        """
        reviewer = optional_text(self.reviewer, "reviewer", REVIEWER_LIMIT)
        reason = optional_text(self.reason, "reason", REASON_LIMIT)
        require(self.decision_id, "Decision")
        found = find(snap, [self.decision_id]).get(self.decision_id)
        if found is None:
            raise UnknownNode(f"There is no decision {self.decision_id} in this workspace.")
        change = ChangeSet(revision)
        status = found.life.at(snap.revision).status
        if status != "needs_review":
            fell_before = any(state.status == "needs_review" for state in found.life.states)
            repeated = self._repeated(snap, status) if fell_before else None
            if repeated is not None:
                return Plan(change, "settle", result=repeated)
            raise NotAllowed(f"{quoted(found.title)} is {status}; only a decision that needs review is settled.")
        if isinstance(self.settlement, Withdraw):
            self._settle(snap, change, "withdrawn", "cancelled")
            did, result = "Withdrew", self.decision_id
        elif isinstance(self.settlement, Reaffirm):
            groups = self._premises(snap, self.settlement.because)
            has = {w.premises for w in ways_of(snap, [self.decision_id]).ways.get(self.decision_id, [])}
            new = [group for group in groups if group not in has]
            ways = write_ways(change, ("Decision", self.decision_id), new)
            self._settle(snap, change, "standing", "released", tuple(ways))
            did, result = "Reaffirmed", self.decision_id
        else:
            result = self._rebase(snap, change, self.settlement)
            did = "Rebased"
        return Plan(
            change,
            "settle",
            f"{did} {quoted(found.title)}.",
            reviewer or ANONYMOUS,
            reason,
            self.decision_id,
            result,
        )

    def _premises(self, snap: Snapshot, because: object) -> list[frozenset[str]]:
        groups = alternatives(because)
        if any(self.decision_id in group for group in groups):
            raise InvalidInput(f"{self.decision_id} cannot be among its own premises.")
        if not holds(snap, premises(snap, groups), groups):
            raise NotAllowed("Nothing of what you name is supported itself. Name current, supported claims.")
        return groups

    def _rebase(self, snap: Snapshot, change: ChangeSet, settlement: Rebase) -> str:
        title = checked_text(settlement.title, "title", TITLE_LIMIT).strip()
        groups = self._premises(snap, settlement.because)
        key = self._rebase_key(settlement)
        decision_id = write_decision(
            snap,
            change,
            title,
            optional_text(settlement.rationale, "rationale", STATEMENT_LIMIT),
            groups,
            key,
            premises(snap, groups),
        )
        change.link("SUPERSEDES", ("Decision", decision_id), ("Decision", self.decision_id))
        self._settle(snap, change, "superseded", "released")
        for action in fetch_actions(snap, actions_of(snap, [self.decision_id])).values():
            if action.status in ("held", "proposed"):
                change.end("BECAUSE_OF", ("Action", action.id), ("Decision", self.decision_id))
                change.link("BECAUSE_OF", ("Action", action.id), ("Decision", decision_id))
        return decision_id

    def _rebase_key(self, settlement: Rebase) -> str:
        return request_key(
            "rebase", self.decision_id, settlement.title.strip(), canonical(alternatives(settlement.because))
        )

    def _settle(
        self,
        snap: Snapshot,
        change: ChangeSet,
        status: str,
        actions: str,
        ways: Sequence[Way] = (),
    ) -> None:
        """Give the decision its new status, and let what rests on it and its actions follow."""
        by_hand = Change(statuses={self.decision_id: status}, ways={self.decision_id: tuple(ways)} if ways else {})
        reach, _ = spread(snap, change, by_hand)
        if actions == "released":
            return  # an action whose decisions are all settled is released by `assess`
        for action in fetch_actions(snap, actions_of(snap, [self.decision_id])).values():
            if action.status in ("held", "proposed"):
                life: Lifeline = reach.lives[action.id]
                change.updates["Action"].pop(action.id, None)
                change.move("Action", action.id, life, life.at(snap.revision)._replace(status="cancelled"))

    def _repeated(self, snap: Snapshot, status: str) -> str | None:
        """Return what this very settlement gave when it was made before, or None."""
        settlement = self.settlement
        if isinstance(settlement, Withdraw):
            return self.decision_id if status == "withdrawn" else None
        if isinstance(settlement, Reaffirm):
            has = {w.premises for w in ways_of(snap, [self.decision_id]).ways.get(self.decision_id, [])}
            return self.decision_id if status == "standing" and set(alternatives(settlement.because)) <= has else None
        known = same_request(snap, "Decision", self._rebase_key(settlement))
        return known[0][0] if status == "superseded" and known else None
