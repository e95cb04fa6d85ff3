"""Where a character as people see it begins: never cut inside one."""

from __future__ import annotations

from typing import Final

import regex

_GRAPHEME: Final = regex.compile(r"\X")
_FARTHEST: Final = 256


def grapheme_start(text: str, at: int) -> int:
    """Return `at` when a grapheme begins there (or the text ends), else where the grapheme around it begins.

    Graphemes are the extended ones of Unicode Standard Annex 29. Offsets are code points.
    """
    if at <= 0 or at >= len(text):
        return at
    if text[at - 1].isascii() and text[at].isascii() and text[at - 1 : at + 1] != "\r\n":
        return at
    start = at - 1
    # A plain letter or digit always begins a grapheme, so it is enough to look from the last one on.
    while start > 0 and not (text[start].isascii() and text[start].isalnum()) and at - start < _FARTHEST:
        start -= 1
    for match in _GRAPHEME.finditer(text, start, min(len(text), at + _FARTHEST)):
        if match.end() > at:
            return int(match.start())
    return at
