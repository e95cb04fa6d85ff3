"""Finding corrections by their words and by their meaning, within what a caller may see.

Who may see a correction is part of every query. The full-text index intersects it; the vector index of FalkorDB
cannot (it filters after it has chosen the nearest), so that is asked only where it finds enough, and where it does
not, everything that the caller may see is compared, exactly.

Vectors are on nodes of their own that are never updated: the index of FalkorDB 4.16 loses a node when a property of
it is. They are no part of history; they are made from it, and can be made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.ids import digest
from engine.relevance import Candidate
from engine.store.snapshot import Snapshot

if TYPE_CHECKING:
    from engine.store.database import Database

EXACT: Final = 4_000  # so many vectors are compared as fast as the index is asked
WIDEST: Final = 4_096
ABOUT: Final = 2.0  # a word of the entity or the field counts so much more than one of what was said

_ACTIVE: Final = (
    "(k.outdated IS NULL OR k.outdated > $r) AND ((k.since <= $r AND k.state STARTS WITH 'applied') OR "
    "(k.since > $r AND [i IN range(0, size(coalesce(k.past_since, [])) - 1) "
    "WHERE k.past_since[i] <= $r | k.past_state[i]][-1] STARTS WITH 'applied'))"
)
# The ranking of the index itself puts the right one of 2,300 into its first three for 1 question of 10.
_WORDS: Final = (
    "UNWIND $queries AS q CALL db.idx.fulltext.queryNodes('Correction', q[0]) YIELD node "
    "WITH node AS k, sum(q[1]) AS score "
    f"WHERE k.born <= $r AND k.audience IN $audiences AND {_ACTIVE} "
    "RETURN k.id, score ORDER BY score DESC, k.born DESC, k.id LIMIT $limit"
)
_OF: Final = "v.audience IN $audiences AND v.space = $space AND v.born <= $r"
_OF_ENTITY: Final = f"v.entity_key = $entity AND {_OF}"
_NEAREST: Final = (
    "CALL db.idx.vector.queryNodes('CorrectionVector', 'vector', $k, vecf32($vector)) YIELD node, score "
    f"WITH node AS v, score AS distance WHERE {_OF} MATCH (v)-[:EMBEDS]->(k:Correction) WHERE {_ACTIVE} "
    "RETURN k.id ORDER BY distance, k.id LIMIT $limit"
)
_EXACT: Final = {
    entity: f"MATCH (v:CorrectionVector) WHERE {which} MATCH (v)-[:EMBEDS]->(k:Correction) WHERE {_ACTIVE} "
    "WITH k, vec.cosineDistance(v.vector, vecf32($vector)) AS distance "
    "RETURN k.id ORDER BY distance, k.id LIMIT $limit"
    for entity, which in ((False, _OF), (True, _OF_ENTITY))
}
_COSINES: Final = (
    "MATCH (v:CorrectionVector) WHERE v.id IN $ids WITH v.id AS id, "
    "vec.cosineDistance(v.vector, vecf32($vector)) AS a, vec.cosineDistance(v.vector, vecf32($middle)) AS b "
    "RETURN id, a, b"
)
_CANDIDATES: Final = (
    "MATCH (k:Correction) WHERE k.id IN $ids RETURN k.id, k.agent, k.entity, k.field, coalesce(k.terms, ''), "
    "left(coalesce(k.original, k.text, ''), 400), left(coalesce(k.corrected, k.statement, ''), 400)"
)
_CROWD: Final = f"MATCH (v:CorrectionVector) WHERE {_OF} WITH v ORDER BY v.id LIMIT $limit RETURN v.vector"
_COUNT: Final = {
    entity: f"MATCH (v:CorrectionVector) WHERE {which} RETURN count(v)"
    for entity, which in ((False, _OF), (True, _OF_ENTITY))
}
_ANY: Final = "MATCH (k:Correction) RETURN count(k) > 0"
_ALL_VECTORS: Final = "MATCH (v:CorrectionVector) RETURN count(v)"
_VISIBLE: Final = "MATCH (k:Correction) WHERE k.audience IN $audiences AND k.born <= $r RETURN count(k)"
_SAMPLE: Final = (
    "MATCH (k:Correction) WHERE k.audience IN $audiences AND k.born <= $r RETURN k.terms ORDER BY k.id LIMIT $limit"
)

_SPACE: Final = "MATCH (s:VectorSpace {id: $id}) RETURN s.until"
_LATER: Final = (
    "MATCH (k:Correction) WHERE k.born > $after AND k.born <= $r AND k.audience IS NOT NULL "
    "RETURN k.id ORDER BY k.born, k.id"
)
_TO_EMBED: Final = (
    "MATCH (k:Correction) WHERE k.id IN $ids "
    "RETURN k.id, k.born, k.audience, k.entity_key, k.entity, k.field, coalesce(k.original, k.text), "
    "coalesce(k.corrected, k.statement), k.original IS NOT NULL, coalesce(k.reason, ''), k.input ORDER BY k.born, k.id"
)
_EMBEDDED: Final = "MATCH (v:CorrectionVector) WHERE v.id IN $ids RETURN v.id"
_WRITE: Final = (
    "UNWIND $rows AS x MATCH (k:Correction {id: x.of}) OPTIONAL MATCH (o:CorrectionVector {id: x.id}) "
    "WITH x, k, o WHERE o IS NULL "
    "CREATE (v:CorrectionVector {id: x.id, vector: vecf32(x.vector), space: x.space, audience: x.audience, "
    "entity_key: x.entity, born: x.born})-[:EMBEDS]->(k) RETURN count(v)"
)
_REACHED: Final = (
    "MERGE (s:VectorSpace {id: $id}) ON CREATE SET s.space = $space, s.dimensions = $dimensions, s.until = 0 "
    "WITH s WHERE s.until < $until SET s.until = $until RETURN s.until"
)
_OTHERS: Final = "MATCH (v:CorrectionVector) WHERE v.space <> $space RETURN v.id ORDER BY v.id LIMIT $limit"
_FORGET: Final = "MATCH (v:CorrectionVector) WHERE v.id IN $ids DELETE v"
_FORGET_SPACES: Final = "MATCH (s:VectorSpace) WHERE s.space <> $space DELETE s"
_INDEX: Final = (
    "CREATE VECTOR INDEX FOR (n:CorrectionVector) ON (n.vector) OPTIONS {{dimension: {}, similarityFunction: 'cosine'}}"
)
_DROP: Final = "DROP VECTOR INDEX FOR (n:CorrectionVector) ON (n.vector)"
_INDEXES: Final = "CALL db.indexes() YIELD label, options WHERE label = 'CorrectionVector' RETURN options"


@dataclass(frozen=True)
class Within:
    """What a search may look at: the tokens of a caller's audiences and, if named, of one entity."""

    audiences: Sequence[str]
    entity: str | None = None

    def params(self) -> dict[str, object]:
        """Return it as parameters."""
        found: dict[str, object] = {"audiences": list(self.audiences)}
        return found if self.entity is None else found | {"entity": self.entity}

    def fulltext(self, term: str, where: str = "terms") -> str:
        """Return the full-text query for what has a term, within this; `where` is `terms` or `about`."""
        entity = f"@entity_key:{self.entity} " if self.entity is not None else ""
        return f"@audience:({'|'.join(self.audiences)}) {entity}@{where}:({term})"


def by_words(snap: Snapshot, within: Within, weights: Mapping[str, float], limit: int) -> list[tuple[str, float]]:
    """Return (correction, sum of the weights of the terms that it has) of the active corrections, best first."""
    queries = [
        [within.fulltext(term, where), weight * more]
        for term, weight in weights.items()
        for where, more in (("terms", 1.0), ("about", ABOUT))
    ]
    rows = snap.rows(_WORDS, **within.params(), queries=queries, limit=limit)
    return [(row[0], float(row[1])) for row in rows]


def by_meaning(
    snap: Snapshot, within: Within, space: str, vector: Sequence[float], limit: int, count: int, total: int
) -> list[str]:
    """Return the active corrections whose vectors are nearest to `vector`, nearest first.

    `count` of `total` vectors are within what may be looked at.
    """
    params = {**within.params(), "space": space, "vector": list(vector), "limit": limit}
    if within.entity is None and count > EXACT:
        # Of the nearest, a share of count/total can be expected to be within.
        wide = int(2 * limit * total / count) + limit
        while wide <= WIDEST:
            rows = snap.rows(_NEAREST, **params, k=wide)
            if len(rows) >= limit:
                return [row[0] for row in rows]
            wide *= 4
    return [row[0] for row in snap.rows(_EXACT[within.entity is not None], **params)]


def cosines(
    snap: Snapshot, space: str, ids: Sequence[str], vector: Sequence[float], middle: Sequence[float]
) -> dict[str, tuple[float, float]]:
    """Return for each correction that has a vector its cosines to `vector` and to `middle`."""
    names = {vector_id(correction, space): correction for correction in ids}
    rows = snap.rows_for(_COSINES, names, vector=list(vector), middle=list(middle))
    return {names[row[0]]: (1.0 - float(row[1]), 1.0 - float(row[2])) for row in rows}


def candidates(snap: Snapshot, ids: Sequence[str]) -> list[Candidate]:
    """Return what judging some corrections needs, in the order asked for."""
    rows = {row[0]: Candidate(*row) for row in snap.rows_for(_CANDIDATES, ids)}
    return [rows[name] for name in ids if name in rows]


def crowd_vectors(snap: Snapshot, within: Within, space: str, limit: int) -> list[list[float]]:
    """Return the vectors of some corrections that may be looked at; which ones is as good as random, but fixed."""
    rows = snap.rows(_CROWD, audiences=list(within.audiences), space=space, limit=limit)
    return [list(row[0]) for row in rows]


def any_recallable(snap: Snapshot) -> bool:
    """Return whether there is any correction at all."""
    return bool(snap.rows(_ANY)[0][0])


def vector_count(snap: Snapshot, within: Within, space: str) -> int:
    """Return how many vectors of a space are within what may be looked at."""
    params = {**within.params(), "space": space}
    return int(snap.rows(_COUNT[within.entity is not None], **params)[0][0])


def all_vectors(snap: Snapshot) -> int:
    """Return how many vectors there are, of everybody's."""
    return int(snap.rows(_ALL_VECTORS)[0][0])


def sample_terms(snap: Snapshot, within: Within, limit: int) -> list[str]:
    """Return the terms of some corrections, to learn which are common; which ones is as good as random, but fixed."""
    return [row[0] for row in snap.rows(_SAMPLE, audiences=list(within.audiences), limit=limit) if row[0]]


def visible_count(snap: Snapshot, within: Within) -> int:
    """Return how many corrections the audiences may see, whatever their status."""
    return int(snap.rows(_VISIBLE, audiences=list(within.audiences))[0][0])


# --- the vectors ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unembedded:
    """A correction as far as its vector needs it. The values are as stored: `encoded`, or plain statements."""

    id: str
    born: int
    audience: str
    entity_key: str | None
    entity: str | None
    field: str | None
    original: str
    corrected: str | None
    encoded: bool
    reason: str
    given: str | None


def embedded_until(snap: Snapshot, space: str) -> int:
    """Return the revision up to which every correction has a vector in a space."""
    rows = snap.rows(_SPACE, id=_space_id(space))
    return int(rows[0][0]) if rows else 0


def without_vector(snap: Snapshot, space: str, after: int) -> list[str]:
    """Return the corrections made later than revision `after` that have no vector in a space, oldest first."""
    ids = {vector_id(row[0], space): row[0] for row in snap.rows(_LATER, after=after)}
    there = {row[0] for row in snap.rows_for(_EMBEDDED, ids)}
    return [correction for name, correction in ids.items() if name not in there]


def to_embed(snap: Snapshot, ids: Sequence[str]) -> list[Unembedded]:
    """Return what the vectors of some corrections are made from."""
    return [Unembedded(*row) for row in snap.rows_for(_TO_EMBED, ids)]


def write_vectors(
    database: Database, graph: str, space: str, corrections: Sequence[Unembedded], vectors: Sequence[Sequence[float]]
) -> None:
    """Write vectors; one that is there stays."""
    rows = [
        {
            "id": vector_id(correction.id, space),
            "of": correction.id,
            "space": space,
            "audience": correction.audience,
            "entity": correction.entity_key,
            "born": correction.born,
            "vector": list(vector),
        }
        for correction, vector in zip(corrections, vectors, strict=True)
    ]
    database.write(graph, _WRITE, {"rows": rows})


def mark_embedded(database: Database, graph: str, space: str, dimensions: int, until: int) -> None:
    """Record that every correction up to a revision has a vector in this space."""
    database.write(graph, _REACHED, {"id": _space_id(space), "space": space, "dimensions": dimensions, "until": until})


def ensure_index(database: Database, graph: str, dimensions: int) -> None:
    """Make the vector index for vectors of this length, in the place of one for others."""
    from engine.store.database import QueryFailed

    present = [row[0].get("vector", {}).get("dimension") for row in database.read(graph, _INDEXES)]
    if dimensions in present:
        return
    try:
        if any(found is not None for found in present):
            database.write(graph, _DROP)
        database.write(graph, _INDEX.format(int(dimensions)))
    except QueryFailed as error:
        if "already indexed" not in str(error) and "no such index" not in str(error):
            raise  # another process was faster otherwise


def forget_other_spaces(database: Database, graph: str, space: str) -> None:
    """Delete the vectors of all other spaces."""
    while ids := [row[0] for row in database.read(graph, _OTHERS, {"space": space, "limit": 1000})]:
        database.write(graph, _FORGET, {"ids": ids})
    database.write(graph, _FORGET_SPACES, {"space": space})


def vector_id(correction: str, space: str) -> str:
    """Return the id of a correction's vector in a space."""
    return "x_" + digest("vector", correction, space)[:16]


def _space_id(space: str) -> str:
    return "x_" + digest("space", space)[:16]
