"""What a model wrote, as JSON of the shape that was asked for, or not at all.

Models put JSON into fences, after their thoughts, or between two sentences, and small ones leave out commas. What can
be read is read; whether it is true is for the rules that look at it afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from engine.cancellation import Cancel
from engine.errors import ModelUnavailable
from engine.model import ChatModel, Message, OnText, Reply, Usage

QUOTED_BACK: Final = 4_000  # characters of an unusable answer that the model is shown again
_THOUGHTS: Final = re.compile(r"\A.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(r"```[\w-]*\s*\n(.*?)(?:```|\Z)", re.DOTALL)
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
Shape = TypeVar("Shape", bound=BaseModel)


class Unreadable(Exception):
    """A reply is not what was asked for; the message says to a model what is wrong with it."""


def read_json(text: str) -> Any:
    """Return the JSON object or array that a reply contains: as it is, in a fence, or between other words.

    Raises:
        Unreadable: there is none.
    """
    import json_repair

    text = _SURROGATES.sub("\ufffd", _THOUGHTS.sub("", text)).strip()
    for part in [text, *(fence.strip() for fence in _FENCE.findall(text))]:
        if part.startswith(("{", "[")):
            try:
                return json.loads(part)
            except ValueError:
                continue
    start = next((at for at, c in enumerate(text) if c in "{["), None)
    if start is None:
        raise Unreadable("It contains no JSON.")
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        try:
            found = json_repair.loads(text[start:], skip_json_loads=True)
        except (ValueError, RecursionError):
            raise Unreadable("It contains no JSON that can be read.") from None
    if not isinstance(found, (dict, list)) or not found:
        raise Unreadable("It contains no JSON that can be read.")
    return found


def read_as(shape: type[Shape], text: str) -> Shape:
    """Return a reply as `shape`.

    Raises:
        Unreadable: it is not of that shape; the message names the first things that are wrong.
    """
    found = read_json(text)
    try:
        return shape.model_validate(found)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, e['loc'])) or 'the whole'}: {e['msg']}" for e in error.errors()[:5]]
        raise Unreadable("; ".join(wrong)) from None


def schema_of(shape: type[BaseModel]) -> tuple[str, dict[str, Any]]:
    """Return name and strict JSON schema of a shape, as the protocol wants them."""
    import openai

    function = openai.pydantic_function_tool(shape)["function"]
    return str(function["name"]), dict(function["parameters"])


def structured(
    model: ChatModel,
    messages: Sequence[Message],
    shape: type[Shape],
    *,
    max_tokens: int = 2_048,
    on_text: OnText | None = None,
    cancel: Cancel | None = None,
    deadline: float | None = None,
) -> tuple[Shape, Usage]:
    """Ask for JSON of a shape; what cannot be read goes back once, with what is wrong with it.

    Raises:
        ModelUnavailable: no answer, or twice none of that shape.
        Cancelled: it was called off.
    """
    asked, usage, why = list(messages), Usage(), ""
    for _ in range(2):
        reply = model.chat(
            asked, schema=schema_of(shape), max_tokens=max_tokens, on_text=on_text, cancel=cancel, deadline=deadline
        )
        usage += reply.usage
        try:
            return read_as(shape, _answer(reply)), usage
        except Unreadable as error:
            why = str(error)
            asked = [
                *messages,
                {"role": "assistant", "content": reply.text[:QUOTED_BACK] or "(nothing)"},
                {"role": "user", "content": f"That cannot be used: {why} Answer with the JSON alone, and shorter."},
            ]
    raise ModelUnavailable(f"{model.name} answered twice with something that cannot be used: {why}")


def _answer(reply: Reply) -> str:
    if reply.refusal:
        raise Unreadable("You declined to answer; an empty answer of the right shape is allowed.")
    if reply.finish in ("length", "cut"):
        raise Unreadable("It was too long and was cut off.")
    if not reply.text.strip() and reply.tool_calls:
        return reply.tool_calls[0].arguments  # some models write what they are asked for as a call
    return reply.text
