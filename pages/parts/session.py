"""Who is looking at what: the one workbench of the process, the current workspace, and links between pages.

The URL says it all (`?workspace=`, and what a page adds), so that a link opens the same thing for somebody else.
Streamlit empties the URL when one changes page by the menu; the session remembers, and writes it back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import streamlit as st

import engine
from pages.parts.words import plain

# A real graph of documents that need one another, where it lies beside the project; the product does without it.
SPECIFICATIONS: Final = Path(__file__).resolve().parents[3] / "shared" / "data" / "specs" / "xeps.json"
PAGES: Final = Path(__file__).resolve().parent.parent
INGEST: Final = str(PAGES / "ingest.py")
ASK: Final = str(PAGES / "ask.py")
CORRECT: Final = str(PAGES / "correct.py")
ANALYTICS: Final = str(PAGES / "analytics.py")

_WORKSPACE: Final = "session.workspace"
_NOTICE: Final = "session.notice"
Level = Literal["success", "info", "warning", "error"]


@st.cache_resource(show_spinner="Starting the database…", on_release=engine.Workbench.close)
def workbench() -> engine.Workbench:
    """Return the process's one workbench. `FALKORDB_URL` and `CORRIGENDA_DATA_DIR` say where it works."""
    return engine.open()


def close_workbench() -> None:
    """Close the workbench if it was opened."""
    workbench.clear()


# --- the workspace ------------------------------------------------------------------------------------------


def choose_workspace(workspace_id: str) -> None:
    """Make a workspace the current one; what was selected in the last one goes."""
    st.query_params.from_dict({"workspace": workspace_id})
    st.session_state[_WORKSPACE] = workspace_id


def choose_afresh(workspace_id: str) -> None:
    """Stay in a workspace with nothing selected, as when a link names something that is not there."""
    for key in [key for key in st.session_state if str(key).startswith("selected.")]:
        del st.session_state[key]
    choose_workspace(workspace_id)


def chosen_id() -> str | None:
    """Return the id that the URL names, else the one that this session used last."""
    named = st.query_params.get("workspace") or st.session_state.get(_WORKSPACE)
    return str(named) if named else None


def current_workspace() -> engine.Workspace | None:
    """Return the current workspace and write it into the URL; None when there is none to work in.

    Raises:
        UnknownWorkspace: the URL names one that is not there.
    """
    workspace_id = chosen_id()
    if workspace_id is None:
        there = workbench().workspaces()
        if not there:
            return None
        workspace_id = there[-1].id
    workspace = workbench().workspace(workspace_id)
    st.session_state[_WORKSPACE] = workspace_id
    if st.query_params.get("workspace") != workspace_id:
        st.query_params["workspace"] = workspace_id
    return workspace


def forget_workspace() -> None:
    """Leave the current workspace, as when its link leads nowhere."""
    st.query_params.clear()
    st.session_state.pop(_WORKSPACE, None)


def require_workspace() -> engine.Workspace:
    """Return the current workspace, or show how to get one and end the page here."""
    workspace = current_workspace()
    if workspace is None:
        st.info(
            "There is no workspace yet. Load the sample, which has a wrong launch date to correct, or name a "
            "workspace of your own in the sidebar."
        )
        sample_button("page")
        st.stop()
    return workspace


def sample_button(place: str, kind: Literal["primary", "secondary"] = "primary") -> None:
    """Show the buttons that load a sample workspace."""
    if st.button("Load the sample workspace", key=f"sample.{place}", type=kind, icon=":material/auto_stories:"):
        from engine.samples import load_launch_story

        with st.spinner("Loading the sample…"):
            choose_workspace(load_launch_story(workbench()).id)
        notify("success", "The sample is loaded. Find the launch date on the Correct page and put it right.")
        st.rerun()
    if SPECIFICATIONS.exists() and st.button(
        "Load the specifications sample", key=f"specifications.{place}", icon=":material/account_tree:"
    ):
        from engine.samples import load_specifications

        progress = st.progress(0.0, "Loading 517 specifications and what they require…")
        loaded = load_specifications(workbench(), SPECIFICATIONS, on_progress=progress.progress)
        choose_workspace(loaded.id)
        notify("success", "The specifications are loaded. Correct the claim of one to see what loses its support.")
        st.rerun()


# --- what a page has selected -------------------------------------------------------------------------------


def selected(name: str, workspace: engine.Workspace) -> str | None:
    """Return what a page has selected: from the URL, else from this session, which is then written to the URL."""
    kept = f"selected.{name}.{workspace.id}"
    value = st.query_params.get(name)
    if value:
        st.session_state[kept] = value
        return str(value)
    value = st.session_state.get(kept)
    if value:
        st.query_params[name] = value
    return str(value) if value else None


def select(name: str, value: str | None, workspace: engine.Workspace) -> None:
    """Select something on a page, in the URL and for this session; None selects nothing."""
    kept = f"selected.{name}.{workspace.id}"
    if value is None:
        st.query_params.pop(name, None)
        st.session_state.pop(kept, None)
    else:
        st.query_params[name] = value
        st.session_state[kept] = value


def link(page: str, label: str, workspace: engine.Workspace, icon: str | None = None, **selection: str) -> None:
    """Show a link to a page of the current workspace with something selected."""
    st.page_link(page, label=label, icon=icon, query_params={"workspace": workspace.id, **selection})


# --- what is typed ------------------------------------------------------------------------------------------

# Streamlit's own `persist_state` loses what was typed when one leaves the page while the run that it started is
# still under way. A callback runs before that run can be cut off, so the text is safe from then on.


def recall(key: str) -> str:
    """Give a text widget back what was typed into it before, and return its key; call it just before the widget."""
    if key not in st.session_state and (typed := st.session_state.get(f"typed.{key}")):
        st.session_state[key] = typed
    return key


def remember(key: str) -> None:
    """Keep what was typed into a widget: its `on_change`, with its key as argument."""
    st.session_state[f"typed.{key}"] = st.session_state[key]


def empty(*keys: str) -> None:
    """Empty text widgets after what was typed into them was used; call it from a callback."""
    for key in keys:
        st.session_state[key] = ""
        st.session_state.pop(f"typed.{key}", None)


# --- messages -----------------------------------------------------------------------------------------------


def notify(level: Level, message: str) -> None:
    """Keep a message for the top of the next run, since what a callback writes is not seen."""
    st.session_state[_NOTICE] = (level, message)


def show_notice() -> None:
    """Show the message that the last action left, once."""
    if notice := st.session_state.pop(_NOTICE, None):
        level, message = notice
        if level == "success":
            st.toast(plain(message), icon=":material/check_circle:", duration="long")
        else:
            {"info": st.info, "warning": st.warning, "error": st.error}[level](plain(message))


def show_error(error: engine.WorkbenchError) -> None:
    """Show an error of the engine; its message says what to do."""
    st.error(plain(str(error)))
