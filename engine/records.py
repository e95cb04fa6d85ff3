"""What the engine takes and gives: plain, frozen pydantic records without behaviour that touches a database.

All offsets are Unicode code points, half-open: `text[start:end]` is the passage.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from engine.correction_records import Correction, Invalidation
from engine.record import GIVEN, Record

NodeKind: TypeAlias = Literal["Source", "Claim", "Decision", "Action", "Correction"]
ClaimStatus: TypeAlias = Literal["current", "superseded", "retracted"]
DecisionStatus: TypeAlias = Literal["standing", "needs_review", "superseded", "withdrawn"]
ActionStatus: TypeAlias = Literal["proposed", "held", "done", "cancelled"]
SourceStatus: TypeAlias = Literal["active", "withdrawn"]
SourceKind: TypeAlias = Literal["document", "message", "agent", "human"]
Span: TypeAlias = tuple[int, int]
Because: TypeAlias = list["str | list[str]"]
"""Alternatives: a node id (that one suffices), or a list of node ids (all of them are needed)."""


# --- evidence and claims ------------------------------------------------------------------------------------


class ProposedClaim(Record):
    """A statement and the words of the source that carry it, as a person, a rule or a model proposes them.

    `hint` is where the proposer believes the quote stands (code-point offset); it never decides.
    """

    statement: str
    evidence_quote: str
    hint: int | None = None

    def __init__(
        self, statement: str = GIVEN, evidence_quote: str = GIVEN, hint: int | None = None, **data: Any
    ) -> None:
        BaseModel.__init__(self, statement=statement, evidence_quote=evidence_quote, hint=hint, **data)


class Rejection(Record):
    """Why a proposal did not become a claim, in words a person can act on.

    `code` is one of `empty`, `blank`, `not_found`, `layout`, `inside_word`, `inside_number`,
    `inside_grapheme`, `statement`, `corrected_before`. `did_you_mean` holds the spans of the passage that was
    probably meant, `suggestion` its exact text; nothing of it is ever accepted silently.
    """

    proposal: ProposedClaim
    code: str
    reason: str
    did_you_mean: list[Span] = Field(default_factory=list)
    suggestion: str | None = None


class Evidence(Record):
    """One quote that a claim rests on. `quote == text[start:end]` of the version for every span."""

    id: str
    quote: str
    spans: list[Span]
    fragment_id: str
    fragment_ids: list[str]
    source_id: str
    version_id: str
    origin: str
    origin_type: str
    role: str
    standing: bool = True


class Justification(Record):
    """Premises that are needed together. `holds` says whether all of them are supported."""

    id: str
    premises: list[str]
    holds: bool
    born: int


class Claim(Record):
    """A statement in memory. `revision` is the workspace revision of its last change."""

    id: str
    statement: str
    status: ClaimStatus
    supported: bool
    evidence: list[Evidence]
    because: list[Justification] = Field(default_factory=list)
    confidence: float | None
    confidence_kind: str
    revision: int
    born: int
    supersedes: str | None = None
    superseded_by: str | None = None


class Decision(Record):
    """What somebody concluded. `fragile_on` holds ids of claims and origins that it cannot do without."""

    id: str
    title: str
    rationale: str
    status: DecisionStatus
    supported: bool
    support_count: int
    fragile_on: list[str]
    because: list[Justification]
    revision: int
    born: int
    supersedes: str | None = None
    superseded_by: str | None = None
    run_id: str | None = None


class Action(Record):
    """What was to be done because of decisions, all of which are needed."""

    id: str
    description: str
    status: ActionStatus
    because: list[str]
    revision: int
    born: int
    run_id: str | None = None


class SourceVersion(Record):
    """The exact text of a source at one moment; `n` counts from 1."""

    id: str
    n: int
    sha256: str
    length: int
    revision: int


class Source(Record):
    """A document, a message, an agent's output, or a human."""

    id: str
    name: str
    kind: SourceKind
    status: SourceStatus
    origins: list[str]
    copy_of: str | None
    versions: list[SourceVersion]
    revision: int
    born: int


class Fragment(Record):
    """A span of a source version, with its text."""

    id: str
    text: str
    start: int
    end: int
    source_id: str
    source_name: str
    version_id: str


class SourceText(Record):
    """The whole text of one version, and the claims that quote it."""

    source_id: str
    version_id: str
    text: str
    quoted: list[Claim]


# --- what comes back from building --------------------------------------------------------------------------


class IngestReport(Record):
    """What an ingest did. `unchanged` is true when the text was already there."""

    source_id: str
    version_id: str
    revision: int
    fragments: int
    claims: list[Claim]
    rejected: list[Rejection]
    unchanged: bool = False
    extractor: str | None = None
    notes: list[str] = Field(default_factory=list)
    shown: list[str] = Field(default_factory=list)
    """The corrections that the extractor was shown."""


class MovedQuote(Record):
    """What becomes of a claim's quote in a new version of its source: `kept`, `moved` or `gone`."""

    claim_id: str
    statement: str
    quote: str
    fate: Literal["kept", "moved", "gone"]
    spans: list[Span]
    reason: str = ""
    did_you_mean: list[Span] = Field(default_factory=list)
    suggestion: str | None = None


class SourceReplacement(Record):
    """A new version of a source, and the claims that somebody should look at because of it.

    Claims in `kept` and `moved` can be anchored in the new version, those in `gone` retracted; nothing of it
    happens by itself.
    """

    source_id: str
    version_id: str
    revision: int
    unchanged: bool
    kept: list[MovedQuote]
    moved: list[MovedQuote]
    gone: list[MovedQuote]


# --- correcting ---------------------------------------------------------------------------------------------


class Effect(Record):
    """What a change does to one node.

    `path` runs from what was changed to this node, both included. `supports_before` and `supports_after`
    count the justifications (and, for a claim, its sources of evidence) that hold.
    """

    id: str
    kind: NodeKind
    title: str
    path: list[str]
    path_titles: list[str] = Field(default_factory=list)
    supports_before: int
    supports_after: int
    fragile_on: list[str] = Field(default_factory=list)
    status_before: str
    status_after: str
    why: str


class Impact(Record):
    """Every node that a change reaches, each in exactly one tier, `acted` the most urgent."""

    acted: list[Effect] = Field(default_factory=list)
    needs_review: list[Effect] = Field(default_factory=list)
    held: list[Effect] = Field(default_factory=list)
    weakened: list[Effect] = Field(default_factory=list)
    untouched: list[Effect] = Field(default_factory=list)
    restored: list[Effect] = Field(default_factory=list)
    """Only a change that gives support back fills this: what stands again, what is released."""

    def effects(self) -> Iterator[tuple[str, Effect]]:
        """Yield `(tier, effect)`, the most urgent tier first."""
        for tier in ("acted", "needs_review", "held", "weakened", "restored", "untouched"):
            for effect in getattr(self, tier):
                yield tier, effect

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes are in each tier."""
        return {
            tier: len(getattr(self, tier))
            for tier in ("acted", "needs_review", "held", "weakened", "restored", "untouched")
        }


class ClaimChange(Record):
    """One claim of a correction: `statement` replaces it, None retracts it."""

    claim_id: str
    statement: str | None


class Preview(Record):
    """What a change would do, computed without changing anything.

    It survives `model_dump_json()` and `model_validate_json()`: apply it in another process, another day.
    """

    kind: Literal["correct", "retract", "withdraw", "several", "undo"]
    claim: Claim | None = None
    statement: str | None = None
    changes: list[ClaimChange] = Field(default_factory=list)
    claims: list[Claim] = Field(default_factory=list)
    source_id: str | None = None
    undoes: list[str] = Field(default_factory=list)
    workspace_id: str
    workspace_revision: int
    claim_revision: int
    digest: str
    impact: Impact
    invalidates: list[Invalidation] = Field(default_factory=list)
    invalidate_contradicted: bool = True


class Applied(Record):
    """What an apply did; with `already_applied` it had been done before and nothing was changed now."""

    correction: Correction
    corrections: list[Correction]
    replacement: Claim | None
    impact: Impact
    revision: int
    already_applied: bool = False


class Reaffirm(Record):
    """Settle: the decision stands, on these current claims."""

    kind: Literal["reaffirm"] = "reaffirm"
    because: list[str | list[str]]

    def __init__(self, because: list[str | list[str]] = GIVEN, **data: Any) -> None:
        BaseModel.__init__(self, because=because, **data)


class Rebase(Record):
    """Settle: a new decision, on these current claims, supersedes this one; its held actions follow it."""

    kind: Literal["rebase"] = "rebase"
    title: str
    because: list[str | list[str]]
    rationale: str = ""

    def __init__(
        self, title: str = GIVEN, because: list[str | list[str]] = GIVEN, rationale: str = "", **data: Any
    ) -> None:
        BaseModel.__init__(self, title=title, because=because, rationale=rationale, **data)


class Withdraw(Record):
    """Settle: the decision no longer holds; its held actions are cancelled."""

    kind: Literal["withdraw"] = "withdraw"


Settlement: TypeAlias = Annotated[Reaffirm | Rebase | Withdraw, Field(discriminator="kind")]

# --- asking -------------------------------------------------------------------------------------------------


class ClaimHit(Record):
    """A claim that matches a query. A hit alone is no evidence: fetch its fragment."""

    claim: Claim
    score: float
    how: Literal["phrase", "words", "meaning"]


class Step(Record):
    """One step of a run: who did what, and what came of it."""

    n: int
    agent: str
    kind: str
    summary: str
    detail: dict[str, Any] = Field(default_factory=dict)


class Refusal(Record):
    """Something an agent proposed that a rule did not let through."""

    id: str
    reason: str


class Answer(Record):
    """What came of a question."""

    run_id: str
    question: str
    text: str
    decision: Decision
    actions: list[Action]
    cited: list[Claim]
    refused: list[Refusal]
    trail: list[Step]
    shown: list[str] = Field(default_factory=list)
    """The corrections that the agents were shown."""
    agent: str
    revision: int


# --- workspaces ---------------------------------------------------------------------------------------------


class WorkspaceInfo(Record):
    """A workspace, for lists. `counts` maps a kind (Source, Claim, …) to how many there are."""

    id: str
    name: str
    revision: int
    created_at: datetime
    counts: dict[str, int]


# --- explaining ---------------------------------------------------------------------------------------------


class Reason(Record):
    """One line of an explanation: a node, how it is, and what it rests on in turn."""

    id: str
    kind: str
    title: str
    status: str
    supported: bool
    evidence: list[Evidence] = Field(default_factory=list)
    because: list[Justification] = Field(default_factory=list)


class Explanation(Record):
    """Why a node stands, fell, or was left alone.

    `sentence` says it; `held_by` is the smallest set of claims with evidence that holds a standing node up, and
    `evidence` their quotes; `path` runs from what was changed to a node that fell; `reasons` has the nodes named.
    """

    id: str
    kind: str
    title: str
    status: str
    supported: bool
    sentence: str
    held_by: list[str] = Field(default_factory=list)
    smallest: bool = True
    evidence: list[Evidence] = Field(default_factory=list)
    path: list[str] = Field(default_factory=list)
    path_titles: list[str] = Field(default_factory=list)
    correction_id: str | None = None
    supports_before: int = 0
    supports: int = 0
    independent_sources: int = 0
    fragile_on: list[str] = Field(default_factory=list)
    reasons: list[Reason] = Field(default_factory=list)
