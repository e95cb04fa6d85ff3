"""Asking without a model, and the rule that decides what may be cited whoever asks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import engine
from engine.agents import Proposal, RuleCoordinator
from engine.asking import NO_ANSWER, Asking
from engine.evidence_log import EvidenceLog
from engine.planning import carry_out
from engine.samples import load_launch_story

Claims = Callable[..., list[str]]


def test_an_answer_cites_what_was_searched_and_fetched(ws: engine.Workspace, claims: Claims) -> None:
    date, _ = claims("The launch of Aurora is on 12 June.", "The hall in Ghent holds 400 people.")
    steps: list[engine.Step] = []
    answer = ws.ask("When is the launch of Aurora?", on_step=steps.append)
    assert [c.id for c in answer.cited] == [date]
    assert answer.text == "The launch of Aurora is on 12 June. [1]"
    assert answer.decision.status == "standing"
    assert [j.premises for j in answer.decision.because] == [[date]]
    assert answer.actions == []
    assert answer.trail == steps
    assert [s.kind for s in steps if s.kind != "fetched"] == ["searched", "proposed", "handed_over", "reviewed"]
    assert answer.decision.run_id == answer.run_id
    assert ws.run(answer.run_id) == answer
    assert list(ws.runs().decision_id) == [answer.decision.id]


def test_an_action_is_proposed_when_the_question_asks_what_to_do(ws: engine.Workspace, claims: Claims) -> None:
    claims("The hall in Ghent must be booked six weeks ahead.")
    answer = ws.ask("What should we do about the hall in Ghent?")
    assert [a.status for a in answer.actions] == ["proposed"]
    assert answer.actions[0].because == [answer.decision.id]


@pytest.mark.parametrize("question", ["What is the capital of Peru?", "Who owns Aurora?", "???", "12"])
def test_with_no_evidence_there_is_no_answer_and_no_action(ws: engine.Workspace, claims: Claims, question: str) -> None:
    claims("The capital budget is 3 million.", "The hall holds 400 people.")
    answer = ws.ask(question)
    assert answer.text == answer.decision.title == NO_ANSWER == "No source-backed answer yet"
    assert (answer.decision.status, answer.decision.supported) == ("needs_review", False)
    assert answer.actions == []
    assert answer.cited == []


class Liar:
    """An analyst that cites whatever it is told to."""

    name = "Liar"

    def __init__(self, because: list[str | list[str]], fetch: list[str], meanwhile: Callable[[], object]) -> None:
        self.because, self.fetch, self.meanwhile = because, fetch, meanwhile

    def analyse(self, question: str, log: EvidenceLog) -> Proposal:
        log.search_claims(self.name, question)
        for claim in self.fetch:
            log.fetch_source(self.name, claim)
        self.meanwhile()
        return Proposal("It is so", self.because, ["Do it"])


def asked(ws: engine.Workspace, liar: Liar, question: str) -> engine.Answer:
    asking = Asking(question, EvidenceLog(ws._snapshot), liar, RuleCoordinator())
    asking.consider()
    plan, _ = carry_out(ws._database, ws._graph, ws.id, asking.plan)
    return ws.run(plan.result)


def test_what_was_not_searched_and_fetched_is_refused(
    ws: engine.Workspace, wb: engine.Workbench, claims: Claims
) -> None:
    good, unread, unfound = claims("The launch is in June.", "The launch is in Ghent.", "The hall holds 400 people.")
    foreign = load_launch_story(wb)
    invented = foreign.claims().id[0]
    liar = Liar(
        [good, unread, unfound, invented, "c_0123456789abcdef", "nonsense", [good, unread]],
        [good, unfound, "c_0123456789abcdef", "nonsense"],
        lambda: None,
    )
    answer = asked(ws, liar, "launch")
    assert [c.id for c in answer.cited] == [good]
    assert [j.premises for j in answer.decision.because] == [[good]]
    assert {r.id for r in answer.refused} == {unread, unfound, invented, "c_0123456789abcdef", "nonsense"}
    reasons = {r.id: r.reason for r in answer.refused}
    assert "not fetched" in reasons[unread]
    assert "without having been found" in reasons[unfound]
    assert "not among" in reasons[invented]
    assert [a.description for a in answer.actions] == ["Do it"]
    wb.delete_workspace(foreign.id)


def test_a_claim_corrected_during_the_run_may_not_be_cited(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The launch is in June.")
    liar = Liar([claim], [claim], lambda: ws.apply(ws.preview(claim, "The launch is in July.")))
    answer = asked(ws, liar, "launch")
    assert answer.text == NO_ANSWER
    assert answer.actions == []
    assert "superseded" in answer.refused[0].reason


def test_premises_that_are_needed_together_stay_together(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("The launch is in June.", "The launch is in Ghent.")
    answer = asked(ws, Liar([[one, two]], [one, two], lambda: None), "launch")
    assert [j.premises for j in answer.decision.because] == [sorted([one, two])]


def test_search_finds_current_claims_only(ws: engine.Workspace, claims: Claims) -> None:
    (claim,) = claims("The launch is in June.")
    applied = ws.apply(ws.preview(claim, "The launch is in July."))
    assert [h.claim.id for h in ws.search("launch")] == [applied.replacement.id]  # type: ignore[union-attr]
    assert [h.claim.id for h in ws.at(applied.revision - 1).search("launch")] == [claim]
    for bad in (None, 5, b"launch"):
        with pytest.raises(engine.InvalidInput):
            ws.search(bad)  # type: ignore[arg-type]
    with pytest.raises(engine.InvalidInput, match="limit"):
        ws.search("launch", limit=0)


def test_questions_must_be_text(ws: engine.Workspace) -> None:
    with pytest.raises(engine.InvalidInput, match="empty"):
        ws.ask("  ")
    assert ws.revision == 0
