"""The frame around every page: the menu, and the sidebar that says where one is and what is in use."""

from __future__ import annotations

import streamlit as st

import engine
from pages.parts import session
from pages.parts.words import plain

ICON = "🖋️"  # never ":material/…": its picture would be fetched from a host elsewhere

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="190" height="36" viewBox="0 0 190 36" role="img">'
    "<title>Corrigenda</title>"
    '<text x="0" y="26" font-family="Georgia, serif" font-size="27" fill="#4a7fc1">Corrigenda</text>'
    '<path d="M1 32h128" stroke="#c9820a" stroke-width="2"/></svg>'
)

st.set_page_config(page_title="Corrigenda", page_icon=ICON, layout="wide")
st.logo(LOGO, size="large")
st.html("<style>.stMainBlockContainer { padding-top: 4rem; }</style>")  # Streamlit leaves 6rem empty


def start() -> None:
    """Lead from the bare address to the first page, which so has an address of its own."""
    st.switch_page(INGEST, query_params=st.query_params.to_dict())


INGEST = st.Page(session.INGEST, title="Ingest", icon=":material/library_add:", url_path="ingest")
PAGES = [
    st.Page(start, title="Corrigenda", default=True, visibility="hidden"),
    INGEST,
    st.Page(session.ASK, title="Ask", icon=":material/help:", url_path="ask"),
    st.Page(session.CORRECT, title="Correct", icon=":material/edit_note:", url_path="correct"),
    st.Page(session.ANALYTICS, title="Analytics", icon=":material/monitoring:", url_path="analytics"),
]


def create_workspace() -> None:
    try:
        workspace = session.workbench().create_workspace(st.session_state["frame.new_name"])
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    session.choose_workspace(workspace.id)
    st.session_state["frame.new_name"] = ""
    session.notify("success", f"The workspace “{workspace.name}” is ready. Ingest a text to begin.")


def switch_workspace() -> None:
    session.choose_workspace(st.session_state["frame.workspace"])


def sidebar(workspace: engine.Workspace | None, there: list[engine.WorkspaceInfo]) -> None:
    names = {info.id: info.name for info in there}
    if workspace is not None:
        st.session_state["frame.workspace"] = workspace.id
        st.selectbox(
            "Workspace",
            list(names),
            format_func=lambda name: names.get(name, name),
            key="frame.workspace",
            on_change=switch_workspace,
        )
    with st.expander("New workspace", icon=":material/add:", expanded=not there):
        st.text_input("Name", key="frame.new_name", max_chars=200, placeholder="What is it about?")
        st.button("Create", key="frame.create", on_click=create_workspace)
        session.sample_button("sidebar", "secondary")
    st.caption(
        f"**Database**  \n{plain(session.workbench().address)}\n\n"
        "**Extractor and agents**  \nrule-based; no model is used"
    )


def frame() -> None:
    page = st.navigation(PAGES)
    try:
        there = session.workbench().workspaces()
        workspace = session.current_workspace()
    except engine.UnknownWorkspace as error:
        session.show_error(error)
        st.info("The link may be mistyped, or the workspace was deleted.")
        st.button("Show the workspaces there are", on_click=session.forget_workspace, key="frame.forget")
        return
    except engine.DatabaseUnavailable as error:
        session.show_error(error)
        st.button("Try again", on_click=session.close_workbench, key="frame.retry")
        return
    with st.sidebar:
        sidebar(workspace, there)
    with st.container():  # there also when empty, so that a message moves nothing below it
        session.show_notice()
    try:
        page.run()
    except engine.UnknownNode as error:
        session.show_error(error)
        if workspace is not None:
            st.button("Leave this link", on_click=session.choose_afresh, args=(workspace.id,), key="frame.leave")
    except engine.WorkbenchError as error:
        session.show_error(error)


frame()
