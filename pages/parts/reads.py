"""Reads that cost something, kept for as long as the workspace is at the revision they were made at."""

from __future__ import annotations

from datetime import datetime

import pandas as pd
import streamlit as st

import engine

# Every page of a session, and every session, reads the same revision the same way: it cannot change any more.


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


@st.cache_data(show_spinner=False, max_entries=32)
def pending(workspace_id: str, revision: int, _workspace: engine.Workspace) -> pd.DataFrame:
    """Return the corrections that wait for a person, newest first."""
    return _workspace.at(revision).corrections.list(status="pending")


@st.cache_data(show_spinner=False, max_entries=32)
def records(
    workspace_id: str,
    revision: int,
    agent: str | None,
    entity: str | None,
    field: str | None,
    since: datetime | None,
    status: str | None,
    limit: int | None,
    _workspace: engine.Workspace,
) -> pd.DataFrame:
    """Return corrections, newest first."""
    return _workspace.at(revision).corrections.list(agent, entity, field, since, status=status, limit=limit)


@st.cache_data(show_spinner=False, max_entries=64)
def stats(
    workspace_id: str,
    revision: int,
    agent: str | None,
    entity: str | None,
    field: str | None,
    since: datetime | None,
    _workspace: engine.Workspace,
) -> engine.CorrectionStats:
    """Return what the corrections come to."""
    return _workspace.at(revision).corrections.stats(agent, entity, field, since)


@st.cache_data(show_spinner=False, max_entries=32)
def heeded(
    workspace_id: str, revision: int, agent: str | None, since: datetime | None, _workspace: engine.Workspace
) -> pd.DataFrame:
    """Return one row for each correction that a run was shown."""
    return _workspace.at(revision).corrections.heeded(agent, since)


@st.cache_data(show_spinner=False, max_entries=32)
def offered(workspace_id: str, revision: int, _workspace: engine.Workspace) -> dict[str, list[str]]:
    """Return the agents, entities and fields that corrections name, the most frequent first."""
    view = _workspace.at(revision).corrections
    every = view.stats()
    waiting = view.list(status="pending")
    names = {"agent": every.by_agent, "entity": every.by_entity_key, "field": every.by_field}
    columns = {"agent": "agent_name", "entity": "entity_key", "field": "field"}
    return {name: list(dict.fromkeys([*counts, *waiting[columns[name]].dropna()])) for name, counts in names.items()}
