"""Finding claims: the full phrase first, then its content words, ranked by the database's full-text index."""

from __future__ import annotations

from typing import Final, Literal

from engine.errors import InvalidInput
from engine.records import ClaimHit
from engine.store.claims import fetch_claims, search_index
from engine.store.snapshot import Snapshot
from engine.terms import fulltext_phrase, fulltext_query, phrase_terms, query_terms

QUERY_LIMIT: Final = 10_000
LARGEST: Final = 1_000


def search(snap: Snapshot, query: object, limit: int) -> list[ClaimHit]:
    """Return current claims that match, best first; a phrase hit comes before any hit by words.

    Raises:
        InvalidInput: the query is not text, or `limit` is not between 1 and 1000.
    """
    if type(query) is not str or len(query) > QUERY_LIMIT:
        raise InvalidInput(f"A query is text of at most {QUERY_LIMIT:,} characters.")
    if type(limit) is not int or not 1 <= limit <= LARGEST:
        raise InvalidInput(f"`limit` is a whole number from 1 to {LARGEST}.")
    ranked: dict[str, tuple[float, Literal["phrase", "words"]]] = {}
    phrase = phrase_terms(query)
    if len(phrase) > 1:
        for claim_id, score in search_index(snap, fulltext_phrase(phrase), limit):
            ranked[claim_id] = (score, "phrase")
    words = query_terms(query)
    if words and len(ranked) < limit:
        how: Literal["phrase", "words"] = "phrase" if len(phrase) == 1 else "words"
        for claim_id, score in search_index(snap, fulltext_query(words), limit):
            ranked.setdefault(claim_id, (score, how))
    # Equal scores stay in the order that the index gives: oldest first, then by the alphabet.
    order = sorted(ranked.items(), key=lambda hit: (hit[1][1] != "phrase", -hit[1][0]))[:limit]
    claims = fetch_claims(snap, [claim_id for claim_id, _ in order])
    return [
        ClaimHit(claim=claims[claim_id], score=score, how=how) for claim_id, (score, how) in order if claim_id in claims
    ]
