"""Values that a correction is about: anything that JSON can say, kept exactly, and when two of them are equal."""

from __future__ import annotations

import json
import math
from typing import Final

from engine.correction_records import Value
from engine.errors import InvalidInput

VALUE_LIMIT: Final = 100_000  # characters of its JSON text
DEEPEST: Final = 20


def encoded(value: object, what: str) -> str:
    """Return a value as the JSON text that is stored.

    Raises:
        InvalidInput: it is nothing that JSON can say, too large, or holds a character that cannot be stored.
    """
    _check(value, what, 0)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) > VALUE_LIMIT:
        raise InvalidInput(
            f"`{what}` has {len(text):,} characters; at most {VALUE_LIMIT:,} are taken. Record the part that is wrong.",
            what,
        )
    return text


def decoded(text: str) -> Value:
    """Read what `encoded` wrote."""
    value: Value = json.loads(text)
    return value


def identity(text: str) -> str:
    """Return what the encoded forms of equal values share: 1 and 1.0 are equal; 1, "1" and true are not."""
    return json.dumps(_whole_numbers(json.loads(text)), ensure_ascii=False, sort_keys=True)


def same(a: str, b: str) -> bool:
    """Return whether two encoded values are equal."""
    return identity(a) == identity(b)


def shown(value: Value) -> str:
    """Return a value as people read it: text as it is, everything else as JSON; "" for None."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def blank(value: Value) -> bool:
    """Return whether a value says nothing: None, blank text, an empty list or map."""
    return value is None or value in ([], {}) or (isinstance(value, str) and not value.strip())


def _whole_numbers(value: Value) -> Value:
    """Return the value with every whole number as an integer."""
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check(value: object, what: str, depth: int) -> None:
    if depth > DEEPEST:
        raise InvalidInput(f"`{what}` is nested deeper than {DEEPEST} levels. Record the part that is wrong.", what)
    if value is None or type(value) in (bool, int):
        return
    if type(value) is float:
        if not math.isfinite(value):
            raise InvalidInput(f"`{what}` holds {value}, which JSON cannot say. Give a number, a text or None.", what)
    elif type(value) is str:
        check_characters(value, what)
    elif type(value) is list:
        for item in value:
            _check(item, what, depth + 1)
    elif type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise InvalidInput(f"`{what}` has the key {key!r}; the keys of a map are text.", what)
            check_characters(key, what)
            _check(item, what, depth + 1)
    else:
        raise InvalidInput(
            f"`{what}` is a {type(value).__name__}; give text, a number, true, false, None, a list or a map.", what
        )


def check_characters(text: str, what: str) -> None:
    """Raise InvalidInput if the text holds a character that cannot be stored."""
    for position, character in enumerate(text) if "\0" in text or not text.isascii() else ():
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise InvalidInput(
                f"`{what}` has a character at offset {position} that cannot be stored (U+{ord(character):04X}). "
                "Remove it.",
                what,
            )
