"""Corrections as files: a reviewer's spreadsheet or an export comes in, JSONL and CSV go out.

Everything in a file is text here: nothing is run or rendered. The commands are in `engine.correction_commands`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from engine.correction_records import Caller, Correction, ImportReport, RejectedRow, Value
from engine.correction_view import LARGEST_PAGE
from engine.errors import InvalidInput
from engine.row_import import IMPORTED, NEEDED, VALUES, entries_of
from engine.tables import Table, read_table, with_guard

if TYPE_CHECKING:
    from engine.correction_memory import Corrections
    from engine.correction_view import CorrectionsView

__all__ = ["Table", "every_correction", "guess_mapping", "import_table", "read_table", "to_csv", "to_jsonl"]

_LITERAL: Final = re.compile(
    r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?|true|false|null", re.ASCII
)
_OF_EXPORT: Final = {"id", "kind", "status", "times_seen", "revision", *VALUES}
_LINE_ENDS: Final = str.maketrans({"\u2028": r"\u2028", "\u2029": r"\u2029", "\x85": r"\u0085"})
_SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    "original_value": (
        "original", "wrong", "old", "before", "incorrect", "from", "was", "ocr", "ocr value", "wrong value",
        "old value", "extracted", "extracted value", "predicted", "predicted value", "prediction", "agent value",
        "agent output", "output", "actual", "got", "model output",
    ),
    "corrected_value": (
        "corrected", "right", "new", "after", "correct", "expected", "to", "correction", "correct value",
        "right value", "new value", "expected value", "fixed", "fixed value", "should be", "true value",
        "ground truth", "gold", "label",
    ),
    "agent_name": ("agent", "agent id", "bot", "assistant", "extractor"),
    "field": ("field name", "attribute", "property", "key", "field key"),
    "reason": ("comment", "comments", "why", "note", "notes", "explanation", "rationale", "remark", "remarks"),
    "entity_key": (
        "entity", "entity id", "customer", "customer id", "customer name", "vendor", "vendor id", "vendor name",
        "supplier", "merchant", "client", "account", "account id", "company", "product", "subject",
    ),
    "run_id": ("run", "trace id", "execution id", "job id"),
    "session_id": ("session", "conversation", "conversation id", "thread", "thread id", "chat id"),
    "original_input": ("input", "prompt", "question", "query", "request", "source text", "document text", "input text"),
    "tags": ("tag", "labels", "keywords", "categories"),
    "scope": ("visibility",),
    "user_id": ("user",),
    "tenant_id": ("tenant", "organisation", "organization", "org", "org id", "organisation id", "organization id"),
    "idempotency_key": ("idempotency", "external id", "request id"),
    "reviewer": ("reviewed by", "corrected by", "reviewer name", "annotator", "author"),
}  # fmt: skip


def guess_mapping(columns: Iterable[str]) -> dict[str, str]:
    """Return argument of `record` → column, from the names that such columns usually have.

    No argument has two columns and no column serves two arguments; what is not recognised is left out.
    """
    names: dict[str, str] = {}
    for column in columns:
        names.setdefault(_words(column), column)
    mapping: dict[str, str] = {}
    for argument in IMPORTED:  # a column that is called as the argument is comes before every synonym
        if _words(argument) in names:
            mapping[argument] = names.pop(_words(argument))
    for argument in IMPORTED:
        if argument not in mapping:
            known = next((name for name in _SYNONYMS.get(argument, ()) if name in names), None)
            if known is not None:
                mapping[argument] = names.pop(known)
    return mapping


def _words(name: str) -> str:
    """Return a column's name as lower-case words: `originalValue`, `Original-Value` and `original_value` are one."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return " ".join(re.findall(r"[^\W_]+", apart.lower()))


# Coming in


def import_table(
    corrections: Corrections,
    table: Table,
    mapping: Mapping[str, str] | None = None,
    *,
    typed: bool = False,
    invalidate_contradicted: bool = True,
    **defaults: Any,
) -> ImportReport:
    """Record what a table holds, as one revision. Rows that cannot be recorded are reported, with why.

    Of an export, what `record` takes comes in: not ids, status, `times_seen` or `created_at`. What was superseded
    comes before what superseded it; what was pending or reverted, or corrects a claim, is reported instead.

    Args:
        corrections: of which workspace: `ws.corrections`.
        table: what `read_table` returned.
        mapping: argument of `record` → column; by default `guess_mapping(table.columns)`.
        typed: read numbers, true, false and null in the values of CSV as such; by default "007" stays text.
        invalidate_contradicted: as for `record`.
        defaults: arguments that a row does not give: `agent_name="extractor"`.

    Raises:
        InvalidInput: the mapping names what is not there, or no column has the values.
    """
    rows, places, rejected = _rows(table, mapping, typed, defaults)
    report = corrections.import_rows(rows, invalidate_contradicted=invalidate_contradicted, **defaults)
    rejected += [row.model_copy(update={"row": places[row.row - 1]}) for row in report.rejected]
    return report.model_copy(update={"rejected": sorted(rejected, key=lambda row: row.row)})


def check_table(
    table: Table, mapping: Mapping[str, str] | None = None, *, typed: bool = False, **defaults: Any
) -> list[RejectedRow]:
    """Return the rows that `import_table` would reject for what they say, with why. Changes nothing.

    Raises:
        InvalidInput: the mapping names what is not there, or no column has the values.
    """
    rows, places, rejected = _rows(table, mapping, typed, defaults)
    _, wrong = entries_of(rows, None, defaults)
    rejected += [row.model_copy(update={"row": places[row.row - 1]}) for row in wrong]
    return sorted(rejected, key=lambda row: row.row)


def _rows(
    table: Table, mapping: Mapping[str, str] | None, typed: bool, defaults: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[int], list[RejectedRow]]:
    """Return rows of arguments in the order of recording, the number of each in the table, and what is no row."""
    chosen = dict(mapping) if mapping is not None else guess_mapping(table.columns)
    _check_mapping(chosen, table, defaults)
    rejected = [RejectedRow(row=at + 1, field=None, reason=why) for at, why in table.refused.items()]
    places: list[int] = []
    rows: list[dict[str, Any]] = []
    for at in _order(table):
        if at in table.refused:
            continue
        try:
            rows.append(_arguments(table, table.rows[at], chosen, typed))
            places.append(at + 1)
        except InvalidInput as error:
            rejected.append(RejectedRow(row=at + 1, field=error.field, reason=str(error)))
    return rows, places, rejected


def _check_mapping(mapping: Mapping[str, str], table: Table, defaults: Mapping[str, Any]) -> None:
    there = f"The file has {', '.join(repr(column[:80]) for column in table.columns[:40]) or 'no columns'}."
    for argument, column in mapping.items():
        if argument not in IMPORTED:
            raise InvalidInput(f"{argument!r} is no part of a correction; there are {', '.join(IMPORTED)}.", "mapping")
        if column not in table.columns:
            raise InvalidInput(f"There is no column {column[:80]!r} for `{argument}`. {there}", "mapping")
    for argument in NEEDED:
        if argument not in mapping and argument not in defaults:
            raise InvalidInput(
                f"No column is known to be `{argument}`: name it, or give one for all. {there}", "mapping"
            )


def _is_export(table: Table) -> bool:
    """Return whether `to_jsonl` or `to_csv` wrote it."""
    return set(table.columns) >= _OF_EXPORT


def _order(table: Table) -> Iterable[int]:
    """Return the places of the rows in the order to record them in: an export's oldest first."""

    def age(at: int) -> tuple[int, str]:
        return int(table.rows[at]["revision"]), str(table.rows[at].get("created_at"))

    if not _is_export(table):
        return range(len(table.rows))
    try:
        return sorted(range(len(table.rows)), key=age)
    except (KeyError, TypeError, ValueError):
        raise InvalidInput("This export was altered: a row has no `revision`. Export it again.", "revision") from None


def _arguments(table: Table, row: Mapping[str, Any], mapping: Mapping[str, str], typed: bool) -> dict[str, Any]:
    """Return the arguments of `record` that a row gives."""
    if _is_export(table):
        _check_exported(row)
    arguments: dict[str, Any] = {}
    for argument, column in mapping.items():
        if column not in row:
            if table.is_text and argument in VALUES:
                raise InvalidInput(f"The row ends before `{argument}`. For a blank, write an empty cell.", argument)
            continue
        cell = row[column]
        if argument in VALUES:
            arguments[argument] = _value(cell, row.get(f"{column}_type"), argument, typed) if table.is_text else cell
        elif argument == "tags":
            arguments[argument] = _tags(cell)
        elif type(cell) is int:
            arguments[argument] = str(cell)  # ids are numbers in many files
        elif not (isinstance(cell, str) and not cell.strip()):
            arguments[argument] = cell
    return arguments


def _check_exported(row: Mapping[str, Any]) -> None:
    status, kind = row.get("status"), row.get("kind")
    if kind != "output":
        raise InvalidInput("It corrects a claim of the workspace that it comes from. Correct that claim here.", "kind")
    if status in ("pending", "reverted"):
        what = "Approve it there first." if status == "pending" else "Nothing is to be recorded."
        raise InvalidInput(f"It is {status} in the workspace that it comes from. {what}", "status")


def _value(cell: str, kind: str | None, argument: str, typed: bool) -> Value:
    if kind == "json":
        try:
            value: Value = json.loads(cell)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"`{argument}` is no JSON ({error}), though its type says so. Mend it, or let the type be text.",
                argument,
            ) from error
        return value
    if typed and kind is None and _LITERAL.fullmatch(cell.strip()):
        literal: Value = json.loads(cell)
        return cell if isinstance(literal, float) and not math.isfinite(literal) else literal
    return cell


def _tags(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    if cell.lstrip().startswith("["):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            pass
    return [tag.strip() for tag in re.split("[,;]", cell) if tag.strip()]


# Going out


def every_correction(corrections: CorrectionsView, caller: Caller | None = None) -> list[Correction]:
    """Return every correction, oldest first, as `to_jsonl` and `to_csv` take them."""
    found: list[Correction] = []
    cursor: str | None = None
    while True:
        page = corrections.page(LARGEST_PAGE, cursor, caller=caller)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found[::-1]


def to_jsonl(corrections: Iterable[Correction]) -> str:
    """Return one JSON object a correction, a line each, with all its fields.

    `read_table` and `import_table` take it in again; see there what of it is recorded.
    """
    # The ends of lines that are not those of JSONL stand in strings alone, where they can be escaped.
    lines = (json.dumps(correction.model_dump(mode="json"), ensure_ascii=False) for correction in corrections)
    return "".join(f"{line.translate(_LINE_ENDS)}\n" for line in lines)


def to_csv(corrections: Iterable[Correction]) -> str:
    """Return one row a correction, with all its fields, for spreadsheets: encode it as `utf-8-sig` for Excel.

    Values that are not text, and lists, are written as JSON; `original_value_type` and `corrected_value_type` say
    `json` then, else `text`. What would be a formula begins with an apostrophe. `read_table` undoes both.
    """
    columns = [*Correction.model_fields, *(f"{value}_type" for value in VALUES)]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for correction in corrections:
        cells = correction.model_dump(mode="json")
        cells |= {f"{value}_type": "text" if isinstance(cells[value], str) else "json" for value in VALUES}
        writer.writerow([with_guard(_cell(cells[column], column)) for column in columns])
    return out.getvalue()


def _cell(value: Value, column: str) -> str:
    if isinstance(value, str):
        return value
    if value is None and column not in VALUES:
        return ""
    return json.dumps(value, ensure_ascii=False)
