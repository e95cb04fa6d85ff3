"""Settling what lost its support: a person decides, and history keeps who and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import engine

Claims = Callable[..., list[str]]


@pytest.fixture
def fallen(ws: engine.Workspace, claims: Claims) -> tuple[str, str, str, str]:
    """A decision that needs review with a held action, the replacement claim, and a claim that stands."""
    wrong, other = claims("The date is June.", "The hall is free.")
    decision = ws.decide("Book for June", [wrong])
    action = ws.plan("Sign the contract", [decision.id])
    applied = ws.apply(ws.preview(wrong, "The date is July."), "Ana")
    assert applied.replacement is not None
    return decision.id, action.id, applied.replacement.id, other


def test_reaffirming_on_current_claims_releases(ws: engine.Workspace, fallen: tuple[str, str, str, str]) -> None:
    decision, action, _, other = fallen
    settled = ws.settle(decision, engine.Reaffirm([other]), "Bo", "The hall is what matters")
    assert (settled.id, settled.status, settled.supported, settled.support_count) == (decision, "standing", True, 1)
    assert ws.action(action).status == "proposed"
    last = ws.history().iloc[-1]
    assert (last.kind, last.actor, last.reason, last.ref) == ("settle", "Bo", "The hall is what matters", decision)


def test_rebasing_makes_a_new_decision_that_the_actions_follow(
    ws: engine.Workspace, fallen: tuple[str, str, str, str]
) -> None:
    decision, action, replacement, _ = fallen
    new = ws.settle(decision, engine.Rebase("Book for July", [replacement]), "Bo")
    assert new.supersedes == decision
    assert new.because[0].premises == [replacement]
    old = ws.decision(decision)
    assert (old.status, old.superseded_by) == ("superseded", new.id)
    assert (ws.action(action).status, ws.action(action).because) == ("proposed", [new.id])
    assert ws.at(ws.revision - 1).action(action).because == [decision]


def test_withdrawing_cancels(ws: engine.Workspace, fallen: tuple[str, str, str, str]) -> None:
    decision, action, _, _ = fallen
    assert ws.settle(decision, engine.Withdraw(), "Bo").status == "withdrawn"
    assert ws.action(action).status == "cancelled"
    with pytest.raises(engine.NotAllowed, match="cancelled"):
        ws.mark_done(action)


@pytest.mark.parametrize("kind", ["reaffirm", "rebase", "withdraw"])
def test_the_same_settlement_again_changes_nothing(
    ws: engine.Workspace, fallen: tuple[str, str, str, str], kind: str
) -> None:
    decision, _, replacement, other = fallen
    settlement = {
        "reaffirm": engine.Reaffirm([other]),
        "rebase": engine.Rebase("Book for July", [replacement]),
        "withdraw": engine.Withdraw(),
    }[kind]
    first = ws.settle(decision, settlement)
    revision = ws.revision
    assert ws.settle(decision, settlement) == first
    assert ws.revision == revision


def test_what_cannot_be_settled_says_why(
    ws: engine.Workspace, fallen: tuple[str, str, str, str], claims: Claims
) -> None:
    decision, _, _, other = fallen
    standing = ws.decide("Rent chairs", [other])
    with pytest.raises(engine.NotAllowed, match="only a decision that needs review"):
        ws.settle(standing.id, engine.Withdraw())
    old = ws.decision(decision).because[0].premises[0]
    with pytest.raises(engine.NotAllowed, match="superseded"):
        ws.settle(decision, engine.Reaffirm([old]))
    with pytest.raises(engine.InvalidInput, match="empty"):
        ws.settle(decision, engine.Reaffirm([]))
    with pytest.raises(engine.InvalidInput, match="its own premises"):
        ws.settle(decision, engine.Reaffirm([decision]))
    unsupported = ws.derive("It follows.", [decision])
    with pytest.raises(engine.NotAllowed, match="supported"):
        ws.settle(decision, engine.Reaffirm([unsupported.id]))
    with pytest.raises(engine.InvalidInput, match="Settle with"):
        ws.settle(decision, "withdraw")  # type: ignore[arg-type]


def test_withdrawing_one_that_has_support_again_takes_down_what_rests_on_it(
    ws: engine.Workspace, fallen: tuple[str, str, str, str]
) -> None:
    decision, _, _, other = fallen
    ws.justify(decision, [other])
    above = ws.decide("Go on", [decision])
    assert above.status == "standing"
    ws.settle(decision, engine.Withdraw())
    assert ws.decision(above.id).status == "needs_review"
