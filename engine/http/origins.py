"""Who may talk to the API from where: no other site's page, no name that was pointed at this machine.

A browser sends a page's requests to any address that the page names. Without a token the API trusts whoever reaches
it on loopback, so it must tell its own pages from others: by the origin that the browser states, and by the host name
that the request was sent to, which is the page's own when somebody rebinds a domain to 127.0.0.1.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from engine.http.problems import Problem

PORTS = {"http": 80, "https": 443}


def is_loopback(address: str | None) -> bool:
    """Return whether an address (or `localhost`) leads to this machine alone."""
    if not address:
        return False
    name = address.strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        parsed = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def check_host(host: str | None, allowed: Collection[str], any_name: bool) -> None:
    """Refuse a request that was sent to a host name that is not ours.

    Raises:
        Problem: 403, when the name is neither loopback nor one of `allowed`. With `any_name`, none is refused.
    """
    name = _split(f"//{host or ''}")[0]
    if name is not None and (any_name or is_loopback(name) or name in allowed):
        return
    raise Problem(
        403,
        "host_not_allowed",
        "This name is not one of this server. Use http://127.0.0.1 or http://localhost, or add the name to "
        "CORRIGENDA_HOSTS and start again.",
    )


def check_origin(origin: str | None, host: str | None) -> None:
    """Refuse a request that a page of another site makes.

    Raises:
        Problem: 403, when the browser states an origin that is not the host that the request was sent to.
    """
    if origin is None:
        return
    scheme = origin.partition(":")[0].lower()
    standard = PORTS.get(scheme)
    theirs, ours = _split(origin), _split(f"//{host or ''}")
    same = theirs[0] is not None and theirs[0] == ours[0] and (theirs[1] or standard) == (ours[1] or standard)
    if standard is None or not same:
        raise Problem(
            403,
            "origin_not_allowed",
            "This request comes from a page of another site, and none of those may use the API. Call it from a "
            "program, or from a page of this server.",
        )


def _split(address: str) -> tuple[str | None, int | None]:
    """Return host name and port of an address; (None, None) when it has none that can be read."""
    try:
        parts = urlsplit(address)
        if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
            return None, None
        return (parts.hostname.rstrip(".") or None) if parts.hostname else None, parts.port
    except ValueError:
        return None, None
