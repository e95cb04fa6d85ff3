"""The review queue: decisions that lost their support, each settled by a person, with the evidence beside it."""

from __future__ import annotations

from typing import Final

import streamlit as st

import engine
from pages.parts import reads, session
from pages.parts.evidence_view import show_evidence
from pages.parts.words import claim_status, counted, plain, short, status

LISTED: Final = 200
WAYS: Final = {
    "rebase": "Replace it by a new decision (rebase)",
    "reaffirm": "Keep it, on claims that stand (reaffirm)",
    "withdraw": "Drop it, and cancel its actions (withdraw)",
}


def waiting(workspace: engine.Workspace) -> dict[str, str]:
    """Return the decisions that need review, newest first (id → title)."""
    frame = workspace.decisions(status="needs_review").sort_values("revision", ascending=False)
    frame = frame[frame["justifications"] > 0]  # a question without an answer never rested on anything
    return dict(zip(frame["id"], frame["title"], strict=True))


def show_review(workspace: engine.Workspace, queue: dict[str, str]) -> None:
    """Show the queue and, for the decision that is chosen, why it fell and how to settle it."""
    if not queue:
        st.info("Nothing waits for review. When a correction takes the last support of a decision, it is listed here.")
        return
    chosen = session.selected("decision", workspace)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.caption(f"{counted(len(queue), 'decision')} to review, newest first.")
        st.session_state["review.pick"] = chosen if chosen in queue else None
        st.radio(
            "Decisions",
            list(queue)[:LISTED],
            format_func=lambda name: plain(short(queue[name], 140)),
            index=None,
            key="review.pick",
            on_change=_pick,
            args=(workspace,),
            label_visibility="collapsed",
            width="stretch",
        )
    with right:
        if chosen in queue:
            _show_decision(workspace, workspace.decision(str(chosen)))
        else:
            st.info("Choose a decision to see why it fell, and settle it.")


def _pick(workspace: engine.Workspace) -> None:
    session.select("decision", st.session_state["review.pick"], workspace)


def _show_decision(workspace: engine.Workspace, decision: engine.Decision) -> None:
    st.markdown(f"#### {plain(decision.title)}")
    if decision.rationale:
        st.caption(plain(decision.rationale))
    explanation = workspace.explain(decision.id)
    st.markdown(plain(explanation.sentence))
    if len(explanation.path_titles) > 1:
        st.caption(" → ".join(plain(short(title, 70)) for title in explanation.path_titles))
    actions = workspace.actions()
    for row in actions[[decision.id in because for because in actions["because"]]].to_dict("records"):
        st.markdown(f"Action: {plain(row['description'])} ({status(row['status'])})")
    premises = {premise for way in decision.because for premise in way.premises}
    for premise in sorted(premises):
        if not premise.startswith("c_"):
            continue
        claim = workspace.claim(premise)
        with st.expander(f"It rested on: {plain(short(claim.statement, 90))} ({claim_status(claim)})"):
            show_evidence(workspace, claim)
            if claim.superseded_by:
                st.markdown(f"Replaced by: {plain(workspace.claim(claim.superseded_by).statement)}")
    _settle_form(workspace, decision, _replacements(workspace, premises))


def _replacements(workspace: engine.Workspace, premises: set[str]) -> list[str]:
    """Return the current claims that stand in the place of superseded premises."""
    found = []
    for premise in sorted(premises):
        claim = workspace.claim(premise) if premise.startswith("c_") else None
        while claim is not None and claim.superseded_by:
            claim = workspace.claim(claim.superseded_by)
        if claim is not None and claim.status == "current" and claim.supported:
            found.append(claim.id)
    return found


def _key(name: str, decision_id: str) -> str:
    return f"review.{name}.{decision_id}"


def _settle_form(workspace: engine.Workspace, decision: engine.Decision, suggested: list[str]) -> None:
    how = st.radio(
        "How to settle it", list(WAYS), format_func=lambda name: WAYS[name], index=None, key=_key("how", decision.id)
    )
    if how is None:
        return
    if how != "withdraw":
        claims = reads.claims(workspace.id, workspace.revision, workspace)
        standing = claims[(claims["status"] == "current") & claims["supported"]]
        statements = dict(zip(standing["id"], standing["statement"], strict=True))
        st.multiselect(
            "Claims that it rests on",
            list(statements),
            default=[name for name in suggested if name in statements],
            format_func=lambda name: short(str(statements.get(name, name)), 110),
            key=_key("because", decision.id),
        )
        st.checkbox("All of them are needed together", value=True, key=_key("together", decision.id))
        if how == "rebase":
            title = _key("title", decision.id)
            st.text_input(
                "The new decision",
                key=session.recall(title),
                on_change=session.remember,
                args=(title,),
                placeholder=short(decision.title, 100),
            )
    for label, key in (
        ("Reason (optional)", _key("reason", decision.id)),
        ("Your name (optional)", "correct.reviewer"),
    ):
        st.text_input(label, key=session.recall(key), on_change=session.remember, args=(key,))
    st.button(
        "Settle the decision",
        type="primary",
        key=_key("settle", decision.id),
        on_click=_settle,
        args=(workspace, decision.id),
        icon=":material/gavel:",
    )


def _settle(workspace: engine.Workspace, decision_id: str) -> None:
    how = st.session_state[_key("how", decision_id)]
    chosen: list[str] = st.session_state.get(_key("because", decision_id)) or []
    because: list[str | list[str]] = [*chosen]
    if st.session_state.get(_key("together", decision_id)) and chosen:
        because = [chosen]
    settlement: engine.Reaffirm | engine.Rebase | engine.Withdraw
    if how == "reaffirm":
        settlement = engine.Reaffirm(because)
    elif how == "rebase":
        settlement = engine.Rebase(st.session_state.get(_key("title", decision_id)) or "", because)
    else:
        settlement = engine.Withdraw()
    reviewer = st.session_state.get("correct.reviewer") or ""
    reason = st.session_state.get(_key("reason", decision_id)) or ""
    try:
        settled = workspace.settle(decision_id, settlement, reviewer, reason)
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    session.select("decision", None, workspace)
    session.notify("success", f"Settled: “{short(settled.title)}” is {settled.status.replace('_', ' ')}.")
