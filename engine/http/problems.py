"""Everything that goes wrong, in the one shape that every answer has that is not a success."""

from __future__ import annotations

from typing import Any, Final

from engine.errors import (
    DatabaseUnavailable,
    InvalidInput,
    ModelUnavailable,
    NotAllowed,
    StalePreview,
    UnknownNode,
    UnknownWorkspace,
    WorkbenchError,
)
from engine.record import Record

RETRY_AFTER: Final = "2"
UNEXPECTED: Final = "Something went wrong here, not in the request. It was logged; the same request may be sent again."


class ErrorDetail(Record):
    """What went wrong: a code for programs, a message that says what to do, the field that is wrong where it is one."""

    code: str
    message: str
    field: str | None
    details: dict[str, Any]


class ErrorBody(Record):
    """The body of every answer that is not a success."""

    error: ErrorDetail


class Problem(Exception):
    """An answer that is not a success."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        details: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field
        self.details = details or {}
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        """Return it as the answer's body."""
        detail = ErrorDetail(code=self.code, message=str(self), field=self.field, details=self.details)
        return ErrorBody(error=detail).model_dump(mode="json")


def invalid(message: str, field: str | None = None) -> Problem:
    """Return the answer to a request that cannot be understood or used."""
    return Problem(400, "invalid_input", message, field)


def forbidden(message: str, field: str | None = None) -> Problem:
    """Return the answer to who may not do this."""
    return Problem(403, "forbidden", message, field)


def problem_of(error: WorkbenchError) -> Problem:
    """Return an error of the engine as an answer."""
    message = str(error)
    if isinstance(error, InvalidInput):
        return invalid(message, error.field)
    if isinstance(error, UnknownNode):
        return Problem(404, "unknown_node", message)
    if isinstance(error, UnknownWorkspace):
        return Problem(404, "unknown_workspace", message)
    if isinstance(error, StalePreview):
        details = {"fresh": error.fresh.model_dump(mode="json"), "differences": error.differences}
        return Problem(409, error.code, message, None, details)
    if isinstance(error, NotAllowed):
        return Problem(409, "conflict", message)
    if isinstance(error, DatabaseUnavailable):
        return Problem(503, "database_unavailable", message, headers={"Retry-After": RETRY_AFTER})
    if isinstance(error, ModelUnavailable):
        return Problem(503, "model_unavailable", message, headers={"Retry-After": RETRY_AFTER})
    return Problem(500, "internal", UNEXPECTED)
