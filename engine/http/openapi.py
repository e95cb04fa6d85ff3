"""The OpenAPI document, made from the list of operations and the models that they name."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from engine.http.bodies import NOT_BLANK, VALUE
from engine.http.operations import Operation
from engine.http.problems import ErrorBody
from engine.http.reading import BODY_LIMIT

VERSION: Final = "1.0.0"
REF: Final = "#/components/schemas/{model}"
WHY: Final = {
    400: "The request cannot be used; `field` names what is wrong.",
    401: "A token is needed, or this one opens nothing.",
    403: "Not with this token, or not from this host or origin.",
    404: "There is nothing of this name, or none that may be seen.",
    405: "Something else can be done at this path.",
    409: "Not in the state that things are in.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "Something went wrong here.",
    503: "The database or a model is not there; try again.",
}
ALWAYS: Final = (400, 401, 403, 500, 503)
OF_BODIES: Final = (413, 415)
INTRODUCTION: Final = f"""\
Corrections of what AI agents put out and remember.

Requests may spell every field in snake_case, as here, or in camelCase; answers are in snake_case. Bodies are strict
JSON of at most {BODY_LIMIT:,} bytes. Everything that is not a success has one shape:
`{{"error": {{"code", "message", "field", "details"}}}}`. A token decides whose records are seen and made: its tenant,
user and agent may be repeated in a request, not contradicted. On loopback no token is needed.
"""


@cache
def _document() -> dict[str, Any]:
    from engine.http.table import TABLE

    schemas: dict[str, Any] = {"Value": VALUE}
    paths: dict[str, dict[str, Any]] = {}
    for operation in TABLE.operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Corrigenda", "version": VERSION, "description": INTRODUCTION},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def openapi_document() -> dict[str, Any]:
    """Return the document; it may be changed."""
    return copy.deepcopy(_document())


def _described(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.parts[0]],
        "parameters": [*_path(operation), *_query(operation, schemas)],
        "responses": _responses(operation, schemas),
    }
    if operation.role is None:
        described["security"] = []
    else:
        described["security"] = [{}, {"token": []}]
        described["description"] = f"A token needs the role {operation.role}."
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _schema(operation.body, "validation", schemas)}},
        }
    return described


def _path(operation: Operation) -> list[dict[str, Any]]:
    kept = {"type": "string", "minLength": 1}
    of_agents = {**kept, "maxLength": 500, "pattern": NOT_BLANK}
    return [
        {"name": name, "in": "path", "required": True, "schema": of_agents if name == "agent" else kept}
        for name in operation.names
    ]


def _query(operation: Operation, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    schema = _whole(operation.query, "validation", schemas)
    found = []
    for name in operation.query.model_fields:
        if name == "workspace" and not operation.of_workspace:
            continue
        shape = dict(schema["properties"][name])
        shape.pop("default", None)
        described = shape.pop("description", None)
        options = [option for option in shape.get("anyOf", []) if option != {"type": "null"}]
        if options:  # what is left out is not there; a query has no null
            shape = options[0]
        parameter = {"name": name, "in": "query", "required": name in schema.get("required", []), "schema": shape}
        found.append(parameter | ({"description": described} if described else {}))
    return found


def _responses(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    shape = _schema(operation.answer, "serialization", schemas)
    content = {
        media: {"schema": shape if media == "application/json" else {"type": "string"}} for media in operation.media
    }
    answers: dict[str, Any] = {str(operation.status): {"description": operation.summary, "content": content}}
    problem = {"application/json": {"schema": _schema(ErrorBody, "serialization", schemas)}}
    for status in sorted({*ALWAYS, *operation.answers, *(OF_BODIES if operation.body else ())} | {404}):
        answers[str(status)] = {"description": WHY[status], "content": problem}
    return answers


def _schema(model: Any, mode: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to a model, which is put among the components; a plain type as it is."""
    whole = _whole(model, mode, schemas)
    if isinstance(model, type) and issubclass(model, BaseModel):
        name = model.__name__
        schemas.setdefault(name, whole)
        return {"$ref": REF.format(model=name)}
    return whole


def _whole(model: Any, mode: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = _flat(TypeAdapter(model).json_schema(ref_template=REF, mode=mode))
    for name, definition in whole.pop("$defs", {}).items():
        schemas.setdefault(name, definition)
    return whole


def _flat(schema: Any) -> Any:
    """Return a schema with its pairs as lists of two (not every reader knows tuples), and values by reference."""
    if isinstance(schema, list):
        return [_flat(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    flat = {key: _flat(value) for key, value in schema.items()}
    if flat.pop("x-value", False):
        flat["$ref"] = REF.format(model="Value")
    parts = flat.get("prefixItems")
    if parts and all(part == parts[0] for part in parts):
        flat["items"] = flat.pop("prefixItems")[0]
    return flat
