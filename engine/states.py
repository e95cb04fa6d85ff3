"""How a node's state is kept through time, so that every revision can still be read.

A node carries its present `state` and the revision `since` which it holds; earlier ones stand in two parallel
lists. Reading as of a revision is picking from them, at the price of reading the present.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple


class State(NamedTuple):
    """What can change about a node.

    `cause` is the revision that took the support away (0 while there is none to name); `note` is free for a
    kind's own use.
    """

    status: str
    supported: bool = True
    cause: int = 0
    note: str = ""

    def encode(self) -> str:
        """Return the one string that the graph stores; it starts with the status."""
        return f"{self.status}:{'+' if self.supported else '-'}:{self.cause}:{self.note}"

    @classmethod
    def decode(cls, text: str) -> State:
        """Read what `encode` wrote."""
        status, sign, cause, note = text.split(":", 3)
        return cls(status, sign == "+", int(cause), note)


class Lifeline(NamedTuple):
    """The states of one node, oldest first, with the revision each began at."""

    born: int
    since: tuple[int, ...]
    states: tuple[State, ...]

    @classmethod
    def read(cls, columns: Sequence[Any]) -> Lifeline:
        """Read the five columns `born, state, since, past_state, past_since`."""
        born, state, since, past_state, past_since = columns
        return cls(
            born,
            (*(past_since or ()), since),
            (*(State.decode(past) for past in past_state or ()), State.decode(state)),
        )

    def place(self, revision: int) -> int:
        """Return which state held at `revision`; -1 before the node was born."""
        return bisect_right(self.since, revision) - 1

    def at(self, revision: int) -> State:
        """Return the state as of `revision`."""
        return self.states[max(self.place(revision), 0)]

    def changed(self, revision: int) -> int:
        """Return the revision of the last change at or before `revision`."""
        return self.since[max(self.place(revision), 0)]

    def next(self, revision: int, state: State) -> dict[str, object]:
        """Return the properties to set so that `state` holds from `revision` on and the past stays readable."""
        return {
            "state": state.encode(),
            "since": revision,
            "past_state": [past.encode() for past in self.states],
            "past_since": list(self.since),
        }
