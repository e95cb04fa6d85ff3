"""Analytics: how often agents are right, what was corrected and came back, what rests on what; records in and out."""

from __future__ import annotations

from typing import Final

import streamlit as st

import engine
from pages.parts import session
from pages.parts.accuracy_view import show_accuracy
from pages.parts.evals_view import show_evals
from pages.parts.filters import show_filters
from pages.parts.import_view import show_exchange
from pages.parts.memory_view import show_memory

SECTIONS: Final = {
    "corrections": "Corrections",
    "memory": "Memory",
    "evals": "Evals",
    "exchange": "Import / export",
}


def choose_section(workspace: engine.Workspace) -> str:
    """Show which sections there are and return the chosen one; the URL keeps it."""
    section = session.selected("section", workspace)
    section = section if section in SECTIONS else "corrections"
    st.session_state["analytics.section"] = section
    st.segmented_control(
        "What to look at",
        list(SECTIONS),
        format_func=lambda name: SECTIONS[name],
        required=True,
        key="analytics.section",
        on_change=switch_section,
        args=(workspace,),
        label_visibility="collapsed",
    )
    return section


def switch_section(workspace: engine.Workspace) -> None:
    section = st.session_state["analytics.section"]
    session.select("section", None if section == "corrections" else section, workspace)


def page() -> None:
    st.title("Analytics")
    workspace = session.require_workspace()
    section = choose_section(workspace)
    if section == "exchange":
        show_exchange(workspace)
        return
    if workspace.revision == 0:
        st.info(
            "There is nothing to count yet. Ingest a text first, import a reviewer's spreadsheet, or load the sample."
        )
        session.link(session.INGEST, "Ingest a text", workspace, icon=":material/library_add:")
        session.sample_button("analytics")
        return
    if section == "memory":
        show_memory(workspace)
        return
    kept = show_filters(workspace, "analytics", by_day=True)
    if section == "evals":
        show_evals(workspace, kept)
    else:
        show_accuracy(workspace, kept)


page()
