"""`ws.agents`: which agents a workspace knows, and whether corrections are kept for them.

An agent is known when it was registered, when it has runs or corrections, or when it is one of our own. Who
registers an agent for one tenant makes it known to that tenant; without one, to everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.correction_records import Caller
from engine.entries import party
from engine.errors import InvalidInput
from engine.ids import derived_id
from engine.inputs import NAME_LIMIT
from engine.planning import Plan, born
from engine.reasons import quoted
from engine.record import Record
from engine.states import State
from engine.store.agents import has_worked, names_at_work, registrations
from engine.store.commit import ChangeSet
from engine.store.snapshot import Snapshot
from engine.values import check_characters

if TYPE_CHECKING:
    from engine.workspace import Workspace

OURS: Final = ("Analyst", "Coordinator", "Extractor")
ON, OFF = "on", "off"


class AgentInfo(Record):
    """An agent, and whether corrections are kept for it. `registered`: somebody named it, beside what it did."""

    name: str
    corrections: bool
    registered: bool


class Agents:
    """The agents of a workspace. With a `caller`, those that the caller's tenant may know of."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def register(self, name: str, corrections: bool = True, *, tenant_id: str | None = None) -> AgentInfo:
        """Make an agent known, with corrections switched on or off for it. Return it.

        Raises:
            InvalidInput: the name is blank, too long, or cannot be stored.
        """
        self._workspace._change(Registered(agent_name(name), corrections, tenant_id).plan)
        return AgentInfo(name=name, corrections=corrections, registered=True)

    def get(self, name: str, caller: Caller | None = None) -> AgentInfo | None:
        """Return an agent; None when it is not known.

        Corrections are off when any registration that the caller sees says so.
        """
        name = agent_name(name)
        snap = self._workspace._snapshot()
        if caller is None:
            stored = registrations(snap).values()
        else:
            ids = [_node(name, tenant) for tenant in dict.fromkeys((None, caller.tenant_id))]
            stored = registrations(snap, ids).values()
        states = [life.at(snap.revision).status for agent, _, life in stored if agent == name]
        if not states and name not in OURS and not has_worked(snap, party("agent", name), _tenants(caller)):
            return None
        return AgentInfo(name=name, corrections=OFF not in states, registered=bool(states))

    def list(self, caller: Caller | None = None) -> list[AgentInfo]:
        """Return the agents that are known, by name."""
        snap = self._workspace._snapshot()
        states: dict[str, list[str]] = {}
        for agent, tenant, life in registrations(snap).values():
            if caller is None or tenant in (None, caller.tenant_id):
                states.setdefault(agent, []).append(life.at(snap.revision).status)
        names = {*OURS, *states, *names_at_work(snap, _tenants(caller))}
        return [
            AgentInfo(name=name, corrections=OFF not in states.get(name, ()), registered=name in states)
            for name in sorted(names)
        ]


@dataclass(frozen=True)
class Registered:
    """Plans that an agent is known, with corrections on or off."""

    name: str
    corrections: bool
    tenant_id: str | None = None

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """What is so already changes nothing. The result is the id of the agent's node."""
        change = ChangeSet(revision)
        node = _node(self.name, self.tenant_id)
        status = ON if self.corrections else OFF
        known = registrations(snap, [node]).get(node)
        if known is None:
            change.create(
                "Agent",
                node,
                agent=self.name,
                agent_key=party("agent", self.name),
                tenant=self.tenant_id,
                tenant_key=party("tenant", self.tenant_id),
                **born(revision, status),
            )
        else:
            change.move("Agent", node, known[2], State(status))
        summary = f"Corrections are {status} for the agent {quoted(self.name)}."
        return Plan(change, "agent", summary, "", "", node, node)


def agent_name(name: object) -> str:
    """Return the name of an agent exactly as it is.

    Raises:
        InvalidInput: it is blank, too long, or cannot be stored.
    """
    if type(name) is not str or not name.strip():
        raise InvalidInput("The agent has no name. Name the agent.", "agent_name")
    if len(name) > NAME_LIMIT:
        raise InvalidInput(
            f"The agent's name has {len(name):,} characters; at most {NAME_LIMIT} are taken.", "agent_name"
        )
    check_characters(name, "agent_name")
    return name


def _node(name: str, tenant: str | None) -> str:
    return derived_id("Agent", "for", *([tenant] if tenant is not None else []), "named", name)


def _tenants(caller: Caller | None) -> Sequence[str] | None:
    if caller is None:
        return None
    return [party("tenant", tenant) for tenant in dict.fromkeys((None, caller.tenant_id))]
