"""Cutting a text: fragments that tile it, and sentences, both with exact offsets.

Offsets are code points, half-open. Sentences come from `sentencex`, which knows many scripts; blocks (paragraphs,
list items, headings, table rows, code) are separated first, because a sentence never runs across them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, cast

import regex
import sentencex
from semchunk.semchunk import chunk

from engine.graphemes import grapheme_start
from engine.records import Span

FRAGMENT_SIZE: Final = 1200
_LINE: Final = regex.compile(r"[^\r\n\u2028\u2029\x0b\x0c]*(?:\r\n|[\r\n\u2028\u2029\x0b\x0c]|\Z)")
_FENCE: Final = regex.compile(r"\s*(```|~~~)")
_OWN_BLOCK: Final = regex.compile(
    r"\s*(?:#{1,6}\s|>|[-*+•‣◦▪–]\s|\(?\p{N}{1,3}[.)]\s|\(?\p{L}[)]\s|\||={3,}\s*$|-{3,}\s*$|\*{3,}\s*$)"
)
WINDOW: Final = 4000
"""How much is given to sentencex at once: beyond ASCII, it takes the square of the length."""
_MARKER: Final = regex.compile(r"\s*(?:(?:#{1,6}|>+|[-*+•‣◦▪–]|\(?\p{N}{1,3}[.)]|\(?\p{L}[)])\s+)*")


def fragments(text: str, target: int = FRAGMENT_SIZE) -> list[Span]:
    """Return spans of about `target` code points that tile the text: every code point is in exactly one.

    They are cut where the text pauses most (paragraphs, lines, sentences, words), and never inside a grapheme;
    only an unbroken run longer than `target` is cut by length.
    """
    if not text:
        return []
    _, offsets = cast("tuple[list[str], list[Span]]", chunk(text, target, len, memoize=False, offsets=True))
    # What lies between two chunks (the blanks that were split at) goes to the one before.
    cuts = [0, *(start for start, _ in offsets[1:]), len(text)]
    return list(pairwise(sorted({grapheme_start(text, cut) for cut in cuts})))


def blocks(text: str) -> Iterator[Span]:
    """Yield the spans of paragraphs, list items, headings and table rows; code in fences is left out."""
    start: int | None = None
    end = 0
    fenced = False
    for match in _LINE.finditer(text):
        line_start, line_end = match.span()
        if line_start == line_end:
            continue
        line = match[0]
        if _FENCE.match(line):
            fenced = not fenced
            if start is not None:
                yield start, end
                start = None
            continue
        if fenced:
            continue
        if not line.strip():
            if start is not None:
                yield start, end
                start = None
            continue
        if start is not None and (_OWN_BLOCK.match(line) or _is_row(line)):
            yield start, end
            start = None
        if start is None:
            start = line_start
        end = line_end
        if line.lstrip().startswith("#") or _is_row(line):
            yield start, end
            start = None
    if start is not None:
        yield start, end


def _is_row(line: str) -> bool:
    return "\t" in line.strip() or line.strip().startswith("|")


def sentences(text: str) -> list[Span]:
    """Return the spans of sentences, in order, without the blanks and list markers around them."""
    found: list[Span] = []
    for start, end in blocks(text):
        marker = _MARKER.match(text, start, end)
        at = marker.end() if marker else start
        while end - at > WINDOW:
            *whole, (last, stop) = _sentences_of(text, at, grapheme_start(text, at + WINDOW)) or [(at, at)]
            # The last one may go on behind the window; without another before it, it is longer than any sentence.
            found += whole or [(last, stop)] * (stop > last)
            at = last if whole else grapheme_start(text, at + WINDOW)
        found += _sentences_of(text, at, end)
    return found


def _sentences_of(text: str, start: int, end: int) -> list[Span]:
    found: list[Span] = []
    for piece in sentencex.get_sentence_boundaries("en", text[start:end]):
        a, b = start + piece["start_index"], start + piece["end_index"]
        while a < b and text[a].isspace():
            a += 1
        while b > a and text[b - 1].isspace():
            b -= 1
        if a < b:
            found.append((a, b))
    return found
