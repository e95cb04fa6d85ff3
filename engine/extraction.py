"""Who proposes claims from a text. Whoever it is, what they propose is checked by the same rules afterwards.

A model-backed extractor has its place in `extractor_for`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, Protocol

import regex

from engine.errors import InvalidInput, ModelUnavailable
from engine.records import ProposedClaim
from engine.segmentation import sentences

FEWEST_WORDS: Final = 3
FEWEST_UNSPACED: Final = 5
REPEATS: Final = 3  # a short line that stands this often is a header, a footer or a menu

_ENDS_STATEMENT: Final = regex.compile(r"[.!。！．।॥።։؞۔…؛;:][\"'”’»)\]]*$")
# In Greek, and only there, a semicolon asks.
_QUESTION: Final = regex.compile(r"(?:[?？؟⸮\u037e՞]|(?<=\p{Greek}\p{M}*);)+[\"'”’»)\]]*$")
_UNSPACED: Final = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}]"
)
_WORD: Final = regex.compile(r"\p{L}[\p{L}\p{M}'’-]*")
_TOKEN: Final = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’.,-]*")
_NAVIGATION: Final = regex.compile(r"(?:\s[|›»>·•]\s.*){2,}|https?://\S+$|^\s*(?:www\.|\S+@\S+$)")
_LEADER: Final = regex.compile(r"(?:\.\s?){4,}\s*\d*$|…+\s*\d+$")
# Headings have no verb; in a short line without an end, one of these must be there.
_VERBISH: Final = regex.compile(
    r"(?:is|are|was|were|be|been|has|have|had|will|would|can|could|must|should|shall|may|might|does|do|did|cannot"
    r"|ist|sind|war|waren|hat|haben|wird|werden|muss|kann|soll|est|sont|était|étaient|a|ont|sera|seront|doit|peut"
    r"|es|son|era|eran|ha|han|será|debe|puede|sono|deve|può|heeft|hebben|zijn|wordt|worden|moet|kan"
    r"|\p{Ll}{2,}(?:ed|[^su\W]s))"
)
_LOWER: Final = regex.compile(r"^\p{Ll}")


class Extractor(Protocol):
    """Proposes claims for a text."""

    name: str
    description: str

    def propose(self, text: str, memory: str = "") -> Iterator[ProposedClaim]:
        """Yield proposals; `hint` is where the quote is believed to stand.

        `memory` is the section of a prompt with the corrections that matter for the text.
        """
        ...


class RuleExtractor:
    """Every sentence that is a statement is a claim, in its own words."""

    name = "rules"
    description = "Rule-based: every sentence that is a statement becomes a claim. No model was used."

    def propose(self, text: str, memory: str = "") -> Iterator[ProposedClaim]:
        """Yield the statements of `text`; headings, questions, fragments and navigation are left out.

        Rules quote and cannot be taught: what `memory` says is held against the text afterwards, as warnings.
        """
        del memory
        spans = sentences(text)
        repeated = Counter(text[a:b] for a, b in spans)
        seen: set[str] = set()
        for start, end in spans:
            sentence = text[start:end]
            if sentence in seen:
                continue  # the check of the quote finds every place where it stands
            seen.add(sentence)
            if repeated[sentence] >= REPEATS and len(sentence) < 60:
                continue
            if is_statement(sentence):
                yield ProposedClaim(" ".join(sentence.split()), sentence, start)


def is_statement(sentence: str) -> bool:
    """Return whether a sentence says something, by its form alone."""
    if _QUESTION.search(sentence) or _NAVIGATION.search(sentence) or _LEADER.search(sentence):
        return False
    if sentence.startswith("|") or "\t" in sentence:
        return False
    unspaced = len(_UNSPACED.findall(sentence))
    words = _WORD.findall(sentence)
    ended = _ENDS_STATEMENT.search(sentence) is not None
    if unspaced >= FEWEST_UNSPACED and unspaced * 2 > len(sentence):
        return ended or unspaced > 2 * FEWEST_UNSPACED
    if len(words) < FEWEST_WORDS:
        return False
    if ended and not sentence.endswith((":", "：")):
        return True
    # Without an end it may be a heading, a menu or a list item. A statement runs on in small letters.
    tokens = _TOKEN.findall(sentence)
    small = sum(1 for token in tokens[1:] if _LOWER.match(token) and len(token) > 1)
    cased = any(token != token.lower() for token in tokens) or any(token != token.upper() for token in tokens)
    if not cased:
        return len(words) > 2 * FEWEST_WORDS
    runs_on = len(tokens) >= 4 and small >= len(tokens) * 0.4 and not sentence.endswith((":", "："))
    return runs_on and (len(tokens) >= 10 or any(_VERBISH.fullmatch(token) for token in tokens[1:]))


def extractor_for(name: str | None) -> Extractor | None:
    """Return the extractor called `name`; None for None.

    Raises:
        ModelUnavailable: a model was asked for and none is configured.
        InvalidInput: there is no extractor of that name.
    """
    if name is None:
        return None
    if name in ("auto", "rules"):
        return RuleExtractor()
    if name == "model":
        raise ModelUnavailable('No model is configured for extraction. Use extractor="rules", which needs none.')
    raise InvalidInput(f'There is no extractor {name!r}. There are "auto", "rules", "model" and None.')
