"""What may be sent to FalkorDB at all: graph names, query texts, parameters, and the limits both sides share.

The rules themselves, and why each is there, are told at the head of `engine.store.database`, which applies them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from engine.errors import InvalidInput

EFFECTS_THRESHOLD: Final = 1_000_000_000
TIMEOUT_DEFAULT_MS: Final = 30_000
TIMEOUT_MAX_MS: Final = 60_000
MAX_NESTING: Final = 16

GRAPH_NAME: Final = re.compile(r"workspace:[0-9a-f-]{36}")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_UNSTABLE: Final = re.compile(
    r"\b(timestamp|rand|randomUUID|date|datetime|localdatetime|localtime|duration)`?\s*\(", re.IGNORECASE
)
_VARIABLE_LENGTH: Final = re.compile(r"-\s*\[[^\]]*\*")
_LIMIT: Final = re.compile(r"\b(LIMIT|SKIP)\b", re.IGNORECASE)
_ORDER: Final = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)
SCALARS: Final = (type(None), bool, int, float, str)


def graph_name(workspace_uuid: str) -> str:
    """The name of a workspace's graph."""
    return checked_name(f"workspace:{workspace_uuid}")


def checked_name(graph: str) -> str:
    """The name, if it is one that a workspace's graph may have; ValueError otherwise."""
    if type(graph) is not str or not GRAPH_NAME.fullmatch(graph):
        raise ValueError(f"{graph!r} is not the name of a workspace graph")
    return graph


@lru_cache(maxsize=512)
def checked_query(cypher: str, writing: bool) -> str:
    """Refuse what this FalkorDB does not do safely. The texts are our own: this guards against a slip."""
    if "\0" in cypher or _SURROGATE.search(cypher):
        raise InvalidInput("a query holds a character that FalkorDB cannot read")
    if _VARIABLE_LENGTH.search(cypher):
        raise InvalidInput("paths of variable length are refused: FalkorDB can leave out nodes; go step by step")
    if writing:
        found = _UNSTABLE.search(cypher)
        if found:
            raise InvalidInput(f"a write may not call {found[1]}(): its replay would differ; pass a parameter")
        if _LIMIT.search(cypher) and not _ORDER.search(cypher):
            raise InvalidInput("a write may not use LIMIT or SKIP without ORDER BY: its replay could differ")
    return cypher


def check_parameters(params: Mapping[str, object] | None) -> dict[str, object]:
    """The parameters as they may be sent; InvalidInput names the first that may not."""
    if params is None:
        return {}
    checked = dict(params)
    for key, value in checked.items():
        _check_key(key, "parameter")
        _check_value(value, key, 0)
    return checked


def _check_key(key: object, where: str) -> None:
    if type(key) is not str or not _KEY.fullmatch(key):
        raise InvalidInput(f"{where}: {key!r} cannot be a name (letters, digits and _ only)")


def _check_value(value: object, where: str, depth: int) -> None:
    # Exact types: a subclass may print itself as anything, and the client sends what it prints.
    kind = type(value)
    if kind is list or kind is tuple or kind is dict:
        if depth >= MAX_NESTING:
            raise InvalidInput(f"parameter {where} is nested deeper than {MAX_NESTING} levels")
        if isinstance(value, dict):
            for key, inner in value.items():
                _check_key(key, f"parameter {where}")
                _check_value(inner, f"{where}.{key}", depth + 1)
        elif isinstance(value, list | tuple):
            for index, inner in enumerate(value):
                _check_value(inner, f"{where}[{index}]", depth + 1)
    elif kind not in SCALARS:
        raise InvalidInput(f"parameter {where} has the type {kind.__name__}, which cannot be sent unchanged")
    elif isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:  # FalkorDB would clamp it
            raise InvalidInput(f"parameter {where} is an integer beyond 64 bits")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"parameter {where} is not a finite number")


def _check_text(value: str, where: str) -> None:
    if "\0" in value:
        raise InvalidInput(f"parameter {where} holds a NUL character, which FalkorDB cannot store")
    if not value.isascii() and _SURROGATE.search(value):
        raise InvalidInput(f"parameter {where} holds half of a character (a lone surrogate)")
