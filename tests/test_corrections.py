"""Correcting through the public API: own evidence, whole or not at all, and shown before it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import engine

Claims = Callable[..., list[str]]


def test_a_correction_is_evidence_and_inherits_nothing(ws: engine.Workspace, claims: Claims) -> None:
    (june,) = claims("The launch is on 12 June.")
    decision = ws.decide("Book the hall for June", [june])
    action = ws.plan("Sign the contract", [decision.id])
    before = ws.claim(june)
    preview = ws.preview(june, "The launch is on 3 July.")
    assert ws.revision == preview.workspace_revision, "a preview changes nothing"
    applied = ws.apply(preview, reviewer="Ana", reason="Moved by the board")

    new = applied.replacement
    assert new is not None
    assert (new.statement, new.status, new.supported) == ("The launch is on 3 July.", "current", True)
    assert (new.confidence, new.confidence_kind) == (0.0, "human_correction")
    (evidence,) = new.evidence
    assert evidence.quote == new.statement
    assert evidence.origin_type == evidence.origin == "human_correction"
    assert evidence.spans == [(0, len(new.statement))]
    assert ws.fragment(new.id).text == new.statement
    assert ws.source(evidence.source_id).kind == "human"
    assert not {e.id for e in new.evidence} & {e.id for e in before.evidence}
    assert new.because == []

    old = ws.claim(june)
    assert (old.status, old.supported, old.superseded_by) == ("superseded", False, new.id)
    assert old.evidence == before.evidence, "nothing of the old claim is deleted"
    assert new.supersedes == june
    fallen = ws.decision(decision.id)
    assert (fallen.status, fallen.supported, fallen.support_count) == ("needs_review", False, 0)
    assert fallen.because[0].premises == [june], "what rested on the old claim does not rest on the new one"
    assert ws.action(action.id).status == "held"
    correction = ws.correction(applied.correction.id)
    assert (correction.original, correction.statement) == ("The launch is on 12 June.", "The launch is on 3 July.")
    assert (correction.reviewer, correction.reason, correction.status) == ("Ana", "Moved by the board", "active")
    assert applied.revision == preview.workspace_revision + 1 == ws.revision


def test_every_tier(ws: engine.Workspace, claims: Claims) -> None:
    wrong, other, far = claims("The date is June.", "The hall is free.", "The price is right.")
    alone = ws.decide("Rests on it alone", [wrong])
    both = ws.decide("Needs both", [[wrong, other]])
    either = ws.decide("Either will do", [wrong, other])
    above = ws.decide("Rests on a decision", [alone.id])
    above_either = ws.decide("Rests on one that is only weakened", [either.id])
    apart = ws.decide("Rests on others", [far])
    held = ws.plan("To be held", [alone.id])
    done = ws.mark_done(ws.plan("Was done", [both.id]).id)
    free = ws.plan("Goes on", [either.id])
    impact = ws.preview(wrong, "The date is July.").impact
    assert {e.id for e in impact.needs_review} == {alone.id, both.id, above.id}
    assert [e.id for e in impact.weakened] == [either.id]
    assert [e.id for e in impact.held] == [held.id]
    assert [e.id for e in impact.acted] == [done.id]
    assert {e.id for e in impact.untouched} == {above_either.id, free.id}
    assert apart.id not in {e.id for _, e in impact.effects()}
    (weak,) = impact.weakened
    assert (weak.supports_before, weak.supports_after) == (2, 1)
    assert other in weak.fragile_on
    assert "1 of 2 supports remains" in weak.why
    assert "The hall is free." in weak.why
    deep = next(e for e in impact.needs_review if e.id == above.id)
    assert deep.path == [wrong, alone.id, above.id]
    assert all(e.why.endswith(".") for _, e in impact.effects())


def test_a_preview_survives_json_and_another_connection(
    ws: engine.Workspace, wb: engine.Workbench, claims: Claims
) -> None:
    (claim,) = claims("The date is June.")
    text = ws.preview(claim, "The date is July.").model_dump_json()
    applied = wb.workspace(ws.id).apply(engine.Preview.model_validate_json(text))
    assert not applied.already_applied


def test_the_same_correction_twice_is_applied_once(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    preview = ws.preview(claim, "The date is July.")
    first = ws.apply(preview, "Ana")
    again = ws.apply(preview, "Ana")
    assert again.already_applied
    assert again.replacement == first.replacement
    assert again.correction == first.correction
    assert ws.revision == first.revision
    assert len(ws.claims()) == 2


def test_a_preview_that_no_longer_holds_is_refused_with_a_fresh_one(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    shown = ws.preview(claim, "The date is July.")
    decision = ws.decide("Book the hall", [claim])
    with pytest.raises(engine.StalePreview) as refused:
        ws.apply(shown)
    assert refused.value.code == "stale_correction_preview"
    assert [e.id for e in refused.value.fresh.impact.needs_review] == [decision.id]
    assert any("Book the hall" in difference for difference in refused.value.differences)
    assert ws.claim(claim).status == "current"
    assert not ws.apply(refused.value.fresh).already_applied


def test_a_change_elsewhere_refuses_nothing(ws: engine.Workspace, claims: Claims) -> None:
    claim, other = claims("The date is June.", "The hall is free.")
    ws.decide("Book the hall", [claim])
    shown = ws.preview(claim, "The date is July.")
    ws.ingest("Something else entirely is said here.", name="Elsewhere")
    ws.decide("Rent chairs", [other])
    assert ws.apply(shown).impact == shown.impact


def test_the_loser_of_a_race_sees_the_claim_that_stands_now(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    mine, theirs = ws.preview(claim, "The date is July."), ws.preview(claim, "The date is May.")
    won = ws.apply(theirs, "Bo")
    with pytest.raises(engine.StalePreview) as refused:
        ws.apply(mine, "Ana")
    assert won.replacement is not None
    assert refused.value.fresh.claim == won.replacement
    assert refused.value.fresh.statement == "The date is July."
    ws.apply(refused.value.fresh, "Ana")


def test_a_request_with_nothing_left_to_do_is_refused_with_an_empty_preview(
    ws: engine.Workspace, claims: Claims
) -> None:
    (claim,) = claims("The date is June.")
    retraction, correction = ws.preview(claim, None), ws.preview(claim, "The date is July.")
    ws.apply(retraction)
    with pytest.raises(engine.StalePreview) as refused:
        ws.apply(correction)
    assert refused.value.fresh.claim is not None
    assert refused.value.fresh.claim.status == "retracted"
    assert refused.value.fresh.impact == engine.Impact()


def test_an_altered_preview_is_refused(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    preview = ws.preview(claim, "The date is July.")
    forged = preview.model_copy(update={"changes": [engine.ClaimChange(claim_id=claim, statement="The date is May.")]})
    with pytest.raises(engine.InvalidInput, match="altered"):
        ws.apply(forged)


def test_a_preview_of_another_workspace_is_refused(ws: engine.Workspace, wb: engine.Workbench, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    preview = ws.preview(claim, "The date is July.")
    other = wb.create_workspace("another")
    with pytest.raises(engine.InvalidInput, match="another workspace"):
        other.apply(preview)
    with pytest.raises(engine.UnknownNode):
        other.preview(claim, "The date is July.")
    wb.delete_workspace(other.id)


def test_what_cannot_be_corrected_says_why(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    with pytest.raises(engine.InvalidInput, match="says what the claim says already"):
        ws.preview(claim, " The date  is June. ")
    with pytest.raises(engine.InvalidInput, match="empty"):
        ws.preview(claim, "  ")
    with pytest.raises(engine.InvalidInput, match="cannot be stored"):
        ws.preview(claim, "NUL \0 here")
    with pytest.raises(engine.UnknownNode, match="not the id"):
        ws.preview("c_nonsense", "x y z")
    with pytest.raises(engine.UnknownNode, match="no claim"):
        ws.preview("c_0123456789abcdef", "x y z")
    with pytest.raises(engine.UnknownNode, match="claim is needed"):
        ws.preview("d_0123456789abcdef", "x y z")
    applied = ws.apply(ws.preview(claim, "The date is July."))
    assert applied.replacement is not None
    with pytest.raises(engine.NotAllowed, match=applied.replacement.id):
        ws.preview(claim, "The date is May.")


def test_retracting_leaves_nothing_in_its_place(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    decision = ws.decide("Book", [claim])
    applied = ws.apply(ws.preview(claim, None), "Ana")
    assert applied.replacement is None
    assert ws.claim(claim).status == "retracted"
    assert ws.decision(decision.id).status == "needs_review"
    assert ws.correction(applied.correction.id).kind == "retract"


def test_several_corrections_are_one_revision(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("The date is June.", "The hall is free.")
    decision = ws.decide("Either will do", [one, two])
    preview = ws.preview_several({one: "The date is July.", two: None})
    assert [e.id for e in preview.impact.needs_review] == [decision.id]
    applied = ws.apply(preview, "Ana")
    assert applied.revision == preview.workspace_revision + 1
    assert [k.claim_id for k in applied.corrections] == [one, two]
    assert ws.claim(two).status == "retracted"


def test_withdrawing_a_source_retracts_what_rests_on_it_alone(ws: engine.Workspace, claims: Claims) -> None:
    (shared,) = claims("The date is June.", name="First paper")
    lonely, also = claims("The hall is free.", "The date is June.", name="Second paper")
    assert also == shared, "no twins"
    second = ws.claim(lonely).evidence[0].source_id
    decision = ws.decide("Book", [lonely])
    preview = ws.preview_withdrawal(second)
    assert [c.id for c in preview.claims] == [lonely]
    assert [e.id for e in preview.impact.needs_review] == [decision.id]
    assert [e.id for e in preview.impact.weakened] == [shared]
    applied = ws.apply(preview, "Ana")
    assert ws.source(second).status == "withdrawn"
    assert (ws.claim(lonely).status, ws.claim(shared).status) == ("retracted", "current")
    with pytest.raises(engine.NotAllowed, match="withdrawn"):
        ws.preview_withdrawal(second)
    ws.undo(applied.correction.id)
    assert ws.source(second).status == "active"
    assert ws.claim(lonely).status == "current"
    assert ws.decision(decision.id).status == "standing"


def test_what_a_correction_did_can_be_read_ever_after(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("The date is June.", "The hall is free.")
    ws.plan("Sign", [ws.decide("Book", [one, two]).id])
    both = ws.preview_several({one: "The date is July.", two: None})
    applied = ws.apply(both)
    withdrawal = ws.apply(ws.preview_withdrawal(ws.claim(one).evidence[0].source_id))
    ws.undo(applied.correction.id)
    for correction in applied.corrections:
        assert ws.impact_of(correction.id) == both.impact
    assert ws.impact_of(withdrawal.correction.id) == withdrawal.impact


def test_undoing_one_that_was_corrected_again_undoes_the_chain(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    decision = ws.decide("Book", [claim])
    before = ws.decision(decision.id)
    first = ws.apply(ws.preview(claim, "The date is July."), "Ana")
    assert first.replacement is not None
    second = ws.apply(ws.preview(first.replacement.id, "The date is May."), "Bo")
    assert second.replacement is not None
    resting = ws.decide("Go in May", [second.replacement.id])
    preview = ws.preview_undo(first.correction.id)
    assert preview.undoes == [first.correction.id, second.correction.id]
    assert [e.id for e in preview.impact.needs_review] == [resting.id]
    assert [e.id for e in preview.impact.restored] == [decision.id]
    undone = ws.undo(first.correction.id, "Cy")
    assert undone.revision == preview.workspace_revision + 1
    assert ws.claim(claim).status == "current"
    assert ws.claim(claim).superseded_by is None
    assert {ws.claim(r.replacement.id).status for r in (first, second) if r.replacement} == {"superseded"}
    after = ws.decision(decision.id)
    assert after.model_copy(update={"revision": before.revision}) == before
    assert ws.decision(resting.id).status == "needs_review"
    assert ws.undo(first.correction.id).already_applied


def test_undoing_the_first_of_two_leaves_what_the_second_would_have_done(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("The date is June.", "The hall is free.")
    decision = ws.decide("Either will do", [one, two])
    first = ws.apply(ws.preview(one, None))
    ws.apply(ws.preview(two, None))
    assert ws.decision(decision.id).status == "needs_review"
    ws.undo(first.correction.id)
    fallen = ws.decision(decision.id)
    assert (fallen.status, fallen.support_count) == ("standing", 1)


def test_a_decision_that_an_undo_leaves_without_support_stays_marked(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    first = ws.apply(ws.preview(claim, "The date is July."))
    assert first.replacement is not None
    decision = ws.decide("Go in July", [first.replacement.id])
    action = ws.plan("Pack", [decision.id])
    ws.apply(ws.preview(first.replacement.id, "The date is May."))
    preview = ws.preview_undo(first.correction.id)
    assert decision.id not in {effect.id for effect in preview.impact.restored}
    ws.undo(first.correction.id)
    assert (ws.decision(decision.id).status, ws.decision(decision.id).supported) == ("needs_review", False)
    assert ws.action(action.id).status == "held"


def test_what_a_reviewer_settled_stays_settled_after_an_undo(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("The date is June.", "The hall is free.")
    decision = ws.decide("Book", [one])
    correction = ws.apply(ws.preview(one, None)).correction
    ws.settle(decision.id, engine.Withdraw(), "Ana")
    ws.undo(correction.id)
    assert ws.decision(decision.id).status == "withdrawn"
    assert not ws.decision(decision.id).supported
    with pytest.raises(engine.NotAllowed, match="withdrawn"):
        ws.plan("Do it", [decision.id])
    assert ws.claim(two).supported


def test_many_reviewers_at_once_make_a_serial_history(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    ws.decide("Book", [claim])
    previews = [ws.preview(claim, f"The date is the {n}th.") for n in range(8)]
    outcomes: list[object] = []

    def apply(preview: engine.Preview) -> None:
        try:
            outcomes.append(ws.apply(preview, "r"))
        except engine.StalePreview as stale:
            outcomes.append(stale)

    threads = [threading.Thread(target=apply, args=(preview,)) for preview in previews * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    applied = [o for o in outcomes if isinstance(o, engine.Applied)]
    assert len([a for a in applied if not a.already_applied]) == 1
    assert len({a.correction.id for a in applied}) == 1
    assert all(
        o.fresh.claim.supersedes == claim for o in outcomes if isinstance(o, engine.StalePreview) and o.fresh.claim
    )
    assert len(ws.claims(status="current")) == 1
    assert list(ws.history().revision) == list(range(1, ws.revision + 1))
