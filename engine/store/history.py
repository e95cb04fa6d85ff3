"""The events: one a revision, each with what it takes to replay it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from engine.store.snapshot import Snapshot

if TYPE_CHECKING:
    from engine.store.database import Database

COLUMNS: Final = ("revision", "at", "kind", "actor", "reason", "summary", "ref")
_EVENTS: Final = (
    "MATCH (v:Event) WHERE v.revision > $after AND v.revision <= $r "
    "RETURN v.revision, v.at, v.kind, v.actor, v.reason, v.summary, v.ref ORDER BY v.revision"
)
_ONE: Final = (
    "MATCH (v:Event {revision: $revision}) RETURN v.revision, v.at, v.kind, v.actor, v.reason, v.summary, v.ref"
)
_AT: Final = "MATCH (v:Event) WHERE v.revision > 0 AND v.revision <= $r AND v.at <= $at RETURN max(v.revision)"
_PAYLOADS: Final = (
    "MATCH (v:Event) WHERE v.revision > $after AND v.revision <= $until "
    "RETURN v.revision, v.payload ORDER BY v.revision"
)
_PAYLOAD: Final = "MATCH (v:Event {revision: $revision}) RETURN v.request_key"


def event_rows(snap: Snapshot, after: int = 0) -> list[dict[str, Any]]:
    """Return one plain row a revision later than `after`, oldest first."""
    return [dict(zip(COLUMNS, row, strict=True)) for row in snap.rows(_EVENTS, after=after)]


def event(snap: Snapshot, revision: int) -> dict[str, Any] | None:
    """Return the event of one revision, or None when there is none."""
    rows = snap.rows(_ONE, revision=revision)
    return dict(zip(COLUMNS, rows[0], strict=True)) if rows else None


def revision_at(snap: Snapshot, at: str) -> int:
    """Return the newest revision whose time is at or before `at` (ISO 8601, UTC); 0 when there is none."""
    rows = snap.rows(_AT, at=at)
    return int(rows[0][0] or 0) if rows else 0


def payloads(snap: Snapshot, after: int, until: int) -> list[tuple[int, str]]:
    """Return (revision, change set as text) of the events in `(after, until]`, oldest first."""
    return [(row[0], row[1]) for row in snap.rows(_PAYLOADS, after=after, until=until)]


def committed_token(database: Database, graph: str, revision: int) -> str | None:
    """Return the token of the writer whose change became `revision`, or None while nobody's did."""
    rows = database.read(graph, _PAYLOAD, {"revision": revision})
    return str(rows[0][0]) if rows else None
