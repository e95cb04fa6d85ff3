"""Corrections, of claims and of what agents put out: every query that reads them by id, by key or by link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from engine.correction_records import Correction, CorrectionStatus
from engine.states import Lifeline, State
from engine.store.snapshot import LIFE_K, Snapshot
from engine.values import decoded

OF_MEMORY: Final = ["correct", "retract", "withdraw"]
"""The kinds that change claims and sources; `output` does not."""

_COLUMNS: Final = (
    "k.id, k.kind, k.text, k.statement, k.reviewer, k.reason, k.at, k.agent, k.run, k.session, k.input, k.field, "
    f"k.original, k.corrected, k.entity, k.tags, k.scope, k.user, k.tenant, k.author_kind, k.approved_by, {LIFE_K}"
)
_NAMES: Final = (
    "id", "kind", "text", "statement", "reviewer", "reason", "at", "agent", "run", "session", "input", "field",
    "original", "corrected", "entity", "tags", "scope", "user", "tenant", "author_kind",
    "approved_by", "life",
)  # fmt: skip
_CORRECTIONS: Final = f"MATCH (k:Correction) WHERE k.id IN $ids AND k.born <= $r RETURN {_COLUMNS}"
_OF_MEMORY: Final = (
    f"MATCH (k:Correction) WHERE k.kind IN $kinds AND k.born <= $r RETURN {_COLUMNS} ORDER BY k.born, k.id"
)
_LIVES: Final = f"MATCH (k:Correction) WHERE k.id IN $ids AND k.born <= $r RETURN k.id, {LIFE_K}"
_LIVES_OF_MEMORY: Final = (
    f"MATCH (k:Correction) WHERE k.kind IN $kinds AND k.born <= $r RETURN k.id, {LIFE_K} ORDER BY k.born, k.id"
)
_LINKS: Final = {
    relation: f"MATCH (k:Correction) WHERE k.id IN $ids MATCH (k)-[e:{relation}]->(o:{label}) "
    "WHERE e.born <= $r AND (e.died IS NULL OR e.died > $r) RETURN k.id, o.id, e.role"
    for relation, label in (
        ("CORRECTS", "Claim"),
        ("PROPOSES", "Claim"),
        ("REPLACES_WITH", "Claim"),
        ("WITHDRAWS", "Source"),
    )
}
_SUPERSEDED_BY: Final = (
    "MATCH (k:Correction) WHERE k.id IN $ids MATCH (n:Correction)-[e:SUPERSEDES]->(k) "
    "WHERE e.born <= $r AND (e.died IS NULL OR e.died > $r) RETURN k.id, n.id"
)
_SIGHTINGS: Final = (
    "MATCH (k:Correction) WHERE k.id IN $ids MATCH (k)-[e:SEEN_AGAIN]->(g:Sighting) WHERE e.born <= $r "
    "RETURN k.id, count(g)"
)
_OF_CLAIM: Final = (
    "MATCH (c:Claim) WHERE c.id IN $ids MATCH (k:Correction)-[e:CORRECTS]->(c) "
    f"WHERE e.born <= $r RETURN c.id, k.id, e.role, {LIFE_K}"
)
_BY_KEY: Final = (
    "MATCH (k:Correction) WHERE k.request_key IN $ids AND k.born <= $r "
    f"RETURN k.request_key, k.id, {LIFE_K} ORDER BY k.born"
)
_SAYING: Final = (
    "MATCH (c:Claim) WHERE c.id IN $ids MATCH (k:Correction)-[e:REPLACES_WITH]->(c) WHERE e.born <= $r RETURN k.id"
)
_PROPOSED: Final = (
    "MATCH (c:Claim) WHERE c.id IN $ids MATCH (k:Correction)-[e:PROPOSES]->(c) "
    f"WHERE e.born <= $r RETURN c.id, k.id, {LIFE_K} ORDER BY k.born, k.id"
)
_STATUS: Final[dict[str, CorrectionStatus]] = {
    "applied": "active",
    "pending": "pending",
    "superseded": "superseded",
    "undone": "reverted",
}


def status_of(state: State) -> CorrectionStatus:
    """Return a correction's status as people see it."""
    return _STATUS[state.status]


def took_effect(life: Lifeline) -> int | None:
    """Return the revision in which a correction took effect; None while it is pending."""
    return next(
        (
            since
            for since, state in zip(life.since, life.states, strict=True)
            if state.status in ("applied", "superseded")
        ),
        None,
    )


def fetch_corrections(snap: Snapshot, ids: Iterable[str]) -> dict[str, Correction]:
    """Return those of `ids` that are corrections of the snapshot, in the order asked for."""
    wanted = list(dict.fromkeys(ids))
    rows = {row[0]: row for row in snap.rows_for(_CORRECTIONS, wanted)}
    return _corrections(snap, [rows[i] for i in wanted if i in rows])


def memory_corrections(snap: Snapshot) -> list[Correction]:
    """Return every correction of a claim or a source, oldest first."""
    return list(_corrections(snap, snap.rows(_OF_MEMORY, kinds=OF_MEMORY)).values())


def _corrections(snap: Snapshot, rows: list[list[Any]]) -> dict[str, Correction]:
    ids = [row[0] for row in rows]
    linked: dict[str, dict[str, str]] = {}
    of_memory = [row[0] for row in rows if row[1] in OF_MEMORY]
    for relation, query in _LINKS.items():
        linked[relation] = {
            correction: other for correction, other, role in snap.rows_for(query, of_memory) if role != "withdrawn"
        }
    newer = dict(snap.rows_for(_SUPERSEDED_BY, ids))
    again = dict(snap.rows_for(_SIGHTINGS, ids))
    result = {}
    for row in rows:
        cell = dict(zip(_NAMES, row, strict=True))
        life = Lifeline.read(cell["life"])
        name = cell["id"]
        effect = took_effect(life)
        recorded = cell["original"] is not None
        result[name] = Correction(
            id=name,
            kind=cell["kind"],
            status=status_of(life.at(snap.revision)),
            agent_name=cell["agent"],
            run_id=cell["run"],
            session_id=cell["session"],
            original_input=cell["input"],
            field=cell["field"],
            original_value=decoded(cell["original"]) if recorded else cell["text"],
            corrected_value=decoded(cell["corrected"]) if recorded else cell["statement"],
            reason=cell["reason"] or "",
            entity_key=cell["entity"],
            tags=cell["tags"] or [],
            scope=cell["scope"] or "global",
            user_id=cell["user"],
            tenant_id=cell["tenant"],
            created_at=datetime.fromisoformat(cell["at"]),
            author_kind=cell["author_kind"] or "human",
            reviewer=cell["reviewer"] or "",
            approved_by=cell["approved_by"] if effect is not None and effect <= snap.revision else None,
            times_seen=1 + again.get(name, 0),
            claim_id=linked["CORRECTS"].get(name) or linked["PROPOSES"].get(name),
            replacement_id=linked["REPLACES_WITH"].get(name),
            source_id=linked["WITHDRAWS"].get(name),
            original=cell["text"] or "",
            statement=cell["statement"],
            superseded_by=newer.get(name),
            revision=effect if effect is not None and effect <= snap.revision else life.born,
        )
    return result


def correction_lives(snap: Snapshot, ids: Iterable[str]) -> dict[str, Lifeline]:
    """Return the lifelines of corrections."""
    return {row[0]: Lifeline.read(row[1]) for row in snap.rows_for(_LIVES, ids)}


def undone_at(snap: Snapshot, revision: int) -> list[str]:
    """Return the corrections of memory that one revision undid, oldest first."""
    lives = ((row[0], Lifeline.read(row[1])) for row in snap.rows(_LIVES_OF_MEMORY, kinds=OF_MEMORY))
    return [k for k, life in lives if life.at(revision).status == "undone" and life.changed(revision) == revision]


def corrections_of(snap: Snapshot, claims: Iterable[str]) -> dict[str, list[tuple[str, str, Lifeline]]]:
    """Return for each claim the corrections that ended it, as (id, role, lifeline), oldest first.

    `role` is `corrected` for the claim that a correction is about, `withdrawn` for one that fell with its source.
    """
    found: dict[str, list[tuple[str, str, Lifeline]]] = defaultdict(list)
    for claim, correction, role, life in snap.rows_for(_OF_CLAIM, claims):
        found[claim].append((correction, role, Lifeline.read(life)))
    for group in found.values():
        group.sort(key=lambda entry: (took_effect(entry[2]) or entry[2].born, entry[0]))
    return found


def corrections_saying(snap: Snapshot, claims: Iterable[str]) -> list[str]:
    """Return the corrections that put these claims in the place of others."""
    return sorted({row[0] for row in snap.rows_for(_SAYING, claims)})


def proposals_for(snap: Snapshot, claims: Iterable[str]) -> list[tuple[str, str, Lifeline]]:
    """Return (claim, correction, lifeline) of the corrections of these claims that wait for a person."""
    found = [(claim, k, Lifeline.read(columns)) for claim, k, columns in snap.rows_for(_PROPOSED, claims)]
    return [entry for entry in found if entry[2].at(snap.revision).status == "pending"]


def corrections_by_request(snap: Snapshot, keys: Iterable[str]) -> dict[str, str]:
    """Return for each request key the correction that it made, where that is not undone."""
    return {
        key: correction
        for key, correction, life in snap.rows_for(_BY_KEY, keys)
        if Lifeline.read(life).at(snap.revision).status == "applied"
    }


# --- records, by what makes two of them one ------------------------------------------------------------------

_SAME: Final = {
    key: f"MATCH (k:Correction) WHERE k.{key} IN $ids AND k.born <= $r "
    f"RETURN k.{key} AS shared, k.id, k.same_key, k.author_kind, {LIFE_K} ORDER BY k.born, k.id"
    for key in ("once_key", "same_key", "slot_key", "result_key")
}
_BEFORE: Final = (
    "MATCH (k:Correction) WHERE k.id IN $ids MATCH (k)-[e:SUPERSEDES]->(o:Correction) "
    f"WHERE e.born <= $r AND (e.died IS NULL OR e.died > $r) WITH o AS k RETURN k.id, {LIFE_K}"
)


class Known:
    """A record that is there already, as far as telling twins and successors needs it."""

    def __init__(self, node_id: str, same_key: str, author_kind: str, life: Lifeline) -> None:
        self.id = node_id
        self.same_key = same_key
        self.author_kind = author_kind
        self.life = life


def known_by(snap: Snapshot, key: str, values: Sequence[str]) -> dict[str, list[Known]]:
    """Return the records whose `key` has one of `values`, oldest first."""
    found: dict[str, list[Known]] = defaultdict(list)
    for value, node_id, same_key, author_kind, columns in snap.rows_for(_SAME[key], values):
        found[value].append(Known(node_id, same_key, author_kind, Lifeline.read(columns)))
    return found


def superseded_by(snap: Snapshot, correction_id: str) -> dict[str, Lifeline]:
    """Return the records that one superseded."""
    return {row[0]: Lifeline.read(row[1]) for row in snap.rows_for(_BEFORE, [correction_id])}
