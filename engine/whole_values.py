"""Does a value stand in a text as a whole, and did the wrong one come back?

Each text or number of a value becomes a regular expression that holds its own edges: "THC" is not in "DTHC", 12 is not
in "120", "1,200", "12.5", "10-12" or "12:30". The expressions keep to what Python's `regex` and JavaScript both read,
so that an exported test judges as this module does. What is decided here:

- Texts are compared in NFC, with blanks folded into one and invisible characters left out; capitals count only where
  the wrong and the right value differ by nothing else.
- A hyphen or an apostrophe ends a word ("THC-rich" and "Ana's" have THC and Ana), unless it takes a negation away
  ("non-compliant", "can't"). A full stop between two letters does not: "example" is not in "example.com".
- Scripts without spaces, and Hangul with its particles, have no edges: what they contain stands in them.
- 1200 is "1200", "1,200", "1 200" and "1'200"; 12 is "12.0", "+12", "$12" and "12%", and not "-12", "12kg" or "12万".
  A text that spells a number may be grouped too, but keeps its decimals: version "1.1" is not "1.10".
- A list stands where all its items do, a map where all its values do, in any order.
- A blank value stands where nothing is said, or "null" or "none" and nothing more.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import regex

from engine.correction_records import Value

INVISIBLE: Final = r"[\u00ad\u200b\u2060\ufeff\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]"
BLANKS: Final = r"[\s\x1c-\x1f\x85]+"
SAYS_NOTHING: Final = ("", "null", "none")

_SEPARATOR: Final = " | "  # between the parts of a structure, so that no two of them read as one
_UNSPACED: Final = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}\p{Script=Hangul}ー"
)
_LETTER: Final = rf"(?![{_UNSPACED}])\p{{L}}"
_IN_WORD: Final = rf"(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_]"
_JOINS_DIGITS: Final = r"[.,'’٫٬:/–-]"
_NO_OPERAND: Final = r"(?<![\p{L}\p{N})\]%_])"  # a minus after one of these is a hyphen or a subtraction
_MINUS: Final = r"[-−–]"
_GROUPS: Final = r"[, '’٬_]?"

_WORD_STARTS: Final = (
    rf"(?<!{_IN_WORD})(?<!{_LETTER}\.)"
    r"(?<!(?<![\p{L}\p{N}])(?:[Nn]on|[Uu]n|[Aa]nti|[Ee]x|[Dd]is|[Mm]is|[Dd]e)[-‐‑])"
)
_WORD_ENDS: Final = rf"(?!{_IN_WORD})(?!\.{_LETTER})(?!['’][tT](?!{_IN_WORD}))"
_DIGITS_START: Final = (
    rf"(?<!{_IN_WORD})(?<!\p{{N}}{_JOINS_DIGITS})(?<!{_NO_OPERAND}[-−–±])(?<!(?<![\p{{L}}\p{{N}}_.)\]%])\.)"
)
_DIGITS_END: Final = rf"(?!{_IN_WORD})(?!{_JOINS_DIGITS}\p{{N}})(?![十百千万萬億亿兆])"
# In "12 500" a plain blank separates thousands: neither 12 nor 500 is the number that stands there.
_NO_GROUP_BEFORE: Final = r"(?<!(?<!\p{N})\p{N}{1,3} )"
_NO_GROUP_AFTER: Final = r"(?! \p{N}{3}(?!\p{N}))"
_GRAPHEME_STARTS: Final = r"(?<!\u200d)"
_GRAPHEME_ENDS: Final = r"(?![\p{M}\u200d" + "\U0001f3fb-\U0001f3ff])"  # JavaScript has no \U

_SYNTAX: Final = regex.compile(r"[\^$\\.*+?()\[\]{}|/]")
_NUMBER: Final = regex.compile(r"([-−])?(0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)(?:\.([0-9]+))?")
_FOLDED_AWAY: Final = regex.compile(INVISIBLE)
_BLANKS: Final = regex.compile(BLANKS)
_UNSPACED_CHARACTER: Final = regex.compile(f"[{_UNSPACED}]")
_WORD_CHARACTER: Final = regex.compile(r"[\p{L}\p{M}_]")
_DIGIT: Final = regex.compile(r"\p{N}")
_HANGS_ON_DIGIT: Final = regex.compile(r"[.,'’٫٬:/–\-−+±]")

_CORRECTED, _ORIGINAL = 1, 2
_SIDES: Final = {_CORRECTED: _ORIGINAL, _ORIGINAL: _CORRECTED}  # each with the other


@dataclass(frozen=True)
class Standing:
    """Which of two values stands in a text. `original` is None when it is blank and so cannot be looked for."""

    corrected: bool
    original: bool | None


def stands_in(value: Value, text: str, cased: bool = False) -> bool:
    """Return whether `value` stands in `text` as a whole; with `cased`, capitals count."""
    folded = fold(text)
    if is_blank(value):
        return folded.casefold() in SAYS_NOTHING
    return all(_compiled(pattern, cased).search(folded) for pattern in patterns(value))


def came_back(original: Value, corrected: Value, text: str) -> bool | None:
    """Return whether the old value stands in `text` outside the new one, or None when the old one is blank.

    Where the two overlap the longer one is what stands there: "Falcon 9 Heavy" does not bring "Falcon 9" back.
    """
    return compare(original, corrected, text).original


def compare(original: Value, corrected: Value, text: str) -> Standing:
    """Return which of the two stands in `text`; where they overlap, the longer one alone.

    What both say in one place (the unit of two doses) stands for both, but does not bring the old one back by itself.
    """
    if differ_in_layout(original, corrected):
        return _literally(spread(original), spread(corrected), text)
    cased = differ_by_case(original, corrected)
    folded = fold(text)
    found = {
        (start - end, start, end, side, pattern)
        for side, value in ((_CORRECTED, corrected), (_ORIGINAL, original))
        for pattern in patterns(value)
        for start, end in (match.span() for match in _compiled(pattern, cased).finditer(folded))
    }
    places = {side: {(start, end) for _, start, end, whose, _ in found if whose == side} for side in _SIDES}
    both = places[_CORRECTED] & places[_ORIGINAL]
    owner = bytearray(len(folded))
    standing: set[tuple[int, str]] = set()
    differs = False
    for _, start, end, side, pattern in sorted(found):
        shared = (start, end) in both
        if not shared and _SIDES[side] in owner[start:end]:
            continue
        owner[start:end] = bytes([_CORRECTED if shared else side]) * (end - start)
        standing.add((side, pattern))
        differs = differs or (side == _ORIGINAL and not shared)
    return Standing(
        corrected=stands_in(corrected, text)
        if is_blank(corrected)
        else all((_CORRECTED, pattern) in standing for pattern in patterns(corrected)),
        original=None
        if is_blank(original)
        else differs and all((_ORIGINAL, pattern) in standing for pattern in patterns(original)),
    )


def differ_in_layout(one: Value, other: Value) -> bool:
    """Return whether two values say the same but for blanks, grouping or composition, so that only these can tell."""
    first, second = spread(one), spread(other)
    if first == second or is_blank(one) or is_blank(other) or differ_by_case(one, other):
        return False
    return fold(first) == fold(second) or (stands_in(one, second) and stands_in(other, first))


def _literally(original: str, corrected: str, text: str) -> Standing:
    """Compare two texts character for character; where one holds the other, the longer one is what stands."""
    longer, shorter = sorted((original, corrected), key=len, reverse=True)
    stands = {longer: longer in text, shorter: shorter in text.replace(longer, "\0")}
    return Standing(corrected=stands[corrected], original=stands[original])


def differ_by_case(one: Value, other: Value) -> bool:
    """Return whether two values differ in capitals and in nothing else."""
    first, second = fold(spread(one)), fold(spread(other))
    return first != second and first.casefold() == second.casefold()


def is_blank(value: Value) -> bool:
    """Return whether a value says nothing: None, blank text, or a list or map of nothing else."""
    if isinstance(value, str):
        return not fold(value)
    if isinstance(value, list):
        return all(is_blank(item) for item in value)
    if isinstance(value, dict):
        return all(is_blank(item) for item in value.values())
    return value is None


def fold(text: str) -> str:
    """Return `text` in NFC, without invisible characters, each run of blanks one space and none at the ends."""
    folded: str = _BLANKS.sub(" ", _FOLDED_AWAY.sub("", unicodedata.normalize("NFC", text)))
    return folded.strip(" ")


def spread(value: Value) -> str:
    """Return what a value says as one text: a structure as its keys and values, None as nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _SEPARATOR.join(spread(item) for item in value)
    if isinstance(value, dict):
        return _SEPARATOR.join(f"{key}: {spread(item)}" for key, item in value.items())
    return "" if value is None else _scalar(value)


def patterns(value: Value) -> list[str]:
    """Return one expression for each text and number in a value, none for what is blank.

    They are to be matched against folded text, and read alike in Python's `regex` and in JavaScript's `u` mode.
    """
    return list(dict.fromkeys(_patterns(value)))


def _patterns(value: Value) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _patterns(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _patterns(item)
    elif not is_blank(value):
        yield _of_text(value) if isinstance(value, str) else _of_scalar(value)


def _scalar(value: bool | int | float | None) -> str:
    """Return a boolean as JSON has it and a number in plain digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value):
        return format(Decimal(repr(value)), "f")
    return str(value)


def _of_scalar(value: bool | int | float | None) -> str:
    number = _NUMBER.fullmatch(_scalar(value))
    if number is None:
        return _of_text(_scalar(value))
    fraction = (number[3] or "").rstrip("0")
    is_zero = number[2] == "0" and not fraction
    return _of_number("" if is_zero else number[1], number[2], rf"\.{fraction}0*" if fraction else r"(?:\.0+)?")


def _of_text(text: str) -> str:
    folded = fold(text)
    number = _NUMBER.fullmatch(folded)
    if number is not None:
        return _of_number(number[1], number[2].replace(",", ""), rf"\.{number[3]}" if number[3] else "")
    literal: str = _SYNTAX.sub(r"\\\g<0>", folded)
    return _GRAPHEME_STARTS + _starts(folded) + literal + _ends(folded) + _GRAPHEME_ENDS


def _of_number(sign: str | None, whole: str, fraction: str) -> str:
    lead = len(whole) % 3 or 3
    groups = [whole[:lead], *(whole[at : at + 3] for at in range(lead, len(whole), 3))]
    start = _NO_OPERAND + _MINUS if sign else _DIGITS_START
    if lead == 3 and not sign:
        start += _NO_GROUP_BEFORE
    end = _DIGITS_END + (_NO_GROUP_AFTER if len(groups) == 1 else "")
    return start + _GROUPS.join(groups) + fraction + end


def _starts(text: str) -> str:
    """Return what must not stand before `text`, by its first character."""
    if _UNSPACED_CHARACTER.match(text):
        return ""
    if _DIGIT.match(text):
        is_group = len(text) - len(text.lstrip("0123456789")) == 3
        return _DIGITS_START + (_NO_GROUP_BEFORE if is_group else "")
    if _WORD_CHARACTER.match(text):
        return _WORD_STARTS
    return r"(?<!\p{N})" if _HANGS_ON_DIGIT.match(text) and _DIGIT.match(text, 1) else ""


def _ends(text: str) -> str:
    """Return what must not stand after `text`, by its last character."""
    last = text[-1]
    if _UNSPACED_CHARACTER.match(last):
        return ""
    if _DIGIT.match(last):
        is_group = len(text) - len(text.rstrip("0123456789")) <= 3
        return _DIGITS_END + (_NO_GROUP_AFTER if is_group else "")
    if _WORD_CHARACTER.match(last):
        return _WORD_ENDS
    return r"(?!\p{N})" if _HANGS_ON_DIGIT.match(last) and _DIGIT.match(text[-2:-1]) else ""


def _compiled(pattern: str, cased: bool) -> regex.Pattern[str]:
    return regex.compile(pattern, 0 if cased else regex.IGNORECASE)
