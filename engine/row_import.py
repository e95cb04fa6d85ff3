"""Rows of a table as requests to record corrections; each that cannot be one is told why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from engine.correction_records import RejectedRow
from engine.entries import Entry, checked_entry
from engine.errors import InvalidInput, UnknownNode

IMPORTED: Final = (
    "agent_name", "original_value", "corrected_value", "field", "reason", "entity_key", "run_id", "session_id",
    "original_input", "tags", "scope", "user_id", "tenant_id", "idempotency_key", "reviewer",
)  # fmt: skip
"""What a row may give. Claims are corrected one by one, where their preview can be looked at."""
NEEDED: Final = ("agent_name", "original_value", "corrected_value")
VALUES: Final = ("original_value", "corrected_value")


def entries_of(
    rows: Iterable[object], mapping: Mapping[str, str] | None, defaults: Mapping[str, Any]
) -> tuple[dict[int, Entry], list[RejectedRow]]:
    """Return the rows (numbered from 1) that can be recorded, and those that cannot, with why.

    Raises:
        InvalidInput: `mapping` or a default names what is no part of a correction.
    """
    _check(mapping, defaults)
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise InvalidInput(f"`rows` is a list of maps from column to value, not {type(rows).__name__}.", "rows")
    taken: dict[int, Entry] = {}
    rejected: list[RejectedRow] = []
    for number, row in enumerate(rows, 1):
        try:
            taken[number] = checked_entry(**_arguments(row, mapping, defaults))
        except (InvalidInput, UnknownNode) as error:
            field = error.field if isinstance(error, InvalidInput) else None
            rejected.append(RejectedRow(row=number, field=field, reason=str(error)))
    return taken, rejected


def _check(mapping: object, defaults: Mapping[str, Any]) -> None:
    if mapping is not None and not isinstance(mapping, Mapping):
        raise InvalidInput("`mapping` maps arguments of `record` to columns.", "mapping")
    for names, what in ((mapping or {}, "mapping"), (defaults, "defaults")):
        unknown = [name for name in names if name not in (*IMPORTED, "author_kind")]
        if unknown:
            raise InvalidInput(
                f"{str(unknown[0])[:80]!r} is no part of a correction that is imported; there are "
                f"{', '.join(IMPORTED)}.",
                what,
            )
    if defaults.get("author_kind", "human") not in ("human", "model"):
        raise InvalidInput("`author_kind` is human or model.", "author_kind")


def _arguments(row: object, mapping: Mapping[str, str] | None, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `record` that a row gives; a column that it lacks gives none."""
    if not isinstance(row, Mapping):
        raise InvalidInput(f"The row is a {type(row).__name__}; a row is a map from column to value.")
    if mapping is None:
        given = {name: row[name] for name in IMPORTED if name in row}
    else:
        given = {name: row[column] for name, column in mapping.items() if column in row}
    # None says nothing, but for the values: that a field was or should be blank is a correction.
    kept = {name: value for name, value in given.items() if value is not None or name in VALUES}
    arguments = {**defaults, **kept}
    for needed in NEEDED:
        if needed not in arguments:
            raise InvalidInput(f"`{needed}` is missing: map a column to it, or give it for all rows.", needed)
    return arguments
