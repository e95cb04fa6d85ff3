"""Which corrections are looked at: by agent, entity, field and day. The URL has it, so a link shows the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

import streamlit as st

import engine
from pages.parts import reads, session

OFFERED: Final = 500
"""How many names a list offers, the most frequent first; any other can be typed."""
STATUSES: Final = ("pending", "active", "superseded", "reverted")
_NAMES: Final = {"agent": "Agent", "entity": "Entity", "field": "Field"}


@dataclass(frozen=True)
class Filters:
    """What is kept; None keeps everything."""

    agent: str | None = None
    entity: str | None = None
    field: str | None = None
    since: datetime | None = None
    status: str | None = None

    @property
    def four(self) -> tuple[str | None, str | None, str | None, datetime | None]:
        """Agent, entity, field and since, as `reads` takes them."""
        return self.agent, self.entity, self.field, self.since

    @property
    def scope(self) -> dict[str, Any]:
        """The arguments that every read of corrections takes."""
        return {"agent_name": self.agent, "entity_key": self.entity, "field": self.field, "since": self.since}

    @property
    def any(self) -> bool:
        """Whether anything is left out."""
        return any((self.agent, self.entity, self.field, self.since, self.status))


def show_filters(workspace: engine.Workspace, place: str, by_day: bool = False, by_status: bool = False) -> Filters:
    """Show the filters in a row and return what they keep."""
    offered = reads.offered(workspace.id, workspace.revision, workspace)
    chosen: dict[str, str | None] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, label in _NAMES.items():
            chosen[name] = _choice(workspace, place, name, label, offered[name][:OFFERED])
        if by_status:
            chosen["status"] = _choice(workspace, place, "status", "Status", list(STATUSES), free=False)
        since = _since(workspace, place) if by_day else None
    return Filters(chosen["agent"], chosen["entity"], chosen["field"], since, chosen.get("status"))


def _choice(
    workspace: engine.Workspace, place: str, name: str, label: str, options: list[str], free: bool = True
) -> str | None:
    value = session.selected(name, workspace)
    if value is not None and value not in options:
        if not free:
            session.select(name, None, workspace)
            value = None
        else:
            options = [value, *options]
    key = f"{place}.filter.{name}"
    st.session_state[key] = value
    return st.selectbox(
        label,
        options,
        index=None,
        key=key,
        placeholder="All",
        accept_new_options=free,
        on_change=_kept,
        args=(workspace, key, name),
        width=168,
    )


def _since(workspace: engine.Workspace, place: str) -> datetime | None:
    key = f"{place}.filter.since"
    st.session_state[key] = _day(session.selected("since", workspace))
    st.date_input(
        "Since",
        value=None,
        key=key,
        format="YYYY-MM-DD",
        on_change=_kept,
        args=(workspace, key, "since"),
        width=168,
    )
    day = st.session_state[key]
    return datetime(day.year, day.month, day.day, tzinfo=UTC) if day else None


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _kept(workspace: engine.Workspace, key: str, name: str) -> None:
    value = st.session_state[key]
    session.select(name, str(value) if value else None, workspace)


def forget(workspace: engine.Workspace) -> None:
    """Keep everything again."""
    for name in ("agent", "entity", "field", "since", "status"):
        session.select(name, None, workspace)


def nothing_kept(workspace: engine.Workspace, place: str) -> None:
    """Say that the filters leave nothing, and offer the way out."""
    st.info("No correction matches these filters.")
    st.button("Show all", key=f"{place}.filter.forget", on_click=forget, args=(workspace,))
