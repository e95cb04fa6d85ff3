"""Correct: find a claim, say what is right, see what would fall, apply it once."""

from __future__ import annotations

import streamlit as st

import engine
from pages.parts import reads, session
from pages.parts.diff_view import show_change
from pages.parts.effects_view import highlighted, show_counts, show_effects
from pages.parts.evidence_view import show_evidence
from pages.parts.graph_view import show_graph
from pages.parts.history_view import show_history
from pages.parts.records_view import pending_records, show_invalidated, show_records
from pages.parts.review_view import show_review, waiting
from pages.parts.words import claim_status, counted, plain, short, status

LISTED = 25


# --- finding a claim ----------------------------------------------------------------------------------------


def listed_claims(workspace: engine.Workspace, query: str) -> tuple[dict[str, str], str]:
    """Return the claims to choose from (id → statement) and one sentence that says which they are."""
    if query.strip():
        hits = workspace.search(query, limit=LISTED)
        found = {hit.claim.id: hit.claim.statement for hit in hits}
        return found, counted(len(found), "current claim") + (" found, best first." if found else " found.")
    revision = workspace.revision
    claims = reads.claims(workspace.id, revision, workspace)
    current = claims[claims["status"] == "current"]
    statements = {
        row["id"]: row["statement"] if row["supported"] else f"{row['statement']} ({status('unsupported')})"
        for row in current.to_dict("records")
    }
    heavy = reads.load_bearing(workspace.id, revision, LISTED, workspace)
    order = [name for name in heavy.loc[heavy["kind"] == "Claim", "id"] if name in statements]
    names = list(dict.fromkeys([*order, *statements]))[:LISTED]
    note = f"Showing {len(names)} of {counted(len(statements), 'current claim')}, the most depended-on first."
    return {name: statements[name] for name in names}, note


def pick_claim(workspace: engine.Workspace) -> None:
    session.select("claim", st.session_state["correct.pick"], workspace)


def find(workspace: engine.Workspace, claim_id: str | None) -> None:
    query = st.text_input(
        "Find a claim",
        key=session.recall("correct.query"),
        on_change=session.remember,
        args=("correct.query",),
        placeholder="Words of the claim",
        icon=":material/search:",
    )
    claims, note = listed_claims(workspace, query or "")
    st.caption(note)
    if not claims:
        return
    # The options are ids, so a list that changes meanwhile never makes the choice another claim.
    st.session_state["correct.pick"] = claim_id if claim_id in claims else None
    with st.container(height=430 if len(claims) > 14 else "content", border=False):
        st.radio(
            "Claims",
            list(claims),
            format_func=lambda name: plain(short(claims[name], 140)),
            index=None,
            key="correct.pick",
            on_change=pick_claim,
            args=(workspace,),
            label_visibility="collapsed",
            width="stretch",
        )


# --- the claim ----------------------------------------------------------------------------------------------


def show_claim(workspace: engine.Workspace, claim: engine.Claim) -> None:
    st.markdown(f"#### {plain(claim.statement)}")
    colour = "green" if claim.status == "current" and claim.supported else "red"
    confidence = "" if claim.confidence is None else f", confidence {claim.confidence:g}"
    st.markdown(
        f":{colour}-badge[{claim_status(claim)}] :gray-badge[{plain(claim.confidence_kind.replace('_', ' '))}"
        f"{confidence}] :gray-badge[revision {claim.revision}]"
    )
    for other, label in ((claim.superseded_by, "What replaced it"), (claim.supersedes, "What it replaced")):
        if other is not None:
            statement = short(workspace.claim(other).statement, 80)
            session.link(session.CORRECT, f"{label}: {plain(statement)}", workspace, claim=other)
    with st.expander("Where it comes from", icon=":material/format_quote:"):
        show_evidence(workspace, claim)
    with st.expander("Why it stands or fell", icon=":material/info:"):
        st.markdown(plain(workspace.explain(claim.id).sentence))


# --- previewing and applying --------------------------------------------------------------------------------


def key_of(name: str, claim_id: str) -> str:
    return f"correct.{name}.{claim_id}"


def make_preview(workspace: engine.Workspace, claim_id: str, retract: bool) -> None:
    statement = None if retract else st.session_state[key_of("statement", claim_id)]
    try:
        preview = workspace.preview(claim_id, statement)
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    st.session_state[key_of("preview", claim_id)] = preview
    st.session_state.pop(key_of("differences", claim_id), None)


def discard(claim_id: str) -> None:
    st.session_state.pop(key_of("preview", claim_id), None)
    st.session_state.pop(key_of("differences", claim_id), None)


def apply(workspace: engine.Workspace, claim_id: str, digest: str) -> None:
    # The click belongs to the preview that was on screen. A second click that is already on its way finds none, or
    # a fresh one that nobody has read yet.
    preview: engine.Preview | None = st.session_state.get(key_of("preview", claim_id))
    if preview is None or preview.digest != digest:
        return
    del st.session_state[key_of("preview", claim_id)]
    reviewer = st.session_state.get("correct.reviewer") or ""
    reason = st.session_state.get(key_of("reason", claim_id)) or ""
    try:
        applied = workspace.apply(preview, reviewer=reviewer, reason=reason)
    except engine.StalePreview as error:
        fresh = error.fresh.claim
        if fresh is not None and fresh.id != claim_id:
            # Somebody was faster: show the claim that stands now, with what was typed for the old one.
            st.session_state[key_of("statement", fresh.id)] = preview.statement or ""
            session.remember(key_of("statement", fresh.id))
            session.select("claim", fresh.id, workspace)
            claim_id = fresh.id
        elif fresh is None or fresh.status != "current":
            session.notify("warning", str(error))
            return
        st.session_state[key_of("preview", claim_id)] = error.fresh
        st.session_state[key_of("differences", claim_id)] = error.differences or [str(error)]
        return
    except engine.WorkbenchError as error:
        st.session_state[key_of("preview", claim_id)] = preview
        session.notify("error", str(error))
        return
    discard(claim_id)
    done = "had been applied before; nothing was changed" if applied.already_applied else "is applied"
    session.notify("success", f"The correction {done}. The workspace is at revision {applied.revision}.")


def undo(workspace: engine.Workspace, correction_id: str) -> None:
    try:
        undone = workspace.undo(correction_id, reviewer=st.session_state.get("correct.reviewer") or "")
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    done = "had been undone before; nothing was changed" if undone.already_applied else "is undone"
    session.notify("success", f"The correction {done}. The workspace is at revision {undone.revision}.")


def correct(workspace: engine.Workspace, claim: engine.Claim) -> None:
    statement_key = key_of("statement", claim.id)
    st.text_area(
        "What is right",
        key=session.recall(statement_key),
        on_change=session.remember,
        args=(statement_key,),
        height=90,
        placeholder=short(claim.statement, 200),
    )
    with st.container(horizontal=True):
        st.text_input(
            "Reason (optional)",
            key=session.recall(key_of("reason", claim.id)),
            on_change=session.remember,
            args=(key_of("reason", claim.id),),
        )
        st.text_input(
            "Your name (optional)",
            key=session.recall("correct.reviewer"),
            on_change=session.remember,
            args=("correct.reviewer",),
        )
    with st.container(horizontal=True):
        st.button(
            "Preview",
            type="primary",
            key="correct.preview",
            on_click=make_preview,
            args=(workspace, claim.id, False),
            icon=":material/visibility:",
        )
        st.button(
            "Preview retracting it",
            key="correct.preview_retract",
            on_click=make_preview,
            args=(workspace, claim.id, True),
            help="It is wrong, and nothing replaces it.",
        )


def show_preview(workspace: engine.Workspace, claim: engine.Claim, preview: engine.Preview) -> None:
    st.subheader("What would happen", anchor=False)
    if differences := st.session_state.get(key_of("differences", claim.id)):
        st.warning(
            "The workspace changed after you saw the preview, so nothing was applied. This is the new preview. "
            "What is different:\n\n" + "\n".join(f"- {plain(difference)}" for difference in differences)
        )
    show_change(claim.statement, preview.statement)
    show_counts(preview.impact)
    show_invalidated(preview.invalidates)
    typed = (st.session_state.get(key_of("statement", claim.id)) or "").strip()
    stale_text = preview.statement is not None and typed != preview.statement.strip()
    if stale_text:
        st.warning("You changed the text after this preview. Preview again to apply the new text.")
    with st.container(horizontal=True):
        st.button(
            "Retract the claim" if preview.statement is None else "Apply the correction",
            type="primary",
            key=f"correct.apply.{preview.digest[:16]}",
            disabled=stale_text,
            on_click=apply,
            args=(workspace, claim.id, preview.digest),
            icon=":material/check:",
        )
        st.button("Discard", key="correct.discard", on_click=discard, args=(claim.id,))
    show_effects(preview.impact, "correct.effects")
    tiers = highlighted(preview.impact, [claim.id])
    follow(workspace, show_graph(workspace.graph(focus=claim.id), "correct.graph.preview", claim.id, tiers))


def follow(workspace: engine.Workspace, clicked: str | None) -> None:
    """Go to the claim that was clicked in a picture; say what another node is."""
    if clicked is None:
        return
    if clicked.startswith("c_"):
        if clicked != st.query_params.get("claim"):
            session.select("claim", clicked, workspace)
            st.rerun()
        return
    if clicked[:2] in ("d_", "a_"):
        explanation = workspace.explain(clicked)
        st.info(f"**{plain(explanation.title)}** ({status(explanation.status)})  \n{plain(explanation.sentence)}")


# --- after it was applied -----------------------------------------------------------------------------------


def last_correction(workspace: engine.Workspace, claim: engine.Claim) -> engine.Correction | None:
    """Return the applied correction that ended this claim, or that made it."""
    frame = workspace.corrected(status="active")
    own = frame[(frame["claim_id"] == claim.id) | (frame["replacement_id"] == claim.id)]
    return workspace.correction(str(own.iloc[-1]["id"])) if len(own) else None


def show_undo(workspace: engine.Workspace, correction: engine.Correction) -> None:
    if not st.toggle("Undo this correction…", key=key_of("undoing", correction.id)):
        return
    preview = workspace.preview_undo(correction.id)
    if len(preview.undoes) > 1:
        st.warning(
            f"It was corrected again since: {counted(len(preview.undoes), 'correction')} are undone together, "
            "as one revision."
        )
    st.markdown("**What undoing would do**")
    show_counts(preview.impact)
    st.button(
        "Undo it",
        key="correct.undo",
        on_click=undo,
        args=(workspace, correction.id),
        icon=":material/undo:",
    )
    show_effects(preview.impact, "correct.undo")


def show_applied(workspace: engine.Workspace, claim: engine.Claim, correction: engine.Correction) -> None:
    st.subheader("What the correction did", anchor=False)
    by = f" by {plain(correction.reviewer)}" if correction.reviewer else ""
    why = f": {plain(correction.reason)}" if correction.reason else "."
    st.caption(f"Revision {correction.revision}, {correction.created_at:%Y-%m-%d %H:%M} UTC{by}{why}")
    show_change(correction.original, correction.statement)
    impact = reads.impact_of(workspace.id, correction.id, workspace)
    show_counts(impact)
    if impact.needs_review:
        session.link(session.CORRECT, "Review the decisions that fell", workspace, view="review")
    show_effects(impact, "correct.done")
    show_undo(workspace, correction)
    focus = correction.claim_id or claim.id
    moment = st.segmented_control(
        "Graph", ["Before", "After"], default="After", required=True, key="correct.moment", width="content"
    )
    tiers: dict[str, str] | None = highlighted(impact, [focus])
    if moment == "Before":
        graph = workspace.at(correction.revision - 1).graph(focus=focus)
        tiers = None
    else:
        graph = workspace.at(correction.revision).graph(focus=focus, include_superseded=True)
        if tiers is not None and correction.replacement_id is not None:
            tiers |= dict.fromkeys((correction.id, correction.replacement_id), "changed")
    follow(workspace, show_graph(graph, "correct.graph.applied", focus, tiers))


# --- the page -----------------------------------------------------------------------------------------------


def show_consequences(workspace: engine.Workspace, claim: engine.Claim) -> None:
    preview: engine.Preview | None = st.session_state.get(key_of("preview", claim.id))
    if preview is not None and claim.status == "current":
        show_preview(workspace, claim, preview)
    elif (correction := last_correction(workspace, claim)) is not None:
        show_applied(workspace, claim, correction)
    else:
        st.subheader("What rests on it", anchor=False)
        follow(workspace, show_graph(workspace.graph(focus=claim.id), "correct.graph.now", claim.id))


def page() -> None:
    st.title("Correct")
    workspace = session.require_workspace()
    if "claim" in st.query_params and "view" not in st.query_params:
        session.select("view", None, workspace)  # a link to a claim leads to the claim, whatever was last looked at
    queue, pending = waiting(workspace), pending_records(workspace)
    names = {
        "claims": "Claims",
        "review": f"To review ({len(queue)})",
        "records": f"Records ({pending:,} to approve)" if pending else "Records",
        "history": "History",
    }
    view = session.selected("view", workspace)
    st.session_state["correct.view"] = view = view if view in names else "claims"
    st.segmented_control(
        "What to look at",
        list(names),
        format_func=lambda name: names[name],
        required=True,
        key="correct.view",
        on_change=switch_view,
        args=(workspace,),
        label_visibility="collapsed",
    )
    if view == "review":
        if pending:
            session.link(
                session.CORRECT,
                f"{counted(pending, 'record')} of models {'waits' if pending == 1 else 'wait'} for approval",
                workspace,
                icon=":material/rule:",
                view="records",
            )
        show_review(workspace, queue)
    elif view == "records":
        show_records(workspace)
    elif view == "history":
        show_history(workspace)
    elif reads.claims(workspace.id, workspace.revision, workspace).empty:
        st.info("There is no claim to correct yet. Ingest a text first, or load the sample.")
        session.link(session.INGEST, "Ingest a text", workspace, icon=":material/library_add:")
        session.sample_button("correct")
    else:
        show_claims(workspace)


def switch_view(workspace: engine.Workspace) -> None:
    view = st.session_state["correct.view"]
    session.select("view", None if view == "claims" else view, workspace)


def show_claims(workspace: engine.Workspace) -> None:
    claim_id = session.selected("claim", workspace)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        find(workspace, claim_id)
    with right:
        if claim_id is None:
            st.info("Choose a claim from the list to see what it rests on, what rests on it, and to correct it.")
        else:
            claim = workspace.claim(claim_id)
            show_claim(workspace, claim)
            if claim.status == "current":
                correct(workspace, claim)
    if claim_id is not None:
        show_consequences(workspace, claim)


page()
