"""Why a node stands, fell, or was left alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import engine

Claims = Callable[..., list[str]]


def test_what_stands_names_the_smallest_set_that_holds_it(ws: engine.Workspace, claims: Claims) -> None:
    a, b, c = claims("Fact a is so.", "Fact b is so.", "Fact c is so.")
    derived = ws.derive("Therefore d is so.", [[a, b]])
    decision = ws.decide("Go", [[derived.id, c], c])
    why = ws.explain(decision.id)
    assert why.supported
    assert why.held_by == [c]
    assert why.smallest
    assert [e.quote for e in why.evidence] == ["Fact c is so."]
    assert why.sentence == ("It stands on 2 supports, from 1 independent source. It hangs on “Fact c is so.” alone.")
    assert ws.explain(derived.id).held_by == sorted([a, b])
    assert ws.explain(a).sentence == "It stands on evidence of its own, from 1 independent source."


def test_what_was_left_alone_says_what_remains(ws: engine.Workspace, claims: Claims) -> None:
    (a,) = claims("Fact a is so.", name="One")
    (b,) = claims("Fact b is so.", name="Two")
    (c,) = claims("Fact c is so.", name="Three")
    decision = ws.decide("Go", [a, b, c])
    ws.apply(ws.preview(a, None), "Ana")
    assert ws.explain(decision.id).sentence == "2 of 3 supports remain, from 2 independent sources."


def test_what_fell_names_the_correction_and_the_path(ws: engine.Workspace, claims: Claims) -> None:
    (a,) = claims("Fact a is so.")
    derived = ws.derive("Therefore d is so.", [a])
    decision = ws.decide("Go", [derived.id])
    action = ws.plan("Do it", [decision.id])
    applied = ws.apply(ws.preview(a, "Fact a is not so."), "Ana", "Checked again")
    why = ws.explain(decision.id)
    assert not why.supported
    assert why.path == [a, derived.id, decision.id]
    assert why.correction_id == applied.correction.id
    assert why.supports_before == 1
    assert why.sentence == (
        f"Its last support fell in revision {applied.revision} with “Fact a is so.”, through “Therefore d is so.”: "
        "Ana corrected it to “Fact a is not so.” (Checked again)."
    )
    assert "superseded" in ws.explain(a).sentence
    assert ws.explain(a).correction_id == applied.correction.id
    assert ws.explain(action.id).sentence == "It is on hold: “Go” needs review."
    assert ws.explain(applied.correction.id).sentence.startswith("Ana, in revision")


def test_what_fell_by_an_undo_says_so(ws: engine.Workspace, claims: Claims) -> None:
    (a,) = claims("Fact a is so.")
    applied = ws.apply(ws.preview(a, "Fact a is not so."), "Ana")
    decision = ws.decide("Stop", [applied.replacement.id])  # type: ignore[union-attr]
    ws.undo(applied.correction.id, "Bo")
    assert "Undid 1 correction" in ws.explain(decision.id).sentence
    assert "by Bo" in ws.explain(decision.id).sentence


def test_every_node_of_the_product_view_can_be_explained(ws: engine.Workspace, claims: Claims) -> None:
    a, b = claims("Fact a is so.", "Fact b is so.")
    decision = ws.decide("Go", [[a, b]])
    ws.mark_done(ws.plan("Do it", [decision.id]).id)
    ws.apply(ws.preview(a, "Fact a is not so."), "Ana")
    ws.ask("What is the capital of Peru?")
    for node in ws.graph(include_superseded=True).nodes:
        why = ws.explain(node.id)
        assert why.sentence.endswith((".", "”", ")")), (node, why.sentence)
    with pytest.raises(engine.UnknownNode):
        ws.explain("c_0123456789abcdef")
    with pytest.raises(engine.UnknownNode):
        ws.explain("anything")


def test_everything_a_preview_lists_can_be_explained_before_and_after(ws: engine.Workspace, claims: Claims) -> None:
    a, b = claims("Fact a is so.", "Fact b is so.")
    one = ws.decide("One", [a, b])
    two = ws.decide("Two", [[a, one.id]])
    ws.plan("Do it", [two.id])
    preview = ws.preview(a, None)
    for _, effect in preview.impact.effects():
        assert ws.explain(effect.id).sentence
    ws.apply(preview)
    for tier, effect in preview.impact.effects():
        assert ws.explain(effect.id).supported == (tier in ("weakened", "untouched"))


def test_load_bearing_claims_and_origins_come_first(ws: engine.Workspace, claims: Claims) -> None:
    a, b = claims("Fact a is so.", "Fact b is so.", name="Paper")
    (c,) = claims("Fact c is so.", name="Other paper")
    one = ws.decide("One", [a])
    ws.decide("Two", [one.id])
    ws.decide("Three", [b, c])
    ws.plan("Do it", [one.id])
    frame = ws.load_bearing().set_index("id")
    paper = ws.claim(a).evidence[0].source_id
    assert frame.loc[a, ["falls", "decisions", "actions"]].tolist() == [2, 2, 1]
    assert frame.loc[paper, "falls"] == 4
    assert b not in frame.index
    assert len(ws.load_bearing(1)) == 1
