"""One embedded server for the tests of a session, and a short folder for those that need their own."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.store.database import Database
from engine.store.guards import graph_name


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, so that the socket fits into it on every system."""
    path = Path(tempfile.mkdtemp(prefix="cg-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_database() -> Iterator[Database]:
    path = Path(tempfile.mkdtemp(prefix="cg-", dir="/tmp"))
    with Database.embedded(path) as database:
        yield database
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def bare_graph(shared_database: Database) -> Iterator[str]:
    """The name of a graph that does not exist yet."""
    name = graph_name(str(uuid.uuid4()))
    yield name
    if name in shared_database.graphs():
        shared_database.delete_graph(name)


@pytest.fixture
def graph(shared_database: Database, bare_graph: str) -> str:
    shared_database.create_graph(bare_graph)
    return bare_graph
