"""Every step of the external propagation cases, through the public API on the real database."""

from __future__ import annotations

from typing import Any

import pytest

import engine

from .conftest import external_cases

FILES = ["propagation_proofwriter.jsonl", "propagation_entailmentbank.jsonl"]


class Case:
    """A case loaded into a workspace, and the ids that its nodes got."""

    def __init__(self, ws: engine.Workspace, case: dict[str, Any]) -> None:
        self.ws = ws
        self.ids: dict[str, str] = {}
        self.corrections: list[str] = []
        self.replaced: set[str] = set()
        document = case["documents"][0]
        source = ws.ingest(document["text"], name=document["title"], extractor=None).source_id
        backed = [node for node in case["nodes"] if node["source_backed"]]
        proposals = [engine.ProposedClaim(n["statement"], n["quote"], n["start"]) for n in backed]
        report = ws.submit_claims(source, proposals)
        assert not report.rejected
        by_statement = {claim.statement: claim.id for claim in report.claims}
        for node in backed:
            self.ids[node["id"]] = by_statement[node["statement"].strip()]
        waiting = [node for node in case["nodes"] if not node["source_backed"]]
        later: list[tuple[str, list[str]]] = []
        while waiting:
            rest = []
            for node in waiting:
                ready = [group for group in node["supports"] if all(p in self.ids for p in group)]
                if not ready:
                    rest.append(node)
                    continue
                self.ids[node["id"]] = self._make(node, ready)
                later += [(node["id"], group) for group in node["supports"] if group not in ready]
            assert len(rest) < len(waiting), "a node can never be made"
            waiting = rest
        for name, group in later:
            ws.justify(self.ids[name], [[self.ids[p] for p in group]])

    def _make(self, node: dict[str, Any], groups: list[list[str]]) -> str:
        because: list[str | list[str]] = [[self.ids[p] for p in group] for group in groups]
        if node["kind"] == "decision":
            return self.ws.decide(node["statement"], because).id
        if node["kind"] == "action":
            return self.ws.plan(node["statement"], [self.ids[p] for p in groups[0]]).id
        return self.ws.derive(node["statement"], because).id

    def step(self, step: dict[str, Any]) -> None:
        if step["op"] == "supersede":
            preview = self.ws.preview(self.ids[step["claim"]], step["new_statement"])
            self.corrections.append(self.ws.apply(preview, "reviewer").correction.id)
        else:
            self.ws.undo(self.corrections.pop(), "reviewer")

    def state(self) -> dict[str, set[str]]:
        return {
            "flag_decisions": set(self.ws.decisions(status="needs_review").id),
            "hold_actions": set(self.ws.actions(status="held").id),
            "unsupported_claims": set(self.ws.claims(supported=False, status="current").id),
        }


@pytest.mark.parametrize("file", FILES)
@pytest.mark.timeout(600)
def test_every_step_gives_exactly_the_expected_sets(wb: engine.Workbench, file: str) -> None:
    for case in external_cases(file):
        ws = wb.create_workspace(case["id"])
        loaded = Case(ws, case)
        for number, step in enumerate(case["steps"]):
            loaded.step(step)
            state = loaded.state()
            expected = {key: {loaded.ids[name] for name in step["expected"][key]} for key in state}
            assert state == expected, (case["id"], number, step["op"])
        wb.delete_workspace(ws.id)
