"""Random histories through the public API on the real database, held against the reference after every step."""

from __future__ import annotations

import os
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import engine

from .model import Model

WORKBENCH: list[engine.Workbench] = []
HUMAN = "human"


class Histories(RuleBasedStateMachine):
    """Every rule does one thing to the workspace and to the model; the invariant compares all that can be read."""

    def __init__(self) -> None:
        super().__init__()
        self.ws = WORKBENCH[0].create_workspace("history")
        self.model = Model()
        self.sources: list[str] = []
        self.corrections: list[str] = []
        self.counter = 0
        self.recorded: dict[int, Any] = {}
        self.human: str | None = None

    def teardown(self) -> None:
        WORKBENCH[0].delete_workspace(self.ws.id)

    # choosing

    def text(self, kind: str) -> str:
        self.counter += 1
        return f"The {kind} number {self.counter} holds."

    def named(self, prefix: str, *statuses: str) -> list[str]:
        return [n for n, s in self.model.state.status.items() if n.startswith(prefix) and s in statuses]

    def premises(self) -> list[str]:
        return self.named("c_", "current") + self.named("d_", "standing", "needs_review")

    def pick(self, data: st.DataObject, among: list[str]) -> str:
        return among[data.draw(st.integers(0, len(among) - 1))]

    def groups(self, data: st.DataObject, without: str | None = None) -> list[list[str]]:
        among = [name for name in self.premises() if name != without]
        found: list[list[str]] = []
        for _ in range(data.draw(st.integers(1, 3))):
            group = {self.pick(data, among) for _ in range(data.draw(st.integers(1, 3)))}
            if sorted(group) not in found:
                found.append(sorted(group))
        return found

    # doing

    @rule(data=st.data(), number=st.integers(1, 3))
    def ingest(self, data: st.DataObject, number: int) -> None:
        sentences = [self.text("fact") for _ in range(number)]
        report = self.ws.ingest(" ".join(sentences), name=f"Document {self.counter}", extractor=None)
        self.sources.append(report.source_id)
        proposals = [engine.ProposedClaim(s, s) for s in sentences]
        for claim in self.ws.submit_claims(report.source_id, proposals).claims:
            self.model.do("claim", claim.id, report.source_id)

    @precondition(lambda self: any(self.model.state.evidence.get(c) for c in self.named("c_", "current")))
    @rule(data=st.data())
    def second_witness(self, data: st.DataObject) -> None:
        claim = self.ws.claim(
            self.pick(data, [c for c in self.named("c_", "current") if self.model.state.evidence.get(c)])
        )
        text = f"As is known: {claim.statement} So says document {self.text('witness')}"
        report = self.ws.ingest(text, extractor=None)
        self.sources.append(report.source_id)
        added = self.ws.submit_claims(report.source_id, [engine.ProposedClaim(claim.statement, claim.statement)])
        assert [c.id for c in added.claims] == [claim.id]
        self.model.do("evidence", claim.id, report.source_id)

    @precondition(lambda self: self.premises())
    @rule(data=st.data())
    def derive(self, data: st.DataObject) -> None:
        groups = self.groups(data)
        self.model.do("derive", self.ws.derive(self.text("conclusion"), groups).id, groups)

    @precondition(lambda self: self.premises())
    @rule(data=st.data())
    def decide(self, data: st.DataObject) -> None:
        groups = self.groups(data)
        self.model.do("decide", self.ws.decide(self.text("decision"), groups).id, groups)

    @precondition(lambda self: len(self.premises()) > 1)
    @rule(data=st.data())
    def justify(self, data: st.DataObject) -> None:
        node = self.pick(data, self.premises())
        have = self.model.state.ways.get(node, [])
        groups = [g for g in self.groups(data, without=node) if frozenset(g) not in have]
        if groups:
            self.ws.justify(node, groups)
            self.model.do("justify", node, groups)

    @precondition(lambda self: self.named("d_", "standing", "needs_review"))
    @rule(data=st.data())
    def plan(self, data: st.DataObject) -> None:
        among = self.named("d_", "standing", "needs_review")
        decisions = sorted({self.pick(data, among) for _ in range(data.draw(st.integers(1, 2)))})
        self.model.do("plan", self.ws.plan(self.text("action"), decisions).id, decisions)

    @precondition(lambda self: any(self.model.shown(a) == "proposed" for a in self.named("a_", "proposed")))
    @rule(data=st.data())
    def mark_done(self, data: st.DataObject) -> None:
        action = self.pick(data, [a for a in self.named("a_", "proposed") if self.model.shown(a) == "proposed"])
        self.ws.mark_done(action)
        self.model.do("done", action)

    @precondition(lambda self: self.named("c_", "current") and HUMAN not in self.model.state.withdrawn)
    @rule(data=st.data(), number=st.sampled_from([1, 1, 1, 2]), retract=st.sampled_from([False, False, True]))
    def correct(self, data: st.DataObject, number: int, retract: bool) -> None:
        claims = sorted({self.pick(data, self.named("c_", "current")) for _ in range(number)})
        changes = {claim: None if retract else self.text("truth") for claim in claims}
        preview = self.ws.preview_several(changes)
        applied = self.ws.apply(preview, "Ana")
        assert applied.impact == preview.impact
        assert not applied.already_applied
        again = self.ws.apply(preview, "Ana")
        assert again.already_applied
        assert [k.id for k in again.corrections] == [k.id for k in applied.corrections]
        self.check_preview(preview)
        by_claim = {k.claim_id: k for k in applied.corrections}
        self.corrections += [k.id for k in applied.corrections]
        self.model.do(
            "correct",
            {claim: by_claim[claim].id for claim in claims},
            [(claim, by_claim[claim].replacement_id) for claim in claims],
            HUMAN,
        )
        for claim in claims:
            replacement = by_claim[claim].replacement_id
            if replacement is not None:
                (evidence,) = self.ws.claim(replacement).evidence
                assert evidence.quote == changes[claim]
                assert evidence.origin_type == "human_correction"

    def check_preview(self, preview: engine.Preview) -> None:
        """What was announced as flagged is flagged now, and only what is in reach was touched."""
        for effect in preview.impact.needs_review:
            if effect.kind == "Decision":
                assert self.ws.decision(effect.id).status in ("needs_review", "withdrawn", "superseded")
            else:
                assert not self.ws.claim(effect.id).supported
        for effect in preview.impact.weakened:
            if effect.kind == "Decision":
                assert self.ws.decision(effect.id).fragile_on == effect.fragile_on
                assert self.ws.decision(effect.id).support_count == effect.supports_after

    @precondition(lambda self: len(self.model.state.withdrawn) < len(self.sources))
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        source = self.pick(data, [s for s in self.sources if s not in self.model.state.withdrawn])
        preview = self.ws.preview_withdrawal(source)
        applied = self.ws.apply(preview, "Bo")
        assert self.ws.apply(preview, "Bo").already_applied
        self.corrections.append(applied.correction.id)
        self.model.do("withdraw", applied.correction.id, source)

    @precondition(lambda self: set(self.corrections) - self.model.gone)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        correction = self.pick(data, [k for k in self.corrections if k not in self.model.gone])
        preview = self.ws.preview_undo(correction)
        applied = self.ws.undo(correction, "Cy")
        assert applied.impact == preview.impact
        assert {k.id for k in applied.corrections} == set(preview.undoes)
        assert self.ws.undo(correction, "Cy").already_applied
        self.model.do("undo", preview.undoes)

    @precondition(lambda self: self.named("d_", "needs_review"))
    @rule(data=st.data(), kind=st.sampled_from(["reaffirm", "rebase", "withdraw"]))
    def settle(self, data: st.DataObject, kind: str) -> None:
        decision = self.pick(data, self.named("d_", "needs_review"))
        if kind == "withdraw":
            self.ws.settle(decision, engine.Withdraw(), "Di")
            self.model.do("settle", decision, kind, [], None)
            return
        standing = [n for n in self.premises() if n in self.model.state.supported and n != decision]
        if not standing:
            return
        groups = [[self.pick(data, standing)]]
        if kind == "reaffirm":
            self.ws.settle(decision, engine.Reaffirm(groups), "Di")
            self.model.do("settle", decision, kind, groups, None)
        else:
            new = self.ws.settle(decision, engine.Rebase(self.text("decision"), groups), "Di")
            assert new.supersedes == decision
            self.model.do("settle", decision, kind, groups, new.id)

    # comparing

    @invariant()
    def agrees_with_the_model(self) -> None:
        claims, decisions, actions = self.ws.claims(), self.ws.decisions(), self.ws.actions()
        state = self.model.state
        assert dict(zip(claims.id, claims.status, strict=True)) == {
            n: s for n, s in state.status.items() if n.startswith("c_")
        }
        standing = {n for n in state.supported if n.startswith("c_")}
        assert set(claims[claims.supported].id) == standing, self.model.done
        assert dict(zip(decisions.id, decisions.status, strict=True)) == {
            n: s for n, s in state.status.items() if n.startswith("d_")
        }
        assert set(decisions[decisions.supported].id) == {n for n in state.supported if n.startswith("d_")}, (
            self.model.done
        )
        assert dict(zip(decisions.id, decisions.support_count, strict=True)) == {
            n: self.model.holding(n) for n in decisions.id
        }
        assert dict(zip(actions.id, actions.status, strict=True)) == {n: self.model.shown(n) for n in state.because}
        for decision in list(decisions.id)[-2:]:
            fragile = {f for f in self.ws.decision(decision).fragile_on if f != "human_correction"}
            assert fragile == self.model.fragile_claims(decision) | (self.model.fragile_sources(decision) - {HUMAN})
        superseding = [c.supersedes for c in map(self.ws.claim, claims[claims.status == "current"].id)]
        kept = [s for s in superseding if s is not None]
        assert len(kept) == len(set(kept)), "two current claims supersede the same one"
        self.recorded[self.ws.revision] = (claims, decisions, actions)

    def teardown_checks(self) -> None:
        for revision, (claims, decisions, actions) in self.recorded.items():
            view = self.ws.at(revision)
            assert view.claims().equals(claims)
            assert view.decisions().equals(decisions)
            assert view.actions().equals(actions)

    @rule()
    def the_past_is_as_it_was_recorded(self) -> None:
        self.teardown_checks()


def run(wb: engine.Workbench, examples: int, steps: int) -> None:
    WORKBENCH[:] = [wb]
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Histories,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )


@pytest.mark.timeout(300)
def test_random_histories(wb: engine.Workbench) -> None:
    run(wb, examples=15, steps=25)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_random_histories(wb: engine.Workbench) -> None:
    run(wb, examples=int(os.environ.get("CORRIGENDA_HISTORIES", "100")), steps=40)
