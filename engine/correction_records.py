"""Corrections as structured memory: what an agent put out, what it should have been, why, and who may see it.

Values are JSON: text, numbers, booleans, None, lists and maps. A field that should be blank is a legal correction.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import Field, JsonValue

from engine.record import Record

Scope: TypeAlias = Literal["user", "agent", "tenant", "global"]
AuthorKind: TypeAlias = Literal["human", "model"]
CorrectionKind: TypeAlias = Literal["correct", "retract", "withdraw", "output"]
CorrectionStatus: TypeAlias = Literal["active", "pending", "superseded", "reverted"]
Value: TypeAlias = JsonValue


class Caller(Record):
    """Who asks. `tenant_id` is a hard gate: what belongs to a tenant is shown to that tenant alone."""

    agent_name: str | None = None
    user_id: str | None = None
    tenant_id: str | None = None


class Correction(Record):
    """A fix: what was wrong, what is right, why, by whom, when.

    `kind` is `output` for a fix of what an agent put out; the others are fixes of claims and sources: `correct`,
    `retract`, `withdraw`; then `original` is what the claim (or the source's name) said, and `statement` what the
    replacement says. `run_id` is the run as its agent calls it. `times_seen` counts how often the same correction was
    recorded; `revision` is the one in which it took effect, or was recorded while it is pending.
    """

    id: str
    kind: CorrectionKind
    status: CorrectionStatus
    agent_name: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    original_input: str | None = None
    field: str | None = None
    original_value: Value = None
    corrected_value: Value = None
    reason: str = ""
    entity_key: str | None = None
    tags: list[str] = Field(default_factory=list)
    scope: Scope = "global"
    user_id: str | None = None
    tenant_id: str | None = None
    created_at: datetime
    author_kind: AuthorKind = "human"
    reviewer: str = ""
    approved_by: str | None = None
    times_seen: int = 1
    claim_id: str | None = None
    replacement_id: str | None = None
    source_id: str | None = None
    original: str = ""
    statement: str | None = None
    superseded_by: str | None = None
    revision: int


class CorrectionHit(Record):
    """A correction that is relevant to what was asked. `score` runs from 0 to 1."""

    correction: Correction
    score: float


class CorrectionPage(Record):
    """Some corrections, and the cursor that goes on after them; None when there are no more."""

    items: list[Correction]
    next_cursor: str | None


class RejectedRow(Record):
    """A row that could not be recorded: its number from 1, the field that is wrong where it is one, and why."""

    row: int
    field: str | None
    reason: str


class ImportReport(Record):
    """What became of rows that were imported, as one revision."""

    created: int
    seen_again: int
    superseded: int
    rejected: list[RejectedRow]
    revision: int


class CorrectionStats(Record):
    """What the corrections come to. Reverted and pending ones are counted in `by_status` alone.

    `first_pass_accuracy` is 1 − corrected runs / runs, `accuracy_interval` its 95 % Wilson interval; both are None
    while no run is known. `recurred` counts corrections that were recorded again after the first time.
    """

    total: int
    by_entity_key: dict[str, int]
    by_field: dict[str, int]
    by_agent: dict[str, int]
    by_author_kind: dict[str, int]
    by_author: dict[str, int]
    by_status: dict[str, int]
    by_day: dict[str, int]
    runs: int
    corrected_runs: int
    first_pass_accuracy: float | None
    accuracy_interval: tuple[float, float] | None
    recurred: int
    recurrence_rate: float | None


class EvalCase(Record):
    """A fixed mistake as a test: given `input`, the agent must say `expected` and no longer `original`."""

    input: str
    expected: Value
    original: Value
    field: str | None = None
    correction_id: str
    agent_name: str | None = None
    entity_key: str | None = None


class Learning(Record):
    """What an agent or a person concluded, as free text. A model's is unverified until a person says otherwise."""

    id: str
    text: str
    status: Literal["active", "invalidated"]
    author_kind: AuthorKind
    author: str
    verified: bool
    because: list[list[str]] = Field(default_factory=list)
    agent_name: str | None = None
    scope: Scope = "agent"
    user_id: str | None = None
    tenant_id: str | None = None
    created_at: datetime
    invalidated_by: str | None = None
    why: str = ""
    revision: int


class Invalidation(Record):
    """A learning that a correction invalidates: it rests on what was corrected, or says what was wrong."""

    learning_id: str
    text: str
    how: Literal["rests_on", "contradicts"]
    why: str


class RecordPreview(Record):
    """What recording a correction would do: supersede others, be the same as one, invalidate learnings."""

    same_as: str | None
    supersedes: list[Correction]
    invalidates: list[Invalidation]
