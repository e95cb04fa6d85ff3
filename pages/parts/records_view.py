"""Corrections as records: what waits for approval, everything that was recorded, and one of them whole."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

import engine
from pages.parts import reads, session
from pages.parts.diff_view import show_change
from pages.parts.effects_view import show_counts, show_effects
from pages.parts.filters import Filters, nothing_kept, show_filters
from pages.parts.record_form import show_form
from pages.parts.tables import table, value_text, values_told
from pages.parts.words import counted, plain, short, status

LISTED: Final = 50


def pending_records(workspace: engine.Workspace) -> int:
    """Return how many records wait for a person."""
    return len(reads.pending(workspace.id, workspace.revision, workspace))


def show_records(workspace: engine.Workspace) -> None:
    """Show the list with its filters, and the record that is chosen."""
    stats = reads.stats(workspace.id, workspace.revision, None, None, None, None, workspace)
    there = sum(stats.by_status.values())
    with st.expander("Record a correction", icon=":material/add_notes:", expanded=not there):
        show_form(workspace)
    if not there:
        st.info(
            "Nothing is recorded yet. Record above what an agent got wrong, or let agents and models do it with "
            "ws.corrections.record(…). What a model records waits here for approval."
        )
        session.link(session.ANALYTICS, "Import a spreadsheet", workspace, icon=":material/upload:", section="exchange")
        return
    kept = show_filters(workspace, "records", by_status=True)
    chosen = session.selected("record", workspace)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _list(workspace, kept, chosen)
    with right:
        if chosen is None:
            st.info("Choose a record to see what was wrong, what is right, and what came of it.")
        else:
            _show_record(workspace, workspace.corrections.get(chosen))


# --- the list -----------------------------------------------------------------------------------------------


def _list(workspace: engine.Workspace, kept: Filters, chosen: str | None) -> None:
    where = (workspace.id, workspace.revision, *kept.four)
    counts = reads.stats(*where, workspace).by_status
    total = counts.get(kept.status, 0) if kept.status else sum(counts.values())
    if not total:
        nothing_kept(workspace, "records")
        return
    frame = reads.records(*where, kept.status, LISTED, workspace)
    if kept.status is None:  # what waits for a person comes first, however old it is
        waiting = reads.records(*where, "pending", LISTED, workspace)
        parts = [part for part in (waiting, frame[frame["status"] != "pending"]) if len(part)]
        frame = pd.concat(parts).head(LISTED)
    waits = counts.get("pending", 0)
    note = f"{counted(total, 'record')}" + (f", {waits:,} to approve first" if waits and not kept.status else "")
    st.caption(note + (f". Showing {LISTED}; the filters find the others." if total > LISTED else "."))
    names = {row["id"]: _line(row) for row in frame.to_dict("records")}
    st.session_state["records.pick"] = chosen if chosen in names else None
    with st.container(height=560 if len(names) > 8 else "content", border=False):
        st.radio(
            "Records",
            list(names),
            format_func=lambda name: plain(names[name]),
            captions=[_caption(row) for row in frame.to_dict("records")],
            index=None,
            key="records.pick",
            on_change=_pick,
            args=(workspace,),
            label_visibility="collapsed",
            width="stretch",
        )
    with st.expander("As a table"):
        every = values_told(reads.records(*where, kept.status, None, workspace))
        table(
            every, "records", f"records.{workspace.revision}", "Records, newest first",
            ["status", "agent_name", "entity_key", "field", "wrong", "right", "reason", "times_seen", "created_at"],
            {
                "agent_name": "agent", "entity_key": "entity", "times_seen": "times",
                "created_at": st.column_config.DatetimeColumn("when", format="YYYY-MM-DD HH:mm"),
            },
        )  # fmt: skip


def _line(row: dict[Any, Any]) -> str:
    right = "nothing" if row["kind"] in ("retract", "withdraw") else value_text(row["corrected_value"])
    return f"{short(value_text(row['original_value']), 60)} → {short(right, 60)}"


def _caption(row: dict[Any, Any]) -> str:
    named = [status(str(row["status"])), row["agent_name"] or "claim", row["entity_key"], row["field"]]
    return " · ".join(plain(short(str(part), 40)) for part in named if part)


def _pick(workspace: engine.Workspace) -> None:
    session.select("record", st.session_state["records.pick"], workspace)


# --- one record ---------------------------------------------------------------------------------------------


def _show_record(workspace: engine.Workspace, record: engine.Correction) -> None:
    about = [part for part in (record.field, record.entity_key) if part]
    title = " of ".join(about) if about else f"Output of {record.agent_name}" if record.agent_name else "A claim"
    st.markdown(f"#### {plain(short(title, 160))}")
    colour = {"active": "green", "pending": "orange"}.get(record.status, "red")
    badges = [f":{colour}-badge[{status(record.status)}]", f":gray-badge[scope: {record.scope}]"]
    if record.agent_name:
        badges.insert(1, f":gray-badge[agent: {plain(short(record.agent_name, 60))}]")
    if record.author_kind == "model":
        badges.append(":gray-badge[recorded by a model]")
    if record.times_seen > 1:
        badges.append(f":orange-badge[seen {record.times_seen:,} times]")
    st.markdown(" ".join(badges))
    gone = record.kind in ("retract", "withdraw")
    show_change(value_text(record.original_value), None if gone else value_text(record.corrected_value))
    _facts(workspace, record)
    if record.status == "pending":
        _decide(workspace, record)
    else:
        _came_of_it(workspace, record)
        if record.status != "reverted":
            _revert_form(workspace, record)
    _history(workspace, record)


def _facts(workspace: engine.Workspace, record: engine.Correction) -> None:
    by = f"{record.created_at:%Y-%m-%d %H:%M} UTC, by {plain(short(record.reviewer or 'nobody named', 80))}"
    st.caption(by + (f", approved by {plain(short(record.approved_by, 80))}" if record.approved_by else ""))
    if record.reason:
        st.markdown(f"**Why:** {plain(record.reason)}")
    more = {
        "Run": record.run_id,
        "Session": record.session_id,
        "User": record.user_id,
        "Tenant": record.tenant_id,
        "Tags": ", ".join(record.tags) or None,
    }
    named = [f"{name}: {plain(short(value, 120))}" for name, value in more.items() if value]
    if named:
        st.caption(" · ".join(named))
    if record.original_input:
        with st.expander("What the agent had been given", icon=":material/input:"):
            st.text(record.original_input)
    if record.claim_id:
        session.link(
            session.CORRECT, "The claim that it corrects", workspace, icon=":material/edit_note:",
            claim=record.claim_id, view="claims",
        )  # fmt: skip
    if record.superseded_by:
        _link_to(workspace, "Superseded by", workspace.corrections.get(record.superseded_by))


def _link_to(workspace: engine.Workspace, label: str, other: engine.Correction) -> None:
    line = _line(other.model_dump())
    session.link(session.CORRECT, f"{label}: {plain(line)}", workspace, view="records", record=other.id)


def _superseded(workspace: engine.Workspace, record: engine.Correction) -> list[str]:
    frame = reads.records(
        workspace.id, workspace.revision, record.agent_name, record.entity_key, record.field, None, "superseded", None,
        workspace,
    )  # fmt: skip
    return list(frame.loc[frame["superseded_by"] == record.id, "id"])


def _came_of_it(workspace: engine.Workspace, record: engine.Correction) -> None:
    """What it supersedes, which learnings it invalidated, and whether the runs that were shown it kept to it."""
    for name in _superseded(workspace, record)[:10]:
        _link_to(workspace, "Supersedes", workspace.corrections.get(name))
    learnings = workspace.learnings.invalidated()
    learnings = learnings[learnings["invalidated_by"] == record.id]
    if len(learnings):
        st.markdown(f"**It invalidated {counted(len(learnings), 'learning')}**")
        _list_learnings([(str(row["text"]), str(row["why"])) for row in learnings.to_dict("records")])
        session.link(session.ANALYTICS, "All learnings", workspace, icon=":material/school:", section="memory")
    runs = reads.heeded(workspace.id, workspace.revision, None, None, workspace)
    runs = runs[runs["correction_id"] == record.id]
    if len(runs):
        back = int(sum(value is False for value in runs["heeded"]))
        st.markdown(
            f"**Shown to {counted(len(runs), 'run')}:** the old value came back in {back:,}."
            if back
            else f"**Shown to {counted(len(runs), 'run')}:** the old value did not come back."
        )
        told = {True: "✓ kept to it", False: "✗ old value came back"}
        with st.expander("The runs"):
            table(
                runs.assign(outcome=[told.get(value, "cannot be told") for value in runs["heeded"]]),
                "runs", f"records.{record.id}", "Runs that were shown this correction",
                ["outcome", "agent_name", "run_id", "at"],
                {"agent_name": "agent", "run_id": "run",
                 "at": st.column_config.DatetimeColumn("when", format="YYYY-MM-DD HH:mm")},
            )  # fmt: skip


def _list_learnings(entries: Sequence[tuple[str, str]]) -> None:
    st.markdown("\n".join(f"- {plain(short(text, 300))}  \n  :gray[{plain(short(why, 300))}]" for text, why in entries))


def _history(workspace: engine.Workspace, record: engine.Correction) -> None:
    events = workspace.history()
    events = events[events["ref"] == record.id]
    if events.empty:
        return
    with st.expander("What happened to it", icon=":material/history:"):
        for event in events.to_dict("records"):
            by = f" by {plain(short(str(event['actor']), 60))}" if event["actor"] else ""
            why = f" ({plain(short(str(event['reason']), 200))})" if event["reason"] else ""
            st.markdown(
                f"Revision {event['revision']}, {event['at']:%Y-%m-%d %H:%M} UTC{by}: {plain(event['summary'])}{why}"
            )


# --- deciding about it --------------------------------------------------------------------------------------


def _would(workspace: engine.Workspace, record: engine.Correction) -> engine.RecordPreview:
    """Return what approving a record would do."""
    # A person who says the same as a record that waits approves it, so this is its preview.
    return workspace.corrections.preview(
        record.agent_name or "unknown",
        record.original_value,
        record.corrected_value,
        field=record.field,
        reason=record.reason,
        entity_key=record.entity_key,
        scope=record.scope,
        user_id=record.user_id,
        tenant_id=record.tenant_id,
    )


def _outcome(workspace: engine.Workspace, record: engine.Correction) -> tuple[str, Any]:
    """Return what approving would do, and a text that differs when that does."""
    if record.claim_id is not None:
        preview = workspace.preview(record.claim_id, record.statement)
        return preview.digest, preview
    would = _would(workspace, record)
    parts = [*(other.id for other in would.supersedes), "/", *(fallen.learning_id for fallen in would.invalidates)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest(), would


def _decide(workspace: engine.Workspace, record: engine.Correction) -> None:
    st.markdown("##### What approving would do")
    try:
        shown_as, would = _outcome(workspace, record)
    except engine.NotAllowed as error:
        st.warning(f"{plain(str(error))} It can only be rejected.")
        shown_as, would = "", None
    if isinstance(would, engine.Preview):
        show_counts(would.impact)
        show_effects(would.impact, "records.effects")
        show_invalidated(would.invalidates)
    elif would is not None:
        _show_would(workspace, would)
    _who_and_why(record)
    with st.container(horizontal=True):
        st.button(
            "Approve",
            type="primary",
            key="records.approve",
            disabled=would is None,
            on_click=_approve,
            args=(workspace, record.id, shown_as),
            icon=":material/check:",
        )
        st.button(
            "Reject",
            key="records.reject",
            on_click=_revert,
            args=(workspace, record.id, "rejected"),
            icon=":material/close:",
            help="It never takes effect, and is never shown to an agent.",
        )


def _show_would(workspace: engine.Workspace, would: engine.RecordPreview) -> None:
    if would.supersedes:
        st.markdown(f"It supersedes {counted(len(would.supersedes), 'correction')}:")
        for other in would.supersedes:
            _link_to(workspace, "Superseded", other)
    show_invalidated(would.invalidates)
    if not would.supersedes and not would.invalidates:
        st.markdown("It takes effect from then on. Nothing is superseded, and no learning falls.")


def show_invalidated(invalidates: Sequence[engine.Invalidation]) -> None:
    """Show the learnings that would fall, with why."""
    if invalidates:
        st.markdown(f"**{counted(len(invalidates), 'learning')} would be invalidated**")
        _list_learnings([(entry.text, entry.why) for entry in invalidates])


def _who_and_why(record: engine.Correction) -> None:
    with st.container(horizontal=True):
        for label, key in (
            ("Your name (optional)", "correct.reviewer"),
            ("Reason (optional)", f"records.reason.{record.id}"),
        ):
            st.text_input(label, key=session.recall(key), on_change=session.remember, args=(key,))


def _revert_form(workspace: engine.Workspace, record: engine.Correction) -> None:
    if not st.toggle("Revert this correction…", key=f"records.reverting.{record.id}"):
        return
    if record.kind == "output":
        back = len(_superseded(workspace, record))
        learnings = workspace.learnings.invalidated()
        again = int((learnings["invalidated_by"] == record.id).sum())
        st.markdown(
            "It is never shown again. "
            + (f"{counted(back, 'correction')} that it superseded and " if back else "")
            + (f"{counted(again, 'learning')} that it invalidated " if again or back else "")
            + ("stand again." if back or again else "It superseded and invalidated nothing.")
        )
    else:
        preview = workspace.preview_undo(record.id)
        show_counts(preview.impact)
        show_effects(preview.impact, "records.undo")
    _who_and_why(record)
    st.button(
        "Revert it",
        key="records.revert",
        on_click=_revert,
        args=(workspace, record.id, "reverted"),
        icon=":material/undo:",
    )


def _approve(workspace: engine.Workspace, record_id: str, shown_as: str) -> None:
    try:
        record = workspace.corrections.get(record_id)
        if record.status != "pending":
            return  # the second click of two
        if _outcome(workspace, record)[0] != shown_as:
            session.notify("warning", "Meanwhile approving would do something else. Look again, then approve.")
            return
        workspace.corrections.approve(record_id, st.session_state.get("correct.reviewer") or "")
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    session.notify("success", "The correction is approved, and in effect.")


def _revert(workspace: engine.Workspace, record_id: str, done: str) -> None:
    try:
        if workspace.corrections.get(record_id).status == "reverted":
            return
        reviewer = st.session_state.get("correct.reviewer") or ""
        reason = st.session_state.get(f"records.reason.{record_id}") or ""
        workspace.corrections.revert(record_id, reviewer, reason)
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    session.notify("success", f"The correction is {done}.")
