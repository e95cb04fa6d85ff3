"""The API as an ASGI application, and the way to have it beside the pages in one process.

It stands in front of the pages rather than among their routes: their own middleware answers some paths with text of
its own, and their last route answers every path with a page.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.errors import InvalidInput, WorkbenchError
from engine.http.asking import Asker
from engine.http.bodies import Query
from engine.http.operations import WITH_BODY, Asked, Operation, Table
from engine.http.origins import check_host, check_origin, is_loopback
from engine.http.problems import UNEXPECTED, Problem, forbidden, problem_of
from engine.http.reading import (
    check_content_type,
    either_spelling,
    parse_json,
    parse_query,
    read_body,
    segments,
    validated,
)
from engine.http.table import TABLE
from engine.tokens import TokenInfo, authenticate, only_workspace

if TYPE_CHECKING:
    from engine.workbench import Workbench
    from engine.workspace import Workspace

log = logging.getLogger(__name__)
HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class Terms:
    """On which terms the API is served.

    Where `token_required`, nobody does anything without one. `hosts` are names of this server beside those of
    loopback.
    """

    token_required: bool = False
    hosts: Collection[str] = field(default_factory=frozenset)


class Api:
    """Answers every request below its paths, with JSON whatever happens."""

    def __init__(
        self, workbench: Callable[[], Workbench], terms: Callable[[], Terms] = Terms, table: Table = TABLE
    ) -> None:
        self._workbench = workbench
        self._terms = terms
        self._table = table

    def serves(self, scope: Scope) -> bool:
        """Return whether a request is for the API."""
        return scope["type"] == "http" and self._table.serves(_parts(scope))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            response = await self._answered(request)
        except Problem as problem:
            response = _json(problem.body(), problem.status, problem.headers)
        except WorkbenchError as error:
            response = self._of_error(error)
        except Exception:
            log.exception("A request failed.")
            response = self._of_error(None)
        response.headers.update(HEADERS)
        await response(scope, receive, send)

    def _of_error(self, error: WorkbenchError | None) -> Response:
        problem = problem_of(error) if error is not None else Problem(500, "internal", UNEXPECTED)
        if problem.status == 500 and error is not None:
            log.error("A request failed.", exc_info=error)
        return _json(problem.body(), problem.status, problem.headers)

    async def _answered(self, request: Request) -> Response:
        terms = self._terms()
        remote = terms.token_required or not _from_here(request)
        host = request.headers.get("host")
        # Where a token is needed, a name that was pointed here gains nothing: a browser has no token to send.
        check_host(host, terms.hosts, any_name=remote and not terms.hosts)
        check_origin(request.headers.get("origin"), host)
        operation, names = self._table.find(request.method, _parts(request.scope))
        body: bytes | None = None
        if operation.method in WITH_BODY:
            check_content_type(request.headers.get("content-type"))
        workbench = await run_in_threadpool(self._workbench)
        with workbench.metrics.timed(f"http.{operation.name}"):
            token = await run_in_threadpool(self._admitted, workbench, request, operation, remote)
            if operation.method in WITH_BODY:
                body = await read_body(request)
            result = await run_in_threadpool(self._carried_out, workbench, request, operation, names, token, body)
        if isinstance(result, Response):
            return result
        return _json(result, operation.status, {})

    def _admitted(
        self, workbench: Workbench, request: Request, operation: Operation, remote: bool
    ) -> tuple[Workspace, TokenInfo] | None:
        """Return the workspace and token of a request; None when it has no token and needs none."""
        if operation.role is None:
            return None
        stated = request.headers.get("authorization")
        if stated is None:
            if remote:
                raise _unauthorized("A token is needed here. Make one with `python -m engine token create`.")
            return None
        scheme, _, secret = stated.partition(" ")
        found = authenticate(workbench, secret.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise _unauthorized(
                "This token opens nothing: it is mistyped, was revoked, or its workspace is gone. Send "
                "`Authorization: Bearer …` with one that `python -m engine token create` made."
            )
        Asker(*found).need(operation.role)
        return found

    def _carried_out(
        self,
        workbench: Workbench,
        request: Request,
        operation: Operation,
        names: dict[str, str],
        found: tuple[Workspace, TokenInfo] | None,
        body: bytes | None,
    ) -> Any:
        given = parse_query(request.scope.get("query_string", b""), operation.query)
        query = validated(operation.query, given, "query")
        read = None
        if operation.body is not None and body is not None:
            read = validated(operation.body, either_spelling(parse_json(body), operation.body), "body")
        who = None
        if operation.of_workspace:
            who = self._asker(workbench, request, query, found)
        elif found is not None:
            who = Asker(*found)
        result = operation.answered(Asked(request, workbench, who, names, query, read))
        if isinstance(result, Response):
            return result
        return TypeAdapter(operation.answer).dump_python(result, mode="json")

    def _asker(
        self, workbench: Workbench, request: Request, query: Query, found: tuple[Workspace, TokenInfo] | None
    ) -> Asker:
        named = [name for name in (request.headers.get("x-workspace"), query.workspace) if name is not None]
        if len(set(named)) > 1:
            raise Problem(400, "invalid_input", "`X-Workspace` and `workspace` differ. Give one.", "workspace")
        if found is not None:
            if named and named[0] != found[0].id:
                raise forbidden("The token is of another workspace than the one that is named.", "workspace")
            return Asker(*found)
        try:
            return Asker(only_workspace(workbench, named[0] if named else None))
        except InvalidInput as error:
            there = [{"id": info.id, "name": info.name} for info in workbench.workspaces()]
            message = "There are several workspaces. Name one in the header `X-Workspace` or as `?workspace=`."
            raise Problem(400, "invalid_input", message, error.field, {"workspaces": there}) from error


class BesidePages:
    """Middleware of the pages' application: what is for the API goes there, everything else to the pages.

    `refused`, asked once before the first request is taken, returns why the server must not start, or "".
    """

    def __init__(self, app: ASGIApp, api: Api, refused: Callable[[], str] = str) -> None:
        self._app = app
        self._api = api
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or the server's start and end."""
        if scope["type"] == "lifespan":
            why = await run_in_threadpool(self._refused)
            if why:
                await receive()
                await send({"type": "lifespan.startup.failed", "message": why})
                return
        await (self._api if self._api.serves(scope) else self._app)(scope, receive, send)


def _parts(scope: Scope) -> list[str]:
    raw: bytes | None = scope.get("raw_path")
    return segments(raw if raw is not None else str(scope["path"]).encode("utf-8", "surrogateescape"))


def _from_here(request: Request) -> bool:
    """Return whether both ends of the connection are on loopback, whatever address the server was told to use."""
    server = request.scope.get("server")
    ends = (request.client.host if request.client else None, server[0] if server else None)
    return all(is_loopback(end) for end in ends)


def _unauthorized(message: str) -> Problem:
    return Problem(401, "unauthorized", message, headers={"WWW-Authenticate": "Bearer"})


def _json(value: Any, status: int, headers: dict[str, str]) -> Response:
    # ASCII: a name that is repeated may hold what UTF-8 cannot say.
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, "application/json")
