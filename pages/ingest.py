"""Ingest: texts and files become sources, and their sentences claims, each with the words that carry it."""

from __future__ import annotations

import streamlit as st

import engine
from pages.parts import session
from pages.parts.evidence_view import highlight_html, show_text, spans_in
from pages.parts.words import claim_status, counted, plain, short

TYPES = ["txt", "md", "html", "htm", "pdf", "docx", "csv", "json", "log", "rst", "eml"]
MAX_MB = 50
LISTED = 200


def results_key(workspace: engine.Workspace) -> str:
    return f"ingest.results.{workspace.id}"


def take_in_text(workspace: engine.Workspace) -> None:
    text = st.session_state["ingest.text"]
    name = st.session_state["ingest.name"].strip() or None
    try:
        report = workspace.ingest(text, name=name)
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    label = name or workspace.source(report.source_id).name
    st.session_state[results_key(workspace)] = [(label, report, None)]
    session.select("source", report.source_id, workspace)
    session.empty("ingest.text", "ingest.name")


def paste_form(workspace: engine.Workspace) -> None:
    st.text_input(
        "Name of the source",
        key=session.recall("ingest.name"),
        on_change=session.remember,
        args=("ingest.name",),
        placeholder="The first line, if left empty",
    )
    st.text_area(
        "Text",
        key=session.recall("ingest.text"),
        on_change=session.remember,
        args=("ingest.text",),
        height=180,
        placeholder="Paste a document, a message, minutes of a meeting…",
    )
    st.button("Ingest the text", type="primary", key="ingest.go_text", on_click=take_in_text, args=(workspace,))


def files_form(workspace: engine.Workspace) -> None:
    # A new key empties the uploader after its files were taken in.
    generation = st.session_state.setdefault("ingest.generation", 0)
    uploads = st.file_uploader(
        "Files: txt, md, html, pdf, docx, and other text",
        type=TYPES,
        accept_multiple_files=True,
        max_upload_size=MAX_MB,
        key=f"ingest.files.{generation}",
    )
    if not st.button("Ingest the files", type="primary", key="ingest.go_files", disabled=not uploads):
        return
    results: list[tuple[str, engine.IngestReport | None, str | None]] = []
    bar = st.progress(0.0)
    for done, upload in enumerate(uploads):
        bar.progress(done / len(uploads), text=f"Reading {plain(upload.name)} ({done + 1} of {len(uploads)})")
        try:
            results.append((upload.name, workspace.ingest_file(upload.getvalue(), name=upload.name), None))
        except engine.WorkbenchError as error:
            results.append((upload.name, None, str(error)))
    bar.empty()
    st.session_state[results_key(workspace)] = results
    taken = [report for _, report, _ in results if report is not None]
    if taken:
        session.select("source", taken[-1].source_id, workspace)
    st.session_state["ingest.generation"] = generation + 1
    st.rerun()


def show_results(workspace: engine.Workspace) -> None:
    for name, report, error in st.session_state.get(results_key(workspace), []):
        if report is None:
            st.error(f"**{plain(name)}**: {plain(error)}")
            continue
        if report.unchanged:
            st.info(f"**{plain(name)}**: this text is here already; nothing was changed.")
            continue
        kept, left = counted(len(report.claims), "claim"), len(report.rejected)
        st.success(
            f"**{plain(name)}**: {kept} kept from {counted(report.fragments, 'fragment')}"
            + (f", {counted(left, 'proposal')} rejected." if left else ".")
        )
        for note in report.notes:
            st.caption(plain(note))


def show_sources(workspace: engine.Workspace) -> str | None:
    frame = workspace.sources()
    frame = frame[frame["kind"] != "human"].reset_index(drop=True)
    if frame.empty:
        st.info("Nothing is here yet. Paste a text or drop files above, or see how it works on the sample.")
        session.sample_button("ingest")
        return None
    names = dict(zip(frame["id"], frame["name"], strict=True))
    claims = dict(zip(frame["id"], frame["claims"], strict=True))
    ids = list(names)[::-1]
    current = session.selected("source", workspace)
    key = f"ingest.source.{workspace.id}"
    st.session_state[key] = current if current in names else ids[0]
    chosen: str | None = st.selectbox(
        f"Source ({len(ids):,})",
        ids,
        format_func=lambda name: f"{short(names[name], 70)} · {counted(int(claims[name]), 'claim')}",
        key=key,
    )
    if chosen is not None:
        session.select("source", chosen, workspace)
    return chosen


def show_source(workspace: engine.Workspace, source_id: str) -> None:
    source = workspace.source(source_id)
    version = workspace.text(source_id)
    rejected = workspace.rejected(source_id)
    st.caption(
        f"{source.kind}, {source.status} · {counted(len(source.versions), 'version')} · "
        f"{len(version.text):,} characters · {counted(len(version.quoted), 'claim')}, "
        f"{counted(len(rejected), 'proposal')} rejected"
    )
    left, right = st.columns([3, 2])
    claims = sorted(version.quoted, key=lambda claim: min(spans_in(claim, version.version_id)))
    with right:
        picked = show_claims(workspace, claims)
    with left:
        spans = [span for claim in claims for span in spans_in(claim, version.version_id)]
        active = spans_in(picked, version.version_id) if picked else []
        whole = st.toggle("Show the whole text", key="ingest.whole", value=True) or not spans
        show_text(version.text, spans, active, whole=whole)
    if rejected:
        with st.expander(f"Rejected proposals ({len(rejected)})", icon=":material/block:"):
            for rejection in rejected[:LISTED]:
                show_rejection(rejection)


def show_claims(workspace: engine.Workspace, claims: list[engine.Claim]) -> engine.Claim | None:
    if not claims:
        st.caption("No sentence of this text makes a claim by the rules.")
        return None
    by_id = {claim.id: claim for claim in claims}
    key = f"ingest.claim.{workspace.id}.{workspace.revision}"
    chosen = st.radio(
        "Claims, in the order of the text",
        list(by_id)[:LISTED],
        format_func=lambda name: plain(short(by_id[name].statement, 140)),
        captions=[
            "" if claim.status == "current" and claim.supported else claim_status(claim) for claim in claims[:LISTED]
        ],
        index=None,
        key=key,
        width="stretch",
    )
    if len(claims) > LISTED:
        st.caption(f"Showing {LISTED} of {len(claims):,}; the Correct page searches them all.")
    if chosen is None:
        return None
    session.link(session.CORRECT, "Correct this claim", workspace, icon=":material/edit_note:", claim=chosen)
    return by_id[chosen]


def show_rejection(rejection: engine.Rejection) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.html(f'<div dir="auto">{highlight_html(rejection.proposal.evidence_quote, [])}</div>')
        st.caption(plain(rejection.reason))


def page() -> None:
    st.title("Ingest")
    workspace = session.require_workspace()
    st.caption(
        "Sentences become claims by the rule-based extractor: no model reads them. Each claim keeps the exact words "
        "that carry it."
    )
    how = st.segmented_control(
        "What to ingest",
        ["Paste text", "Files"],
        default="Paste text",
        required=True,
        key="ingest.how",
        label_visibility="collapsed",
        persist_state="session",
    )
    if how == "Files":
        files_form(workspace)
    else:
        paste_form(workspace)
    show_results(workspace)
    st.divider()
    source_id = show_sources(workspace)
    if source_id is not None:
        show_source(workspace, source_id)


page()
