"""The real app in the machine's own Chromium. Without one these tests are skipped, but never in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

import engine
from tests.browser.app_process import AppProcess

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 20_000
"""Milliseconds: a shared machine of two cores is slow now and then."""


def chromium() -> str | None:
    """Return the Chromium of this machine."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(180))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        message = "No Chromium on this machine: install one, or name it with CHROMIUM=…"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def wb(data_dir: Path) -> Iterator[engine.Workbench]:
    """The engine on the folder that the app works in: to prepare a workspace, and to look at what came of it."""
    with engine.open(data_dir=data_dir) as workbench:
        yield workbench


@pytest.fixture
def app(data_dir: Path, request: pytest.FixtureRequest) -> Iterator[AppProcess]:
    """The app on an empty folder; what it printed is shown when the test fails."""
    with AppProcess(data_dir) as process:
        yield process
        request.node.add_report_section("call", "app", process.output())


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as opened:
        opened.set_default_timeout(PATIENCE)
        yield opened


@pytest.fixture
def strangers(context: BrowserContext) -> list[str]:
    """Every request of the browser that left loopback, or would have."""
    seen: list[str] = []

    def look(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            seen.append(request.url)

    context.on("request", look)
    return seen


@pytest.fixture
def page(context: BrowserContext, strangers: list[str]) -> Iterator[Page]:
    """A page; the test fails when anything left loopback or a script of a text ran."""
    expect.set_options(timeout=PATIENCE)
    opened = context.new_page()
    dialogs: list[str] = []
    opened.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    yield opened
    assert strangers == []
    assert dialogs == []
