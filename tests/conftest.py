"""Fixtures on the real database: an embedded FalkorDB for the run, or the server that FALKORDB_URL names."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import engine

# What CI runs can be run again: the same examples each time. Elsewhere they are new ones.
hypothesis.settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI") == "true":
    hypothesis.settings.load_profile("ci")

# Whatever the machine has configured, the tests use the models that they name.
for setting in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "CORRIGENDA_EMBEDDING_MODEL"):
    os.environ.pop(setting, None)

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Playwright's synchronous API leaves an event loop running in the main thread; after it, no test could start one.
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def wb() -> Iterator[engine.Workbench]:
    if url := os.environ.get("FALKORDB_URL"):
        with engine.open(url, embeddings="none") as workbench:
            yield workbench
        return
    folder = Path(tempfile.mkdtemp(prefix="corrigenda-"))
    try:
        with engine.open(data_dir=folder, embeddings="none") as workbench:
            yield workbench
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def ws(wb: engine.Workbench, request: pytest.FixtureRequest) -> Iterator[engine.Workspace]:
    workspace = wb.create_workspace(request.node.name[:100])
    yield workspace
    wb.delete_workspace(workspace.id)


@pytest.fixture
def claims(ws: engine.Workspace) -> Callable[..., list[str]]:
    """Make a document of the given sentences, and return the ids of its claims."""

    def make(*sentences: str, name: str | None = None, **how: Any) -> list[str]:
        report = ws.ingest("\n\n".join(sentences), name=name, extractor=None, **how)
        proposals = [engine.ProposedClaim(sentence, sentence) for sentence in sentences]
        return [claim.id for claim in ws.submit_claims(report.source_id, proposals).claims]

    return make


def external_cases(name: str) -> list[dict[str, Any]]:
    """Read a file of external cases; skip, loudly, where it is not there."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"EXTERNAL CASES MISSING: {path.name} is not beside the project; nothing was checked")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
