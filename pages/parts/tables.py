"""Tables and their CSV: what a cell holds is text, also for the spreadsheet that opens the file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from engine.tables import with_guard
from engine.values import shown

_NO_OWN_DOWNLOAD: Final = (
    '<style>[data-testid="stElementToolbarButton"]:has([aria-label^="Download as CSV"]) { display: none; }</style>'
)
_BYTE_ORDER_MARK: Final = "\ufeff"  # without it a spreadsheet takes UTF-8 for something else


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe goes before one, as spreadsheets do it."""
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return with_guard(value) if isinstance(value, str) else value


def csv_of(frame: pd.DataFrame) -> str:
    """Return a frame as CSV in which nothing is a formula."""
    safe = frame.rename(columns=lambda name: safe_cell(str(name)))
    for column in safe.columns:
        if safe[column].dtype == object or pd.api.types.is_string_dtype(safe[column].dtype):
            safe[column] = safe[column].map(safe_cell)
    return _BYTE_ORDER_MARK + safe.to_csv(index=False)


def download(frame: pd.DataFrame, name: str, key: str) -> None:
    """Show the button that downloads a table as CSV."""
    st.download_button(
        "Download as CSV",
        csv_of(frame),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"{key}.csv.{name}",
        on_click="ignore",
        icon=":material/download:",
    )


def sheet(frame: pd.DataFrame, **how: Any) -> None:
    """Show a table without Streamlit's own download, which would write formulas as they are."""
    st.html(_NO_OWN_DOWNLOAD)
    st.dataframe(frame, hide_index=True, **how)


def table(
    frame: pd.DataFrame,
    name: str,
    key: str,
    alt: str,
    columns: Sequence[str],
    config: dict[str, Any] | None = None,
) -> None:
    """Show the given columns of a table, and the button that downloads all of it."""
    sheet(frame, key=f"{key}.table.{name}", column_order=columns, column_config=config, alt=alt)
    download(frame, name, key)


def value_text(value: Any) -> str:
    """Return a corrected value for a cell or a list: a blank one is told, not left out."""
    text = "" if isinstance(value, float) and pd.isna(value) else shown(value)
    return text if text.strip() else "(blank)"


def values_told(frame: pd.DataFrame) -> pd.DataFrame:
    """Return corrections with their values as a reader should see them."""
    return frame.assign(
        wrong=[value_text(value) for value in frame["original_value"]],
        right=[value_text(value) for value in frame["corrected_value"]],
        tags=[", ".join(tags or []) for tags in frame["tags"]],
    )
