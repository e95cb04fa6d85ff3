"""What happened, and the workspace as of any revision."""

from __future__ import annotations

import pandas as pd
import streamlit as st

import engine
from pages.parts import session
from pages.parts.graph_view import show_graph
from pages.parts.tables import table
from pages.parts.words import counted, plain


def show_history(workspace: engine.Workspace) -> None:
    """Show a slider over the revisions, what stood at the chosen one, and what changed since."""
    newest = workspace.revision
    if newest < 1:
        st.info("Nothing happened yet. Ingest a text to begin.")
        return
    chosen = _revision(workspace, newest)
    view = workspace.at(chosen)
    history = workspace.history()
    if chosen:
        row = history.iloc[chosen - 1]
        by = f" by {row['actor']}" if row["actor"] else ""
        why = f" ({row['reason']})" if row["reason"] else ""
        st.markdown(f"**Revision {chosen}**, {row['at']:%Y-%m-%d %H:%M} UTC{plain(by)}: {plain(row['summary'] + why)}")
    else:
        st.markdown("**Revision 0**: the empty workspace.")
    claims, decisions, actions = view.claims(), view.decisions(), view.actions()
    with st.container(horizontal=True):
        for label, number in (
            ("Current claims", int((claims["status"] == "current").sum())),
            ("Standing decisions", int((decisions["status"] == "standing").sum())),
            ("To review", int((decisions["status"] == "needs_review").sum())),
            ("On hold", int((actions["status"] == "held").sum())),
        ):
            st.metric(label, number, border=True, width=160)
    show_graph(view.graph(), "history.graph", height=620)
    if chosen < newest:
        _show_changes(workspace.compare(chosen), chosen, newest)
    st.subheader("All revisions", anchor=False)
    shown = history.sort_values("revision", ascending=False)
    table(
        shown, "history", f"history.{newest}", "All revisions, newest first",
        ["revision", "at", "kind", "actor", "summary", "reason"],
    )  # fmt: skip


def _revision(workspace: engine.Workspace, newest: int) -> int:
    """Return the revision that the slider is at; the URL keeps it."""
    named = session.selected("revision", workspace) or ""
    start = int(named) if named.isdigit() and int(named) <= newest else newest
    key = f"history.revision.{workspace.id}"
    st.session_state[key] = start
    return int(
        st.slider(
            "As of revision", 0, newest, key=key, on_change=_moved, args=(workspace, key, newest), width="stretch"
        )
    )


def _moved(workspace: engine.Workspace, key: str, newest: int) -> None:
    revision = st.session_state[key]
    session.select("revision", None if revision == newest else str(revision), workspace)


def _show_changes(changes: pd.DataFrame, chosen: int, newest: int) -> None:
    st.subheader(f"What changed between revision {chosen} and {newest}", anchor=False)
    st.caption(f"{counted(len(changes), 'node')} differ.")
    table(
        changes, "changes", f"history.{chosen}.{newest}", "What differs between the two revisions",
        ["kind", "title", "before", "after"],
    )  # fmt: skip
