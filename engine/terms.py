"""The words that the full-text index gets, and queries made of them.

The index of FalkorDB folds ASCII alone and knows no words where a script puts no spaces, and most punctuation in a
query is a syntax error. So both sides get terms made here: case-folded, without accents, two characters at a time
in scripts without spaces, and spelled in ASCII letters and digits only. A query of such terms cannot be malformed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

import regex

TERM_LIMIT: Final = 60
QUERY_TERMS: Final = 64
_TOKEN: Final = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*")
_UNSPACED: Final = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}ー々〆]+"
)
# Accents of Latin, Greek and Cyrillic; points of Hebrew and Arabic, which are written or left out at will.
_ACCENT: Final = regex.compile(
    r"[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670]"
)
# Function words only: the published list for English has 1298 entries, "announce" and "big" among them.
_ENGLISH: Final = """
    a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he her here
    hers him his how i if in into is it its itself just may me might more most must my no nor not of off on once
    only or other our ours out over own same shall she should so some such than that the their theirs them then
    there these they this those through to too under until up us very was we were what when where which while who
    whom whose why will with would you your yours s t
"""
_OTHERS: Final = ("de", "fr", "es", "it", "nl", "pt", "ru")
_OTHERS_LIMIT: Final = 3  # longer words of the other lists are often words of content in a mixed text


@cache
def stop_words() -> frozenset[str]:
    """Return the words that carry no content, folded as terms are."""
    import stopwordsiso

    others = {word for word in stopwordsiso.stopwords(list(_OTHERS)) if len(word) <= _OTHERS_LIMIT}
    return frozenset(term for word in (_ENGLISH, *others) for term in phrase_terms(word))


def phrase_terms(text: str) -> list[str]:
    """Return all terms of `text`, in order."""
    return [_spelled(word) for word in _words(text)]


def query_terms(text: str) -> list[str]:
    """Return the terms that carry content, in order, each once; all of them where none does."""
    terms = list(dict.fromkeys(phrase_terms(text)))
    content = [term for term in terms if term not in stop_words()]
    return (content or terms)[:QUERY_TERMS]


def index_terms(text: str) -> str:
    """Return what the index stores for `text`."""
    return " ".join(phrase_terms(text))


def fulltext_query(terms: Sequence[str]) -> str:
    """Return a query for what has any of `terms`."""
    return "|".join(terms)


def fulltext_phrase(terms: Sequence[str]) -> str:
    """Return a query for what has `terms` next to one another, in order."""
    return f'"{" ".join(terms)}"'


def _words(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    for match in _TOKEN.finditer(folded):
        word = match[0]
        at = 0
        for run in _UNSPACED.finditer(word):
            if run.start() > at:
                yield _plain(word[at : run.start()])
            characters = run[0]
            if len(characters) == 1:
                yield characters
            for first, second in pairwise(characters):
                yield first + second
            at = run.end()
        if at < len(word):
            yield _plain(word[at:])


def _plain(word: str) -> str:
    """Return the word without accents, vowel points and tatweel; marks of other scripts are letters."""
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", word)))


def _spelled(word: str) -> str:
    """Return the word in ASCII letters and digits: itself, or the code points of its characters."""
    if word.isascii():
        return word[:TERM_LIMIT]
    return "u" + "x".join(f"{ord(c):x}" for c in word[: TERM_LIMIT // 6])
