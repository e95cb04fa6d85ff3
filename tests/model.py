"""A reference for the engine, written from the semantics alone and sharing no code with it.

It keeps the list of everything that was done, and works out the state by doing it all again from the start, leaving
out what was undone. Support is computed by naive iteration. Slow, short, and easy to hold against the definition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class State:
    status: dict[str, str] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    evidence: dict[str, set[str]] = field(default_factory=dict)  # claim → sources
    ways: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    because: dict[str, set[str]] = field(default_factory=dict)  # action → decisions
    supported: set[str] = field(default_factory=set)
    born_marked: dict[str, bool] = field(default_factory=dict)

    def support(self) -> set[str]:
        found: set[str] = set()
        while True:
            more = {
                name
                for name, status in self.status.items()
                if name not in found
                and status in ("current", "standing", "needs_review")
                and (
                    self.evidence.get(name, set()) - self.withdrawn
                    or any(way <= found for way in self.ways.get(name, []))
                )
            }
            if not more:
                return found
            found |= more


@dataclass
class Model:
    """Operations are tuples: what was done, then its arguments."""

    done: list[tuple[Any, ...]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)  # corrections that were undone
    born_marked: dict[str, bool] = field(default_factory=dict)
    undo_marks: dict[int, set[str]] = field(default_factory=dict)  # place in `done` → decisions marked there
    state: State = field(default_factory=State)

    def do(self, *operation: Any) -> None:
        before = self.state
        self.done.append(operation)
        place = len(self.done) - 1
        if operation[0] == "undo":
            self.gone |= set(operation[1])
            after = self.replay(first_time=place)
            for name, status in after.status.items():
                unsupported = name.startswith("d_") and status == "standing" and name not in after.supported
                if unsupported and (name in before.supported or before.status[name] == "needs_review"):
                    after.status[name] = "needs_review"
            self.undo_marks[place] = {n for n, s in after.status.items() if s == "needs_review"}
            self.state = after
        else:
            self.state = self.replay(first_time=place)

    def replay(self, first_time: int) -> State:
        state = State()
        for place, operation in enumerate(self.done):
            before = set(state.supported)
            retracting = self._do(state, operation, place, first_time)
            state.supported = state.support()
            if retracting:
                for name, sources in state.evidence.items():
                    if retracting in sources and state.status[name] == "current" and name not in state.supported:
                        state.status[name] = "retracted"
            for name in list(state.status):
                if not name.startswith("d_"):
                    continue
                if name in before and name not in state.supported and state.status[name] == "standing":
                    state.status[name] = "needs_review"
            for name in self.undo_marks.get(place, set()):
                if name not in state.supported and state.status[name] == "standing":
                    state.status[name] = "needs_review"
            if operation[0] == "decide":
                name = operation[1]
                if place == first_time:
                    self.born_marked[name] = name not in state.supported
                if self.born_marked[name] and name not in state.supported:
                    state.status[name] = "needs_review"
        return state

    def _do(self, state: State, operation: tuple[Any, ...], place: int, first_time: int) -> str | None:
        what, *rest = operation
        if what == "claim":
            name, source = rest
            state.status[name] = "current"
            state.evidence[name] = {source}
        elif what == "evidence":
            name, source = rest
            state.evidence[name].add(source)
        elif what in ("derive", "decide"):
            name, groups = rest
            state.status[name] = "current" if what == "derive" else "standing"
            state.ways[name] = [frozenset(group) for group in groups]
        elif what == "justify":
            name, groups = rest
            state.ways.setdefault(name, []).extend(frozenset(group) for group in groups)
        elif what == "plan":
            name, decisions = rest
            state.because[name] = set(decisions)
            state.status[name] = "proposed"
        elif what == "done":
            state.status[rest[0]] = "done"
        elif what == "correct":
            correction, changes, source = rest
            for claim, replacement in changes:
                if replacement is not None:
                    state.evidence[replacement] = {source}
                    state.status[replacement] = "superseded" if correction[claim] in self.gone else "current"
                if correction[claim] not in self.gone:
                    state.status[claim] = "superseded" if replacement is not None else "retracted"
        elif what == "withdraw":
            correction, source = rest
            if correction not in self.gone:
                state.withdrawn.add(source)
                return str(source)
        elif what == "settle":
            decision, kind, groups, new = rest
            if kind == "reaffirm":
                state.status[decision] = "standing"
                have = state.ways.setdefault(decision, [])
                have.extend(frozenset(group) for group in groups if frozenset(group) not in have)
            elif kind == "withdraw":
                state.status[decision] = "withdrawn"
                for action, decisions in state.because.items():
                    if decision in decisions and state.status[action] == "proposed":
                        state.status[action] = "cancelled"
            else:
                state.status[decision] = "superseded"
                state.status[new] = "standing"
                state.ways[new] = [frozenset(group) for group in groups]
                for action, decisions in state.because.items():
                    if decision in decisions and state.status[action] == "proposed":
                        state.because[action] = (decisions - {decision}) | {new}
        return None

    def shown(self, name: str) -> str:
        """The status that a reader sees: an action is on hold while one of its decisions needs review."""
        status = self.state.status[name]
        if status == "proposed" and any(
            self.state.status[decision] == "needs_review" for decision in self.state.because[name]
        ):
            return "held"
        return status

    def holding(self, name: str) -> int:
        if self.state.status[name] not in ("standing", "needs_review"):
            return 0
        return sum(way <= self.state.supported for way in self.state.ways.get(name, []))

    def fragile_claims(self, name: str) -> set[str]:
        """Claims that, withdrawn alone, leave `name` unsupported: by trying each."""
        if name not in self.state.supported:
            return set()
        found = set()
        for claim in [c for c in self.state.supported if c.startswith("c_") and c != name]:
            status = self.state.status[claim]
            self.state.status[claim] = "retracted"
            if name not in self.state.support():
                found.add(claim)
            self.state.status[claim] = status
        return found

    def fragile_sources(self, name: str) -> set[str]:
        """Sources that, withdrawn alone, leave `name` unsupported (each source is an origin of its own here)."""
        if name not in self.state.supported:
            return set()
        found = set()
        for source in {s for sources in self.state.evidence.values() for s in sources} - self.state.withdrawn:
            self.state.withdrawn.add(source)
            if name not in self.state.support():
                found.add(source)
            self.state.withdrawn.discard(source)
        return found
