"""The list of every operation of the API."""

from __future__ import annotations

from typing import Final

from engine.http import agent_operations, claim_operations, correction_operations, service_operations
from engine.http.operations import Table

TABLE: Final = Table(
    [
        *agent_operations.OPERATIONS,
        *correction_operations.OPERATIONS,
        *claim_operations.OPERATIONS,
        *service_operations.OPERATIONS,
    ]
)
