"""A question, from search to decision: who did what, what may be cited, and what is written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from engine.agents import Analyst, Coordinator, Proposal, RuleAnalyst, RuleCoordinator
from engine.decisions import premises, request_key, write_action, write_decision
from engine.entries import party
from engine.errors import InvalidInput
from engine.evidence_log import EvidenceLog
from engine.ids import new_id
from engine.inputs import checked_text
from engine.planning import Plan, born, now
from engine.reasons import counted, join, shorten
from engine.records import Refusal
from engine.reminders import ANALYST, COORDINATOR
from engine.runs import write_shown
from engine.store.commit import ChangeSet
from engine.store.snapshot import Snapshot

NO_ANSWER: Final = "No source-backed answer yet"
QUESTION_LIMIT: Final = 5_000


@dataclass
class Asking:
    """One run. `consider` does the looking; `plan` writes what came of it, checked again at that moment."""

    question: str
    log: EvidenceLog
    analyst: Analyst
    coordinator: Coordinator
    proposal: Proposal | None = None

    @classmethod
    def with_rules(cls, question: object, log: EvidenceLog) -> Asking:
        """Return a run of the two agents that need no model."""
        checked = checked_text(question, "question", QUESTION_LIMIT).strip()
        return cls(checked, log, RuleAnalyst(), RuleCoordinator())

    def consider(self) -> None:
        """Let the Analyst look, hand over, let the Coordinator review."""
        self.log.search_corrections(ANALYST, self.question)
        proposed = self.analyst.analyse(self.question, self.log)
        self.log.note(
            self.analyst.name,
            "handed_over",
            f"Handed over to {self.coordinator.name} with {counted(len(proposed.because), 'citation')}.",
            to=self.coordinator.name,
            because=proposed.because,
        )
        self.log.search_corrections(COORDINATOR, self.question)
        self.proposal = self.coordinator.review(self.question, proposed, self.log)

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """Plan the decision, its actions and the run's record."""
        if self.proposal is None:
            raise InvalidInput("Nothing was considered yet.")
        change = ChangeSet(revision)
        groups, refused = self._citable(snap, self.proposal)
        cited = sorted({name for group in groups for name in group})
        run_id = new_id("AgentRun")
        text = NO_ANSWER
        actions: list[str] = []
        if groups:
            found = premises(snap, groups)
            key = request_key("ask", run_id)
            title = self.proposal.title or shorten(found[cited[0]].title, 300)
            decision_id = write_decision(snap, change, title, self.proposal.rationale, groups, key, found)
            order = [name for group in groups for name in sorted(group)]
            text = "\n".join(f"{found[name].title} [{n}]" for n, name in enumerate(dict.fromkeys(order), 1))
            actions = [
                write_action(change, description, [decision_id], request_key("ask", run_id, n), False)
                for n, description in enumerate(self.proposal.actions)
            ]
            cited = list(dict.fromkeys(order))
        else:
            decision_id = change.create(
                "Decision",
                new_id("Decision"),
                title=NO_ANSWER,
                rationale=f"Asked: {shorten(self.question, 300)}",
                request_key=request_key("ask", run_id),
                **born(revision, "needs_review", False),
            )
        self._write_run(snap, change, run_id, decision_id, actions, text, cited, refused)
        outcome = f"cited {counted(len(cited), 'claim')}" if cited else "found no source-backed answer"
        return Plan(
            change,
            "ask",
            f"Asked “{shorten(self.question)}”: {outcome}.",
            self.coordinator.name,
            ref=run_id,
            result=run_id,
        )

    def _citable(self, snap: Snapshot, proposal: Proposal) -> tuple[list[frozenset[str]], list[Refusal]]:
        """Return what of a proposal may be cited: a group falls whole with any refused member."""
        groups: list[frozenset[str]] = []
        refused: dict[str, Refusal] = {}
        for item in proposal.because:
            members = [item] if isinstance(item, str) else list(item)
            verdicts = [self.log.refusal(member, snap) for member in members]
            for verdict in verdicts:
                if verdict is not None:
                    refused.setdefault(verdict.id, verdict)
            group = frozenset(members)
            if members and not any(verdicts) and group not in groups:
                groups.append(group)
        return groups, list(refused.values())

    def _write_run(
        self,
        snap: Snapshot,
        change: ChangeSet,
        run_id: str,
        decision_id: str,
        actions: list[str],
        text: str,
        cited: list[str],
        refused: list[Refusal],
    ) -> None:
        revision = change.revision
        change.create(
            "AgentRun",
            run_id,
            question=self.question,
            name=join([self.analyst.name, self.coordinator.name]),
            outcome="answered" if cited else "no_answer",
            answer=text,
            allowed=json.dumps(cited),
            refused=json.dumps([refusal.model_dump() for refusal in refused], ensure_ascii=False),
            agent=ANALYST,
            agent_key=party("agent", ANALYST),
            tenant_key=party("tenant", None),
            at=now(),
            born=revision,
        )
        write_shown(snap, change, run_id, list(self.log.shown), text)
        change.link("MADE_BY", ("Decision", decision_id), ("AgentRun", run_id))
        for action in actions:
            change.link("MADE_BY", ("Action", action), ("AgentRun", run_id))
        for step in self.log.steps:
            event_id = change.create(
                "AuditEvent",
                new_id("AuditEvent"),
                n=step.n,
                actor=step.agent,
                kind=step.kind,
                summary=step.summary,
                detail=json.dumps(step.detail, ensure_ascii=False),
                born=revision,
            )
            change.link("STEP", ("AgentRun", run_id), ("AuditEvent", event_id))
            if step.kind == "handed_over":
                handoff = change.create(
                    "Handoff",
                    new_id("Handoff"),
                    from_agent=step.agent,
                    to_agent=str(step.detail["to"]),
                    detail=json.dumps(step.detail["because"], ensure_ascii=False),
                    born=revision,
                )
                change.link("HANDED_OVER", ("AgentRun", run_id), ("Handoff", handoff))
