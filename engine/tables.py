"""Tables in files: what a spreadsheet saved as CSV, or a file of JSON objects, says. All of it is text and data here.

A cell that a spreadsheet would take for a formula goes out with an apostrophe before it, and what comes in loses
exactly that one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engine.documents import base_name, decode
from engine.errors import InvalidInput

MAX_BYTES: Final = 50_000_000
MAX_ROWS: Final = 50_000
MAX_COLUMNS: Final = 500
DELIMITERS: Final = ("\t", ";", ",")  # as sure first: a comma stands in numbers and sentences too
SAMPLE: Final = 200  # rows that are looked at to tell the delimiter
NAMED: Final = 5  # lines that a note names
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NEUTRALISED: Final = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


@dataclass(frozen=True)
class Table:
    """What a file holds: one map a row, by column. `lines` says where each row begins in the file.

    A row of CSV that ends early lacks its last columns; one with too many cells is in `refused` (position → why).
    `notes` says what was assumed.
    """

    columns: list[str]
    rows: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    is_text: bool = False
    """Every cell is text, as in CSV."""


def read_table(data: bytes | str | Path, name: str | None = None) -> Table:
    """Return what a CSV, JSONL or JSON file holds. `data` is its path, its bytes, or its text.

    Raises:
        InvalidInput: it is too large, empty, a workbook, or broken; the message names the line and says what to do.
    """
    content: bytes | str
    if isinstance(data, Path):
        name = name or data.name
        try:
            content = data.read_bytes()
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{data} cannot be read: {error}.") from error
    else:
        content = data
    label = base_name(name or "The file")
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"{label} has more than {MAX_BYTES:,} bytes. Split it.")
    notes: list[str] = []
    if isinstance(content, str):
        text = content
    else:
        if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
            raise InvalidInput(f"{label} is a workbook or another archive. Save the sheet as CSV (UTF-8) and use that.")
        text, notes = decode(content, label)
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InvalidInput(f"{label} is empty.")
    ending = label.rpartition(".")[2].lower() if "." in label else ""
    if ending in ("xlsx", "xlsm", "xls", "ods", "numbers"):
        raise InvalidInput(f"{label}: workbooks are not read. Save the sheet as CSV (UTF-8) and use that.")
    start = text.lstrip()[0]
    if ending in ("json", "jsonl", "ndjson") or (ending not in ("csv", "tsv") and start in "{["):
        return _json_table(text, label, notes, whole=start == "[")
    return _csv_table(text, label, notes, "\t" if ending == "tsv" else None)


def _json_table(text: str, label: str, notes: list[str], *, whole: bool) -> Table:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    if whole:
        found = _parsed(text, label)
        for number, row in enumerate(found, 1):
            _take(rows, row, label, f"item {number}")
            lines.append(number)
    else:
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                _take(rows, _parsed(line, f"{label}, line {number},"), label, f"line {number}")
                lines.append(number)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    _check_columns(columns, label)
    return Table(columns, rows, notes, lines)


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{what} is not JSON: {error}. Each line is one object, or all of it is one list."
        ) from error


def _take(rows: list[dict[str, Any]], row: object, label: str, where: str) -> None:
    if not isinstance(row, dict):
        raise InvalidInput(f"{label}, {where}, is no JSON object. A row is an object: column → value.")
    if len(rows) >= MAX_ROWS:
        raise InvalidInput(f"{label} has more than {MAX_ROWS:,} rows. Split it.")
    rows.append(row)


def _csv_table(text: str, label: str, notes: list[str], delimiter: str | None) -> Table:
    skipped = 0
    if match := re.match(r"sep=([,;\t])\r?\n", text, re.IGNORECASE):  # what Excel writes, and understands
        delimiter, text, skipped = match[1], text[match.end() :], 1
    cells = _records(text, label, delimiter or _delimiter(text), skipped)
    columns: list[str] | None = None
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    refused: dict[int, str] = {}
    short: list[int] = []
    for line, record in cells:
        if not any(cell.strip() for cell in record):
            continue
        if columns is None:
            columns = _header(record, label, notes)
            continue
        if len(rows) >= MAX_ROWS:
            raise InvalidInput(f"{label} has more than {MAX_ROWS:,} rows. Split it.")
        if len(record) < len(columns):
            short.append(line)
        elif any(cell.strip() for cell in record[len(columns) :]):
            refused[len(rows)] = (
                f"Line {line} has {len(record)} cells, but there are {len(columns)} columns. "
                "Put text that holds the separator in double quotes."
            )
        rows.append({column: without_guard(cell) for column, cell in zip(columns, record, strict=False)})
        lines.append(line)
    if short:
        notes.append(f"{_listed(short)} of {label} {'ends' if len(short) == 1 else 'end'} before the last column.")
    return Table(columns or [], rows, notes, lines, refused, is_text=True)


def _records(text: str, label: str, delimiter: str, skipped: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yield the line that each record begins in, and its cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1 + skipped
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "limit" in str(error):
                what = f"has a cell of more than {csv.field_size_limit():,} characters, or a quote that is never closed"
            else:
                what = "has a quote that is never closed, or text after one that closes"
            raise InvalidInput(f"{label}, line {line}, {what} ({error}). Save it as CSV again.") from error
        yield line, record
        line = 1 + skipped + reader.line_num


def _delimiter(text: str) -> str:
    """Return the delimiter by which most rows are as wide as the header, and the header is widest."""

    def score(delimiter: str) -> tuple[bool, float, int]:
        widths: list[int] = []
        try:
            for _, record in _records(text, "", delimiter):
                if record:
                    widths.append(len(record))
                if len(widths) > SAMPLE:
                    break
        except InvalidInput:
            if not widths:
                return False, 0.0, 0
        wide = widths[0] if widths else 0
        return wide > 1, sum(width == wide for width in widths) / max(len(widths), 1), wide

    return max(DELIMITERS, key=score)


def _header(record: Sequence[str], label: str, notes: list[str]) -> list[str]:
    while record and not record[-1].strip():
        record = record[:-1]
    columns: list[str] = []
    for number, cell in enumerate(record, 1):
        name = " ".join(cell.split()) or f"column {number}"
        unique, again = name, 1
        while unique in columns:
            again += 1
            unique = f"{name} ({again})"
        if unique != name:
            notes.append(
                f"{label} has several columns {name[:80]!r}; the one at place {number} is called {unique[:80]!r}."
            )
        elif not cell.strip():
            notes.append(f"Column {number} of {label} has no name; it is called {unique!r}.")
        columns.append(unique)
    _check_columns(columns, label)
    return columns


def _check_columns(columns: Sequence[str], label: str) -> None:
    if len(columns) > MAX_COLUMNS:
        raise InvalidInput(f"{label} has more than {MAX_COLUMNS} columns. Leave out those that are not needed.")
    if any("\0" in column for column in columns):
        raise InvalidInput(f"{label} has a NUL character in the name of a column. Save it as UTF-8.")


def _listed(lines: Sequence[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:NAMED]) + (" …" if len(lines) > NAMED else "")
    return f"Line {shown}" if len(lines) == 1 else f"{len(lines)} lines ({shown})"


def with_guard(text: str) -> str:
    """Return what stands in a cell for `text`, such that no spreadsheet takes it for a formula."""
    return "'" + text if _FORMULA.match(text) else text


def without_guard(cell: str) -> str:
    """Return the text for which `with_guard` wrote `cell`."""
    return cell[1:] if _NEUTRALISED.match(cell) else cell
