"""What requests may say: the models of bodies and queries. Every field may be spelled in camelCase as well.

The limits are those of the engine, stated here so that the OpenAPI document tells them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from annotated_types import Len
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints, WithJsonSchema

from engine.correction_records import AuthorKind, CorrectionStatus, Scope
from engine.correction_view import LARGEST_PAGE, PAGE
from engine.corrections import REASON_LIMIT as APPLY_REASON
from engine.corrections import REVIEWER_LIMIT
from engine.entries import FIELD_LIMIT, INPUT_LIMIT, REASON_LIMIT, TAG_LIMIT, TAGS
from engine.inputs import NAME_LIMIT, STATEMENT_LIMIT
from engine.recall import LARGEST
from engine.recall import QUERY_LIMIT as RECALL_LIMIT
from engine.records import Preview

ADDRESS_LIMIT = 2_000  # characters of a query in an address: percent-encoded, more would not fit into one
STORABLE = r"^[^\x00]*$"  # the one character of Unicode that the database does not take
SAID = r"[^\s\x00\x1c-\x1f\x85]"  # what is no blank, to Python as well: `\s` leaves some out, and `\S` takes NUL
NOT_BLANK = rf"^[^\x00]*{SAID}[^\x00]*$"
Name: TypeAlias = Annotated[str, StringConstraints(max_length=NAME_LIMIT, pattern=STORABLE)]
Key: TypeAlias = Annotated[str, StringConstraints(max_length=FIELD_LIMIT, pattern=STORABLE)]
Reason: TypeAlias = Annotated[str, StringConstraints(max_length=REASON_LIMIT, pattern=STORABLE)]
Given: TypeAlias = Annotated[str, StringConstraints(max_length=INPUT_LIMIT, pattern=STORABLE)]
Tag: TypeAlias = Annotated[str, StringConstraints(max_length=TAG_LIMIT, pattern=STORABLE)]
Statement: TypeAlias = Annotated[str, StringConstraints(max_length=STATEMENT_LIMIT, pattern=NOT_BLANK)]
Asked: TypeAlias = Annotated[str, StringConstraints(max_length=ADDRESS_LIMIT, pattern=STORABLE)]
Sought: TypeAlias = Annotated[str, StringConstraints(max_length=RECALL_LIMIT, pattern=STORABLE)]
VALUE: dict[str, Any] = {
    "description": "Anything that JSON can say, at most 20 levels deep.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", "pattern": STORABLE},
        {"type": "array", "items": {"$ref": "#/components/schemas/Value"}},
        {
            "type": "object",
            "propertyNames": {"pattern": STORABLE},
            "additionalProperties": {"$ref": "#/components/schemas/Value"},
        },
    ],
}
Value: TypeAlias = Annotated[JsonValue, WithJsonSchema({"x-value": True})]  # the document refers to VALUE here
CorrectionId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^k_[0-9a-f]{16}$")]
PremiseId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[cd]_[0-9a-f]{16}$")]
Cursor: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}\.k_[0-9a-f]{16}$")]
RunCursor: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}\.r_[0-9a-f]{16}$")]


def _moment(value: object) -> object:
    """Take a moment as text alone: pydantic would take a number as seconds since 1970."""
    if isinstance(value, str) and "T" not in value.upper():
        raise ValueError("a moment is written as in 2026-01-31T12:00:00Z")
    return value


def _whole(value: object) -> object:
    """Take 3.0 for 3: JSON has one kind of number."""
    return int(value) if type(value) is float and value.is_integer() else value


Moment: TypeAlias = Annotated[datetime, BeforeValidator(_moment)]
Count: TypeAlias = Annotated[int, BeforeValidator(_whole)]


class Query(BaseModel):
    """The query of every operation: which workspace, where no token says so."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workspace: str | None = Field(
        None, max_length=100, description="The id of the workspace. A token names its own; so does `X-Workspace`."
    )


class TenantQuery(Query):
    """Whose eyes to look with. A token says that by itself."""

    tenant_id: Name | None = None


class Filters(TenantQuery):
    """Which corrections are meant."""

    entity_key: Key | None = None
    field: Key | None = None
    since: Moment | None = Field(None, description="From this moment on, as in 2026-01-31T12:00:00Z.")
    until: Moment | None = Field(None, description="Before this moment.")


class AllFilters(Filters):
    """Which corrections are meant, of any agent."""

    agent_name: Name | None = None


class PageQuery(Filters):
    """Some corrections of one agent."""

    limit: int = Field(PAGE, ge=1, le=LARGEST_PAGE)
    cursor: Cursor | None = Field(None, description="What the last page gave as `next_cursor`.")
    status: list[CorrectionStatus] | None = Field(None, description="May be given more than once.")


class AllPageQuery(PageQuery):
    """Some corrections."""

    agent_name: Name | None = None


class RunsQuery(TenantQuery):
    """Some runs of one agent."""

    limit: int = Field(PAGE, ge=1, le=LARGEST_PAGE)
    cursor: RunCursor | None = Field(None, description="What the last page gave as `next_cursor`.")


class SearchQuery(TenantQuery):
    """What to look for, on behalf of whom."""

    query: Asked = Field(description="A longer one goes into the body of POST /corrections/search.")
    user_id: Name | None = None
    top_k: int = Field(3, ge=1, le=LARGEST)
    min_score: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    entity_key: Key | None = None


class AllSearchQuery(SearchQuery):
    """What to look for, for which agent."""

    agent_name: Name | None = None


class ClaimsQuery(Query):
    """Which claims to look for."""

    query: Asked
    limit: int = Field(10, ge=1, le=1_000)


class LearningsQuery(TenantQuery):
    """Which learnings are meant."""

    status: str | None = Field(None, pattern="^(active|invalidated)$")
    agent_name: Name | None = None


class MetricsQuery(Query):
    """In which form."""

    format: str | None = Field(None, pattern="^(json|prometheus)$")


class Body(BaseModel):
    """The base of every body: strict about types and unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _told(schema: dict[str, Any]) -> None:
    """Add what the fields alone cannot say: the values differ, and a scope needs its id."""
    blank: tuple[JsonValue, ...] = (None, False, True, 0, "", [], {})
    alike = [{"properties": {name: {"const": value} for name in _VALUES}} for value in blank]
    if set(_VALUES) <= schema["properties"].keys():
        schema["not"] = {"anyOf": alike}
    schema["allOf"] = [
        {
            "if": {"properties": {"scope": {"const": scope}}, "required": ["scope"]},
            "then": {"properties": {f"{scope}_id": {"type": "string", "pattern": SAID}}, "required": [f"{scope}_id"]},
        }
        for scope in ("user", "tenant")
    ]


_VALUES = ("original_value", "corrected_value")


class NewCorrection(Body):
    """What an agent put out and what it should have been. Values are anything that JSON can say."""

    model_config = ConfigDict(json_schema_extra=_told)

    original_value: Value = Field(description="What the agent put out.")
    corrected_value: Value = Field(description="What is right; it differs from `original_value`.")
    field: Key | None = None
    reason: Reason | None = None
    entity_key: Key | None = None
    run_id: Name | None = None
    session_id: Name | None = None
    original_input: Given | None = None
    tags: list[Tag] | None = Field(None, max_length=TAGS)
    scope: Scope | None = Field(None, description="Who is to learn from it; `agent` when left out.")
    user_id: Name | None = None
    tenant_id: Name | None = None
    author_kind: AuthorKind = Field("human", description="What a `model` records waits until it is approved.")
    reviewer: Name | None = None
    invalidate_contradicted: bool = True


class RecordedCorrection(NewCorrection):
    """What an agent put out and what it should have been, to be recorded."""

    claim_id: str | None = Field(None, pattern="^c_[0-9a-f]{16}$", description="The claim that was wrong.")
    idempotency_key: Name | None = Field(None, description="Two requests with one key are one.")


class Search(Body):
    """What to look for, on behalf of whom. As a body, since a prompt may be longer than an address."""

    query: Sought
    agent_name: Name | None = None
    user_id: Name | None = None
    tenant_id: Name | None = None
    top_k: Count = Field(3, ge=1, le=LARGEST)
    min_score: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    entity_key: Key | None = None


class Review(Body):
    """Who looked at it, and why."""

    reviewer: Name | None = None
    reason: Reason | None = None
    tenant_id: Name | None = None


class Approval(Body):
    """Who looked at it."""

    reviewer: Name | None = None
    tenant_id: Name | None = None
    invalidate_contradicted: bool = True


class NewRun(Body):
    """A run of an agent, and the corrections that it was shown."""

    input: Given | None = None
    output: Value = None
    run_id: Name | None = None
    shown: list[CorrectionId] = Field(default_factory=list, max_length=1_000)
    tenant_id: Name | None = None


class NewLearning(Body):
    """What an agent or a person concluded. `because`: alternatives, each an id or a list of ids needed together."""

    model_config = ConfigDict(json_schema_extra=_told)

    text: Statement
    because: list[PremiseId | Annotated[list[PremiseId], Len(1)]] = Field(default_factory=list, max_length=1_000)
    author: Name | None = None
    author_kind: AuthorKind = "model"
    scope: Scope | None = None
    user_id: Name | None = None
    tenant_id: Name | None = None


class Registration(Body):
    """Whether corrections are kept for an agent."""

    corrections: bool = True
    tenant_id: Name | None = None


class ClaimCorrection(Body):
    """What is right instead of a claim; null retracts it."""

    statement: Statement | None
    invalidate_contradicted: bool = True


class Application(Body):
    """The preview that somebody looked at, exactly as it was answered."""

    preview: Annotated[Preview, Field(strict=False)]
    reviewer: Annotated[str, StringConstraints(max_length=REVIEWER_LIMIT, pattern=STORABLE)] | None = None
    reason: Annotated[str, StringConstraints(max_length=APPLY_REASON, pattern=STORABLE)] | None = None
