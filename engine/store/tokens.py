"""Tokens: every query that reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from engine.states import Lifeline
from engine.store.snapshot import Snapshot

_COLUMNS: Final = (
    "o.id, o.name, o.role, o.tenant, o.user, o.agent, o.at, o.secret_hash, "
    "[o.born, o.state, o.since, o.past_state, o.past_since]"
)
_ALL: Final = f"MATCH (o:Token) WHERE o.born <= $r RETURN {_COLUMNS} ORDER BY o.born, o.id"
_ONE: Final = f"MATCH (o:Token {{id: $id}}) WHERE o.born <= $r RETURN {_COLUMNS}"
_BY_HASH: Final = f"MATCH (o:Token {{secret_hash: $hash}}) WHERE o.born <= $r RETURN {_COLUMNS}"


def all_tokens(snap: Snapshot) -> list[dict[str, Any]]:
    """Return every token, oldest first, also those that were revoked."""
    return [_token(row) for row in snap.rows(_ALL)]


def token_by_id(snap: Snapshot, token_id: str) -> dict[str, Any] | None:
    """Return the token with this id, or None."""
    return next((_token(row) for row in snap.rows(_ONE, id=token_id)), None)


def tokens_by_hash(snap: Snapshot, secret_hash: str) -> list[dict[str, Any]]:
    """Return the tokens whose secret has this hash: one, or none."""
    return [_token(row) for row in snap.rows(_BY_HASH, hash=secret_hash)]


def _token(row: list[Any]) -> dict[str, Any]:
    """Return a token as its columns, with its lifeline."""
    node_id, name, role, tenant, user, agent, at, secret_hash, life = row
    return {
        "id": node_id,
        "name": name,
        "role": role,
        "tenant_id": tenant,
        "user_id": user,
        "agent_name": agent,
        "created_at": datetime.fromisoformat(at),
        "secret_hash": secret_hash,
        "life": Lifeline.read(life),
    }
