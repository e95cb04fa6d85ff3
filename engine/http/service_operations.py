"""What is asked about the server itself: whether it works, what it measured, what it can do."""

from __future__ import annotations

from typing import Any, Final, Literal

from starlette.responses import PlainTextResponse, Response

from engine.http import bodies
from engine.http.operations import Asked, Operation
from engine.http.problems import forbidden
from engine.metrics import CONTENT_TYPE
from engine.record import Record


class Health(Record):
    """The server works, and so does its database."""

    status: Literal["ok"]


def _health(asked: Asked) -> Health:
    asked.workbench._database.ping()
    return Health(status="ok")


def _metrics(asked: Asked) -> Any:
    token = asked.who.token if asked.who is not None else None
    if token is not None and (token.tenant_id is not None or token.agent_name is not None):
        # The names of agents are labels, and they are counted for all workspaces and tenants together.
        raise forbidden("Metrics are of all tenants together. Use a token with the role admin that is bound to none.")
    form = asked.query.format or ("json" if _prefers_json(asked.request.headers.get("accept", "")) else "prometheus")
    if form == "json":
        return asked.workbench.metrics.to_json()
    return PlainTextResponse(asked.workbench.metrics.to_prometheus(), headers={"content-type": CONTENT_TYPE})


def _prefers_json(accept: str) -> bool:
    return "application/json" in accept and "text/plain" not in accept


def _document(asked: Asked) -> Response | dict[str, Any]:
    from engine.http.openapi import openapi_document

    return openapi_document()


OPERATIONS: Final = (
    Operation("health", "GET", "/healthz", "Whether the server and its database work", _health, Health, None,
        of_workspace=False),
    Operation("metrics", "GET", "/metrics", "Counters and latencies, as Prometheus text or as JSON", _metrics,
        dict[str, Any], "admin", query=bodies.MetricsQuery, of_workspace=False,
        media=("text/plain", "application/json")),
    Operation("openapi", "GET", "/openapi.json", "This document", _document, dict[str, Any], None,
        of_workspace=False),
)  # fmt: skip
