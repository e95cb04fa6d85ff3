"""Analytics: what was corrected, what fell with it, and what most rests on."""

from __future__ import annotations

import pandas as pd
import streamlit as st

import engine
from pages.parts import reads, session
from pages.parts.words import counted

LIMIT = 20
DAYS = 14  # the chart shows at least so many, so that one correction is no wall of colour


def download(frame: pd.DataFrame, name: str) -> None:
    st.download_button(
        "Download as CSV",
        frame.to_csv(index=False),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"analytics.csv.{name}",
        on_click="ignore",
        icon=":material/download:",
    )


def counts(workspace: engine.Workspace, corrected: pd.DataFrame) -> None:
    claims = reads.claims(workspace.id, workspace.revision, workspace)
    decisions, actions = workspace.decisions(), workspace.actions()
    tiles = {
        "Sources": len(workspace.sources()),
        "Claims": int((claims["status"] == "current").sum()),
        "Decisions": len(decisions),
        "To review": int((decisions["status"] == "needs_review").sum()),
        "On hold": int((actions["status"] == "held").sum()),
        "Corrections": int((corrected["status"] == "applied").sum()),
    }
    with st.container(horizontal=True):
        for label, number in tiles.items():
            st.metric(label, f"{number:,}", border=True, width=122)


def corrections(workspace: engine.Workspace, corrected: pd.DataFrame) -> None:
    st.subheader("Corrections over time", anchor=False)
    if corrected.empty:
        st.info("Nothing has been corrected yet. Choose a claim on the Correct page and say what is right.")
        session.link(session.CORRECT, "Correct a claim", workspace, icon=":material/edit_note:")
        return
    by_day = corrected.assign(day=pd.to_datetime(corrected["at"], utc=True).dt.floor("D"))
    table = by_day.groupby(["day", "kind"]).size().unstack(fill_value=0)
    last = table.index.max()
    first = min(table.index.min(), last - pd.Timedelta(days=DAYS - 1))
    table = table.reindex(pd.date_range(first, last, freq="D"), fill_value=0)
    st.bar_chart(table, x_label="", y_label="corrections", height=240)
    shown = corrected.iloc[::-1]
    st.dataframe(
        shown,
        hide_index=True,
        key=f"analytics.corrected.{workspace.revision}",
        column_order=["at", "kind", "status", "original", "statement", "reviewer", "reason", "revision"],
        column_config={"at": st.column_config.DatetimeColumn("when", format="YYYY-MM-DD HH:mm")},
        alt="Corrections, newest first",
    )
    download(shown, "corrections")


def fallen(workspace: engine.Workspace) -> None:
    st.subheader("What they brought down", anchor=False)
    decisions = workspace.decisions(status="needs_review")
    decisions = decisions[decisions["justifications"] > 0]  # a question without an answer rested on nothing
    actions = workspace.actions(status=["held"])
    rows = pd.concat(
        [
            decisions.assign(kind="Decision", what=decisions["title"])[["kind", "what", "status", "revision", "id"]],
            actions.assign(kind="Action", what=actions["description"])[["kind", "what", "status", "revision", "id"]],
        ],
        ignore_index=True,
    ).replace({"status": {"needs_review": "needs review", "held": "on hold"}})
    if rows.empty:
        st.caption("Nothing waits for a review, and no action is on hold.")
        return
    st.caption(f"{counted(len(decisions), 'decision')} to be reviewed, {counted(len(actions), 'action')} on hold.")
    st.dataframe(
        rows,
        hide_index=True,
        key=f"analytics.fallen.{workspace.revision}",
        column_order=["kind", "what", "status", "revision"],
        alt="Decisions to be reviewed and actions on hold",
    )
    download(rows, "fallen")


def load_bearing(workspace: engine.Workspace) -> None:
    st.subheader("What the most depends on", anchor=False)
    frame = reads.load_bearing(workspace.id, workspace.revision, LIMIT, workspace)
    if frame.empty:
        st.caption("No decision or derived claim rests on a single claim or origin.")
        return
    st.caption("If this one alone were withdrawn, so many others would have no support left.")
    st.dataframe(
        frame,
        hide_index=True,
        key=f"analytics.load.{workspace.revision}",
        column_order=["kind", "title", "falls", "decisions", "claims", "actions"],
        column_config={
            "falls": st.column_config.ProgressColumn(
                "falls", min_value=0, max_value=int(frame["falls"].max()), format="%d"
            )
        },
        alt="Claims and origins by what would fall with them",
    )
    download(frame, "load_bearing")
    claims = frame[frame["kind"] == "Claim"]
    if len(claims):
        first = claims.iloc[0]
        session.link(
            session.CORRECT,
            "Look at the claim that the most depends on",
            workspace,
            icon=":material/edit_note:",
            claim=str(first["id"]),
        )


def page() -> None:
    st.title("Analytics")
    workspace = session.require_workspace()
    if workspace.revision == 0:
        st.info("There is nothing to count yet. Ingest a text first, or load the sample.")
        session.link(session.INGEST, "Ingest a text", workspace, icon=":material/library_add:")
        session.sample_button("analytics")
        st.stop()
    corrected = workspace.corrected()
    counts(workspace, corrected)
    load_bearing(workspace)
    corrections(workspace, corrected)
    fallen(workspace)


page()
