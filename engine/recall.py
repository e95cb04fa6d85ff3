"""Finding the corrections that matter for what an agent is about to do, and none when none does.

Two rankings are fused by reciprocal rank (Cormack, Clarke, Büttcher 2009): by the words of the field, the values, the
reason, the entity and the original input, and by the meaning of the same. Rank alone always finds something, so
each candidate is then judged by several signals, and what is below the floor is not returned.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from engine.backdrops import BACKDROP, IDLE, made_before
from engine.correction_records import Caller, CorrectionHit
from engine.embeddings import Embedder
from engine.entries import audiences, checked_caller, party
from engine.errors import InvalidInput, ModelUnavailable
from engine.relevance import FLOOR, Asked, Crowd, Matrix, Outlook, Signals, Talk, Vocabulary, compared, judged
from engine.store.corrections import fetch_corrections
from engine.store.recall import (
    Within,
    all_vectors,
    by_meaning,
    by_words,
    candidates,
    cosines,
    crowd_vectors,
    sample_terms,
    vector_count,
    visible_count,
)
from engine.store.snapshot import Snapshot
from engine.vectors import VectorKeeper

QUERY_LIMIT: Final = 100_000
LARGEST: Final = 100
WIDE: Final = 50  # how many of each ranking are fused
JUDGED: Final = 60  # how many of the fused are judged
FUSION: Final = 60.0  # the constant of reciprocal rank fusion
MEANT: Final = 1_000  # characters of a query whose meaning is looked for
SAMPLE: Final = 1_000
CROWD: Final = 256
TERMS: Final = 24
MATCHES: Final = 4_000  # about so many corrections are looked at for their words; each costs some microseconds
KEPT: Final = 500


@dataclass(frozen=True)
class Recalled:
    """What a search found, and how it searched. `note` is a sentence when it could not search as it should."""

    hits: list[CorrectionHit]
    mode: str
    note: str = ""


@dataclass(frozen=True)
class Lexicon:
    """What is known of the words that some callers may see. Only a guide, so an older one will do."""

    revision: int
    vocabulary: Vocabulary
    visible: int


@dataclass(frozen=True)
class Surroundings:
    """What is known of the vectors that some callers may see. Only a guide, so an older one will do."""

    revision: int
    count: int
    total: int
    crowd: Crowd


@dataclass(frozen=True)
class Near:
    """What a search by meaning came to."""

    ranked: list[str] = field(default_factory=list)
    outlook: Outlook | None = None
    talk: Talk | None = None
    vector: Sequence[float] = ()
    middle: Sequence[float] = ()
    mode: str = "words and meaning"
    note: str = ""


@dataclass
class Recaller:
    """Searches corrections; what it learned of a workspace's words and vectors it keeps for a while."""

    embedder: Embedder | None
    keeper: VectorKeeper | None
    _lexicons: OrderedDict[tuple[str, Within], Lexicon] = field(default_factory=OrderedDict)
    _surroundings: OrderedDict[tuple[str, Within], Surroundings] = field(default_factory=OrderedDict)
    _backdrops: dict[str, tuple[Matrix, Matrix]] = field(default_factory=dict)
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
        checked_caller(caller)
        if entity_key is not None and type(entity_key) is not str:
            raise InvalidInput(f"`entity_key` is text, not {type(entity_key).__name__}.", "entity_key")
        judgements, near = self.judge(snap, text, caller, entity_key)
        scores = judged([signals for _, signals in judgements], near.talk)
        names = [name for name, _ in judgements]
        scored = sorted(zip(scores, names, strict=True), key=lambda entry: -entry[0])
        best = [(name, score) for score, name in scored if score >= floor][:top_k]
        found = fetch_corrections(snap, [name for name, _ in best])
        hits = [CorrectionHit(correction=found[name], score=round(score, 4)) for name, score in best if name in found]
        return Recalled(hits, near.mode, near.note)

    def judge(
        self, snap: Snapshot, text: str, caller: Caller, entity_key: str | None = None
    ) -> tuple[list[tuple[str, Signals]], Near]:
        """Return the most promising corrections with what speaks for them, in the order of both rankings fused."""
        if not text.strip():
            return [], Near()
        every = Within(tuple(audiences(caller)))
        within = Within(every.audiences, party("entity", entity_key)) if entity_key else every
        lexicon = self._lexicon(snap, every)
        asked = Asked(text, lexicon.vocabulary, caller.agent_name, bool(entity_key))
        words = self._by_words(snap, within, lexicon, asked)
        near = self._by_meaning(snap, every, within, text)
        ranked = fused([words, near.ranked])[:JUDGED]
        lie: dict[str, tuple[float, float]] = {}
        if near.outlook is not None and self.keeper is not None:
            lie = cosines(snap, self.keeper.space, ranked, near.vector, near.middle)
        found = candidates(snap, ranked)
        signals = compared([Signals.of(asked, each, near.outlook, lie.get(each.id)) for each in found])
        return [(each.id, one) for each, one in zip(found, signals, strict=True)], near

    def _by_words(self, snap: Snapshot, within: Within, lexicon: Lexicon, asked: Asked) -> list[str]:
        telling, rest = telling_terms(asked.terms, lexicon.vocabulary, lexicon.visible)
        found = by_words(snap, within, {term: asked.weights[term] for term in telling}, WIDE) if telling else []
        if not found and rest:
            # None of the telling words is anywhere: what there is, the common ones have to find.
            found = by_words(snap, within, {term: asked.weights[term] for term in rest[:2]}, WIDE)
        return [name for name, _ in found]

    def _by_meaning(self, snap: Snapshot, every: Within, within: Within, text: str) -> Near:
        if self.embedder is None or self.keeper is None:
            return Near(mode="words", note="Searched by words only: there is no embedding model.")
        try:
            missing = self.keeper.missing(snap)
            space = self.keeper.space
            known = self._surrounding(snap, every, space)
            vector = self.embedder.query(text[:MEANT])
            said = self.embedder.passages([text[:MEANT]])[0]
            backdrop, idle = self._backdrop(space)
        except ModelUnavailable as error:
            return Near(mode="words", note=f"Searched by words only: {error}")
        note = f"{missing:,} corrections have no vector yet; those were searched by words." if missing else ""
        outlook = known.crowd.seen_from(vector, idle)
        direction = outlook.direction.tolist()
        ranked = by_meaning(snap, within, space, direction, WIDE, known.count, known.total) if known.count else []
        talk = Talk.of(said, idle, backdrop, outlook, space)
        return Near(ranked, outlook, talk, vector, known.crowd.mean.tolist(), note=note)

    def _lexicon(self, snap: Snapshot, every: Within) -> Lexicon:
        key = (snap.graph, every)
        kept = self._lexicons.get(key)
        if kept is None or _outdated(kept.revision, snap.revision):
            texts = sample_terms(snap, every, SAMPLE)
            visible = len(texts) if len(texts) < SAMPLE else visible_count(snap, every)
            kept = Lexicon(snap.revision, Vocabulary.of(texts), visible)
            with self._mutex:
                self._lexicons[key] = kept
                while len(self._lexicons) > KEPT:
                    self._lexicons.popitem(last=False)
        return kept

    def _surrounding(self, snap: Snapshot, every: Within, space: str) -> Surroundings:
        key = (f"{snap.graph}/{space}", every)
        kept = self._surroundings.get(key)
        if kept is None or not kept.count or _outdated(kept.revision, snap.revision):
            backdrop, _ = self._backdrop(space)
            rows = np.asarray(crowd_vectors(snap, every, space, CROWD), dtype=np.float32)
            crowd = Crowd(np.vstack([rows, backdrop]) if len(rows) else backdrop)
            kept = Surroundings(snap.revision, vector_count(snap, every, space), all_vectors(snap), crowd)
            with self._mutex:
                self._surroundings[key] = kept
                while len(self._surroundings) > KEPT:
                    self._surroundings.popitem(last=False)
        return kept

    def _backdrop(self, space: str) -> tuple[Matrix, Matrix]:
        """Return the vectors of the backdrop and of idle talk; they are made once."""
        if space not in self._backdrops and self.embedder is not None:
            rows = made_before(self.embedder.space)
            if rows is None:
                rows = np.asarray(self.embedder.passages([*BACKDROP, *IDLE]), dtype=np.float32)
            self._backdrops[space] = rows[: len(BACKDROP)], rows[len(BACKDROP) :]
        return self._backdrops[space]


def telling_terms(terms: Sequence[str], vocabulary: Vocabulary, visible: int) -> tuple[list[str], list[str]]:
    """Part the terms of a query into those it is worth looking for, rarest first, and common ones.

    Common words cost most and tell least. Where there are few corrections, none is left out.
    """
    ordered = sorted(terms, key=vocabulary.share)
    telling: list[str] = []
    matches = 0.0
    for term in ordered:
        matches += vocabulary.share(term) * visible
        if len(telling) >= TERMS or (matches > MATCHES and vocabulary.share(term) > 0):
            break
        telling.append(term)
    return telling, ordered[len(telling) :]


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
