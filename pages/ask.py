"""Ask: a question, what the agents did with it, and a decision that cites its sources."""

from __future__ import annotations

import streamlit as st

import engine
from pages.parts import session
from pages.parts.evidence_view import show_evidence
from pages.parts.words import counted, plain, short, status

STEP_ICONS = {
    "reminded": ":material/history_edu:",
    "searched": ":material/search:",
    "fetched": ":material/article:",
    "proposed": ":material/lightbulb:",
    "handed_over": ":material/swap_horiz:",
    "reviewed": ":material/fact_check:",
}


def step_line(step: engine.Step) -> str:
    icon = STEP_ICONS.get(step.kind, ":material/chevron_right:")
    return f"{icon} **{plain(step.agent)}**: {plain(step.summary)}"


def show_step(step: engine.Step) -> None:
    st.markdown(step_line(step))


def ask(workspace: engine.Workspace) -> None:
    question = st.text_area(
        "Your question",
        key=session.recall("ask.question"),
        on_change=session.remember,
        args=("ask.question",),
        height=80,
        placeholder="When is the launch, and what should we do first?",
    )
    st.caption("Two rule-based agents answer, no model: they quote claims, they do not write prose.")
    if not st.button("Ask", type="primary", key="ask.go", icon=":material/send:"):
        return
    if not (question or "").strip():
        st.warning("Type a question first.")
        return
    with st.status("Looking…", expanded=True) as box:
        try:
            answer = workspace.ask(question or "", on_step=show_step)
        except engine.WorkbenchError as error:
            box.update(label="It did not work", state="error")
            session.show_error(error)
            return
        box.update(label="Done", state="complete")
    session.select("run", answer.run_id, workspace)
    st.rerun()


def show_answer(workspace: engine.Workspace, answer: engine.Answer) -> None:
    st.subheader(plain(short(answer.question, 200)))
    decision = answer.decision
    with st.container(border=True):
        st.markdown(f"**{plain(decision.title)}**")
        mark = {"standing": "green", "needs_review": "orange"}.get(decision.status, "gray")
        st.markdown(f":{mark}-badge[{status(decision.status)}] {counted(decision.support_count, 'support')}")
        if decision.rationale:
            st.caption(plain(decision.rationale))
        if not answer.cited:
            st.markdown(
                "No claim here answers it. Ingest a source that does, or ask in the words that the sources use."
            )
        for action in answer.actions:
            st.markdown(f"**Action** ({status(action.status)}): {plain(action.description)}")
    if answer.cited:
        st.markdown("**Cited**")
    for number, claim in enumerate(answer.cited, 1):
        with st.expander(
            f"\\[{number}\\] {plain(short(claim.statement, 100))}", icon=":material/format_quote:", expanded=number == 1
        ):
            show_evidence(workspace, claim)
            session.link(session.CORRECT, "Correct this claim", workspace, icon=":material/edit_note:", claim=claim.id)
    if answer.refused:
        with st.expander(f"Refused ({len(answer.refused)})", icon=":material/block:"):
            for refusal in answer.refused:
                st.markdown(f"- {plain(refusal.id)}: {plain(refusal.reason)}")
    with st.expander(f"How it got there ({counted(len(answer.trail), 'step')})", icon=":material/route:"):
        for step in answer.trail:
            show_step(step)


def past_runs(workspace: engine.Workspace) -> str | None:
    frame = workspace.runs()
    if frame.empty:
        return None
    rows = frame.iloc[::-1]
    questions = dict(zip(rows["id"], rows["question"], strict=True))
    outcomes = dict(zip(rows["id"], rows["outcome"], strict=True))
    current = session.selected("run", workspace)
    key = f"ask.run.{workspace.id}"
    st.session_state[key] = current if current in questions else None
    chosen: str | None = st.selectbox(
        f"Past questions ({len(questions):,})",
        list(questions),
        format_func=lambda name: f"{short(questions[name], 80)} · {outcomes[name].replace('_', ' ')}",
        key=key,
        placeholder="Choose one to see its answer again",
    )
    session.select("run", chosen, workspace)
    return chosen


def record_decision(workspace: engine.Workspace) -> None:
    ids: list[str] = st.session_state["ask.because"]
    together = st.session_state["ask.together"] == TOGETHER
    try:
        decision = workspace.decide(
            st.session_state["ask.title"],
            because=[list(ids)] if together and ids else list(ids),
            rationale=st.session_state["ask.rationale"],
        )
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    session.empty("ask.title", "ask.rationale")
    st.session_state["ask.because"] = []
    session.notify("success", f"Recorded the decision “{short(decision.title)}”.")


def record_action(workspace: engine.Workspace) -> None:
    try:
        action = workspace.plan(st.session_state["ask.action"], because=list(st.session_state["ask.decisions"]))
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    session.empty("ask.action")
    st.session_state["ask.decisions"] = []
    session.notify("success", f"Planned the action “{short(action.description)}”.")


EITHER = "Any one of them suffices"
TOGETHER = "All of them are needed together"


def by_hand(workspace: engine.Workspace) -> None:
    claims = workspace.claims(status="current", supported=True)
    decisions = workspace.decisions(status="standing")
    statements = dict(zip(claims["id"], claims["statement"], strict=True))
    titles = dict(zip(decisions["id"], decisions["title"], strict=True))
    for key, there in (("ask.because", statements), ("ask.decisions", titles)):
        kept = st.session_state.get(key, [])
        st.session_state[key] = [name for name in kept if name in there]
    with st.expander("Record a decision by hand", icon=":material/gavel:"):
        st.text_input(
            "What was decided", key=session.recall("ask.title"), on_change=session.remember, args=("ask.title",)
        )
        st.multiselect(
            "Because of these claims",
            list(statements),
            format_func=lambda name: short(statements[name], 90),
            key="ask.because",
            placeholder="Type to find a claim",
            persist_state="session",
        )
        st.radio("They hold it up", [EITHER, TOGETHER], key="ask.together", horizontal=True, persist_state="session")
        st.text_input(
            "In your words, why (optional)",
            key=session.recall("ask.rationale"),
            on_change=session.remember,
            args=("ask.rationale",),
        )
        st.button("Record the decision", key="ask.decide", on_click=record_decision, args=(workspace,))
    with st.expander("Plan an action by hand", icon=":material/task_alt:"):
        st.text_input(
            "What is to be done", key=session.recall("ask.action"), on_change=session.remember, args=("ask.action",)
        )
        st.multiselect(
            "Because of these decisions, all of them needed",
            list(titles),
            format_func=lambda name: short(titles[name], 90),
            key="ask.decisions",
            placeholder="Type to find a decision",
            persist_state="session",
        )
        st.button("Plan the action", key="ask.plan", on_click=record_action, args=(workspace,))


def page() -> None:
    st.title("Ask")
    workspace = session.require_workspace()
    if workspace.claims(status="current").empty:
        st.info("There are no claims to answer from yet. Ingest a text first, or load the sample.")
        session.link(session.INGEST, "Ingest a text", workspace, icon=":material/library_add:")
        session.sample_button("ask")
        st.stop()
    ask(workspace)
    run_id = past_runs(workspace)
    if run_id is not None:
        show_answer(workspace, workspace.run(run_id))
    st.divider()
    by_hand(workspace)


page()
