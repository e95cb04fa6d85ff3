"""The base of everything that the engine takes and gives."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

GIVEN: Any = ...
"""Stands for an argument that must be given: pydantic, not Python, says when it is missing."""


class Record(BaseModel):
    """The base of every record: frozen, strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
