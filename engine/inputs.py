"""Text that comes in: what can be stored exactly as it is, and when two statements are one."""

from __future__ import annotations

import unicodedata
from typing import Final

from engine.errors import InvalidInput
from engine.ids import digest

STATEMENT_LIMIT: Final = 10_000
NAME_LIMIT: Final = 500
TEXT_LIMIT: Final = 50_000_000


def checked_text(text: object, what: str = "text", limit: int = TEXT_LIMIT) -> str:
    """Return `text` if it can be stored exactly; raise InvalidInput, naming `what`, if it cannot."""
    if type(text) is not str:
        raise InvalidInput(f"The {what} must be a string, not {type(text).__name__}.")
    if not text or not text.strip():
        raise InvalidInput(f"The {what} is empty. Give at least one word.")
    if len(text) > limit:
        raise InvalidInput(f"The {what} has {len(text):,} characters; at most {limit:,} are taken. Split it.")
    for position, character in enumerate(text) if "\0" in text or not text.isascii() else ():
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise InvalidInput(
                f"The {what} has a character at offset {position} that cannot be stored "
                f"(U+{ord(character):04X}). Remove it, or decode the file with its right encoding."
            )
    return text


def optional_text(text: object, what: str, limit: int) -> str:
    """Return `text` without the blanks around it, "" for None; raise InvalidInput if it cannot be stored."""
    if text is None or (type(text) is str and not text.strip()):
        return ""
    return checked_text(text, what, limit).strip()


def statement_key(statement: str) -> str:
    """Return what two statements share when they are the same but for layout."""
    return digest(unicodedata.normalize("NFC", " ".join(statement.split())))
