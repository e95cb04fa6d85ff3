"""The OpenAPI document against the API that serves it: schemathesis makes the requests and judges the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import negative_data_rejection, positive_data_acceptance
from starlette.types import ASGIApp, Receive, Scope, Send

import engine
from engine.agent_registry import Agents
from engine.http.application import Api
from engine.http.openapi import openapi_document
from engine.http.table import TABLE

FEW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
MANY = settings(FEW, max_examples=500)


class Prepared:
    """The API as schemathesis calls it: on loopback, on a workspace that has what some of the paths name."""

    def __init__(self) -> None:
        self.api: ASGIApp | None = None
        self.workspace = ""
        self.ids: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.api is not None
        if scope["type"] == "http":
            headers = [(k, v) for k, v in scope["headers"] if k not in (b"host", b"x-workspace")]
            headers.append((b"host", b"127.0.0.1"))
            if b"workspace=" not in scope["query_string"]:
                headers.append((b"x-workspace", self.workspace.encode()))
            path = scope.get("raw_path", b"")
            for placeholder, there in self.ids.items():
                path = path.replace(placeholder.encode(), there.encode())
            ends = {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80)}
            scope = {**scope, **ends, "raw_path": path, "headers": headers}
        await self.api(scope, receive, send)


PREPARED = Prepared()
THERE = {"agent": "known", "correction": f"k_{0:016}", "claim": f"c_{0:016}", "learning": f"l_{0:016}"}


@pytest.fixture(scope="module", autouse=True)
def prepared(wb: engine.Workbench) -> Iterator[None]:
    """A workspace with one of everything."""
    workspace = wb.create_workspace("contract")
    Agents(workspace).register("known")
    kept = workspace.corrections.record("known", "wrong", "right", field="a", entity_key="b", original_input="which?")
    report = workspace.ingest("The launch is on 12 June.", name="Plan")
    learning = workspace.learnings.add("The launch is in June.", agent_name="known", author_kind="model")
    ids = {"correction": kept.id, "claim": report.claims[0].id, "learning": learning.id}
    PREPARED.api, PREPARED.workspace = Api(lambda: wb), workspace.id
    PREPARED.ids = {THERE[name]: there for name, there in ids.items()}
    yield
    wb.delete_workspace(workspace.id)


def described() -> dict[str, Any]:
    """Return the document, in which about half of the paths name what is there."""
    document = openapi_document()
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path":
                    parameter["schema"] = {"anyOf": [{"enum": [THERE[parameter["name"]]]}, parameter["schema"]]}
    return document


schema = schemathesis.openapi.from_dict(described())
schema.app = PREPARED


@schema.parametrize()
@FEW
def test_the_document_says_what_the_api_does(case: schemathesis.Case) -> None:
    judge(case)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@schema.parametrize()
@MANY
def test_the_document_says_what_the_api_does_at_length(case: schemathesis.Case) -> None:
    judge(case)


def judge(case: schemathesis.Case) -> None:
    response = case.call()
    excused = []
    if response.status_code == 400 and beyond_schemas(case, response.json()):
        excused.append(positive_data_acceptance)
    if any(unquote(str(value))[:1] in ("[", "{") for value in (case.path_parameters or {}).values()):
        # A list that is put into a path is its text there, and that is a name like any other.
        excused.append(negative_data_rejection)
    case.validate_response(response, excluded_checks=excused)


def beyond_schemas(case: schemathesis.Case, answer: dict[str, Any]) -> bool:
    """Return whether valid data was refused for what no schema can say."""
    body = case.body if isinstance(case.body, dict) else {}
    field, message = answer["error"]["field"], answer["error"]["message"]
    if field == "corrected_value" and "are equal" in message:
        return json.dumps(body["original_value"], sort_keys=True) == json.dumps(body["corrected_value"], sort_keys=True)
    if field in ("original_value", "corrected_value", "output") and "nested deeper" in message:
        return True
    # A preview is made by the engine; one that a machine made up has no digest that fits.
    return field == "preview" and case.operation.path.endswith("/apply")


def test_the_document_lists_every_operation_and_nothing_else() -> None:
    document = openapi_document()
    listed = {(path, method.upper()) for path, there in document["paths"].items() for method in there}
    assert listed == {(operation.path, operation.method) for operation in TABLE.operations}
    names = [there["operationId"] for path in document["paths"].values() for there in path.values()]
    assert len(names) == len(set(names))
    for path in document["paths"].values():
        for there in path.values():
            for status, answer in there["responses"].items():
                if int(status) >= 400:
                    shape = answer["content"]["application/json"]["schema"]
                    assert shape == {"$ref": "#/components/schemas/ErrorBody"}


def test_every_reference_in_the_document_leads_somewhere() -> None:
    document = openapi_document()
    text = json.dumps(document)
    named = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= document["components"]["schemas"].keys()
    assert "prefixItems" not in text
