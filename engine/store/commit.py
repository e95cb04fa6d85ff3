"""The one way to write: a change set, committed as one guarded query, with the event that can replay it.

A change is planned against revision r and commits only while the workspace is still at r. Nodes, edges, new states
and the event are one query, so a crash at any instruction leaves r or r+1 and nothing between. The last line of the
query divides by zero when a row was not written that should have been: FalkorDB then rolls the whole query back.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from engine.errors import DatabaseUnavailable
from engine.states import Lifeline, State
from engine.store.history import committed_token
from engine.store.schema import LABELS, RELATIONS

if TYPE_CHECKING:
    from engine.store.database import Database

Props = dict[str, Any]
LEARN_SECONDS = 30.0


@cache
def _block(kind: str, *names: str) -> str:
    """Return the part of the query that writes the rows of one parameter, which bears the part's own name."""
    if not all(name in LABELS or name in RELATIONS for name in names):
        raise ValueError(f"{names} are not names of the schema")
    rows = "_".join((kind, *names))
    if kind == "new":
        (label,) = names
        body = f"CREATE (n:{label}) SET n = x"
    elif kind == "set":
        (label,) = names
        body = f"MATCH (n:{label} {{id: x.id}}) SET n += x.set"
    elif kind == "link":
        relation, a, b = names
        body = f"MATCH (n:{a} {{id: x.a}}) MATCH (m:{b} {{id: x.b}}) CREATE (n)-[e:{relation}]->(m) SET e = x.set"
    else:
        relation, a, b = names
        body = (
            f"MATCH (n:{a} {{id: x.a}})-[e:{relation}]->(m:{b} {{id: x.b}}) "
            "WHERE e.died IS NULL AND (x.id IS NULL OR e.id = x.id) SET e.died = $next"
        )
    return f"CALL {{ WITH w UNWIND ${rows} AS x {body} RETURN count(n) AS {rows} }}"


@dataclass
class ChangeSet:
    """Everything one revision writes. Built in full before anything is sent."""

    revision: int
    nodes: dict[str, list[Props]] = field(default_factory=lambda: defaultdict(list))
    updates: dict[str, dict[str, Props]] = field(default_factory=lambda: defaultdict(dict))
    links: dict[tuple[str, str, str], list[Props]] = field(default_factory=lambda: defaultdict(list))
    ends: dict[tuple[str, str, str], list[Props]] = field(default_factory=lambda: defaultdict(list))

    def create(self, label: str, node_id: str, **props: Any) -> str:
        """Add a node; properties that are None are left out. Return its id."""
        kept = {key: value for key, value in props.items() if value is not None}
        self.nodes[label].append({"id": node_id, **kept})
        return node_id

    def move(self, label: str, node_id: str, life: Lifeline, state: State) -> None:
        """Give a node that is there a new state from this revision on, unless it has that state already."""
        if life.states[-1] != state:
            self.updates[label].setdefault(node_id, {}).update(life.next(self.revision, state))

    def update(self, label: str, node_id: str, **props: Any) -> None:
        """Set properties of a node that is there."""
        self.updates[label].setdefault(node_id, {}).update(props)

    def link(self, relation: str, a: tuple[str, str], b: tuple[str, str], **props: Any) -> None:
        """Add an edge between two nodes, each given as (label, id)."""
        kept = {key: value for key, value in props.items() if value is not None}
        self.links[relation, a[0], b[0]].append({"a": a[1], "b": b[1], "set": {"born": self.revision, **kept}})

    def end(self, relation: str, a: tuple[str, str], b: tuple[str, str], edge_id: str | None = None) -> None:
        """End an edge with this revision; the past keeps it."""
        self.ends[relation, a[0], b[0]].append({"a": a[1], "b": b[1], "id": edge_id})

    @property
    def empty(self) -> bool:
        """Nothing would be written."""
        return not (self.nodes or self.updates or self.links or self.ends)

    def to_payload(self) -> str:
        """Return the change set as the compact text that its event keeps."""
        plain = {
            "nodes": self.nodes,
            "updates": self.updates,
            "links": [[*key, rows] for key, rows in self.links.items()],
            "ends": [[*key, rows] for key, rows in self.ends.items()],
        }
        packed = zlib.compress(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8"), 6)
        return base64.b85encode(packed).decode("ascii")

    @classmethod
    def from_payload(cls, revision: int, payload: str) -> ChangeSet:
        """Read what `to_payload` wrote."""
        plain = json.loads(zlib.decompress(base64.b85decode(payload)))
        change = cls(revision)
        change.nodes.update(plain["nodes"])
        change.updates.update(plain["updates"])
        change.links.update({(r, a, b): rows for r, a, b, rows in plain["links"]})
        change.ends.update({(r, a, b): rows for r, a, b, rows in plain["ends"]})
        return change


@dataclass(frozen=True)
class EventInfo:
    """What history says of a revision. `ref` is the id that the revision is about."""

    kind: str
    actor: str
    reason: str
    summary: str
    ref: str
    at: str


def commit(
    database: Database, graph: str, workspace_id: str, expected: int, change: ChangeSet, event: EventInfo
) -> bool:
    """Commit `change` as revision `expected + 1`, whole or not at all.

    Returns False when the workspace was no longer at `expected`; nothing was written then. When the reply to the
    query is lost, what happened is read back.

    Raises:
        DatabaseUnavailable: it could not be learned whether the change was made; repeating the request is safe.
    """
    from engine.store.database import WriteUncertain

    token = secrets.token_hex(8)
    event_row = {
        "id": f"ev_{change.revision}",
        "revision": change.revision,
        "born": change.revision,
        "kind": event.kind,
        "actor": event.actor,
        "reason": event.reason,
        "summary": event.summary,
        "ref": event.ref,
        "request_key": token,
        "at": event.at,
        "payload": change.to_payload(),
    }
    query, params = _guarded(change, {"Event": [event_row]})
    params |= {"ws": workspace_id, "r": expected, "next": change.revision, "at": event.at}
    try:
        return bool(database.write(graph, query, params))
    except WriteUncertain:
        return _learn(database, graph, query, params, token)


def _learn(database: Database, graph: str, query: str, params: dict[str, object], token: str) -> bool:
    """Find out whether a change whose reply was lost was made, by sending it again.

    That is safe: the guard on the revision lets it happen once, also when the first one is still being worked on.
    Where it can no longer happen, the event of its revision says whether it had.
    """
    from engine.store.database import WriteUncertain

    end = time.monotonic() + LEARN_SECONDS
    while True:
        try:
            if database.write(graph, query, params):
                return True
            return committed_token(database, graph, int(str(params["next"]))) == token
        except WriteUncertain as error:
            if time.monotonic() > end:
                raise DatabaseUnavailable(
                    "The connection breaks whenever this change is sent, and whether it was made is not known. "
                    "Check that the database is running, then send the same request again: it is done once."
                ) from error
            time.sleep(0.2)


def _guarded(change: ChangeSet, extra: Mapping[str, list[Props]]) -> tuple[str, dict[str, object]]:
    blocks: list[str] = []
    params: dict[str, object] = {}
    sizes: dict[str, int] = {}

    def add(kind: str, names: tuple[str, ...], rows: list[Props]) -> None:
        if rows:
            name = "_".join((kind, *names))
            blocks.append(_block(kind, *names))
            params[name] = rows
            sizes[name] = len(rows)

    for label in LABELS:
        add("new", (label,), [*change.nodes.get(label, []), *extra.get(label, [])])
    for key, rows in sorted(change.links.items()):
        add("link", key, rows)
    for key, rows in sorted(change.ends.items()):
        add("end", key, rows)
    for label in LABELS:
        updates = change.updates.get(label, {})
        rows = [{"id": node_id, "set": props} for node_id, props in sorted(updates.items())]
        add("set", (label,), rows)
    params["sizes"] = sizes
    whole = " AND ".join(f"{name} = $sizes.{name}" for name in sizes)
    query = "\n".join(
        [
            "MATCH (w:Workspace {id: $ws}) WHERE w.revision = $r",
            "SET w.revision = $next, w.at = $at",
            "WITH w",
            *blocks,
            f"WITH w, 1 / (CASE WHEN {whole} THEN 1 ELSE 0 END) AS whole",
            "RETURN w.revision",
        ]
    )
    return query, params
