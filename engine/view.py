"""Everything that can be read of a workspace, as of one revision."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from engine import explain as explaining
from engine import product_view
from engine.correction_records import Correction
from engine.correction_view import CorrectionsView
from engine.corrections import request_made, work_out_request
from engine.errors import InvalidInput, UnknownNode
from engine.ids import kind_of, require
from engine.learning_memory import LearningsView
from engine.load_bearing import load_bearing_rows
from engine.records import (
    Action,
    Answer,
    Claim,
    ClaimHit,
    Decision,
    Explanation,
    Fragment,
    Impact,
    Refusal,
    Rejection,
    Source,
    SourceText,
)
from engine.search import search
from engine.services import Services
from engine.store import history, runs
from engine.store.claims import claim_rows, claims_of_version, fetch_claims
from engine.store.corrections import OF_MEMORY, fetch_corrections, memory_corrections
from engine.store.database import Database
from engine.store.decisions import action_rows, decision_rows, fetch_actions, fetch_decisions
from engine.store.snapshot import Snapshot, head
from engine.store.sources import (
    all_sources,
    claim_counts,
    fetch_fragments,
    fetch_sources,
    rejections,
    version_text,
)
from engine.store.structure import claims_quoting

if TYPE_CHECKING:
    from pandas import DataFrame

    from engine.product import ProductGraph

T = TypeVar("T")


class WorkspaceView:
    """A workspace as of one revision. Every read sees that revision whole."""

    def __init__(self, database: Database, graph: str, workspace_id: str, revision: int, services: Services) -> None:
        self._database = database
        self._graph = graph
        self._revision = revision
        self._services = services
        self.id = workspace_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at revision {self.revision}>"

    def _snapshot(self) -> Snapshot:
        return Snapshot(self._database, self._graph, self.id, self._revision)

    @property
    def revision(self) -> int:
        """How many changes had been committed."""
        return self._revision

    @property
    def name(self) -> str:
        """What people call the workspace."""
        return head(self._database, self._graph, self.id).name

    @property
    def corrections(self) -> CorrectionsView:
        """Corrections as records: of claims, and of what agents put out."""
        return CorrectionsView(self, self._services)

    @property
    def learnings(self) -> LearningsView:
        """What agents and people concluded."""
        return LearningsView(self)

    # One node

    def claim(self, claim_id: str) -> Claim:
        """Return a claim; UnknownNode when there is none with this id."""
        return self._one(self._snapshot(), fetch_claims, claim_id, "Claim")

    def decision(self, decision_id: str) -> Decision:
        """Return a decision; UnknownNode when there is none with this id."""
        return self._one(self._snapshot(), fetch_decisions, decision_id, "Decision")

    def action(self, action_id: str) -> Action:
        """Return an action; UnknownNode when there is none with this id."""
        return self._one(self._snapshot(), fetch_actions, action_id, "Action")

    def source(self, source_id: str) -> Source:
        """Return a source with its versions; UnknownNode when there is none with this id."""
        return self._one(self._snapshot(), fetch_sources, source_id, "Source")

    def correction(self, correction_id: str) -> Correction:
        """Return a correction; UnknownNode when there is none with this id."""
        return self._one(self._snapshot(), fetch_corrections, correction_id, "Correction")

    def _one(self, snap: Snapshot, fetch: Callable[[Snapshot, list[str]], dict[str, T]], node_id: str, kind: str) -> T:
        """Every read of several queries keeps to one snapshot: a live workspace may move on between them."""
        found = fetch(snap, [require(node_id, kind)])
        if node_id not in found:
            raise UnknownNode(f"There is no {kind.lower()} {node_id} in this workspace.")
        return found[node_id]

    # Many nodes, as frames

    def claims(self, **filters: object) -> DataFrame:
        """Return one row a claim: id, statement, status, supported, evidence, sources, …

        Keep rows by keyword: `ws.claims(status="current", supported=False)`; a list keeps any of its values.
        `source="s_…"` keeps claims with evidence in that source.
        """
        snap = self._snapshot()
        rows = claim_rows(snap)
        source = filters.pop("source", None)
        if source is not None:
            quoting = set(claims_quoting(snap, require(source, "Source")))
            rows = [row for row in rows if row["id"] in quoting]
        return _frame(rows, CLAIM_COLUMNS, filters)

    def decisions(self, **filters: object) -> DataFrame:
        """Return one row a decision: id, title, status, supported, support_count, …; keep rows by keyword."""
        return _frame(decision_rows(self._snapshot()), DECISION_COLUMNS, filters)

    def actions(self, **filters: object) -> DataFrame:
        """Return one row an action: id, description, status, because, …; keep rows by keyword."""
        return _frame(action_rows(self._snapshot()), ACTION_COLUMNS, filters)

    def sources(self, **filters: object) -> DataFrame:
        """Return one row a source: id, name, kind, status, origins, versions, claims, …; keep by keyword."""
        snap = self._snapshot()
        counts = claim_counts(snap)
        rows = [
            {
                "id": source.id,
                "name": source.name,
                "kind": source.kind,
                "status": source.status,
                "origins": source.origins,
                "copy_of": source.copy_of,
                "versions": len(source.versions),
                "claims": counts.get(source.id, 0),
                "revision": source.revision,
                "born": source.born,
            }
            for source in all_sources(snap)
        ]
        return _frame(rows, SOURCE_COLUMNS, filters)

    def corrected(self, **filters: object) -> DataFrame:
        """Return one row a correction: id, kind, status, original, statement, reviewer, …; keep by keyword."""
        rows = [correction.model_dump() for correction in memory_corrections(self._snapshot())]
        return _frame(rows, CORRECTION_COLUMNS, filters)

    def impact_of(self, correction_id: str) -> Impact:
        """Return what a correction did when it was applied, worked out anew as of the revision before it.

        Corrections that were made together are shown together.
        """
        snap = self._snapshot()
        correction = self._one(snap, fetch_corrections, correction_id, "Correction")
        if correction.kind not in OF_MEMORY or correction.status == "pending":
            return Impact()
        together = [k for k in memory_corrections(snap) if k.revision == correction.revision]
        before = Snapshot(self._database, self._graph, self.id, correction.revision - 1)
        return work_out_request(before, request_made(together)).preview.impact

    # Evidence

    def fragment(self, node_id: str) -> Fragment:
        """Return the text behind a claim (its first evidence's fragment), or the fragment with this id.

        A search hit alone is no evidence: this is what must be read before it may be cited.

        Raises:
            UnknownNode: there is no such claim or fragment, or the claim has no evidence of its own.
        """
        snap = self._snapshot()
        fragment_id = node_id
        if kind_of(node_id) != "SourceFragment":
            claim = self._one(snap, fetch_claims, node_id, "Claim")
            if not claim.evidence:
                raise UnknownNode(f"{node_id} follows from other claims and has no text of its own; read its premises.")
            fragment_id = next((e for e in claim.evidence if e.standing), claim.evidence[0]).fragment_id
        found = fetch_fragments(snap, [fragment_id])
        if fragment_id not in found:
            raise UnknownNode(f"There is no fragment {fragment_id} in this workspace.")
        return found[fragment_id]

    def text(self, source_id: str, version_id: str | None = None) -> SourceText:
        """Return the exact text of a source's newest version (or the one named), and the claims that quote it."""
        snap = self._snapshot()
        source = self._one(snap, fetch_sources, source_id, "Source")
        versions = [version.id for version in source.versions]
        wanted = versions[-1] if version_id is None else version_id
        if wanted not in versions:
            raise UnknownNode(f"{wanted} is no version of {source_id}.")
        claims = fetch_claims(snap, claims_of_version(snap, wanted))
        return SourceText(
            source_id=source_id,
            version_id=wanted,
            text=version_text(snap, wanted),
            quoted=list(claims.values()),
        )

    def rejected(self, source_id: str) -> list[Rejection]:
        """Return every proposal for a source that was rejected, oldest first, each with its reason."""
        snap = self._snapshot()
        self._one(snap, fetch_sources, source_id, "Source")
        return [
            Rejection.model_validate(rejection)
            for _, rejected, _ in rejections(snap, source_id)
            for rejection in json.loads(rejected)
        ]

    # Finding, seeing, explaining

    def search(self, query: str, limit: int = 10) -> list[ClaimHit]:
        """Return claims, current then, that match `query`, best first. A hit alone is no evidence.

        Scores weigh a word by how common it is in the workspace today, also as of an earlier revision.
        """
        return search(self._snapshot(), query, limit)

    def explain(self, node_id: str) -> Explanation:
        """Return why a node stands, fell, or was left alone: one sentence, then the structure."""
        return explaining.explain(self._snapshot(), node_id)

    def graph(
        self, focus: str | None = None, hops: int | None = None, include_superseded: bool = False
    ) -> ProductGraph:
        """Return the product view: Sources, Claims, Decisions, Actions and Corrections.

        With `focus`, what lies one step up from it and, `hops` steps (None: all the way) down.
        """
        return product_view.product_graph(self._snapshot(), focus, hops, include_superseded)

    def history(self) -> DataFrame:
        """Return one row a revision, newest last: revision, at, kind, actor, reason, summary, ref."""
        rows = history.event_rows(self._snapshot())
        for row in rows:
            row["at"] = datetime.fromisoformat(row["at"])
        return _frame(rows, list(history.COLUMNS), {})

    def load_bearing(self, limit: int = 20) -> DataFrame:
        """Return the claims and origins that most would fall with: id, kind, title, falls, decisions, …"""
        if type(limit) is not int or limit < 1:
            raise InvalidInput("`limit` is a whole number of at least 1.")
        return _frame(load_bearing_rows(self._snapshot(), limit), LOAD_COLUMNS, {})

    # Runs

    def runs(self) -> DataFrame:
        """Return one row a past run: id, question, agent, outcome, at, revision, decision_id."""
        return _frame(runs.run_rows(self._snapshot()), RUN_COLUMNS, {})

    def run(self, run_id: str) -> Answer:
        """Return a past run as its answer, with decision and actions as they are at this revision."""
        snap = self._snapshot()
        row = runs.run_row(snap, require(run_id, "AgentRun"))
        if row is None:
            raise UnknownNode(f"There is no run {run_id} in this workspace.")
        return Answer(
            run_id=run_id,
            question=row["question"],
            text=row["answer"],
            decision=fetch_decisions(snap, row["decisions"])[row["decisions"][0]],
            actions=list(fetch_actions(snap, row["actions"]).values()),
            cited=list(fetch_claims(snap, row["cited"]).values()),
            refused=[Refusal.model_validate(refusal) for refusal in row["refused"]],
            trail=row["steps"],
            shown=list(runs.shown_to(snap, run_id)),
            agent=row["agent"],
            revision=row["revision"],
        )


CLAIM_COLUMNS = [
    "id", "statement", "status", "supported", "evidence", "sources",
    "confidence", "confidence_kind", "revision", "born",
]  # fmt: skip
DECISION_COLUMNS = [
    "id", "title", "status", "supported", "support_count", "justifications", "rationale", "revision", "born",
]  # fmt: skip
ACTION_COLUMNS = ["id", "description", "status", "because", "revision", "born"]
SOURCE_COLUMNS = [
    "id", "name", "kind", "status", "origins", "copy_of", "versions", "claims", "revision", "born",
]  # fmt: skip
CORRECTION_COLUMNS = [
    "id", "kind", "status", "claim_id", "replacement_id", "source_id", "original", "statement",
    "reviewer", "reason", "created_at", "revision",
]  # fmt: skip
RUN_COLUMNS = ["id", "question", "agent", "outcome", "at", "revision", "decision_id"]
LOAD_COLUMNS = ["id", "kind", "title", "falls", "decisions", "actions", "claims"]

TYPES = {"supported": "bool"} | dict.fromkeys(
    ("revision", "born", "evidence", "sources", "support_count", "justifications", "versions", "falls", "actions"),
    "int64",
)


def _frame(rows: list[dict[str, Any]], columns: list[str], filters: dict[str, object]) -> DataFrame:
    """Return rows as a frame with these columns even when there are none, kept by equality."""
    from pandas import DataFrame

    for key, wanted in filters.items():
        if key not in columns:
            raise InvalidInput(f"There is no column {key!r} to keep rows by; there are {', '.join(columns)}.")
        several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
        values = list(wanted) if several else [wanted]  # type: ignore[call-overload]
        # A cell that holds a list is kept when any of its members is wanted.
        rows = [
            row
            for row in rows
            if (any(member in values for member in row[key]) if isinstance(row[key], list) else row[key] in values)
        ]
    frame = DataFrame(rows, columns=columns)
    # An empty frame must be as easy to filter as a full one.
    return frame.astype({column: TYPES[column] for column in columns if column in TYPES})


def moment(at: datetime) -> str:
    """Return a moment as history writes it; one without a time zone is local time.

    Raises:
        InvalidInput: the moment is too far away to be told in UTC.
    """
    try:
        return at.astimezone(UTC).isoformat(timespec="microseconds")
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"{at!r} is no moment that can be told in UTC: {error}.") from error
