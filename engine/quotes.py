"""Exact evidence: does a quote stand in a text, character for character, and is it cut where words end?

Nothing is ever accepted for being close. When a quote fails by layout alone (line breaks, spaces, soft hyphens,
quotation marks, dashes, ligatures, full-width forms, composed or decomposed accents), the verdict names the exact
passage that was probably meant, so that it can be submitted instead.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Final

import regex

from engine.graphemes import grapheme_start
from engine.records import Span

SPANS_SHOWN: Final = 20
WIDEN_LIMIT: Final = 200
"""How far, in code points, a badly cut quote is widened to find what was meant."""

_WORD_CHARACTER: Final = regex.compile(r"[\p{L}\p{N}\p{M}_]")
# Scripts that put no space between words, or none before a particle (Hangul).
_UNSPACED: Final = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}\p{Script=Hangul}ー々〆]"
)
_SAYS_SOMETHING: Final = regex.compile(r"[\p{L}\p{N}\p{So}\p{Sc}\p{Sm}]")
# What joins the digits of one number or date; a plain space only where it separates thousands (`_joins`).
_JOINS_DIGITS: Final = regex.compile(r"[.,'’٫٬:/\u00a0\u2009\u202f–-]")
_NEGATIVE_PREFIX: Final = regex.compile(r"(?i)(?<![\p{L}\p{N}])(non|un|anti|ex|dis|mis|de)[-‐‑]\Z")
_HYPHENS: Final = "-‐‑"
_APOSTROPHES: Final = "'’"
# Two of these next to one another are two graphemes, whatever stands around them.
_APART: Final = regex.compile(r"[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}]")
_SIGN: Final = "-−–+±"

_INVISIBLE: Final = regex.compile("[\u00ad\u200b\u2060\ufeff\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_FOLDED: Final = (
    dict.fromkeys("‘’‚‛′`´＇", "'")
    | dict.fromkeys("“”„‟″«»＂", '"')
    | dict.fromkeys("‐‑‒–—―−﹣－", "-")
    | {"…": "...", "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st"}
    | {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "＇＂－"}
)
# Characters that folding leaves as they are and that no earlier character takes into its grapheme. A run of them goes
# through in one step, unless a mark that belongs to the last one follows: whole texts fold ten times faster.
_PLAIN: Final = (
    r"!-&(-_a-~\u00c0-\u024f\u0391-\u03a1\u03a3-\u03a9\u03ac-\u03ce\u0400-\u0481\u048a-\u052f\u05d0-\u05ea\u0620-\u064a"
    r"\u0660-\u0669\u0e01-\u0e30\u3001\u3002\u300c-\u300f\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
_PIECE: Final = regex.compile(rf"([{_PLAIN}]+(?: [{_PLAIN}]+)*(?=[{_PLAIN}\s!-~]|\Z))|\X", regex.DOTALL)
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
        meant = dict.fromkeys(self._whole(span) for span in islice(_occurrences(self.text, quote), SPANS_SHOWN))
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
        """Widen a span until it is cut inside nothing, or by WIDEN_LIMIT on either side."""
        start, end = span
        while start > max(0, span[0] - WIDEN_LIMIT) and _bad_cut(self.text, start):
            start -= 1
        while end < min(len(self.text), span[1] + WIDEN_LIMIT) and _bad_cut(self.text, end):
            end += 1
        return start, end

    def _not_found(self, quote: str) -> QuoteVerdict:
        wanted = _fold(quote).text
        for folded, sought in self._readings(quote, wanted):
            good = [span for span in folded.find(sought) if cut_inside(self.text, *span) is None]
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
    def _unbroken(self) -> list[_Folded]:
        """The text with words that a line end broke put together again, without the hyphen and with it."""
        if not _BROKEN_WORD.search(self.text):
            return []
        return [_fold(self.text, joint="", join=True), _fold(self.text, joint="-", join=True)]

    def _readings(self, quote: str, wanted: str) -> Iterator[tuple[_Folded, str]]:
        """Yield what to look for in which reading of the text, the most literal first."""
        yield self._folded, wanted
        if _BROKEN_WORD.search(quote):
            yield self._folded, _fold(quote, joint="", join=True).text
            yield self._folded, _fold(quote, joint="-", join=True).text
        for folded in self._unbroken:
            yield folded, wanted

    @cached_property
    def _lowered(self) -> _Folded:
        return _Folded(_lower(self._folded.text), self._folded.starts, self._folded.ends)


def _occurrences(text: str, quote: str) -> Iterator[Span]:
    start = text.find(quote)
    while start >= 0:
        yield start, start + len(quote)
        start = text.find(quote, start + 1)


def cut_inside(text: str, start: int, end: int) -> str | None:
    """Return `inside_grapheme`, `inside_number` or `inside_word` when a span cuts one apart, else None.

    Between two characters of a script without spaces every cut is allowed; so is one at a hyphen or an
    apostrophe, unless it takes a negation away ("non-", "n't"). Digits joined as in 1,200, 12 500, 2.5, 5–10 or
    2026-06-12 are one number, so are 1½, 二十五 and 200万, and a sign belongs to its number. What cannot be seen
    (soft hyphens, zero-width spaces) ends no word.
    """
    return _bad_cut(text, start) or _bad_cut(text, end)


def _bad_cut(text: str, at: int) -> str | None:
    if at <= 0 or at >= len(text):
        return None
    before, after = text[at - 1], text[at]
    if not (_APART.match(before) and _APART.match(after)) and grapheme_start(text, at) != at:
        return "inside_grapheme"
    if _INVISIBLE.match(before) or _INVISIBLE.match(after):
        left = _INVISIBLE.sub("", text[max(0, at - 32) : at])
        right = _INVISIBLE.sub("", text[at : at + 32])
        return _bad_cut(left + right, len(left))
    if _inside_number(text, at):
        return "inside_number"
    if _WORD_CHARACTER.match(before) and _WORD_CHARACTER.match(after):
        return None if _UNSPACED.match(before) or _UNSPACED.match(after) else "inside_word"
    return "inside_word" if _loses_negation(text, at) else None


def _loses_negation(text: str, at: int) -> bool:
    """Return whether a cut at `at` is next to the apostrophe of "n't" or the hyphen of "non-" and the like."""
    for mark in (at - 1, at):
        following = text[mark + 1 : mark + 2]
        if text[mark] in _APOSTROPHES and text[mark - 1 : mark] in ("n", "N") and following in ("t", "T"):
            return True
        if (
            text[mark] in _HYPHENS
            and _WORD_CHARACTER.match(following)
            and _NEGATIVE_PREFIX.search(text, max(0, mark - 6), mark + 1)
        ):
            return True
    return False


def _inside_number(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if before.isnumeric() and after.isnumeric():
        return True
    after_next = text[at + 1 : at + 2]
    before_last = text[at - 2 : at - 1] if at > 1 else ""
    if before.isdigit() and after_next.isdigit() and _joins(text, at):
        return True
    if after.isdigit() and before_last.isdigit() and _joins(text, at - 1):
        return True
    if after.isdigit() and before == ".":
        return not (before_last.isalnum() or before_last in (".", ")", "]", "%", "_"))
    if not (after.isdigit() and before in _SIGN):
        return False
    return not before_last or not (before_last.isalnum() or before_last in ")]%_")


def _joins(text: str, at: int) -> bool:
    """Return whether the character at `at`, which stands between digits, makes them one number."""
    if text[at] == " ":
        group = text[at + 1 : at + 5]
        # "2024 300 people" is a year and a number; "12 500 people" may be one number, so it counts as one.
        lead = text[max(0, at - 4) : at]
        is_group = len(group) >= 3 and group[:3].isdigit() and not group[3:].isdigit()
        return is_group and not (len(lead) == 4 and lead.isdigit())
    return _JOINS_DIGITS.match(text[at]) is not None


@dataclass(frozen=True)
class _Folded:
    """A text without its layout; `starts[i]` and `ends[i]` say where the i-th character came from."""

    text: str
    starts: array[int]
    ends: array[int]

    def find(self, folded_quote: str) -> list[Span]:
        """Return the original spans of all occurrences that take no part of a character (of "ﬁ", say) alone."""
        if not folded_quote:
            return []
        starts = self.starts
        return [
            (starts[a], self.ends[b - 1])
            for a, b in _occurrences(self.text, folded_quote)
            if (a == 0 or starts[a] != starts[a - 1]) and (b == len(starts) or starts[b] != starts[b - 1])
        ]


def _fold(text: str, joint: str = "", join: bool = False) -> _Folded:
    """Fold layout away; with `join`, words broken at a line end become one, with `joint` where the break was."""
    broken = {match.start(): match.end() for match in _BROKEN_WORD.finditer(text)} if join else {}
    pieces: list[str] = []
    starts, ends = array("L"), array("L")
    resume = 0
    for match in _PIECE.finditer(text):
        start, end = match.span()
        if start < resume:
            continue
        # A break begins with the last character of a run, since a blank or a line end follows it.
        at = end - 1
        breaks = at in broken
        if match[1] is not None:
            stop = at if breaks else end
            pieces.append(text[start:stop])
            starts.extend(range(start, stop))
            ends.extend(range(start + 1, stop + 1))
        if breaks:
            resume = broken[at]
            if joint:
                pieces.append(joint)
                starts.append(at)
                ends.append(at + 1)
            continue
        if match[1] is not None:
            continue
        for character in _fold_grapheme(match[0]):
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
    """Return `text` in small letters, each in the place of its capital."""
    # A sigma becomes another letter at the end of a word; other letters do not look around them.
    if "Σ" not in text and len(low := text.lower()) == len(text):
        return low
    return "".join(low if len(low := c.lower()) == 1 else c for c in text)
