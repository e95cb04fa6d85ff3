"""What an outside checker found: each once, so that none of its kind comes back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Thread

import pytest

import engine

Claims = Callable[..., list[str]]


def test_an_echo_of_what_does_not_stand_today_is_no_witness_when_it_stands_again(
    ws: engine.Workspace, claims: Claims
) -> None:
    (claim,) = claims("The date is June.")
    source = ws.claim(claim).evidence[0].source_id
    correction = ws.apply(ws.preview(claim, None)).correction
    echo = ws.ingest("So I found: the hall is free.", name="Answer", kind="agent", derived_from=[claim])
    ws.undo(correction.id)
    assert ws.source(echo.source_id).origins == [source]
    decision = ws.decide("Go", [claim, echo.claims[0].id])
    assert decision.fragile_on == [source]


def test_what_a_text_was_derived_from_must_be_here(ws: engine.Workspace) -> None:
    for missing in ("r_0000000000000000", "c_0000000000000000", "s_0000000000000000"):
        with pytest.raises(engine.UnknownNode, match="no "):
            ws.ingest("An echo of nothing is this.", kind="agent", derived_from=[missing])
    report = ws.ingest("The date is June.", name="Paper")
    echo = ws.ingest("It says that the date is June.", kind="agent", derived_from=[report.source_id])
    assert ws.source(echo.source_id).origins == [report.source_id]


def test_a_copy_of_an_echo_makes_no_witness_of_unrelated_papers(ws: engine.Workspace, claims: Claims) -> None:
    (two,) = claims("Fact two is so.", name="Two")
    (three,) = claims("Fact three is so.", name="Three")
    both = ws.derive("Two and three are so.", [[two, three]])
    echo = ws.ingest("Both are so, I find.", name="Echo", kind="agent", derived_from=[both.id])
    ws.ingest("Quite another text this is.", name="Paper")
    ws.ingest("Quite another text this is.", name="Copy", copy_of=echo.source_id)
    assert ws.decide("Go", [two, three]).fragile_on == []


def test_where_a_text_comes_from_can_be_declared_later(ws: engine.Workspace) -> None:
    first = ws.ingest("The date is June. So it was said.", name="First")
    second = ws.ingest("The date is June. The hall is free.", name="Second")
    decision = ws.decide("Go", [first.claims[0].id])
    assert len(decision.fragile_on) == 1
    again = ws.ingest("The date is June. The hall is free.", name="Second", copy_of=first.source_id)
    assert (again.source_id, again.unchanged) == (second.source_id, False)
    assert len(ws.decision(decision.id).fragile_on) == 2
    assert ws.ingest("The date is June. The hall is free.", name="Second", copy_of=first.source_id).unchanged


def test_a_repeated_request_gives_what_the_first_one_did(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("Fact one is so.", "Fact two is so.")
    early = ws.preview(one, "Fact one is not so.")
    ws.decide("Go", [one])
    late = ws.preview(one, "Fact one is not so.")
    applied = ws.apply(late)
    ws.decide("Stay", [two])
    again = ws.apply(early)
    assert (again.already_applied, again.impact, again.revision) == (True, late.impact, applied.revision)
    assert applied.replacement is not None
    more = ws.apply(ws.preview(applied.replacement.id, "Fact one is unknown."))
    undone = ws.undo(applied.correction.id)
    ws.decide("Wait", [two])
    for correction in (applied.correction.id, more.correction.id):
        repeated = ws.undo(correction)
        assert (repeated.already_applied, repeated.revision) == (True, undone.revision)
        assert repeated.impact == undone.impact
        assert {k.id for k in repeated.corrections} == {k.id for k in undone.corrections}


def test_what_is_read_and_cited_is_a_text_that_stands(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.", name="First")
    claims("The date is June.", "The hall is free.", name="Second")
    first, second = (e.source_id for e in ws.claim(claim).evidence)
    ws.apply(ws.preview_withdrawal(first))
    assert ws.fragment(claim).source_id == second


def test_an_undo_is_never_refused_for_a_preview_that_nobody_saw(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The date is June.")
    failures: list[Exception] = []

    def disturb() -> None:
        for n in range(25):
            try:
                ws.decide(f"Go {n}", [claim])
            except engine.NotAllowed:
                continue  # it is corrected just now
            except engine.WorkbenchError as error:
                failures.append(error)

    thread = Thread(target=disturb)
    thread.start()
    for _ in range(12):
        try:
            applied = ws.apply(ws.preview(claim, None))
        except engine.StalePreview:
            continue
        ws.undo(applied.correction.id)
    thread.join()
    assert failures == []


@pytest.mark.parametrize("origin", [5, b"x", "", "NUL \0", "\ud800", "x" * 1000])
def test_origins_are_checked_like_any_text(ws: engine.Workspace, origin: object) -> None:
    with pytest.raises(engine.InvalidInput, match="origin"):
        ws.ingest("The date is June.", origin=origin)  # type: ignore[arg-type]


def test_a_proposal_that_cannot_even_be_stored_loses_no_other(ws: engine.Workspace) -> None:
    source = ws.ingest("The date is June.", extractor=None).source_id
    proposals = [
        engine.ProposedClaim("Half a character", "\ud800"),
        engine.ProposedClaim("\ud800", "The date is June."),
        engine.ProposedClaim("The date is June.", "The date is June."),
    ]
    report = ws.submit_claims(source, proposals)
    assert [r.code for r in report.rejected] == ["blank", "statement"]
    assert [c.statement for c in report.claims] == ["The date is June."]
    assert len(ws.rejected(source)) == 2
    with pytest.raises(engine.InvalidInput, match="list of ProposedClaim"):
        ws.submit_claims(source, None)  # type: ignore[arg-type]
    with pytest.raises(engine.InvalidInput, match="path or bytes"):
        ws.ingest_file(None)  # type: ignore[arg-type]
    with pytest.raises(engine.InvalidInput, match="cannot be read"):
        ws.ingest_file("a\0b")
    with pytest.raises(engine.InvalidInput, match="no moment"):
        ws.at(datetime(1, 1, 1))


def test_frames_are_kept_by_whatever_holds_values(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("Fact one is so.", "Fact two is so.")
    decision = ws.decide("Go", [one])
    action = ws.plan("Do it", [decision.id])
    assert list(ws.claims(id=ws.claims().id).id) == list(ws.claims().id)
    assert set(ws.claims(id=frozenset({one, two})).id) == {one, two}
    assert list(ws.actions(because=decision.id).id) == [action.id]
    assert list(ws.actions(because=[decision.id]).id) == [action.id]
    source = ws.claim(one).evidence[0].source_id
    assert list(ws.sources(origins=source).id) == [source]


def test_premises_may_come_from_a_generator(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("Fact one is so.", "Fact two is so.")
    assert ws.derive("Fact two is so.", (c for c in [one])).id == two  # type: ignore[arg-type]
    assert ws.decide("Go", (c for c in [one, two])).support_count == 2  # type: ignore[arg-type]


def test_a_decision_that_never_fell_cannot_be_settled(ws: engine.Workspace, claims: Claims) -> None:
    (one,) = claims("Fact one is so.")
    decision = ws.decide("Go", [one])
    with pytest.raises(engine.NotAllowed):
        ws.settle(decision.id, engine.Reaffirm([one]))


def test_the_rules_and_samples_come_with_the_engine() -> None:
    assert engine.rules.score
    assert engine.samples.load_launch_story
