"""Exact evidence: does a quote stand in a text, character for character, and is it cut where words end?

Nothing is ever accepted for being close. When a quote fails by layout alone (line breaks, spaces, soft hyphens,
quotation marks, dashes, ligatures, full-width forms, composed or decomposed accents), the verdict names the exact
passage that was probably meant, so that it can be submitted instead.
"""

from __future__ import annotations

import unicodedata
from array import array
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import regex

from engine.graphemes import grapheme_start
from engine.records import Span

SPANS_SHOWN: Final = 20

_WORD_CHARACTER: Final = regex.compile(r"[\p{L}\p{N}\p{M}_]")
# Scripts that put no space between words, or none before a particle (Hangul).
_UNSPACED: Final = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}\p{Script=Hangul}ー々〆]"
)
_SAYS_SOMETHING: Final = regex.compile(r"[\p{L}\p{N}\p{So}\p{Sc}\p{Sm}]")
# What joins the digits of one number or date; a plain space only before a group of three that begins with 0.
_JOINS_DIGITS: Final = regex.compile(r"[.,'’٫٬:/\u00a0\u2009\u202f–-]")
_NEGATIVE_PREFIX: Final = regex.compile(r"(?i)(?<![\p{L}\p{N}])(non|un|anti|ex|dis|mis|de)[-‐‑]\Z")
_SIGN: Final = "-−–+±"

_INVISIBLE: Final = regex.compile("[\u00ad\u200b\u2060\ufeff\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_FOLDED: Final = (
    dict.fromkeys("‘’‚‛′`´＇", "'")
    | dict.fromkeys("“”„‟″«»＂", '"')
    | dict.fromkeys("‐‑‒–—―−﹣－", "-")
    | {"…": "...", "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st"}
    | {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "＇＂－"}
)
# Plain characters go through as they are, unless a mark that belongs to the last one follows.
_PIECE: Final = regex.compile(r"[!-&(-_a-~]+(?=[\n -~]|\Z)|\X", regex.DOTALL)
_BROKEN_WORD: Final = regex.compile(r"(?<=\p{L})[-‐\u00ad][ \t]*\r?\n[ \t]*(?=\p{Ll})")


@dataclass(frozen=True)
class QuoteVerdict:
    """Whether a quote is evidence, where it stands, and if not, why and what was probably meant.

    `spans` holds every occurrence that is cut at the ends of words. `suggestion` is the exact text of the first
    span in `did_you_mean`; as a quote of its own it is valid.
    """

    valid: bool
    spans: list[Span] = field(default_factory=list)
    code: str = ""
    reason: str = ""
    did_you_mean: list[Span] = field(default_factory=list)
    suggestion: str | None = None


def check_quote(text: str, quote: str) -> QuoteVerdict:
    """Return the verdict on one quote. For many quotes of one text, keep a `Quotes`."""
    return Quotes(text).check(quote)


class Quotes:
    """A text that quotes are checked against; what is costly to prepare is prepared once, when first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def check(self, quote: str) -> QuoteVerdict:
        """Return whether `quote` stands in the text exactly, cut inside no word, number or grapheme."""
        if not quote:
            return QuoteVerdict(False, code="empty", reason="The quote is empty. Copy a passage from the text.")
        if not _SAYS_SOMETHING.search(quote):
            return QuoteVerdict(
                False, code="blank", reason="The quote has no letter or digit. Copy a passage that says something."
            )
        badly: str | None = None
        spans: list[Span] = []
        for span in _occurrences(self.text, quote):
            code = cut_inside(self.text, *span)
            if code is None:
                spans.append(span)
            else:
                badly = badly or code
        if spans:
            return QuoteVerdict(True, spans)
        if badly is not None:
            return self._badly_cut(quote, badly)
        return self._not_found(quote)

    def _badly_cut(self, quote: str, code: str) -> QuoteVerdict:
        what = code.removeprefix("inside_")
        meant = [self._whole(span) for span in _occurrences(self.text, quote)][:SPANS_SHOWN]
        good = [span for span in meant if cut_inside(self.text, *span) is None]
        return QuoteVerdict(
            False,
            code=code,
            reason=f"The quote begins or ends inside a {what}, which can turn its meaning around. "
            f"Quote the whole {what}.",
            did_you_mean=good,
            suggestion=self.text[slice(*good[0])] if good else None,
        )

    def _whole(self, span: Span) -> Span:
        """Widen a span until it is cut inside nothing."""
        start, end = span
        while start > 0 and _bad_cut(self.text, start):
            start -= 1
        while end < len(self.text) and _bad_cut(self.text, end):
            end += 1
        return start, end

    def _not_found(self, quote: str) -> QuoteVerdict:
        wanted = _fold(quote).text
        for folded in (self._folded, self._joined):
            spans = folded.find(wanted)
            good = [span for span in spans if cut_inside(self.text, *span) is None]
            if good:
                return QuoteVerdict(
                    False,
                    code="layout",
                    reason="The text has this passage with another layout (line breaks, spaces, quotation marks, "
                    "dashes or the like). Submit the exact passage instead.",
                    did_you_mean=good[:SPANS_SHOWN],
                    suggestion=self.text[slice(*good[0])],
                )
        spans = self._lowered.find(_lower(wanted))
        good = [span for span in spans if cut_inside(self.text, *span) is None]
        if good:
            return QuoteVerdict(
                False,
                code="not_found",
                reason="The text has these words with other capitals. Capitals count: copy them as they stand.",
                did_you_mean=good[:SPANS_SHOWN],
                suggestion=self.text[slice(*good[0])],
            )
        return QuoteVerdict(
            False,
            code="not_found",
            reason="The quote does not stand in the text. Copy a passage character for character.",
        )

    @cached_property
    def _folded(self) -> _Folded:
        return _fold(self.text)

    @cached_property
    def _joined(self) -> _Folded:
        """The text with words that a line end broke put together again."""
        return _fold(self.text, join_words=True) if _BROKEN_WORD.search(self.text) else self._folded

    @cached_property
    def _lowered(self) -> _Folded:
        return _Folded(_lower(self._folded.text), self._folded.starts, self._folded.ends)


def _occurrences(text: str, quote: str) -> list[Span]:
    spans = []
    start = text.find(quote)
    while start >= 0:
        spans.append((start, start + len(quote)))
        start = text.find(quote, start + 1)
    return spans


def cut_inside(text: str, start: int, end: int) -> str | None:
    """Return `inside_grapheme`, `inside_number` or `inside_word` when a span cuts one apart, else None.

    Between two characters of a script without spaces every cut is allowed; so is one at a hyphen or an
    apostrophe, unless it takes a negation away ("non-", "n't"). Digits joined as in 1,200, 2.5, 5–10 or
    2026-06-12 are one number, and its sign belongs to it.
    """
    return _bad_cut(text, start) or _bad_cut(text, end)


def _bad_cut(text: str, at: int) -> str | None:
    if at <= 0 or at >= len(text):
        return None
    before, after = text[at - 1], text[at]
    if grapheme_start(text, at) != at:
        return "inside_grapheme"
    if _inside_number(text, at):
        return "inside_number"
    if _WORD_CHARACTER.match(before) and _WORD_CHARACTER.match(after):
        return None if _UNSPACED.match(before) or _UNSPACED.match(after) else "inside_word"
    if after in "'’" and before in "nN" and text[at + 1 : at + 2] in ("t", "T"):
        return "inside_word"
    if _WORD_CHARACTER.match(after) and _NEGATIVE_PREFIX.search(text, max(0, at - 6), at):
        return "inside_word"
    return None


def _inside_number(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if before.isdigit() and after.isdigit():
        return True
    after_next = text[at + 1 : at + 2]
    before_last = text[at - 2 : at - 1] if at > 1 else ""
    if before.isdigit() and after_next.isdigit() and _joins(text, at):
        return True
    if after.isdigit() and before_last.isdigit() and _joins(text, at - 1):
        return True
    if not (after.isdigit() and before in _SIGN):
        return False
    return not before_last or not (before_last.isalnum() or before_last in ")]%_")


def _joins(text: str, at: int) -> bool:
    """Return whether the character at `at`, which stands between digits, makes them one number."""
    if text[at] == " ":
        group = text[at + 1 : at + 5]
        return group[:1] == "0" and group[:3].isdigit() and not group[3:].isdigit()
    return _JOINS_DIGITS.match(text[at]) is not None


@dataclass(frozen=True)
class _Folded:
    """A text without its layout; `starts[i]` and `ends[i]` say where the i-th character came from."""

    text: str
    starts: array[int]
    ends: array[int]

    def find(self, folded_quote: str) -> list[Span]:
        if not folded_quote:
            return []
        return [(self.starts[a], self.ends[b - 1]) for a, b in _occurrences(self.text, folded_quote)]


def _fold(text: str, join_words: bool = False) -> _Folded:
    skipped = {match.start(): match.end() for match in _BROKEN_WORD.finditer(text)} if join_words else {}
    pieces: list[str] = []
    starts, ends = array("L"), array("L")
    resume = 0
    for match in _PIECE.finditer(text):
        start, end = match.span()
        if start < resume:
            continue
        if start in skipped:
            resume = skipped[start]
            continue
        piece = match[0]
        if end - start > 1 and piece.isascii() and not piece.isspace():
            broken = next((at for at in range(start, end) if at in skipped), None) if skipped else None
            if broken is not None:
                piece, end, resume = piece[: broken - start], broken, skipped[broken]
            pieces.append(piece)
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
            continue
        for character in _fold_grapheme(piece):
            if character == " " and pieces and pieces[-1].endswith(" "):
                ends[-1] = end
                continue
            pieces.append(character)
            starts.append(start)
            ends.append(end)
    folded = "".join(pieces)
    lead = len(folded) - len(folded.lstrip(" "))
    tail = len(folded.rstrip(" "))
    return _Folded(folded[lead:tail], starts[lead:tail], ends[lead:tail])


def _fold_grapheme(grapheme: str) -> str:
    if grapheme.isspace() or grapheme == "\u3000":
        return " "
    composed = unicodedata.normalize("NFC", _INVISIBLE.sub("", grapheme))
    return "".join(_FOLDED.get(c, " " if c.isspace() else c) for c in composed)


def _lower(text: str) -> str:
    return "".join(low if len(low := c.lower()) == 1 else c for c in text)
