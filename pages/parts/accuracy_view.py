"""Corrections in numbers: how often agents are right at once, what goes wrong, and whether it came again."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

import engine
from pages.parts import reads, session
from pages.parts.charts import GREEN, GREY, RED, accuracy_chart, day_chart, stacked_chart, top_chart
from pages.parts.filters import Filters, nothing_kept
from pages.parts.tables import download, sheet, table, values_told
from pages.parts.words import counted, duration, percent

LISTED: Final = 500
TOLD: Final = {True: "kept to it", False: "old value came back", None: "cannot be told"}


def show_accuracy(workspace: engine.Workspace, kept: Filters) -> None:
    """Show the section."""
    stats = reads.stats(workspace.id, workspace.revision, *kept.four, workspace)
    shown = _heeded(workspace, kept)
    _numbers(stats, shown)
    _waiting(workspace, kept, stats)
    no_runs = not stats.runs or kept.entity or kept.field  # runs have neither, so they would always be there
    if not stats.total and not stats.by_status and no_runs:
        if kept.any:
            nothing_kept(workspace, "accuracy")
        else:
            st.info(
                "Nothing has been corrected yet. Correct a claim, record what an agent got wrong, or import a "
                "reviewer's spreadsheet."
            )
            session.link(session.CORRECT, "Correct a claim", workspace, icon=":material/edit_note:")
            session.link(session.CORRECT, "Record a correction", workspace, icon=":material/add_notes:", view="records")
        return
    _accuracy(workspace, kept)
    _breakdown(stats)
    if stats.by_day:
        st.subheader("Corrections per day", anchor=False)
        day_chart(stats.by_day, "corrections")
    _again(workspace, kept)
    _shown_to_runs(shown)
    _all(workspace, kept, stats)


def _heeded(workspace: engine.Workspace, kept: Filters) -> pd.DataFrame:
    frame = reads.heeded(workspace.id, workspace.revision, kept.agent, kept.since, workspace)
    if kept.entity:
        frame = frame[frame["entity_key"] == kept.entity]
    if kept.field:
        frame = frame[frame["field"] == kept.field]
    return frame


def _numbers(stats: engine.CorrectionStats, shown: pd.DataFrame) -> None:
    yes, no = int((shown["heeded"] == True).sum()), int((shown["heeded"] == False).sum())  # noqa: E712
    right, interval = stats.first_pass_accuracy, stats.accuracy_interval
    between = f"{percent(interval[0])} to {percent(interval[1])}" if interval else "no runs known"
    tiles: list[tuple[str, str, str, str]] = [
        ("Corrections", f"{stats.total:,}", f"{stats.by_status.get('active', 0):,} active", "Of claims and outputs."),
        (
            "To approve", f"{stats.by_status.get('pending', 0):,}", "of models",
            "What a model records takes effect only when a person has approved it.",
        ),
        (
            "Right at once", percent(right), between,
            f"First-pass accuracy: the share of {counted(stats.runs, 'run')} that nobody had to correct, and its "
            "95 % interval (Wilson).",
        ),
        (
            "Came again", percent(stats.recurrence_rate), f"{stats.recurred:,} of {stats.total:,}",
            "Corrections that had to be recorded again after the first time.",
        ),
        (
            "Kept to", percent(yes / (yes + no) if yes + no else None), f"{yes:,} of {yes + no:,} shown",
            "Of the corrections that a run was shown, how many it kept to: the old value did not come back.",
        ),
    ]  # fmt: skip
    with st.container(horizontal=True):
        for label, number, below, meaning in tiles:
            st.metric(label, number, below, delta_color="off", delta_arrow="off", help=meaning, border=True, width=150)


def _waiting(workspace: engine.Workspace, kept: Filters, stats: engine.CorrectionStats) -> None:
    """What a person has to look at: pending records, decisions that fell, actions on hold."""
    waits = stats.by_status.get("pending", 0)
    if waits:
        pending = reads.records(workspace.id, workspace.revision, *kept.four, "pending", None, workspace)
        oldest = pd.Timestamp.now(tz="UTC") - pending["created_at"].min()
        st.markdown(
            f"{counted(waits, 'correction')} that models recorded {'waits' if waits == 1 else 'wait'} for approval, "
            f"the oldest for {duration(oldest.total_seconds())}."
        )
        session.link(
            session.CORRECT, "Look at what waits for approval", workspace, icon=":material/rule:",
            view="records", status="pending",
        )  # fmt: skip
    decisions = workspace.decisions(status="needs_review")
    decisions = decisions[decisions["justifications"] > 0]  # a question without an answer rested on nothing
    actions = workspace.actions(status=["held"])
    if decisions.empty and actions.empty:
        return
    rows = pd.concat(
        [
            decisions.assign(kind="Decision", what=decisions["title"])[["kind", "what", "status", "revision", "id"]],
            actions.assign(kind="Action", what=actions["description"])[["kind", "what", "status", "revision", "id"]],
        ],
        ignore_index=True,
    ).replace({"status": {"needs_review": "needs review", "held": "on hold"}})
    st.markdown(f"{counted(len(decisions), 'decision')} to be reviewed, {counted(len(actions), 'action')} on hold.")
    session.link(session.CORRECT, "Review what fell", workspace, icon=":material/gavel:", view="review")
    with st.expander("As a table"):
        table(
            rows, "fallen", f"accuracy.{workspace.revision}", "Decisions to be reviewed and actions on hold",
            ["kind", "what", "status", "revision"],
        )  # fmt: skip


def _accuracy(workspace: engine.Workspace, kept: Filters) -> None:
    st.subheader("Right at once, over time", anchor=False)
    frame = workspace.corrections.accuracy(kept.agent, kept.since)
    if frame.empty:
        st.info(
            "No run is known yet. Let agents report theirs with ws.corrections.record_run(…): accuracy is the share of "
            "runs that nobody had to correct."
        )
        return
    st.caption(
        "The share of runs that nobody had to correct; the band is the 95 % interval, which is wide where runs are "
        "few." + (" Runs have no entity or field: those filters do not apply." if kept.entity or kept.field else "")
    )
    accuracy_chart(frame)
    with st.expander("As a table"):
        table(
            frame, "accuracy", f"accuracy.{workspace.revision}", "First-pass accuracy by day", list(frame.columns),
            {
                "first_pass_accuracy": st.column_config.NumberColumn("accuracy", format="percent"),
                "low": st.column_config.NumberColumn("at least (95 %)", format="percent"),
                "high": st.column_config.NumberColumn("at most (95 %)", format="percent"),
                "corrected_runs": "corrected runs",
            },
        )  # fmt: skip


def _breakdown(stats: engine.CorrectionStats) -> None:
    parts = {"agent": stats.by_agent, "field": stats.by_field, "entity": stats.by_entity_key}
    parts = {noun: counts for noun, counts in parts.items() if counts}
    if not parts:
        return
    st.subheader("Where it goes wrong", anchor=False)
    for column, (noun, counts) in zip(st.columns(len(parts)), parts.items(), strict=True):
        with column:
            st.markdown(f"**By {noun}**")
            top_chart(counts, noun)
    frame = pd.DataFrame(
        [(noun, name, number) for noun, counts in parts.items() for name, number in counts.items()],
        columns=["by", "name", "corrections"],
    )
    with st.expander("As a table"):
        table(frame, "breakdown", "accuracy", "Corrections by agent, field and entity", list(frame.columns))


def _again(workspace: engine.Workspace, kept: Filters) -> None:
    frame = _records(workspace, kept)
    frame = values_told(frame[frame["times_seen"] > 1]).sort_values("times_seen", ascending=False, kind="stable")
    if frame.empty:
        return
    st.subheader("Corrected again and again", anchor=False)
    st.caption("The same correction, recorded more than once: the mistake was made again after it had been fixed.")
    table(
        frame, "recurring", f"accuracy.{workspace.revision}", "Corrections recorded more than once",
        ["times_seen", "wrong", "right", "agent_name", "entity_key", "field"],
        {
            "times_seen": st.column_config.ProgressColumn(
                "times", format="%d", min_value=0, max_value=int(frame["times_seen"].max())
            ),
            "agent_name": "agent",
            "entity_key": "entity",
        },
    )  # fmt: skip


def _shown_to_runs(shown: pd.DataFrame) -> None:
    if shown.empty:
        return
    st.subheader("Shown a correction: did the old value come back?", anchor=False)
    told = shown.assign(what=[TOLD[None if pd.isna(value) else bool(value)] for value in shown["heeded"]])
    agents = list(told["agent_name"].value_counts().index[:15])
    counted_ = told.groupby(["agent_name", "what"]).size().reset_index(name="number")
    counted_ = counted_[counted_["agent_name"].isin(agents)]
    counted_["row"] = [agents.index(name) for name in counted_["agent_name"]]
    stacked_chart(counted_, agents, {TOLD[True]: GREEN, TOLD[False]: RED, TOLD[None]: GREY}, "agent")
    rows = told.assign(back=told["what"] == TOLD[False]).sort_values(["back", "at"], ascending=False)
    with st.expander("As a table, the runs in which it came back first"):
        table(
            rows.drop(columns="back"), "heeded", "accuracy", "Runs that were shown a correction",
            ["what", "agent_name", "run_id", "entity_key", "field", "at"],
            {
                "what": "old value", "agent_name": "agent", "run_id": "run", "entity_key": "entity",
                "at": st.column_config.DatetimeColumn("when", format="YYYY-MM-DD HH:mm"),
            },
        )  # fmt: skip


def _records(workspace: engine.Workspace, kept: Filters) -> pd.DataFrame:
    return reads.records(workspace.id, workspace.revision, *kept.four, None, None, workspace)


def _all(workspace: engine.Workspace, kept: Filters, stats: engine.CorrectionStats) -> None:
    st.subheader("All corrections", anchor=False)
    every = values_told(_records(workspace, kept)).fillna({"agent_name": "", "entity_key": "", "field": ""})
    if len(every) > LISTED:
        st.caption(f"Showing the newest {LISTED} of {len(every):,}; the file has all.")
    sheet(
        every.head(LISTED),
        key=f"accuracy.all.{workspace.revision}",
        column_order=[
            "created_at", "status", "agent_name", "entity_key", "field", "wrong", "right", "reason", "times_seen",
            "reviewer", "kind",
        ],
        column_config={
            "created_at": st.column_config.DatetimeColumn("when", format="YYYY-MM-DD HH:mm"),
            "agent_name": "agent",
            "entity_key": "entity",
            "times_seen": "times",
        },
        alt="Corrections, newest first",
    )  # fmt: skip
    download(every.drop(columns=["wrong", "right"]), "corrections", "accuracy")
