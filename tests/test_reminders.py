"""Corrections that reach our own agents, and whether the old value came back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import engine
from engine.reminders import ANALYST, COORDINATOR, EXTRACTOR


def test_a_question_shows_the_agents_what_was_corrected_and_the_run_keeps_it(
    ws: engine.Workspace, claims: Callable[..., list[str]]
) -> None:
    claims("The launch is on 12 June in Riga.")
    fix = ws.corrections.record(
        agent_name=ANALYST,
        original_value="12 June",
        corrected_value="3 July",
        field="launch date",
        entity_key="Launch",
        original_input="When is the launch?",
    )
    ws.corrections.record(agent_name="another agent", original_value="12 June", corrected_value="9 July",
                          field="launch date", entity_key="Launch", original_input="When is the launch?")  # fmt: skip
    answer = ws.ask("When is the launch?")
    assert answer.shown == [fix.id]
    steps = [step for step in answer.trail if step.kind == "reminded"]
    assert [step.agent for step in steps] == [ANALYST]
    assert "“12 June” is “3 July”" in steps[0].summary
    assert ws.run(answer.run_id).shown == [fix.id]
    (row,) = ws.corrections.heeded().to_dict("records")
    assert (row["run"], row["correction_id"], row["heeded"]) == (answer.run_id, fix.id, False), "it said 12 June again"


def test_a_run_that_keeps_to_a_correction_has_heeded_it(ws: engine.Workspace, claims: Callable[..., list[str]]) -> None:
    claims("The launch is on 3 July in Riga.")
    ws.corrections.record(agent_name=COORDINATOR, original_value="12 June", corrected_value="3 July",
                          field="launch date", original_input="When is the launch?")  # fmt: skip
    answer = ws.ask("When is the launch?")
    assert answer.cited
    assert ws.corrections.heeded().heeded.tolist() == [True]
    assert ws.corrections.heeded(agent_name="nobody").empty


def test_a_question_that_has_nothing_to_do_with_any_correction_is_shown_none(
    ws: engine.Workspace, claims: Callable[..., list[str]]
) -> None:
    claims("The launch is on 12 June in Riga.")
    ws.corrections.record(agent_name=ANALYST, original_value="EUR", corrected_value="USD", field="currency",
                          entity_key="ACME GmbH", original_input="Invoice 77 of ACME GmbH")  # fmt: skip
    answer = ws.ask("When is the launch in Riga?")
    assert answer.shown == []
    assert "reminded" not in {step.kind for step in answer.trail}
    assert ws.corrections.heeded().empty


def test_a_text_with_an_old_value_in_it_is_taken_in_with_a_warning(ws: engine.Workspace) -> None:
    fix = ws.corrections.record(agent_name=EXTRACTOR, original_value="12 June", corrected_value="3 July",
                                field="launch date", entity_key="Riga launch")  # fmt: skip
    report = ws.ingest("The Riga launch date is 12 June. Guests are welcome.", name="Old plan")
    assert report.shown == [fix.id]
    assert any("It says “12 June”, which was corrected to “3 July” for “Riga launch”." in n for n in report.notes)
    quiet = ws.ingest("The Riga launch date is 3 July. Guests are welcome.", name="New plan")
    assert quiet.shown == [fix.id]
    assert not [note for note in quiet.notes if "was corrected" in note]
    assert ws.ingest("Completely unrelated: bees make honey.", name="Bees").shown == []


def test_own_runs_count_in_accuracy(ws: engine.Workspace, claims: Callable[..., list[str]]) -> None:
    claims("The launch is on 12 June in Riga.")
    first = ws.ask("When is the launch?")
    ws.ask("Where is the launch?")
    assert ws.corrections.stats().first_pass_accuracy == 1.0
    ws.corrections.record(agent_name=ANALYST, run_id=first.run_id, original_value="12 June", corrected_value="3 July")
    stats = ws.corrections.stats(agent_name=ANALYST)
    assert (stats.runs, stats.corrected_runs, stats.first_pass_accuracy) == (2, 1, 0.5)
    assert ws.runs().id.tolist() == [first.run_id, ws.runs().id.iloc[1]], "and reported runs are not among them"
    with pytest.raises(engine.UnknownNode, match="no run r_0000000000000000"):
        ws.corrections.record(agent_name=ANALYST, run_id="r_0000000000000000", original_value=1, corrected_value=2)
