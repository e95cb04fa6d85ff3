"""Reading a request: its body up to a limit, strict JSON, and the names of fields in either spelling."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import parse_qsl, unquote_to_bytes

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from engine.http.problems import Problem, invalid

BODY_LIMIT: Final = 2_000_000
PARAMETERS: Final = 60
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")
_JSON_TYPE: Final = re.compile(r'application/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?', re.IGNORECASE)
Model = TypeVar("Model", bound=BaseModel)


def check_content_type(content_type: str | None) -> None:
    """Refuse a body that is not JSON: a form of another site could send anything else.

    Raises:
        Problem: 415.
    """
    if content_type is None or not _JSON_TYPE.fullmatch(content_type.strip()):
        raise Problem(
            415, "unsupported_media_type", "Send JSON, in UTF-8, with the header `Content-Type: application/json`."
        )


async def read_body(request: Request) -> bytes:
    """Return the body, reading no more than the limit whatever the request says of its length.

    Raises:
        Problem: 413, or 400 when the connection ends before the body does.
    """
    stated = request.headers.get("content-length", "")
    if stated.isascii() and stated.isdigit() and int(stated[:20]) > BODY_LIMIT:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > BODY_LIMIT:
                raise _too_large()
            parts.append(part)
    except ClientDisconnect as error:
        raise invalid("The connection ended before the body did. Send it again.") from error
    return b"".join(parts)


def _too_large() -> Problem:
    return Problem(413, "too_large", f"The body has more than {BODY_LIMIT:,} bytes. Send the part that matters.")


def parse_json(body: bytes) -> dict[str, Any]:
    """Return a body that is one JSON object; no key twice, no NaN, nothing that is not UTF-8.

    Raises:
        Problem: 400.
    """
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_constant)
    except UnicodeDecodeError as error:
        raise invalid(f"The body is not UTF-8 at byte {error.start}. Encode it as UTF-8.") from error
    except RecursionError as error:
        raise invalid("The body is nested too deep. Send the part that matters.") from error
    except ValueError as error:
        raise invalid(f"The body is no JSON: {error}. Send one JSON object.") from error
    if not isinstance(value, dict):
        raise invalid("The body is no JSON object. Send {…} with the fields by name.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise invalid(f"The field {shortened(twice)} is there twice. Give it once.", field_name(twice))
    return found


def _constant(name: str) -> NoReturn:
    raise invalid(f"{name} is nothing that JSON can say. Give a number, a text or null.")


def parse_query(query: bytes, model: type[BaseModel]) -> dict[str, Any]:
    """Return the parameters of a query string; only those that are lists may be there more than once.

    Raises:
        Problem: 400.
    """
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, encoding="utf-8", errors="strict",
            max_num_fields=PARAMETERS,
        )  # fmt: skip
    except ValueError as error:
        raise invalid(
            f"The query cannot be read. Give at most {PARAMETERS} parameters, percent-encoded as UTF-8."
        ) from error
    found: dict[str, Any] = {}
    for given, value in pairs:
        name = snake(given)
        if name in model.model_fields and "list" in str(model.model_fields[name].annotation):
            found.setdefault(name, []).append(value)
        elif name in found:
            raise invalid(f"The parameter {shortened(given)} is there twice. Give it once.", field_name(name))
        else:
            found[name] = value
    return found


def either_spelling(given: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Return fields by their snake_case names, whichever way they were spelled.

    Raises:
        Problem: 400, when a field is there in both spellings and they differ.
    """
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = key if key in model.model_fields else snake(key)
        if name not in model.model_fields:
            name = key
        elif name in found and (found[name] != value or type(found[name]) is not type(value)):
            raise invalid(f"`{name}` is there in two spellings that differ. Give it once.", name)
        found[name] = value
    return found


def validated(model: type[Model], given: dict[str, Any], where: str) -> Model:
    """Return the fields as the model that describes them.

    Raises:
        Problem: 400, naming the first field that is wrong.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)
        # A field that is not there goes first: it is often the misspelled name of one that is missing.
        first = next((one for one in wrong if one["type"] == "extra_forbidden"), wrong[0])
    except RecursionError as error:
        raise invalid("The body is nested too deep. Send the part that matters.") from error
    names = [str(part) for part in first["loc"]]
    field = field_name(names[0]) if names else None
    if first["type"] == "extra_forbidden" and len(names) == 1:
        known = ", ".join(model.model_fields) or "none"
        raise invalid(f"There is no field {shortened(names[0])} in this {where}; there are: {known}.", field)
    if first["type"] == "missing":
        raise invalid(f"`{shortened('.'.join(names), '')}` is missing from the {where}.", field)
    raise invalid(f"`{shortened('.'.join(names), '')}` cannot be used: {first['msg']}.", field)


def segments(raw_path: bytes) -> list[str]:
    """Return the parts of a path, each decoded on its own: a name may hold a slash.

    What is not UTF-8 becomes characters that no name can hold, and is refused as such.
    """
    path = raw_path.split(b"?")[0]
    parts = [unquote_to_bytes(part).decode("utf-8", "surrogateescape") for part in path.split(b"/")[1:]]
    return parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def snake(name: str) -> str:
    """Return a camelCase name in snake_case."""
    return _CAMEL.sub(lambda match: f"_{match[1].lower()}", name)


def camel(name: str) -> str:
    """Return a snake_case name in camelCase."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def field_name(name: str) -> str:
    """Return a name as an answer repeats it: short, whatever somebody sent."""
    return name if len(name) <= 80 else name[:79] + "…"


def shortened(name: str, quote: str = "`") -> str:
    """Return a name as a message repeats it."""
    shown = "".join(c if c.isprintable() else "?" for c in field_name(name))
    return f"{quote}{shown}{quote}"
