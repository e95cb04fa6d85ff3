"""The launcher: one process that serves the pages and, beside them, whatever is mounted in `ROUTES`.

Start it with `make run`, which is `streamlit run app.py`; `uvicorn app:app` works as well, with one worker.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import streamlit as st
from starlette.routing import BaseRoute

from pages.parts.session import close_workbench

ROUTES: Final[list[BaseRoute]] = []
"""The HTTP API goes here, as a `Mount`: a plain `Route` answers a wrong method with the page's HTML."""


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
app = st.App(Path(__file__).resolve().parent / "pages" / "router.py", lifespan=lifespan, routes=ROUTES)
