"""Building memory through the public API: sources, origins, twins, derivations, decisions, actions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import engine

Claims = Callable[..., list[str]]
TEXT = "The launch is on 12 June. Is it? The hall holds 400 people.\n\nContents\n\nThe partners are ready to ship.\n"


def test_ingest_keeps_the_text_and_the_claims_that_quote_it(ws: engine.Workspace) -> None:
    report = ws.ingest(TEXT, name="Plan")
    assert [c.statement for c in report.claims] == [
        "The launch is on 12 June.",
        "The hall holds 400 people.",
        "The partners are ready to ship.",
    ]
    assert report.revision == ws.revision == 1
    shown = ws.text(report.source_id)
    assert shown.text == TEXT
    for claim in shown.quoted:
        for evidence in claim.evidence:
            assert evidence.quote in TEXT
            assert all(TEXT[a:b] == evidence.quote for a, b in evidence.spans)
    assert ws.source(report.source_id).origins == [report.source_id]


def test_the_same_text_again_changes_nothing(ws: engine.Workspace) -> None:
    first = ws.ingest(TEXT, name="Plan")
    again = ws.ingest(TEXT, name="Plan")
    assert again.unchanged
    assert (again.source_id, again.version_id, again.revision) == (first.source_id, first.version_id, first.revision)
    assert [c.id for c in again.claims] == [c.id for c in first.claims]
    assert ws.ingest(TEXT).unchanged is False, "under another name it is another source"
    assert ws.ingest(TEXT).unchanged


def test_a_corrected_claim_never_comes_back_with_its_text(ws: engine.Workspace) -> None:
    first = ws.ingest(TEXT, name="Plan")
    wrong = first.claims[0]
    ws.apply(ws.preview(wrong.id, "The launch is on 3 July."))
    assert ws.ingest(TEXT, name="Plan").unchanged
    again = ws.submit_claims(first.source_id, [engine.ProposedClaim(wrong.statement, wrong.statement)])
    copy = ws.ingest(TEXT, name="Plan under another name")
    for report in (again, copy):
        assert [r.code for r in report.rejected] == ["corrected_before"]
        assert wrong.id in report.rejected[0].reason
    assert len(ws.claims(statement=wrong.statement)) == 1
    assert ws.claim(wrong.id).status == "superseded"


def test_another_text_that_repeats_a_corrected_statement_says_so(ws: engine.Workspace, claims: Claims) -> None:
    (wrong,) = claims("The date is June.")
    ws.apply(ws.preview(wrong, "The date is July."))
    report = ws.ingest("As everybody knows, this holds. The date is June.", name="Newer paper")
    assert any("had been corrected" in note for note in report.notes)


def test_rejections_are_returned_and_kept(ws: engine.Workspace) -> None:
    source = ws.ingest("The firm was unable to pay.", extractor=None).source_id
    report = ws.submit_claims(
        source,
        [
            engine.ProposedClaim("The firm can pay.", "able to pay"),
            engine.ProposedClaim("The firm left.", "The firm left."),
            engine.ProposedClaim("", "The firm was unable to pay."),
            engine.ProposedClaim("The firm could not pay.", "The firm was unable to pay."),
        ],
    )
    assert [r.code for r in report.rejected] == ["inside_word", "not_found", "statement"]
    assert [c.statement for c in report.claims] == ["The firm could not pay."]
    assert ws.rejected(source) == report.rejected
    revision = ws.revision
    with pytest.raises(engine.EvidenceRejected) as refused:
        ws.add_claim(source, "The firm can pay.", "able to pay")
    assert refused.value.rejection is not None
    assert refused.value.rejection.suggestion == "unable to pay"
    assert ws.revision == revision + 1, "what was rejected is kept on record"


def test_a_quote_across_two_fragments_rests_on_both(ws: engine.Workspace) -> None:
    text = " ".join(f"Sentence number {n} says that all is well with part {n}." for n in range(60))
    report = ws.ingest(text, extractor=None)
    assert report.fragments > 1
    first, second = None, None
    for n in range(59):
        quote = f"with part {n}. Sentence number {n + 1} says"
        (claim,) = ws.submit_claims(report.source_id, [engine.ProposedClaim(quote, quote)]).claims
        if len(claim.evidence[0].fragment_ids) == 2:
            first, second = claim.evidence[0].fragment_ids
            break
    assert first is not None
    assert second is not None
    fragments = [ws.fragment(first), ws.fragment(second)]
    assert fragments[0].end == fragments[1].start
    assert quote in fragments[0].text + fragments[1].text


def test_a_statement_that_is_there_gets_evidence_instead_of_a_twin(ws: engine.Workspace, claims: Claims) -> None:
    (one,) = claims("The date is June.", name="First")
    (same, _) = claims("The date is June.", "The hall is free.", name="Second")
    assert same == one
    claim = ws.claim(one)
    assert len({e.source_id for e in claim.evidence}) == 2
    decision = ws.decide("Book", [one])
    assert ws.decision(decision.id).fragile_on == [one], "two independent sources: fragile on no origin"


@pytest.mark.parametrize("how", ["same text", "copy_of", "origin", "echo"])
def test_copies_and_echoes_are_one_witness(ws: engine.Workspace, how: str) -> None:
    first = ws.ingest("The date is June.", name="First", origin="wire" if how == "origin" else None)
    (claim,) = first.claims
    if how == "same text":
        ws.ingest("The date is June.", name="Second")
    elif how == "copy_of":
        ws.ingest("Reprint: see below. The date is June.", name="Second", copy_of=first.source_id)
    elif how == "origin":
        ws.ingest("Reprint: see below. The date is June.", name="Second", origin="wire")
    else:
        ws.ingest("I concluded this: yes. The date is June.", name="Answer", kind="agent", derived_from=[claim.id])
    current = ws.claim(claim.id)
    assert len({e.source_id for e in current.evidence}) == 2
    decision = ws.decide("Book", [claim.id])
    origin = "wire" if how == "origin" else first.source_id
    assert decision.fragile_on == [claim.id, origin]
    assert ws.explain(decision.id).independent_sources == 1


def test_a_copy_that_ties_two_origins_together_makes_them_one(ws: engine.Workspace) -> None:
    a = ws.ingest("The date is June. So it was said.", name="A")
    b = ws.ingest("The date is June. The hall is free.", name="B")
    decision = ws.decide("Book", [a.claims[0].id])
    assert ws.decision(decision.id).fragile_on == [a.claims[0].id]
    before = ws.revision
    ws.ingest("The date is June. So it was said.", name="C", copy_of=b.source_id)
    assert ws.source(a.source_id).origins == ws.source(b.source_id).origins
    assert len(ws.decision(decision.id).fragile_on) == 2
    assert ws.at(before).decision(decision.id).fragile_on == [a.claims[0].id]


def test_derived_claims_stand_on_any_alternative(ws: engine.Workspace, claims: Claims) -> None:
    a, b, c = claims("Fact a is so.", "Fact b is so.", "Fact c is so.")
    derived = ws.derive("Therefore d is so.", [[a, b], c])
    assert derived.supported
    assert derived.evidence == []
    assert derived.confidence_kind == "derived"
    ws.apply(ws.preview(c, None))
    assert ws.claim(derived.id).supported
    ws.apply(ws.preview(a, None))
    assert (ws.claim(derived.id).supported, ws.claim(derived.id).status) == (False, "current")


def test_a_cycle_does_not_hold_itself_up(ws: engine.Workspace, claims: Claims) -> None:
    (a,) = claims("Fact a is so.")
    one = ws.decide("One", [a])
    two = ws.decide("Two", [one.id])
    assert ws.justify(one.id, [two.id]).because[1].holds
    ws.apply(ws.preview(a, None))
    assert {ws.decision(d.id).status for d in (one, two)} == {"needs_review"}


def test_new_support_reaches_what_rests_on_the_node_but_settles_nothing(ws: engine.Workspace, claims: Claims) -> None:
    a, b = claims("Fact a is so.", "Fact b is so.")
    derived = ws.derive("Therefore d is so.", [a])
    decision = ws.decide("Go", [derived.id])
    ws.apply(ws.preview(a, None))
    ws.justify(derived.id, [b])
    assert ws.claim(derived.id).supported
    after = ws.decision(decision.id)
    assert (after.supported, after.status) == (True, "needs_review")


def test_requests_sent_twice_are_done_once(ws: engine.Workspace, claims: Claims) -> None:
    a, b = claims("Fact a is so.", "Fact b is so.")
    decision = ws.decide("Go", [[a, b]], "because")
    derived = ws.derive("Therefore d is so.", [a])
    action = ws.plan("Do it", [decision.id])
    revision = ws.revision
    assert ws.decide("Go", [[b, a]], "because").id == decision.id
    assert ws.derive("Therefore d is so.", [a]).id == derived.id
    assert ws.plan("Do it", [decision.id]).id == action.id
    ws.justify(decision.id, [[a, b]])
    ws.mark_done(action.id)
    ws.mark_done(action.id)
    assert ws.revision == revision + 1


def test_bad_premises_are_refused_with_what_to_do(ws: engine.Workspace, claims: Claims) -> None:
    a, b = claims("Fact a is so.", "Fact b is so.")
    decision = ws.decide("Go", [b])
    for because, error in (
        ([], engine.InvalidInput),
        ([[]], engine.InvalidInput),
        ("c_1", engine.InvalidInput),
        ([1], engine.InvalidInput),
        (["c_0123456789abcdef"], engine.UnknownNode),
        (["nonsense"], engine.UnknownNode),
    ):
        with pytest.raises(error):
            ws.decide("Go on", because)  # type: ignore[arg-type]
    with pytest.raises(engine.InvalidInput, match="its own premises"):
        ws.justify(decision.id, [decision.id])
    with pytest.raises(engine.InvalidInput, match="hangs on at least one"):
        ws.plan("Do it", [])
    with pytest.raises(engine.UnknownNode, match="decision is needed"):
        ws.plan("Do it", [a])
    ws.apply(ws.preview(a, "Fact z is so."))
    with pytest.raises(engine.NotAllowed, match="superseded"):
        ws.decide("Go on", [a])


@pytest.mark.parametrize("bad", [0, [], 5, b"x", "NUL \0"])
def test_text_on_the_side_is_checked_like_any_other(ws: engine.Workspace, claims: Claims, bad: object) -> None:
    a, b = claims("Fact a is so.", "Fact b is so.")
    with pytest.raises(engine.InvalidInput, match="rationale"):
        ws.decide("Go", [a], bad)  # type: ignore[arg-type]
    assert ws.decide("Go", [a], None).rationale == ""  # type: ignore[arg-type]
    preview = ws.preview(a, None)
    with pytest.raises(engine.InvalidInput, match="reviewer"):
        ws.apply(preview, bad)  # type: ignore[arg-type]
    with pytest.raises(engine.InvalidInput, match="reason"):
        ws.apply(preview, "Ana", bad)  # type: ignore[arg-type]
    ws.apply(preview, None, None)  # type: ignore[arg-type]
    (decision,) = ws.decisions().id
    with pytest.raises(engine.InvalidInput, match="reason"):
        ws.settle(decision, engine.Reaffirm([b]), "Ana", bad)  # type: ignore[arg-type]
    with pytest.raises(engine.InvalidInput, match="mapping"):
        ws.preview_several([(b, None)])  # type: ignore[arg-type]


def test_actions_follow_their_decisions(ws: engine.Workspace, claims: Claims) -> None:
    a, b = claims("Fact a is so.", "Fact b is so.")
    one, two = ws.decide("One", [a]), ws.decide("Two", [b])
    action = ws.plan("Needs both", [one.id, two.id])
    ws.apply(ws.preview(a, None))
    ws.apply(ws.preview(b, None))
    with pytest.raises(engine.NotAllowed, match="held"):
        ws.mark_done(action.id)
    assert ws.plan("Begins on hold", [one.id]).status == "held"
    (c,) = claims("Fact c is so.")
    ws.settle(one.id, engine.Reaffirm([c]))
    assert ws.action(action.id).status == "held", "its other decision still needs review"
    ws.settle(two.id, engine.Reaffirm([c]))
    assert ws.action(action.id).status == "proposed"


def test_a_new_version_says_what_moved_and_changes_no_claim(ws: engine.Workspace) -> None:
    report = ws.ingest("The date is June. The hall is free. The price is right.", name="Plan")
    date, hall, price = report.claims
    replaced = ws.replace_source(report.source_id, "The date is June. It rains. The hall is free. The  price is right.")
    assert [q.claim_id for q in replaced.kept] == [date.id]
    assert [q.claim_id for q in replaced.moved] == [hall.id]
    assert [q.claim_id for q in replaced.gone] == [price.id]
    assert replaced.gone[0].suggestion == "The  price is right."
    assert ws.claim(price.id) == price.model_copy(), "nothing happens by itself"
    with pytest.raises(engine.EvidenceRejected):
        ws.reanchor(report.source_id, [price.id])
    moved, fixed = ws.reanchor(report.source_id, [hall.id, price.id], {price.id: "The  price is right."})
    assert moved.evidence[0].version_id == fixed.evidence[0].version_id == replaced.version_id
    assert moved.evidence[0].spans == [(28, 45)]
    assert ws.at(1).claim(hall.id) == hall
    assert len(ws.source(report.source_id).versions) == 2
    assert ws.replace_source(report.source_id, ws.text(report.source_id).text).unchanged


def test_files_are_taken_in(ws: engine.Workspace, tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_text("# Plan\n\nThe launch is on 12 June.\n", encoding="utf-8")
    report = ws.ingest_file(path)
    assert ws.source(report.source_id).name == "plan.md"
    assert [c.statement for c in report.claims] == ["The launch is on 12 June."]
    assert ws.ingest_file(path.read_bytes(), name="plan.md").unchanged
    with pytest.raises(engine.InvalidInput, match="cannot be read"):
        ws.ingest_file(tmp_path / "missing.txt")
    with pytest.raises(engine.InvalidInput, match="file name"):
        ws.ingest_file(b"text")


@pytest.mark.parametrize("text", ["", "  \n", "one\0two", "half \ud800 character", 5, None])
def test_text_that_cannot_be_stored_is_refused(ws: engine.Workspace, text: object) -> None:
    with pytest.raises(engine.InvalidInput):
        ws.ingest(text)  # type: ignore[arg-type]
    assert ws.revision == 0
