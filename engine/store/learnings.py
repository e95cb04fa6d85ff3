"""Learnings: every query that reads them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from engine.correction_records import Learning
from engine.states import Lifeline
from engine.store.snapshot import Snapshot

LIFE_L: Final = "[l.born, l.state, l.since, l.past_state, l.past_since]"
_COLUMNS: Final = f"l.id, l.text, l.author_kind, l.actor, l.agent, l.scope, l.user, l.tenant, l.at, {LIFE_L}"
_SOME: Final = f"MATCH (l:Learning) WHERE l.id IN $ids AND l.born <= $r RETURN {_COLUMNS}"
_ALL: Final = f"MATCH (l:Learning) WHERE l.born <= $r RETURN {_COLUMNS} ORDER BY l.born, l.id"
_OF_TENANTS: Final = (
    f"MATCH (l:Learning) WHERE l.tenant_key IN $tenants AND l.born <= $r RETURN {_COLUMNS} ORDER BY l.born, l.id"
)
_BECAUSE: Final = (
    "MATCH (l:Learning) WHERE l.id IN $ids MATCH (l)-[e:LEARNED_FROM]->(p) WHERE e.born <= $r RETURN l.id, e.j, p.id"
)
_RESTING: Final = {
    kind: f"MATCH (p:{kind}) WHERE p.id IN $ids MATCH (l:Learning)-[e:LEARNED_FROM]->(p) WHERE e.born <= $r "
    "RETURN DISTINCT l.id"
    for kind in ("Claim", "Decision")
}
# Who may be meant is in the query, so that no limit is used up by learnings of others.
_HOLDING: Final = (
    "CALL db.idx.fulltext.queryNodes('Learning', $query) YIELD node, score "
    "WITH node AS l, score WHERE l.born <= $r AND l.tenant_key = $tenant AND l.author_kind = 'model' "
    "AND l.state STARTS WITH 'active' RETURN l.id, score ORDER BY score DESC, l.born, l.id LIMIT $limit"
)
_INVALIDATED: Final = (
    "MATCH (k:Correction) WHERE k.id IN $ids MATCH (k)-[e:INVALIDATES]->(l:Learning) "
    f"WHERE e.born <= $r AND (e.died IS NULL OR e.died > $r) RETURN k.id, l.id, {LIFE_L}"
)
_WHY: Final = (
    "MATCH (l:Learning) WHERE l.id IN $ids MATCH (k:Correction)-[e:INVALIDATES]->(l) "
    "WHERE e.born <= $r AND (e.died IS NULL OR e.died > $r) RETURN l.id, k.id, e.reason ORDER BY e.born, k.id"
)


def fetch_learnings(snap: Snapshot, ids: Iterable[str]) -> dict[str, Learning]:
    """Return those of `ids` that are learnings of the snapshot, in the order asked for."""
    wanted = list(dict.fromkeys(ids))
    rows = {row[0]: row for row in snap.rows_for(_SOME, wanted)}
    return _learnings(snap, [rows[i] for i in wanted if i in rows])


def all_learnings(snap: Snapshot, tenants: Sequence[str] | None) -> list[Learning]:
    """Return every learning, oldest first; those of some tenants (by key) when they are named."""
    rows = snap.rows(_ALL) if tenants is None else snap.rows(_OF_TENANTS, tenants=list(tenants))
    return list(_learnings(snap, rows).values())


def _learnings(snap: Snapshot, rows: list[list[Any]]) -> dict[str, Learning]:
    ids = [row[0] for row in rows]
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for learning, way, premise in snap.rows_for(_BECAUSE, ids):
        groups[learning][way].append(premise)
    reasons = {learning: (correction, why) for learning, correction, why in snap.rows_for(_WHY, ids)}
    found = {}
    for learning, text, author_kind, author, agent, scope, user, tenant, at, columns in rows:
        life = Lifeline.read(columns)
        state = life.at(snap.revision)
        correction, why = reasons.get(learning, (None, "")) if state.status == "invalidated" else (None, "")
        found[learning] = Learning(
            id=learning,
            text=text,
            status=state.status,  # type: ignore[arg-type]
            author_kind=author_kind,
            author=author or "",
            verified=author_kind == "human" or state.note == "verified",
            because=[sorted(group) for _, group in sorted(groups[learning].items())],
            agent_name=agent,
            scope=scope,
            user_id=user,
            tenant_id=tenant,
            created_at=datetime.fromisoformat(at),
            invalidated_by=correction,
            why=why or "",
            revision=life.changed(snap.revision),
        )
    return found


def learning_lives(snap: Snapshot, ids: Iterable[str]) -> dict[str, Lifeline]:
    """Return the lifelines of learnings."""
    return {row[0]: Lifeline.read(row[9]) for row in snap.rows_for(_SOME, ids)}


def resting_on(snap: Snapshot, ids: dict[str, list[str]]) -> list[str]:
    """Return the learnings that name any of `ids` (kind → ids) among what they rest on."""
    return sorted({row[0] for kind, query in _RESTING.items() for row in snap.rows_for(query, ids.get(kind, []))})


def holding(snap: Snapshot, query: str, tenant_key: str, limit: int) -> list[str]:
    """Return active learnings that models made and that match a full-text query, within one tenant."""
    return [row[0] for row in snap.rows(_HOLDING, query=query, tenant=tenant_key, limit=limit)]


def invalidated_by(snap: Snapshot, corrections: Iterable[str]) -> list[tuple[str, str, Lifeline]]:
    """Return (correction, learning, lifeline) of the learnings that corrections invalidated."""
    return [(k, learning, Lifeline.read(life)) for k, learning, life in snap.rows_for(_INVALIDATED, corrections)]


def encoded_groups(groups: Sequence[frozenset[str]]) -> str:
    """Return what two learnings that rest on the same share."""
    return json.dumps(sorted(sorted(group) for group in groups))
