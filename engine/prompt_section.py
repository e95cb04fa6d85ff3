"""Corrections as a section of a prompt. What people wrote is data there: it cannot close the section or add a line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from engine.correction_records import Correction, Value
from engine.values import blank, shown

HEADING: Final = "Corrections that people made to earlier outputs. Do not repeat these mistakes:"
VALUE_LIMIT: Final = 200  # characters of a value, as of everything else that somebody wrote
REASON_LIMIT: Final = 300
_BREAKS: Final = re.compile(r"[\s\u0085\u2028\u2029]+")
_INVISIBLE: Final = ("Cc", "Cf", "Co", "Cs", "Cn")
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "`": "&#96;"})


def section(corrections: Sequence[Correction]) -> str:
    """Return the section for a prompt; "" when there is nothing to say."""
    if not corrections:
        return ""
    scopes = ",".join(dict.fromkeys(correction.scope for correction in corrections))
    lines = [f'<memory section="corrections" scope="{scopes}">', HEADING, *map(line, corrections), "</memory>"]
    return "\n".join(lines)


def line(correction: Correction) -> str:
    """Return one correction as one line."""
    about = escaped(correction.field or ("output" if correction.kind == "output" else "claim"), VALUE_LIMIT)
    entity = f" [{escaped(correction.entity_key, VALUE_LIMIT)}]" if correction.entity_key else ""
    reason = f" — {escaped(correction.reason, REASON_LIMIT)}" if correction.reason.strip() else ""
    wrong, right = _value(correction.original_value), _value(correction.corrected_value)
    if correction.kind == "retract":
        return f"- {about}: {wrong} was found wrong, and nothing replaces it{entity}{reason}"
    return f"- {about}: {wrong} was corrected to {right}{entity}{reason}"


def escaped(text: str, limit: int) -> str:
    """Return text on one line, cut, and such that it cannot be taken for markup."""
    start = _BREAKS.sub(" ", text[: 4 * limit])
    visible = "".join(c for c in start if unicodedata.category(c) not in _INVISIBLE)
    flat = " ".join(visible.split())
    if len(flat) > limit:
        flat = flat[: limit - 1].rstrip() + "…"
    return flat.translate(_ESCAPES)


def _value(value: Value) -> str:
    if blank(value):
        return '""'
    return f'"{escaped(shown(value), VALUE_LIMIT)}"'
