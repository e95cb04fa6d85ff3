"""What somebody asks to be recorded as a correction: checked, and what makes two such requests one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, get_args

from engine.correction_records import AuthorKind, Caller, Scope, Value
from engine.errors import InvalidInput
from engine.ids import digest, require
from engine.inputs import NAME_LIMIT, STATEMENT_LIMIT
from engine.terms import phrase_terms
from engine.values import blank, check_characters, encoded, identity, same, shown

INPUT_LIMIT: Final = 100_000
REASON_LIMIT: Final = 5_000
FIELD_LIMIT: Final = 500
TAGS: Final = 50
TAG_LIMIT: Final = 200
OWN_TERMS: Final = 800  # of what the correction itself says
INPUT_TERMS: Final = 400  # of the original input, which would drown the rest
SCOPES: Final = get_args(Scope)


@dataclass(frozen=True)
class Entry:
    """A checked request to record a correction. `original` and `corrected` are encoded values."""

    agent_name: str
    original: str
    corrected: str
    original_value: Value
    corrected_value: Value
    field: str | None
    reason: str
    entity_key: str | None
    run_id: str | None
    session_id: str | None
    original_input: str | None
    tags: tuple[str, ...]
    scope: Scope
    user_id: str | None
    tenant_id: str | None
    claim_id: str | None
    idempotency_key: str | None
    author_kind: AuthorKind
    reviewer: str

    @property
    def place(self) -> tuple[str, ...]:
        """Whose correction of what this is: two in one place say something about the same thing."""
        user = self.user_id if self.scope == "user" else None
        return _parts(self.tenant_id, self.scope, user, self.agent_name, self.field, self.entity_key)

    @property
    def slot_key(self) -> str:
        """What two corrections of the same original value in one place share."""
        return digest("slot", *self.place, identity(self.original))

    @property
    def result_key(self) -> str:
        """The slot of a correction that finds this one's corrected value wrong."""
        return digest("slot", *self.place, identity(self.corrected))

    @property
    def same_key(self) -> str:
        """What two requests for the same correction share."""
        values = identity(self.original), identity(self.corrected)
        return digest("same", *self.place, *_parts(self.claim_id), *values)

    @property
    def once_key(self) -> str | None:
        """What two requests with one idempotency key share."""
        if self.idempotency_key is None:
            return None
        return digest("once", *_parts(self.tenant_id, self.agent_name, self.idempotency_key))

    def properties(self) -> dict[str, Any]:
        """Return what the graph keeps of it."""
        return {
            "agent": self.agent_name,
            "session": self.session_id,
            "run": self.run_id,
            "input": self.original_input,
            "field": self.field,
            "original": self.original,
            "corrected": self.corrected,
            "entity": self.entity_key,
            "tags": list(self.tags) or None,
            "scope": self.scope,
            "user": self.user_id,
            "tenant": self.tenant_id,
            "author_kind": self.author_kind,
            "slot_key": self.slot_key,
            "same_key": self.same_key,
            "result_key": self.result_key,
            "once_key": self.once_key,
            "audience": audience(self.scope, self.agent_name, self.user_id, self.tenant_id),
            "tenant_key": party("tenant", self.tenant_id),
            "agent_key": party("agent", self.agent_name),
            "entity_key": party("entity", self.entity_key) if self.entity_key else None,
            "about": " ".join(phrase_terms(f"{self.entity_key or ''} {self.field or ''}")) or None,
            "terms": index_text(
                self.field, self.entity_key, self.original_value, self.corrected_value, self.reason, self.original_input
            ),
        }


def checked_entry(
    *,
    agent_name: object,
    original_value: object,
    corrected_value: object,
    field: object = None,
    reason: object = None,
    entity_key: object = None,
    run_id: object = None,
    session_id: object = None,
    original_input: object = None,
    tags: object = (),
    scope: object = "agent",
    user_id: object = None,
    tenant_id: object = None,
    claim_id: object = None,
    idempotency_key: object = None,
    author_kind: object = "human",
    reviewer: object = "",
) -> Entry:
    """Return the request in order.

    Raises:
        InvalidInput: a value cannot be stored, the values are equal, or the scope lacks its id; `field` names which.
        UnknownNode: `claim_id` is not the id of a claim.
    """
    agent = checked_name(agent_name, "agent_name")
    if agent is None:
        raise InvalidInput("`agent_name` is missing. Name the agent whose output was wrong.", "agent_name")
    original = encoded(original_value, "original_value")
    corrected = encoded(corrected_value, "corrected_value")
    if same(original, corrected):
        raise InvalidInput(
            "`original_value` and `corrected_value` are equal, so nothing is corrected. Give what is right.",
            "corrected_value",
        )
    if scope not in SCOPES:
        raise InvalidInput(f"`scope` is {str(scope)[:80]!r}; it is one of {', '.join(SCOPES)}.", "scope")
    if author_kind not in ("human", "model"):
        raise InvalidInput("`author_kind` is human or model.", "author_kind")
    user = checked_name(user_id, "user_id")
    tenant = checked_name(tenant_id, "tenant_id")
    if scope == "user" and user is None:
        raise InvalidInput("The scope `user` needs a `user_id`: whose correction is it?", "user_id")
    if scope == "tenant" and tenant is None:
        raise InvalidInput("The scope `tenant` needs a `tenant_id`: whose correction is it?", "tenant_id")
    return Entry(
        agent_name=agent,
        original=original,
        corrected=corrected,
        original_value=original_value,  # type: ignore[arg-type]
        corrected_value=corrected_value,  # type: ignore[arg-type]
        field=_text(field, "field", FIELD_LIMIT),
        reason=_text(reason, "reason", REASON_LIMIT) or "",
        entity_key=_text(entity_key, "entity_key", FIELD_LIMIT),
        run_id=checked_name(run_id, "run_id"),
        session_id=checked_name(session_id, "session_id"),
        original_input=_text(original_input, "original_input", INPUT_LIMIT),
        tags=checked_tags(tags),
        scope=cast(Scope, scope),
        user_id=user,
        tenant_id=tenant,
        claim_id=None if claim_id is None else require(claim_id, "Claim"),
        idempotency_key=_text(idempotency_key, "idempotency_key", NAME_LIMIT),
        author_kind=author_kind,
        reviewer=(_text(reviewer, "reviewer", NAME_LIMIT) or "").strip(),
    )


def checked_tags(tags: object) -> tuple[str, ...]:
    """Return tags, each once, in order; InvalidInput if they are not a list of short texts."""
    if tags is None:
        return ()
    if isinstance(tags, str | bytes) or not isinstance(tags, Sequence | set | frozenset):
        raise InvalidInput("`tags` is a list of texts.", "tags")
    if len(tags) > TAGS:
        raise InvalidInput(f"`tags` has {len(tags)} entries; at most {TAGS} are taken.", "tags")
    checked = [_text(tag, "tags", TAG_LIMIT) for tag in tags]
    return tuple(dict.fromkeys(tag for tag in checked if tag is not None))


def claim_statements(entry: Entry, statement: str) -> str | None:
    """Return what a claim that says `statement` is to say by this correction; None retracts it.

    The original value is the claim's statement, or a part of it that stands there once and is replaced.

    Raises:
        InvalidInput: it is neither.
    """
    if blank(entry.corrected_value):
        return None
    wrong, right = shown(entry.original_value), shown(entry.corrected_value)
    if " ".join(wrong.split()) == " ".join(statement.split()):
        said = right
    elif wrong.strip() and _times(wrong, statement) == 1:
        said = statement.replace(wrong, right)
    else:
        raise InvalidInput(
            f"The claim says “{statement[:200]}”. Give as `original_value` all of that, or a part of it that stands "
            "there once.",
            "original_value",
        )
    if len(said) > STATEMENT_LIMIT:
        raise InvalidInput(f"The statement would have more than {STATEMENT_LIMIT:,} characters.", "corrected_value")
    return said


def _times(part: str, whole: str) -> int:
    """Return how often a passage stands in a text with its words whole."""
    import regex

    return len(regex.findall(rf"(?<!\w){regex.escape(part)}(?!\w)", whole))


def audience(scope: str, agent: str | None, user: str | None, tenant: str | None) -> str:
    """Return the one token that says who may see a correction."""
    who = {"user": user, "agent": agent, "tenant": None, "global": None}[scope]
    named = (name.strip() or None if name is not None else None for name in (tenant, who))
    return "x" + digest("audience", scope, *_parts(*named))[:16]


def audiences(caller: Caller) -> list[str]:
    """Return the tokens of everything that a caller may see: its own tenant's, and what belongs to no tenant."""
    tokens = []
    for tenant in dict.fromkeys((None, caller.tenant_id)):
        tokens.append(audience("global", None, None, tenant))
        if tenant is not None:
            tokens.append(audience("tenant", None, None, tenant))
        if caller.agent_name is not None:
            tokens.append(audience("agent", caller.agent_name, None, tenant))
        if caller.user_id is not None:
            tokens.append(audience("user", None, caller.user_id, tenant))
    return tokens


def checked_caller(caller: object) -> None:
    """Raise InvalidInput unless `caller` is a Caller or None."""
    if caller is not None and not isinstance(caller, Caller):
        raise InvalidInput(f"`caller` is an `engine.Caller`, not {type(caller).__name__}.", "caller")


def may_see(caller: Caller | None, tenant: str | None, scope: str, user: str | None) -> bool:
    """Return whether a caller may look at something of a tenant and, in the scope `user`, of a user.

    Nobody in particular (None) may look at everything; a caller without a user at what any user of the tenant has.
    """
    if caller is None:
        return True
    if tenant is not None and tenant != (caller.tenant_id or "").strip():
        return False
    return scope != "user" or not caller.user_id or user == caller.user_id.strip()


def party(kind: str, name: str | None) -> str:
    """Return the token of a tenant, agent or entity that the index can look up whatever its name looks like.

    Blanks around the name of a tenant or an agent do not count, as where one is recorded.
    """
    if name is not None and kind != "entity":
        name = name.strip() or None
    return "x" + digest(kind, *_parts(name))[:16]


def index_text(
    field: str | None, entity: str | None, original: Value, corrected: Value, reason: str, original_input: str | None
) -> str:
    """Return the terms by which a correction is found."""
    own = " ".join(filter(None, (field, entity, shown(original), shown(corrected), reason)))
    given = phrase_terms(original_input or "")[:INPUT_TERMS]
    return " ".join([*phrase_terms(own)[:OWN_TERMS], *given])


def _parts(*values: str | None) -> tuple[str, ...]:
    """Return parts for a digest in which None and "" differ."""
    return tuple("-" if value is None else "+" + value for value in values)


def checked_name(value: object, what: str) -> str | None:
    """Return a name without the blanks around it, so that it is one name everywhere; None when it says nothing.

    Raises:
        InvalidInput: it is not text, too long, or holds a character that cannot be stored.
    """
    text = _text(value, what, NAME_LIMIT)
    return text.strip() if text is not None else None


def _text(value: object, what: str, limit: int) -> str | None:
    """Return a text exactly as it is; None when it says nothing."""
    if value is None:
        return None
    if type(value) is not str:
        raise InvalidInput(f"`{what}` must be text, not {type(value).__name__}.", what)
    if len(value) > limit:
        raise InvalidInput(f"`{what}` has {len(value):,} characters; at most {limit:,} are taken.", what)
    check_characters(value, what)
    return value if value.strip() else None


def unique_keys(entries: Iterable[Entry], key: str) -> list[str]:
    """Return the values that entries have for one of their keys, each once."""
    return list(dict.fromkeys(value for entry in entries if (value := getattr(entry, key)) is not None))
