"""What changed between two moments of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pandas import DataFrame

    from engine.view import WorkspaceView

COLUMNS: Final = ["id", "kind", "title", "before", "after"]
_ABSENT: Final = "absent"


def compare(before: WorkspaceView, after: WorkspaceView) -> DataFrame:
    """Return one row for each source, claim, decision, action or correction that differs, by kind and title."""
    from pandas import DataFrame

    was, now = _shown(before), _shown(after)
    rows = []
    for node_id in was.keys() | now.keys():
        old, new = was.get(node_id), now.get(node_id)
        if old != new:
            kind, title, _ = new or old or ("", "", "")
            rows.append((node_id, kind, title, old[2] if old else _ABSENT, new[2] if new else _ABSENT))
    rows.sort(key=lambda row: (row[1], row[2], row[0]))
    return DataFrame(rows, columns=COLUMNS)


def _shown(view: WorkspaceView) -> dict[str, tuple[str, str, str]]:
    found: dict[str, tuple[str, str, str]] = {}
    for kind, title, frame in (
        ("Source", "name", view.sources()),
        ("Claim", "statement", view.claims()),
        ("Decision", "title", view.decisions()),
        ("Action", "description", view.actions()),
        ("Correction", "original", view.corrected()),
    ):
        for row in frame.to_dict("records"):
            found[row["id"]] = (kind, row[title], _state(row))
    return found


def _state(row: dict[Any, Any]) -> str:
    parts = [str(row["status"])]
    if "support_count" in row:
        parts.append(f"{row['support_count']} supports hold")
    elif "supported" in row and row["status"] == "current":
        parts.append("supported" if row["supported"] else "unsupported")
    return ", ".join(parts)
