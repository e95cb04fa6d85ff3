"""Opening a database and finding one's way among its workspaces."""

from __future__ import annotations

import os
import threading
import uuid
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final

from engine.embeddings import Embedder
from engine.errors import DatabaseUnavailable, InvalidInput, UnknownWorkspace
from engine.inputs import NAME_LIMIT, checked_text
from engine.learnings import THRESHOLD
from engine.metrics import Metrics
from engine.model import ChatModel
from engine.planning import now
from engine.records import WorkspaceInfo
from engine.services import Services
from engine.store.database import Database, GraphMissing
from engine.store.guards import graph_name
from engine.store.schema import SCHEMA_VERSION
from engine.store.snapshot import head
from engine.workspace import Workspace

COUNTED: Final = ("Source", "Claim", "Decision", "Action", "Correction")
_CREATE: Final = (
    "MERGE (w:Workspace {id: $id}) ON CREATE SET w.name = $name, w.revision = 0, w.at = $at, "
    "w.created_at = $at, w.schema_version = $version RETURN w.id"
)
_UPGRADE: Final = "MATCH (w:Workspace {id: $id}) SET w.schema_version = $version RETURN w.id"
_COUNT: Final = {label: f"MATCH (n:{label}) RETURN count(n)" for label in COUNTED}


def open_workbench(
    where: str | os.PathLike[str] | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    server_binary: str | os.PathLike[str] | None = None,
    module: str | os.PathLike[str] | None = None,
    embeddings: str | Embedder = "auto",
    contradiction_threshold: float = THRESHOLD,
    model: str | ChatModel = "auto",
) -> Workbench:
    """Open a database and return the workbench on it.

    Args:
        where: the URL of a FalkorDB server (`redis://`, `rediss://`, `unix://`). Left out, `FALKORDB_URL` is
            used, and where that is not set either, the embedded FalkorDB.
        data_dir: the folder of the embedded database; by default one of the user's own, or
            `CORRIGENDA_DATA_DIR`. Several programs may open the same folder at once.
        server_binary, module: other binaries for the embedded database than those installed with the engine.
        embeddings: what corrections are searched with beside their words: "auto" (an OpenAI-compatible endpoint if
            `CORRIGENDA_EMBEDDING_MODEL` names its model, else the local model if it is installed, else none),
            "openai", "local", "none", or an embedder of one's own.
        contradiction_threshold: cosine from which on a learning is about the same thing as a correction.
        model: the language model that extracts and answers: "auto" (the one that `OPENAI_API_KEY`, `OPENAI_BASE_URL`
            and `OPENAI_MODEL` configure, else none: rules do it), "none", or an `engine.ChatModel`.

    Raises:
        DatabaseUnavailable: it cannot be reached or started; the message says what to do.
        InvalidInput: `where` is not a URL that the engine knows.
    """
    if where is not None and data_dir is not None:
        raise InvalidInput("Give the URL of a server or a data folder, not both.")
    services = Services(embeddings, contradiction_threshold, model)
    url = os.fspath(where) if where is not None else os.environ.get("FALKORDB_URL", "")
    if url and data_dir is None:
        if "://" not in url:
            raise InvalidInput(f"{url!r} is no URL. For a folder, say `engine.open(data_dir=...)`.")
        return Workbench(Database.server(url), services, url_given=True)
    folder = Path(data_dir) if data_dir is not None else default_data_dir()
    return Workbench(
        Database.embedded(
            folder.expanduser(),
            server_binary=Path(server_binary) if server_binary is not None else None,
            module=Path(module) if module is not None else None,
        ),
        services,
    )


def default_data_dir() -> Path:
    """Return the folder that the embedded database uses when none is named."""
    from platformdirs import user_data_path

    named = os.environ.get("CORRIGENDA_DATA_DIR")
    return Path(named) if named else user_data_path("corrigenda", appauthor=False) / "falkordb"


class Workbench:
    """The workspaces of one database. A context manager; may be shared by threads."""

    def __init__(self, database: Database, services: Services | None = None, *, url_given: bool = False) -> None:
        self._database = database
        self._services = services if services is not None else Services()
        self._turns: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self.embedded = not url_given

    @property
    def address(self) -> str:
        """Where the data lie, for people; never with a password."""
        return self._database.address

    def __repr__(self) -> str:
        return f"<Workbench on {self.address}>"

    def __enter__(self) -> Workbench:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect; an embedded database that nobody else uses stops in order."""
        self._services.close()
        self._database.close()

    @property
    def embeddings(self) -> str:
        """A sentence that says which embedding model is in use, or that there is none and what to do."""
        return self._services.embeddings

    @property
    def model(self) -> ChatModel | None:
        """The language model that extracts and answers, or None: then rules do."""
        return self._services.model

    @property
    def metrics(self) -> Metrics:
        """Counters and latencies of this process."""
        return self._services.metrics

    def create_workspace(self, name: str) -> Workspace:
        """Make an empty workspace and return it; its id is a UUID made here.

        Raises:
            InvalidInput: the name is blank or too long.
        """
        checked = checked_text(name, "name", NAME_LIMIT).strip()
        workspace_id = str(uuid.uuid4())
        graph = graph_name(workspace_id)
        self._database.create_graph(graph)
        self._database.write(
            graph, _CREATE, {"id": workspace_id, "name": checked, "at": now(), "version": SCHEMA_VERSION}
        )
        return self._workspace(workspace_id)

    def workspaces(self) -> list[WorkspaceInfo]:
        """Return the workspaces there are, oldest first."""
        found = []
        for graph in self._database.graphs():
            workspace_id = graph.partition(":")[2]
            try:
                found.append(self._info(workspace_id))
            except (UnknownWorkspace, GraphMissing):
                continue  # deleted meanwhile, or its making was interrupted: it never was
        return sorted(found, key=lambda info: (info.created_at, info.id))

    def workspace(self, workspace_id: str) -> Workspace:
        """Return a workspace.

        Raises:
            UnknownWorkspace: the id is no UUID, or there is no such workspace.
        """
        checked = _checked_id(workspace_id)
        graph = graph_name(checked)
        made_by = head(self._database, graph, checked).schema_version
        if made_by > SCHEMA_VERSION:
            raise DatabaseUnavailable(
                f"This workspace was made by a newer version (schema {made_by}; this one knows {SCHEMA_VERSION}). "
                "Update the program."
            )
        if made_by < SCHEMA_VERSION:
            # Every later version has more names and indexes; what is there stays as it is.
            self._database.create_graph(graph)
            self._database.write(graph, _UPGRADE, {"id": checked, "version": SCHEMA_VERSION})
        return self._workspace(checked)

    def delete_workspace(self, workspace_id: str) -> None:
        """Delete a workspace and everything in it, for good.

        Raises:
            UnknownWorkspace: the id is no UUID, or there is no such workspace.
        """
        checked = self.workspace(workspace_id).id
        self._database.delete_graph(graph_name(checked))

    def _workspace(self, workspace_id: str) -> Workspace:
        turn = self._turns[workspace_id]
        return Workspace(self._database, graph_name(workspace_id), workspace_id, turn, self._services)

    def _info(self, workspace_id: str) -> WorkspaceInfo:
        graph = graph_name(workspace_id)
        top = head(self._database, graph, workspace_id)
        return WorkspaceInfo(
            id=workspace_id,
            name=top.name,
            revision=top.revision,
            created_at=datetime.fromisoformat(top.created_at),
            counts={label: self._database.read(graph, query)[0][0] for label, query in _COUNT.items()},
        )


def _checked_id(workspace_id: object) -> str:
    try:
        if type(workspace_id) is str and str(uuid.UUID(workspace_id)) == workspace_id:
            return workspace_id
    except ValueError:
        pass
    shown = repr(workspace_id)[:80]
    raise UnknownWorkspace(f"{shown} is not the id of a workspace. `wb.workspaces()` lists those that there are.")
