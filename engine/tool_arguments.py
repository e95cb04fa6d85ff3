"""What a model may give to a tool: the schema that it is told, and the check that holds whatever it sends instead.

The schemas keep to what OpenAI's strict mode takes: every property is required and nothing else is taken; what may be
left out is nullable, and limits are checked here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from engine.entries import FIELD_LIMIT, SCOPES, TAGS
from engine.values import check_characters

Result: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["text", "value", "texts", "number", "choice"]

ARGUMENTS_LIMIT: Final = 4_000_000  # characters of all arguments together
ITEM: Final = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]


class Refused(Exception):
    """What a model did wrong, as it is told."""

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.field = field


@dataclass(frozen=True)
class Argument:
    """One argument of a tool: its schema, and the check that holds whatever a model sends instead."""

    name: str
    description: str
    kind: Kind = "text"
    limit: int = FIELD_LIMIT
    needed: bool = False
    nullable: bool = True
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        if self.kind == "value":
            several = {"type": "array", "items": {"anyOf": ITEM}}
            return {"description": self.description, "anyOf": [*ITEM, several]}
        base = {"text": "string", "choice": "string", "number": "integer", "texts": "array"}[self.kind]
        made: dict[str, Any] = {"type": [base, "null"] if self.nullable else base, "description": self.description}
        if self.kind == "texts":
            made["items"] = {"type": "string"}
        if self.kind == "choice":
            made["enum"] = [*self.choices, None] if self.nullable else list(self.choices)
        return made

    def checked(self, value: object) -> Any:
        """Return the value in order; raise Refused or InvalidInput if it is not."""
        if self.kind == "value":
            return value  # the engine says what a value may be
        if value is None and self.nullable:
            return None
        if self.kind == "texts":
            if not isinstance(value, list) or len(value) > TAGS:
                raise self._wrong(f"is a list of at most {TAGS} texts")
            return [self._text(item) for item in value]
        if self.kind == "number":
            number = int(value) if isinstance(value, float) and value.is_integer() else value
            if type(number) is not int or not 1 <= number <= self.limit:
                raise self._wrong(f"is a whole number from 1 to {self.limit}, or null")
            return number
        text = self._text(value)
        if self.kind == "choice" and text not in self.choices:
            raise self._not_a_choice(text)
        if not self.nullable and not text.strip():
            raise self._wrong("is empty; give at least one word")
        return text

    def _text(self, value: object) -> str:
        if type(value) is not str:
            raise self._wrong("is text" + (", or null" if self.nullable and self.kind != "texts" else ""))
        if len(value) > self.limit:
            raise self._wrong(f"has {len(value):,} characters; at most {self.limit:,} are taken. Shorten it")
        check_characters(value, self.name)
        return value

    def _wrong(self, what: str) -> Refused:
        return Refused("invalid_arguments", f"`{self.name}` {what}.", self.name)

    def _not_a_choice(self, text: str) -> Refused:
        allowed = " or ".join(self.choices)
        if self.name == "scope" and text in SCOPES:
            message = f"You may not record with the scope {text}: a person widens it. Give {allowed}, or null."
            return Refused("not_allowed", message, self.name)
        return self._wrong(f"is {text[:80]!r}; it is {allowed}" + (", or null" if self.nullable else ""))


@dataclass(frozen=True)
class Tool:
    """A tool: what a model is told of it, and what runs it."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    run: Callable[..., Result]

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its arguments."""
        # Strict mode wants every property required; what may be left out is nullable instead.
        return {
            "type": "object",
            "properties": {argument.name: argument.schema() for argument in self.arguments},
            "required": [argument.name for argument in self.arguments],
            "additionalProperties": False,
        }

    def checked(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return every argument in order; raise Refused or InvalidInput if one is not."""
        known = [argument.name for argument in self.arguments]
        for name in given:
            if name not in known:
                raise Refused(
                    "invalid_arguments",
                    f"{self.name} has no argument {name[:80]!r}; it has {', '.join(known)}. Who you are and for whom "
                    "you record is set by the program that runs you.",
                    name[:80],
                )
        for argument in self.arguments:
            if (argument.needed or not argument.nullable) and argument.name not in given:
                raise Refused("invalid_arguments", f"`{argument.name}` is missing. Give it.", argument.name)
        return {argument.name: argument.checked(given.get(argument.name)) for argument in self.arguments}


def parsed(arguments: object) -> Mapping[str, object]:
    """Return what a model sent as its arguments."""
    try:
        if isinstance(arguments, str):
            size, given = len(arguments), json.loads(arguments) if len(arguments) <= ARGUMENTS_LIMIT else {}
        else:
            size, given = len(json.dumps(arguments)), arguments  # refuses what is not JSON, or goes round in circles
    except (ValueError, TypeError, RecursionError) as error:
        message = f"The arguments are no JSON object that can be read: {error}. Send one, as the schema says."
        raise Refused("invalid_json", message) from error
    if size > ARGUMENTS_LIMIT:
        raise Refused(
            "invalid_arguments",
            f"The arguments have {size:,} characters; at most {ARGUMENTS_LIMIT:,} are taken. Send what matters.",
        )
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise Refused("invalid_json", "The arguments are a JSON object. Send one, as the schema says.")
    return given
