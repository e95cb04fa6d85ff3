"""Memory in numbers: what there is, what most rests on, what corrections brought down, how long errors lived."""

from __future__ import annotations

from statistics import median
from typing import Final

import pandas as pd
import streamlit as st

import engine
from pages.parts import reads, session
from pages.parts.charts import AMBER, GREY, RED, stacked_chart, top_chart
from pages.parts.tables import table
from pages.parts.words import TIER_NAMES, counted, duration, short

LIMIT: Final = 20
COLOURS: Final = {"Acted on": "#8d4bb0", "Needs review": RED, "Put on hold": AMBER, "Weakened": GREY}
AGES: Final = {
    "within a minute": 60,
    "within an hour": 3_600,
    "within a day": 86_400,
    "within a week": 7 * 86_400,
    "within a month": 31 * 86_400,
    "later": float("inf"),
}


def show_memory(workspace: engine.Workspace) -> None:
    """Show the section."""
    corrected = workspace.corrected(status=["active", "superseded"])
    _numbers(workspace, corrected)
    _load_bearing(workspace)
    _blast_radius(workspace, corrected)
    _time_to_correct(workspace, corrected)
    _learnings(workspace)


def _numbers(workspace: engine.Workspace, corrected: pd.DataFrame) -> None:
    claims = reads.claims(workspace.id, workspace.revision, workspace)
    decisions, actions = workspace.decisions(), workspace.actions()
    tiles = {
        "Sources": len(workspace.sources()),
        "Claims": int((claims["status"] == "current").sum()),
        "Decisions": len(decisions),
        "To review": int((decisions["status"] == "needs_review").sum()),
        "On hold": int((actions["status"] == "held").sum()),
        "Corrections": len(corrected),
    }
    with st.container(horizontal=True):
        for label, number in tiles.items():
            st.metric(label, f"{number:,}", border=True, width=122)


def _load_bearing(workspace: engine.Workspace) -> None:
    st.subheader("What the most depends on", anchor=False)
    frame = reads.load_bearing(workspace.id, workspace.revision, LIMIT, workspace)
    if frame.empty:
        st.caption("No decision or derived claim rests on a single claim or origin.")
        return
    st.caption("If this one alone were withdrawn, so many others would have no support left.")
    table(
        frame, "load_bearing", f"memory.{workspace.revision}", "Claims and origins by what would fall with them",
        ["kind", "title", "falls", "decisions", "claims", "actions"],
        {
            "falls": st.column_config.ProgressColumn(
                "falls", min_value=0, max_value=int(frame["falls"].max()), format="%d"
            )
        },
    )  # fmt: skip
    claims = frame[frame["kind"] == "Claim"]
    if len(claims):
        session.link(
            session.CORRECT,
            "Look at the claim that the most depends on",
            workspace,
            icon=":material/edit_note:",
            claim=str(claims.iloc[0]["id"]),
        )


def _blast_radius(workspace: engine.Workspace, corrected: pd.DataFrame) -> None:
    st.subheader("What each correction brought down", anchor=False)
    newest = corrected.iloc[::-1].head(LIMIT)
    if newest.empty:
        st.caption("No claim has been corrected yet. What a correction brings down is shown here, one bar for each.")
        session.link(session.CORRECT, "Correct a claim", workspace, icon=":material/edit_note:")
        return
    rows, parts = [], []
    for number, correction in enumerate(newest.to_dict("records")):
        impact = reads.impact_of(workspace.id, correction["id"], workspace).counts
        named = {TIER_NAMES[tier]: impact[tier] for tier in ("acted", "needs_review", "held", "weakened")}
        rows.append(
            {
                "what": correction["original"],
                "became": correction["statement"] or "",
                **named,
                "when": correction["created_at"],
                "reviewer": correction["reviewer"],
                "status": correction["status"],
                "id": correction["id"],
            }
        )
        parts += [{"row": number, "what": what, "number": times} for what, times in named.items()]
    if len(corrected) > LIMIT:
        st.caption(f"The newest {LIMIT} of {len(corrected):,}.")
    frame = pd.DataFrame(parts)
    if frame["number"].sum():
        stacked_chart(frame, [str(row["what"]) for row in rows], COLOURS, "correction")
    else:
        st.caption("None of them brought anything down.")
    with st.expander("As a table"):
        table(
            pd.DataFrame(rows), "blast_radius", f"memory.{workspace.revision}", "What each correction brought down",
            ["when", "what", "became", *COLOURS, "reviewer", "status"],
            {"when": st.column_config.DatetimeColumn("when", format="YYYY-MM-DD HH:mm")},
        )  # fmt: skip


def _time_to_correct(workspace: engine.Workspace, corrected: pd.DataFrame) -> None:
    born = reads.claims(workspace.id, workspace.revision, workspace).set_index("id")["born"]
    at = workspace.history().set_index("revision")["at"]
    found = corrected[corrected["claim_id"].isin(born.index)]
    if found.empty:
        return
    seconds = [
        max((pd.Timestamp(correction["created_at"]) - at[born[correction["claim_id"]]]).total_seconds(), 0.0)
        for correction in found.to_dict("records")
    ]
    st.subheader("How long an error stood", anchor=False)
    st.caption(
        f"From when a claim was taken in to when it was corrected: {duration(median(seconds))} in the median, "
        f"{duration(max(seconds))} at most, over {counted(len(seconds), 'correction')}."
    )
    bins: dict[str, int] = dict.fromkeys(AGES, 0)
    for each in seconds:
        bins[next(name for name, most in AGES.items() if each <= most)] += 1
    top_chart({name: number for name, number in bins.items() if number}, "time")
    frame = found.assign(seconds=seconds).sort_values("seconds", ascending=False)
    with st.expander("As a table"):
        table(
            frame, "time_to_correct", f"memory.{workspace.revision}", "How long each error stood",
            ["seconds", "original", "statement", "reviewer", "created_at"],
            {
                "seconds": st.column_config.NumberColumn("seconds", format="%.0f"),
                "created_at": st.column_config.DatetimeColumn("corrected", format="YYYY-MM-DD HH:mm"),
            },
        )  # fmt: skip


def _learnings(workspace: engine.Workspace) -> None:
    st.subheader("What agents learned", anchor=False)
    frame = workspace.learnings.list()
    if frame.empty:
        st.caption(
            "No conclusion has been kept yet (ws.learnings.add). A model's conclusion that says what was corrected, or "
            "rests on it, is invalidated, and listed here with why."
        )
        return
    gone = frame[frame["status"] == "invalidated"]
    st.caption(
        f"{counted(len(frame) - len(gone), 'learning')} in use, {len(gone):,} invalidated by corrections. "
        "Reverting the correction brings them back."
    )
    shown = pd.concat([gone, frame[frame["status"] != "invalidated"]])
    shown = shown.assign(status=shown["status"].replace({"invalidated": "✗ invalidated", "active": "● in use"}))
    table(
        shown, "learnings", f"memory.{workspace.revision}", "Learnings, the invalidated ones first",
        ["status", "text", "why", "author_kind", "verified", "agent_name", "created_at"],
        {
            "author_kind": "by",
            "agent_name": "agent",
            "created_at": st.column_config.DatetimeColumn("when", format="YYYY-MM-DD HH:mm"),
        },
    )  # fmt: skip
    for correction_id in dict.fromkeys(gone["invalidated_by"].dropna()):
        text = short(str(gone.loc[gone["invalidated_by"] == correction_id, "text"].iloc[0]), 60)
        session.link(
            session.CORRECT, f"What invalidated “{text}”", workspace, view="records", record=str(correction_id)
        )
