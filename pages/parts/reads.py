"""Reads that cost something, kept for as long as the workspace is at the revision they were made at."""

from __future__ import annotations

import pandas as pd
import streamlit as st

import engine


@st.cache_data(show_spinner=False, max_entries=32)
def load_bearing(workspace_id: str, revision: int, limit: int, _workspace: engine.Workspace) -> pd.DataFrame:
    """Return the claims and origins that most would fall with."""
    return _workspace.at(revision).load_bearing(limit)


@st.cache_data(show_spinner=False, max_entries=32)
def claims(workspace_id: str, revision: int, _workspace: engine.Workspace) -> pd.DataFrame:
    """Return every claim, one row each."""
    return _workspace.at(revision).claims()


@st.cache_data(show_spinner=False, max_entries=64)
def impact_of(workspace_id: str, correction_id: str, _workspace: engine.Workspace) -> engine.Impact:
    """Return what a correction did when it was applied."""
    return _workspace.impact_of(correction_id)
