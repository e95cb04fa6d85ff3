"""The launcher: one process that serves the pages and, in front of them, the HTTP API of `engine.http`.

Start it with `make run`, which is `streamlit run app.py`; `uvicorn app:app` works as well, with one worker. It
listens on loopback; at any other address it starts only when there is a token for the API, and says that the pages
themselves have no sign-in (see `engine.http.exposure`, which also lists the settings in the environment).
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

import engine
from engine.http import exposure
from engine.http.application import Api, BesidePages, Terms
from pages.parts.session import close_workbench, workbench

log = logging.getLogger("corrigenda")

ROUTES: Final[list[BaseRoute]] = []
"""For others, as `Mount`s: a plain `Route` answers a wrong method with the page's HTML. The API needs none."""


def address() -> str | None:
    """Return the address that the server was told to listen on: by uvicorn's own command, else by Streamlit."""
    if "uvicorn" in Path(sys.argv[0]).parts or Path(sys.argv[0]).stem == "uvicorn":
        named = [b for a, b in zip(sys.argv, sys.argv[1:], strict=False) if a == "--host"]
        named += [a.partition("=")[2] for a in sys.argv if a.startswith("--host=")]
        return named[-1] if named else os.environ.get("UVICORN_HOST", "127.0.0.1")
    option = st.get_option("server.address")
    return str(option) if option else None


def terms() -> Terms:
    """On which terms the API is served."""
    return exposure.terms(address(), os.environ)


def refused() -> str:
    """Return why the server must not start where it was told to listen, or ""."""
    try:
        why = exposure.why_not(address(), os.environ, workbench)
    except engine.WorkbenchError as error:
        why = f"Whether there is a token for the API could not be found out: {error}"
    reached = exposure.exposed_at(address(), os.environ)
    if not why and reached is not None:
        log.warning(exposure.OPEN_PAGES.format(address=reached))
    return why


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    """Close the database in order when the process is told to stop; Streamlit itself would not."""
    try:
        yield {}
    finally:
        close_workbench()


# The script that calls `st.navigation` must have no `pages` folder beside it: Streamlit would skip it whenever the
# first request after a start names a page. So it lives inside that folder, and its path is absolute because a
# relative one depends on how the app is started.
app = st.App(
    Path(__file__).resolve().parent / "pages" / "router.py",
    lifespan=lifespan,
    routes=ROUTES,
    middleware=[Middleware(BesidePages, api=Api(workbench, terms), refused=refused)],
)
