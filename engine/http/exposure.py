"""Whether the server may be started where it was told to listen.

On loopback everybody who can reach it is somebody of this machine, and no token is needed. At any other address every
request to the API needs a token, and without a single token in any workspace the server does not start. The pages
know no tokens: whoever reaches the address can use them, which is said whenever it starts there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from engine.http.application import Terms
from engine.http.origins import is_loopback
from engine.tokens import any_token

if TYPE_CHECKING:
    from engine.workbench import Workbench

PUBLISHED: Final = "CORRIGENDA_PUBLISHED_ADDRESS"
REQUIRED: Final = "CORRIGENDA_TOKEN_REQUIRED"
HOSTS: Final = "CORRIGENDA_HOSTS"
OPEN_PAGES: Final = (
    "The API asks for a token here, but the pages do not: whoever reaches {address} can read and change everything. "
    "Put a proxy with sign-in before it, or listen on 127.0.0.1."
)
NO_TOKEN: Final = (
    "The app was told to listen on {address}, which others can reach, and there is no token for its API. Nothing was "
    "started. Make one with\n"
    "    python -m engine token create --name NAME --workspace ID   (or --new-workspace NAME)\n"
    "and start again, or listen on 127.0.0.1. The pages have no sign-in: whoever reaches the address can use them.\n"
    f"In a container whose port is published on loopback alone, say so with {PUBLISHED}=127.0.0.1."
)


def exposed_at(address: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the address at which others can reach the server; None when only this machine can.

    No address means all of them. `CORRIGENDA_PUBLISHED_ADDRESS` says where a container's port is published.
    """
    reached = environ.get(PUBLISHED) or address or "0.0.0.0"  # noqa: S104
    return None if is_loopback(reached) or reached.startswith("unix://") else reached


def terms(address: str | None, environ: Mapping[str, str]) -> Terms:
    """Return on which terms the API is served at an address."""
    names = frozenset(name.strip().lower() for name in environ.get(HOSTS, "").split(",") if name.strip())
    wanted = environ.get(REQUIRED, "").strip().lower() in ("1", "true", "yes", "on")
    return Terms(wanted or exposed_at(address, environ) is not None, names)


def why_not(address: str | None, environ: Mapping[str, str], workbench: Callable[[], Workbench]) -> str:
    """Return why the server must not start at an address, or ""."""
    reached = exposed_at(address, environ)
    if reached is None or any_token(workbench()):
        return ""
    return NO_TOKEN.format(address=reached)
