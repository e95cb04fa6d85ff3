"""What an operation is, and finding the one that a request asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pydantic import BaseModel
from starlette.requests import Request

from engine.errors import InvalidInput
from engine.http.asking import Asker
from engine.http.bodies import Query
from engine.http.problems import Problem, invalid
from engine.tokens import Role

if TYPE_CHECKING:
    from engine.workbench import Workbench

Method: TypeAlias = Literal["GET", "POST", "PUT"]
WITH_BODY: Final = ("POST", "PUT")


@dataclass(frozen=True)
class Asked:
    """A request that was read and may be answered. `path` has the names in the path, decoded."""

    request: Request
    workbench: Workbench
    who: Asker | None
    path: Mapping[str, str]
    query: Any
    body: Any

    @property
    def asker(self) -> Asker:
        """Who asks; every operation but the public ones knows."""
        if self.who is None:
            raise ValueError("a public operation does not know who asks")
        return self.who


@dataclass(frozen=True)
class Operation:
    """One thing that the API does. `role` is what a token must allow; None: it is public.

    `blames` is the field that an error is about when it names none. `answers` lists the errors beside the usual.
    """

    name: str
    method: Method
    path: str
    summary: str
    run: Callable[[Asked], Any]
    answer: Any
    role: Role | None = "read"
    query: type[Query] = Query
    body: type[BaseModel] | None = None
    status: int = 200
    blames: str | None = None
    answers: Sequence[int] = ()
    of_workspace: bool = True
    media: Sequence[str] = field(default=("application/json",))

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The parts of the path; those in braces are names."""
        return tuple(self.path.split("/")[1:])

    @property
    def names(self) -> list[str]:
        """The names in the path."""
        return [part[1:-1] for part in self.parts if part.startswith("{")]

    def matched(self, parts: Sequence[str]) -> dict[str, str] | None:
        """Return the names in a path that this operation's template fits, or None."""
        if len(parts) != len(self.parts) or not all(parts):
            return None
        found = {}
        for template, given in zip(self.parts, parts, strict=True):
            if template.startswith("{"):
                found[template[1:-1]] = given
            elif template != given:
                return None
        return found

    def answered(self, asked: Asked) -> Any:
        """Carry it out."""
        try:
            return self.run(asked)
        except InvalidInput as error:
            raise invalid(str(error), error.field or self.blames) from error


class Table:
    """All operations, and the way from a request to one of them."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = tuple(operations)
        self._roots = {operation.parts[0] for operation in operations}

    def serves(self, parts: Sequence[str]) -> bool:
        """Return whether a path is ours, known or not."""
        return bool(parts) and parts[0] in self._roots

    def find(self, method: str, parts: Sequence[str]) -> tuple[Operation, dict[str, str]]:
        """Return the operation that a request asks for, and the names in its path.

        Raises:
            Problem: 404 when nothing is at this path, 405 when something else can be done there.
        """
        fitting = [(o, names) for o in self.operations if (names := o.matched(parts)) is not None]
        if not fitting:
            raise Problem(404, "unknown_path", "There is nothing at this path. /openapi.json lists what there is.")
        # A literal part goes before a name: `/corrections/stats` is no correction.
        path = min((o for o, _ in fitting), key=lambda o: [part.startswith("{") for part in o.parts]).path
        there = {o.method: (o, names) for o, names in fitting if o.path == path}
        wanted = "GET" if method == "HEAD" else method
        for known, found in there.items():
            if known == wanted:
                return found
        allowed = sorted(there) + (["HEAD"] if "GET" in there else [])
        raise Problem(
            405,
            "method_not_allowed",
            f"This path takes {' and '.join(sorted(there))}.",
            headers={"Allow": ", ".join(allowed)},
        )
