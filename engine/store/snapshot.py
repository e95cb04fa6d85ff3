"""A workspace as of one revision: the only way the store reads.

Every query gets the revision as `$r` and keeps to what had been born by then, so that however many queries a read
takes, and whoever writes meanwhile, it sees one revision whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from engine.errors import UnknownWorkspace

if TYPE_CHECKING:
    from engine.store.database import Database

CHUNK: Final = 2000  # ids a query; long lists would hold the server up for others

# The five columns that `Lifeline.read` takes, for each variable that the queries use.
LIFE_A: Final = "[a.born, a.state, a.since, a.past_state, a.past_since]"
LIFE_C: Final = "[c.born, c.state, c.since, c.past_state, c.past_since]"
LIFE_D: Final = "[d.born, d.state, d.since, d.past_state, d.past_since]"
LIFE_K: Final = "[k.born, k.state, k.since, k.past_state, k.past_since]"
LIFE_P: Final = "[p.born, p.state, p.since, p.past_state, p.past_since]"
LIFE_S: Final = "[s.born, s.state, s.since, s.past_state, s.past_since]"
# An edge `e` that is there at $r.
ALIVE: Final = "e.born <= $r AND (e.died IS NULL OR e.died > $r)"

_REVISION: Final = "MATCH (w:Workspace {id: $id}) RETURN w.revision, w.at, w.name, w.created_at, w.schema_version"


@dataclass(frozen=True)
class Head:
    """The workspace's own node: where its history stands."""

    revision: int
    at: str
    name: str
    created_at: str
    schema_version: int


def head(database: Database, graph: str, workspace_id: str) -> Head:
    """Return the newest committed revision.

    Raises:
        UnknownWorkspace: there is no such workspace.
    """
    from engine.store.database import GraphMissing

    try:
        rows = database.read(graph, _REVISION, {"id": workspace_id})
    except GraphMissing:
        rows = []
    if not rows:
        raise UnknownWorkspace(f"There is no workspace {workspace_id}. List those there are with `wb.workspaces()`.")
    return Head(*rows[0])


@dataclass(frozen=True)
class Snapshot:
    """A workspace's graph as of `revision`."""

    database: Database
    graph: str
    workspace_id: str
    revision: int

    def rows(self, cypher: str, **params: object) -> list[list[Any]]:
        """Run a read; `$r` is the revision."""
        return self.database.read(self.graph, cypher, {"r": self.revision, **params})

    def rows_for(self, cypher: str, ids: Iterable[str], **params: object) -> Iterator[list[Any]]:
        """Run a read that takes `$ids`, in bounded chunks of them."""
        for chunk in chunks(sorted(set(ids))):
            yield from self.rows(cypher, ids=chunk, **params)


def chunks(ids: Iterable[str], size: int = CHUNK) -> Iterator[list[str]]:
    """Yield the ids in lists of at most `size`."""
    rest = iter(ids)
    while chunk := list(islice(rest, size)):
        yield chunk
