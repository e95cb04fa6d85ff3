"""Whether a correction that ranks high matters at all for what was asked: several signals, weighed on data.

Cosines of the local model are squeezed (a right answer has 0.82 on average, the best wrong one 0.81), so none of them
says much alone. See `tests/benchmarks/recall.py` for how the weights and the floor were found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.correction_records import Correction
from engine.terms import query_terms
from engine.values import shown

FLOOR: Final = 0.5


@dataclass(frozen=True)
class Signals:
    """What speaks for a correction. Shares run from 0 to 1."""

    words: float
    """Of the query's content words, how many the correction has."""
    own: float
    """Of the correction's own words (entity, field, values), how many the query has."""
    entity: float
    """Of the entity's words, how many the query has."""
    cosine: float
    margin: float
    """How far the cosine is above the mean of the nearest, in their standard deviations."""
    entity_given: bool

    @classmethod
    def of(
        cls, query: str, correction: Correction, cosine: float | None, crowd: Sequence[float], entity_given: bool
    ) -> Signals:
        """Return the signals of one correction for one query; `crowd` has the cosines of the nearest."""
        asked = set(query_terms(query))
        values = f"{shown(correction.original_value)} {shown(correction.corrected_value)}"
        own = set(query_terms(f"{correction.entity_key or ''} {correction.field or ''} {values}"))
        entity = set(query_terms(correction.entity_key or ""))
        every = own | set(query_terms(f"{correction.reason} {correction.original_input or ''}"))
        near = cosine if cosine is not None else 0.0
        mean = sum(crowd) / len(crowd) if crowd else 0.0
        spread = math.sqrt(sum((c - mean) ** 2 for c in crowd) / len(crowd)) if crowd else 0.0
        return cls(
            words=len(asked & every) / len(asked) if asked else 0.0,
            own=len(asked & own) / len(own) if own else 0.0,
            entity=len(asked & entity) / len(entity) if entity else 0.0,
            cosine=near,
            margin=(near - mean) / spread if spread > 0 and cosine is not None else 0.0,
            entity_given=entity_given,
        )


def judged(signals: Signals) -> float:
    """Return how much a correction matters, from 0 to 1."""
    weight = (
        -6.0
        + 5.0 * signals.words
        + 3.0 * signals.own
        + 3.0 * signals.entity
        + 20.0 * max(signals.cosine - 0.8, 0.0)
        + 1.0 * max(signals.margin, 0.0)
        + 3.0 * signals.entity_given
    )
    return 1.0 / (1.0 + math.exp(-weight))
