"""Identifiers: a prefix that names the kind, and 64 random bits, from an alphabet the index answers rightly for."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

from engine.errors import UnknownNode

PREFIX: Final = {
    "Source": "s",
    "SourceVersion": "v",
    "SourceFragment": "f",
    "Evidence": "e",
    "Claim": "c",
    "Decision": "d",
    "Action": "a",
    "Correction": "k",
    "AgentRun": "r",
    "Handoff": "h",
    "AuditEvent": "t",
    "IngestRecord": "i",
    "Justification": "j",
    "Learning": "l",
    "Sighting": "g",
    "Token": "o",
    "Agent": "n",
    "CorrectionVector": "x",
}
KIND: Final = {prefix: kind for kind, prefix in PREFIX.items()}
_SHAPE: Final = re.compile(r"([a-z])_[0-9a-f]{16}", re.ASCII)


def new_id(kind: str) -> str:
    """Return a fresh id for a node of `kind`."""
    return f"{PREFIX[kind]}_{secrets.token_hex(8)}"


def derived_id(kind: str, *parts: str) -> str:
    """Return the id that the same parts always give, for nodes that must exist once."""
    return f"{PREFIX[kind]}_{digest(*parts)[:16]}"


def digest(*parts: str) -> str:
    """Return the SHA-256 of the parts, each delimited by its length, in hexadecimal."""
    sha = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        sha.update(len(encoded).to_bytes(8, "big"))
        sha.update(encoded)
    return sha.hexdigest()


def kind_of(node_id: object) -> str:
    """Return the kind that an id names.

    Raises:
        UnknownNode: it is not an id that the engine made.
    """
    if type(node_id) is str and (match := _SHAPE.fullmatch(node_id)) and match[1] in KIND:
        return KIND[match[1]]
    shown = repr(node_id)
    raise UnknownNode(f"{shown[:80]} is not the id of a node. Take ids from what the engine returned.")


def require(node_id: object, *kinds: str) -> str:
    """Return `node_id` when it names one of `kinds`; raise UnknownNode otherwise."""
    kind = kind_of(node_id)
    if kind not in kinds:
        wanted = " or ".join(kind.lower() for kind in kinds)
        raise UnknownNode(f"{node_id} is the id of a {kind.lower()}; a {wanted} is needed here.")
    return str(node_id)
