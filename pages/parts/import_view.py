"""Records in and out: a reviewer's spreadsheet with its columns mapped, and everything as a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import pandas as pd
import streamlit as st

import engine
from engine.exchange import check_table, every_correction, guess_mapping, import_table, to_csv, to_jsonl
from engine.row_import import IMPORTED, NEEDED, VALUES
from engine.tables import Table, read_table
from pages.parts import session
from pages.parts.tables import sheet, table, value_text
from pages.parts.words import counted, plain

FIRST: Final = 10
MAX_MB: Final = 50
MAIN: Final = (
    "agent_name", "original_value", "corrected_value", "field", "entity_key", "reason", "original_input", "reviewer",
)  # fmt: skip
LABELS: Final = {
    "agent_name": "Agent",
    "original_value": "What was wrong",
    "corrected_value": "What is right",
    "field": "Field",
    "entity_key": "Entity",
    "reason": "Reason",
    "original_input": "Input of the agent",
    "reviewer": "Reviewer",
    "run_id": "Run",
    "session_id": "Session",
    "tags": "Tags",
    "scope": "Scope",
    "user_id": "User",
    "tenant_id": "Tenant",
    "idempotency_key": "Idempotency key",
}


def show_exchange(workspace: engine.Workspace) -> None:
    """Show the section."""
    st.subheader("Import corrections", anchor=False)
    st.caption(
        "A spreadsheet of a reviewer, saved as CSV, or JSONL: one correction a row. All of it becomes one revision; "
        "what is there already is counted, not stored twice."
    )
    _report()
    generation = st.session_state.setdefault("import.generation", 0)
    upload = st.file_uploader(
        "CSV or JSONL file",
        type=["csv", "tsv", "jsonl", "ndjson", "json"],
        max_upload_size=MAX_MB,
        key=f"import.file.{generation}",
    )
    if upload is not None:
        try:
            found = _read(upload.file_id, upload.name, upload.getvalue())
        except engine.WorkbenchError as error:
            session.show_error(error)
        else:
            _map(workspace, found, upload.file_id, generation)
    st.subheader("Export all corrections", anchor=False)
    _export(workspace)


@st.cache_data(show_spinner="Reading the file…", max_entries=4)
def _read(file_id: str, name: str, _data: bytes) -> Table:
    return read_table(_data, name)


def _export(workspace: engine.Workspace) -> None:
    makes: list[tuple[str, str, str, Callable[[], bytes]]] = [
        (
            "CSV", "corrections.csv", "text/csv",
            lambda: to_csv(every_correction(workspace.corrections)).encode("utf-8-sig"),
        ),
        (
            "JSONL", "corrections.jsonl", "application/jsonl",
            lambda: to_jsonl(every_correction(workspace.corrections)).encode(),
        ),
    ]  # fmt: skip
    with st.container(horizontal=True):
        for label, name, mime, make in makes:
            st.download_button(
                f"Download as {label}",
                make,
                file_name=name,
                mime=mime,
                key=f"export.{name}",
                on_click="ignore",
                icon=":material/download:",
            )
    st.caption("Every correction with every field. In the CSV nothing is a formula; importing it undoes that.")


# --- mapping ------------------------------------------------------------------------------------------------


def _map(workspace: engine.Workspace, found: Table, file_id: str, generation: int) -> None:
    for note in found.notes:
        st.caption(plain(note))
    if not found.rows:
        st.warning("The file has no rows.")
        return
    st.markdown("**Which column is what**")
    guessed = guess_mapping(found.columns)
    mapping: dict[str, str] = {}
    rest = [argument for argument in IMPORTED if argument not in MAIN]
    _choose_in_rows(found, file_id, MAIN, guessed, mapping)
    with st.expander(f"More columns ({sum(argument in guessed for argument in rest)} found)"):
        _choose_in_rows(found, file_id, rest, guessed, mapping)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        agent = st.text_input(
            "Agent of rows that name none",
            key=session.recall("import.agent"),
            on_change=session.remember,
            args=("import.agent",),
            width=280,
        )
        reviewer = st.text_input(
            "Your name (optional)",
            key=session.recall("correct.reviewer"),
            on_change=session.remember,
            args=("correct.reviewer",),
            width=280,
        )
    typed = found.is_text and st.checkbox(
        "Read numbers, true and false as such",
        key="import.typed",
        help="Otherwise they are text, so that 007 stays 007.",
    )
    defaults = {"agent_name": (agent or "").strip(), "reviewer": (reviewer or "").strip()}
    defaults = {name: value for name, value in defaults.items() if value}
    missing = [LABELS[argument] for argument in NEEDED if argument not in mapping and argument not in defaults]
    if missing:
        st.info(f"Choose the column for: {', '.join(missing)}." + (
            " Or name one agent for all rows." if LABELS["agent_name"] in missing else ""))  # fmt: skip
        return
    pairs = tuple(sorted(mapping.items()))
    try:
        rejected = _checked(file_id, pairs, tuple(sorted(defaults.items())), bool(typed), found)
    except engine.WorkbenchError as error:
        session.show_error(error)
        return
    _preview(found, mapping, defaults, rejected)
    good = len(found.rows) - len(rejected)
    st.button(
        f"Import {counted(good, 'correction')}",
        type="primary",
        key=f"import.go.{generation}",
        disabled=not good,
        on_click=_take_in,
        args=(workspace, found, mapping, defaults, bool(typed), generation),
        icon=":material/upload:",
    )


def _choose_in_rows(
    found: Table, file_id: str, arguments: Sequence[str], guessed: Mapping[str, str], mapping: dict[str, str]
) -> None:
    for start in range(0, len(arguments), 4):
        for column, argument in zip(st.columns(4), arguments[start : start + 4], strict=False):
            with column:
                _choose(found, file_id, argument, guessed, mapping)


def _choose(found: Table, file_id: str, argument: str, guessed: Mapping[str, str], mapping: dict[str, str]) -> None:
    key = f"import.map.{file_id}.{argument}"
    if key not in st.session_state:
        st.session_state[key] = guessed.get(argument)
    needed = " *" if argument in VALUES else ""
    column = st.selectbox(LABELS[argument] + needed, found.columns, index=None, key=key, placeholder="no column")
    if column is not None:
        mapping[argument] = column


@st.cache_data(show_spinner="Checking the rows…", max_entries=16)
def _checked(
    file_id: str,
    mapping: tuple[tuple[str, str], ...],
    defaults: tuple[tuple[str, str], ...],
    typed: bool,
    _found: Table,
) -> list[engine.RejectedRow]:
    return check_table(_found, dict(mapping), typed=typed, **cast(dict[str, Any], dict(defaults)))


def _preview(
    found: Table, mapping: Mapping[str, str], defaults: Mapping[str, str], rejected: Sequence[engine.RejectedRow]
) -> None:
    why = {row.row: row.reason for row in rejected}
    rows = [
        {
            "line": found.lines[at],
            "will be": "✗ rejected" if at + 1 in why else "● recorded",
            "why": why.get(at + 1, ""),
            **{
                LABELS[argument]: _cell(row, mapping.get(argument), defaults.get(argument), argument in VALUES)
                for argument in IMPORTED
                if argument in mapping or argument in defaults
            },
        }
        for at, row in enumerate(found.rows[:FIRST])
    ]
    st.markdown(
        f"**{counted(len(found.rows) - len(rejected), 'row')} to record, {len(rejected):,} to reject.** "
        f"The first {min(FIRST, len(found.rows))} of {counted(len(found.rows), 'row')}:"
    )
    sheet(
        pd.DataFrame(rows),
        column_config={"why": st.column_config.TextColumn(width="medium")},
        alt="The first rows, and what becomes of them",
    )
    if rejected:
        with st.expander(f"All rows that will be rejected ({len(rejected):,})"):
            frame = pd.DataFrame(
                [(found.lines[row.row - 1], row.field, row.reason) for row in rejected],
                columns=["line", "field", "why"],
            )
            table(frame, "rejected", "import", "Rows that will be rejected, and why", list(frame.columns))


def _cell(row: Mapping[str, Any], column: str | None, default: str | None, is_value: bool) -> str:
    cell = row.get(column) if column is not None else None
    if is_value:
        return value_text(cell)
    return str(cell) if cell not in (None, "") else default or ""


# --- importing ----------------------------------------------------------------------------------------------


def _take_in(
    workspace: engine.Workspace,
    found: Table,
    mapping: dict[str, str],
    defaults: dict[str, str],
    typed: bool,
    generation: int,
) -> None:
    if st.session_state["import.generation"] != generation:
        return  # the second click of two
    try:
        with st.spinner("Recording…"):
            report = import_table(workspace.corrections, found, mapping, typed=typed, **cast(dict[str, Any], defaults))
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    st.session_state["import.generation"] = generation + 1  # a new key empties the uploader
    st.session_state["import.report"] = (report, found.lines)


def _report() -> None:
    done: tuple[engine.ImportReport, list[int]] | None = st.session_state.get("import.report")
    if done is None:
        return
    report, lines = done
    st.success(
        f"{counted(report.created, 'correction')} recorded, {report.seen_again:,} seen again, "
        f"{report.superseded:,} superseded, {len(report.rejected):,} rejected. Revision {report.revision}."
    )
    if report.rejected:
        frame = pd.DataFrame(
            [(lines[row.row - 1], row.field, row.reason) for row in report.rejected], columns=["line", "field", "why"]
        )
        table(frame, "rejected_rows", "imported", "Rows that were rejected, and why", list(frame.columns))
