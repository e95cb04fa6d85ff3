"""Recording a correction by hand: typed, previewed, then recorded once."""

from __future__ import annotations

import json
import uuid
from typing import Any, Final

import streamlit as st

import engine
from pages.parts import session
from pages.parts.diff_view import show_change
from pages.parts.tables import value_text
from pages.parts.words import counted, plain, short

NAMES: Final = ("agent", "field", "entity", "original", "corrected", "reason", "input", "user", "tenant")
SCOPES: Final = {
    "agent": "This agent",
    "global": "Every agent",
    "user": "One user's agents",
    "tenant": "One tenant's agents",
}


def _key(name: str) -> str:
    return f"records.form.{name}"


def _text(label: str, name: str, area: bool = False, **more: Any) -> None:
    widget = st.text_area if area else st.text_input
    widget(label, key=session.recall(_key(name)), on_change=session.remember, args=(_key(name),), **more)


def show_form(workspace: engine.Workspace) -> None:
    """Show the form and, once previewed, what recording would do."""
    first, second, third = st.columns(3)
    with first:
        _text("Agent", "agent", placeholder="Whose output was wrong")
    with second:
        _text("Field (optional)", "field", placeholder="Which part of it")
    with third:
        _text("Entity (optional)", "entity", placeholder="A customer, a document…")
    left, right = st.columns(2)
    with left:
        _text("What it put out", "original", area=True, height=80, placeholder="Leave empty if it was blank")
    with right:
        _text("What it should have been", "corrected", area=True, height=80, placeholder="Leave empty for a blank")
    _text("Reason (optional)", "reason")
    _text(
        "What it had been given (optional)",
        "input",
        area=True,
        height=80,
        placeholder="The input makes the correction a test case",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        scope = st.selectbox(
            "Who is to learn from it",
            list(SCOPES),
            format_func=lambda name: SCOPES[name],
            key=_key("scope"),
            persist_state="session",
            width=220,
        )
        if scope == "user":
            _text("User id", "user", width=220)
        if scope == "tenant":
            _text("Tenant id", "tenant", width=220)
        st.text_input(
            "Your name (optional)",
            key=session.recall(_key("reviewer")),
            on_change=session.remember,
            args=(_key("reviewer"),),
            width=220,
        )
    st.checkbox(
        "The values are JSON",
        key=_key("json"),
        persist_state="session",
        help="Numbers, true, false, null, lists and maps; otherwise they are text.",
    )
    st.button("Preview", key=_key("preview"), on_click=_preview, args=(workspace,), icon=":material/visibility:")
    if kept := st.session_state.get(_kept(workspace)):
        _show_preview(workspace, *kept)


def _kept(workspace: engine.Workspace) -> str:
    return f"records.form.kept.{workspace.id}"


def _arguments() -> dict[str, Any]:
    """Return what was typed, as the arguments of `record`; InvalidInput if a value is no JSON."""
    typed = {name: str(st.session_state.get(_key(name)) or "") for name in NAMES}
    values: dict[str, Any] = {}
    for name, label in (("original", "What it put out"), ("corrected", "What it should have been")):
        values[name] = typed[name]
        if st.session_state.get(_key("json")):
            try:
                values[name] = json.loads(typed[name]) if typed[name].strip() else None
            except (ValueError, RecursionError) as error:
                raise engine.InvalidInput(f"“{label}” is no JSON: {error}.", name) from error
    scope = st.session_state.get(_key("scope")) or "agent"
    return {
        "agent_name": typed["agent"].strip(),
        "original_value": values["original"],
        "corrected_value": values["corrected"],
        "field": typed["field"].strip() or None,
        "reason": typed["reason"].strip() or None,
        "entity_key": typed["entity"].strip() or None,
        "original_input": typed["input"] or None,
        "scope": scope,
        "user_id": typed["user"].strip() or None if scope == "user" else None,
        "tenant_id": typed["tenant"].strip() or None if scope == "tenant" else None,
    }


def _preview(workspace: engine.Workspace) -> None:
    try:
        arguments = _arguments()
        preview = workspace.corrections.preview(**arguments)
    except engine.WorkbenchError as error:
        st.session_state.pop(_kept(workspace), None)
        session.notify("error", str(error))
        return
    st.session_state[_kept(workspace)] = (uuid.uuid4().hex, arguments, preview)


def _show_preview(
    workspace: engine.Workspace, token: str, arguments: dict[str, Any], preview: engine.RecordPreview
) -> None:
    st.markdown("##### What recording it would do")
    show_change(value_text(arguments["original_value"]), value_text(arguments["corrected_value"]))
    if preview.same_as:
        waits = workspace.corrections.get(preview.same_as).status == "pending"
        st.info(
            "A model recorded the same, and it waits for a person. Recording it approves it."
            if waits
            else "The same correction is there already. Recording it counts that it was seen again."
        )
        session.link(session.CORRECT, "Show it", workspace, view="records", record=preview.same_as)
    for other in preview.supersedes:
        wrong, right = value_text(other.original_value), value_text(other.corrected_value)
        session.link(
            session.CORRECT, f"It supersedes: {plain(short(wrong, 60))} → {plain(short(right, 60))}", workspace,
            view="records", record=other.id,
        )  # fmt: skip
    if preview.invalidates:
        st.markdown(f"**{counted(len(preview.invalidates), 'learning')} would be invalidated**")
        st.markdown(
            "\n".join(
                f"- {plain(short(entry.text, 300))}  \n  :gray[{plain(short(entry.why, 300))}]"
                for entry in preview.invalidates
            )
        )
    if not (preview.same_as or preview.supersedes or preview.invalidates):
        st.markdown("It is new: nothing is superseded, and no learning falls.")
    try:
        changed = _arguments() != arguments
    except engine.InvalidInput:
        changed = True
    if changed:
        st.warning("You changed something after this preview. Preview again to record what you see now.")
    with st.container(horizontal=True):
        st.button(
            "Record it",
            type="primary",
            key="records.form.record",
            disabled=changed,
            on_click=_record,
            args=(workspace, token),
            icon=":material/check:",
        )
        st.button("Discard", key="records.form.discard", on_click=_discard, args=(workspace,))


def _discard(workspace: engine.Workspace) -> None:
    st.session_state.pop(_kept(workspace), None)


def _record(workspace: engine.Workspace, token: str) -> None:
    kept = st.session_state.get(_kept(workspace))
    if kept is None or kept[0] != token:
        return  # the second click of two
    _, arguments, shown = kept
    try:
        fresh = workspace.corrections.preview(**arguments)
        if fresh != shown:
            st.session_state[_kept(workspace)] = (uuid.uuid4().hex, arguments, fresh)
            session.notify("warning", "Meanwhile recording it would do something else. Look again, then record it.")
            return
        record = workspace.corrections.record(**arguments, reviewer=st.session_state.get(_key("reviewer")) or "")
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    _discard(workspace)
    session.empty(*(_key(name) for name in NAMES if name not in ("agent", "user", "tenant")))
    session.select("record", record.id, workspace)
    session.notify("success", "The correction is recorded.")
