"""Corrections: every query that reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from engine.records import Correction
from engine.states import Lifeline
from engine.store.snapshot import LIFE_K, Snapshot

_COLUMNS: Final = f"k.id, k.kind, k.text, k.statement, k.reviewer, k.reason, k.at, {LIFE_K}"
_CORRECTIONS: Final = f"MATCH (k:Correction) WHERE k.id IN $ids AND k.born <= $r RETURN {_COLUMNS}"
_ALL: Final = f"MATCH (k:Correction) WHERE k.born <= $r RETURN {_COLUMNS} ORDER BY k.born, k.id"
_LINKS: Final = {
    relation: f"MATCH (k:Correction) WHERE k.id IN $ids MATCH (k)-[e:{relation}]->(o:{label}) "
    "WHERE e.born <= $r RETURN k.id, o.id, e.role"
    for relation, label in (("CORRECTS", "Claim"), ("REPLACES_WITH", "Claim"), ("WITHDRAWS", "Source"))
}
_OF_CLAIM: Final = (
    "MATCH (c:Claim) WHERE c.id IN $ids MATCH (k:Correction)-[e:CORRECTS]->(c) "
    f"WHERE e.born <= $r RETURN c.id, k.id, e.role, {LIFE_K}"
)
_BY_KEY: Final = (
    "MATCH (k:Correction) WHERE k.request_key IN $ids AND k.born <= $r "
    f"RETURN k.request_key, k.id, {LIFE_K} ORDER BY k.born"
)


def fetch_corrections(snap: Snapshot, ids: Iterable[str]) -> dict[str, Correction]:
    """Return those of `ids` that are corrections of the snapshot, in the order asked for."""
    wanted = list(dict.fromkeys(ids))
    rows = {row[0]: row for row in snap.rows_for(_CORRECTIONS, wanted)}
    return _corrections(snap, [rows[i] for i in wanted if i in rows])


def all_corrections(snap: Snapshot) -> list[Correction]:
    """Return every correction, oldest first."""
    return list(_corrections(snap, snap.rows(_ALL)).values())


def _corrections(snap: Snapshot, rows: list[list[Any]]) -> dict[str, Correction]:
    ids = [row[0] for row in rows]
    linked: dict[str, dict[str, str]] = {}
    for relation, query in _LINKS.items():
        linked[relation] = {
            correction: other for correction, other, role in snap.rows_for(query, ids) if role != "withdrawn"
        }
    result = {}
    for correction_id, kind, text, statement, reviewer, reason, at, columns in rows:
        life = Lifeline.read(columns)
        result[correction_id] = Correction(
            id=correction_id,
            kind=kind,
            status=life.at(snap.revision).status,  # type: ignore[arg-type]
            claim_id=linked["CORRECTS"].get(correction_id),
            replacement_id=linked["REPLACES_WITH"].get(correction_id),
            source_id=linked["WITHDRAWS"].get(correction_id),
            original=text,
            statement=statement,
            reviewer=reviewer,
            reason=reason,
            at=datetime.fromisoformat(at),
            revision=life.born,
        )
    return result


def correction_lives(snap: Snapshot, ids: Iterable[str]) -> dict[str, Lifeline]:
    """Return the lifelines of corrections."""
    return {row[0]: Lifeline.read(row[7]) for row in snap.rows_for(_CORRECTIONS, ids)}


def undone_at(snap: Snapshot, revision: int) -> list[str]:
    """Return the corrections that one revision undid, oldest first."""
    lives = ((row[0], Lifeline.read(row[7])) for row in snap.rows(_ALL))
    return [k for k, life in lives if life.at(revision).status == "undone" and life.changed(revision) == revision]


def corrections_of(snap: Snapshot, claims: Iterable[str]) -> dict[str, list[tuple[str, str, Lifeline]]]:
    """Return for each claim the corrections that ended it, as (id, role, lifeline), oldest first.

    `role` is `corrected` for the claim that a correction is about, `withdrawn` for one that fell with its source.
    """
    found: dict[str, list[tuple[str, str, Lifeline]]] = defaultdict(list)
    for claim, correction, role, life in snap.rows_for(_OF_CLAIM, claims):
        found[claim].append((correction, role, Lifeline.read(life)))
    for group in found.values():
        group.sort(key=lambda entry: (entry[2].born, entry[0]))
    return found


def corrections_by_request(snap: Snapshot, keys: Iterable[str]) -> dict[str, str]:
    """Return for each request key the correction that it made, where that is not undone."""
    return {
        key: correction
        for key, correction, life in snap.rows_for(_BY_KEY, keys)
        if Lifeline.read(life).at(snap.revision).status == "applied"
    }
