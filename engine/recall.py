"""Finding the corrections that matter for what an agent is about to do, and none when none does.

Two rankings are fused by reciprocal rank (Cormack, Clarke, Büttcher 2009): by the words of the field, the values, the
reason, the entity and the original input, and by the meaning of the same. Rank alone always finds something, so
each hit is then judged, and what is below the floor is not returned.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.correction_records import Caller, CorrectionHit
from engine.embeddings import Embedder
from engine.entries import audiences, party
from engine.errors import InvalidInput, ModelUnavailable
from engine.relevance import FLOOR, Signals, judged
from engine.store.corrections import fetch_corrections
from engine.store.recall import Within, all_vectors, by_meaning, by_words, sample_terms, vector_count
from engine.store.snapshot import Snapshot
from engine.terms import query_terms
from engine.vectors import VectorKeeper

QUERY_LIMIT: Final = 100_000
LARGEST: Final = 100
WIDE: Final = 40  # how many of each ranking are fused
JUDGED: Final = 20  # how many of the fused are looked at closely
FUSION: Final = 60.0  # the constant of reciprocal rank fusion
COMMON: Final = 0.05  # a word in more of the corrections than this share is common
RARE_ENOUGH: Final = 3  # with so many words that are not, common ones are left out of the query
SAMPLE: Final = 1_000
TERMS: Final = 24


@dataclass(frozen=True)
class Recalled:
    """What a search found, and how it searched. `note` is a sentence when it could not search as it should."""

    hits: list[CorrectionHit]
    mode: str
    note: str = ""


@dataclass
class Recaller:
    """Searches corrections; what it learned of a workspace's words it keeps for a while."""

    embedder: Embedder | None
    keeper: VectorKeeper | None
    _common: dict[tuple[str, tuple[str, ...]], tuple[int, frozenset[str]]] = field(default_factory=dict)
    _counts: dict[tuple[str, Within], tuple[int, int, int]] = field(default_factory=dict)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def recall(
        self,
        snap: Snapshot,
        query: object,
        caller: Caller,
        top_k: int = 3,
        min_score: float | None = None,
        entity_key: str | None = None,
    ) -> Recalled:
        """Return the corrections that matter for `query`, best first.

        Raises:
            InvalidInput: the query is not text, or `top_k` or `min_score` is out of range.
        """
        text, floor = _checked(query, top_k, min_score)
        within = Within(tuple(audiences(caller)), party("entity", entity_key) if entity_key else None)
        terms = self._telling(snap, within, query_terms(text)) if text.strip() else []
        words = by_words(snap, within, terms, WIDE) if terms else []
        meaning, mode, note = self._by_meaning(snap, within, text) if text.strip() else ([], "words and meaning", "")
        ranked = fused([[name for name, _ in words], [name for name, _ in meaning]])[:JUDGED]
        found = fetch_corrections(snap, ranked)
        near = dict(meaning)
        crowd = [cosine for _, cosine in meaning]
        scored = [
            (judged(Signals.of(text, correction, near.get(name), crowd, bool(entity_key))), place, correction)
            for place, (name, correction) in enumerate(found.items())
        ]
        scored.sort(key=lambda entry: (-entry[0], entry[1]))
        hits = [CorrectionHit(correction=k, score=round(score, 4)) for score, _, k in scored if score >= floor]
        return Recalled(hits[:top_k], mode, note)

    def _by_meaning(self, snap: Snapshot, within: Within, text: str) -> tuple[list[tuple[str, float]], str, str]:
        if self.embedder is None or self.keeper is None:
            return [], "words", "Searched by words only: there is no embedding model."
        try:
            missing = self.keeper.missing(snap)
            space = self.embedder.space
            count, total = self._count(snap, within, space)
            found = by_meaning(snap, within, space, self.embedder.query(text), WIDE, count, total) if count else []
        except ModelUnavailable as error:
            return [], "words", f"Searched by words only: {error}"
        note = f"{missing:,} corrections have no vector yet; those were searched by words." if missing else ""
        return found, "words and meaning", note

    def _count(self, snap: Snapshot, within: Within, space: str) -> tuple[int, int]:
        """Return how many vectors are within reach, of how many. Only a guide, so an older count will do."""
        key = (f"{snap.graph}/{space}", within)
        kept = self._counts.get(key)
        if kept is None or not kept[1] or _outdated(kept[0], snap.revision):
            kept = (snap.revision, vector_count(snap, within, space), all_vectors(snap))
            with self._mutex:
                self._counts[key] = kept
        return kept[1], kept[2]

    def _telling(self, snap: Snapshot, within: Within, terms: Sequence[str]) -> list[str]:
        """Leave common words out of a query that has enough others: they cost most and tell least."""
        key = (snap.graph, tuple(within.audiences))
        kept = self._common.get(key)
        if kept is None or _outdated(kept[0], snap.revision):
            texts = sample_terms(snap, within, SAMPLE)
            having = Counter(term for text in texts for term in set(text.split()))
            common = frozenset(term for term, n in having.items() if n > COMMON * len(texts)) if texts else frozenset()
            kept = (snap.revision, common)
            with self._mutex:
                self._common[key] = kept
        telling = [term for term in terms if term not in kept[1]]
        return (telling if len(telling) >= RARE_ENOUGH else list(terms))[:TERMS]


def _outdated(counted: int, revision: int) -> bool:
    """Return whether what was counted at one revision is worth counting again at another."""
    return revision < counted or revision > counted * 1.1 + 10


def fused(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Return names by the sum of 1 / (60 + rank) over the rankings that have them, best first."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            scores[name] = scores.get(name, 0.0) + 1.0 / (FUSION + rank)
    return sorted(scores, key=lambda name: -scores[name])


def _checked(query: object, top_k: object, min_score: object) -> tuple[str, float]:
    if type(query) is not str or len(query) > QUERY_LIMIT:
        raise InvalidInput(f"A query is text of at most {QUERY_LIMIT:,} characters.", "query")
    if type(top_k) is not int or not 1 <= top_k <= LARGEST:
        raise InvalidInput(f"`top_k` is a whole number from 1 to {LARGEST}.", "top_k")
    if min_score is None:
        return query, FLOOR
    if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
        raise InvalidInput("`min_score` is a number from 0 to 1; 0 returns whatever ranks highest.", "min_score")
    return query, float(min_score)
