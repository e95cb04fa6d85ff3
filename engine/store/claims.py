"""Claims and their evidence: every query that reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from engine.records import Claim, Evidence, Justification
from engine.states import Lifeline
from engine.store.snapshot import ALIVE, LIFE_C, LIFE_S, Snapshot
from engine.store.structure import Found, source_origins, ways_of

HUMAN_ORIGIN: Final = "human_correction"

_CLAIMS: Final = (
    "MATCH (c:Claim) WHERE c.id IN $ids AND c.born <= $r "
    f"RETURN c.id, c.statement, c.confidence, c.confidence_kind, {LIFE_C}"
)
_EVIDENCE: Final = (
    f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (c)-[e:EVIDENCE]->(f:SourceFragment) WHERE {ALIVE} "
    "RETURN c.id, e.id, e.quote, e.starts, e.ends, e.source, e.version, e.role, e.born, f.id, f.start"
)
_SOURCES: Final = f"MATCH (s:Source) WHERE s.id IN $ids RETURN s.id, s.kind, {LIFE_S}"
_SUPERSEDES: Final = (
    f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (c)-[e:SUPERSEDES]->(o:Claim) WHERE {ALIVE} RETURN c.id, o.id"
)
_SUPERSEDED: Final = (
    f"MATCH (c:Claim) WHERE c.id IN $ids MATCH (n:Claim)-[e:SUPERSEDES]->(c) WHERE {ALIVE} RETURN c.id, n.id"
)
_BY_KEY: Final = (
    f"MATCH (c:Claim) WHERE c.statement_key IN $ids AND c.born <= $r "
    f"RETURN c.statement_key, c.id, c.statement, {LIFE_C}"
)
_ALL: Final = (
    f"MATCH (c:Claim) WHERE c.born <= $r "
    f"RETURN c.id, c.statement, c.confidence, c.confidence_kind, {LIFE_C} ORDER BY c.born, c.id"
)
_COUNTS: Final = (
    f"MATCH (c:Claim)-[e:EVIDENCE]->(f:SourceFragment) WHERE {ALIVE} "
    "RETURN c.id, count(DISTINCT e.id), count(DISTINCT e.source)"
)
_OF_VERSION: Final = (
    "MATCH (v:SourceVersion {id: $version})-[:HAS_FRAGMENT]->(f:SourceFragment) "
    f"MATCH (c:Claim)-[e:EVIDENCE]->(f) WHERE {ALIVE} RETURN DISTINCT c.id, f.start ORDER BY f.start"
)
# Ranked by the full-text index; claims that are not current at $r drop out before the limit.
_SEARCH: Final = (
    "CALL db.idx.fulltext.queryNodes('Claim', $query) YIELD node, score "
    "WITH node AS c, score WHERE c.born <= $r AND ("
    "(c.since <= $r AND c.state STARTS WITH 'current') OR "
    "(c.since > $r AND [i IN range(0, size(c.past_since) - 1) WHERE c.past_since[i] <= $r | c.past_state[i]][-1] "
    "STARTS WITH 'current')) "
    "RETURN c.id, score ORDER BY score DESC, c.born, c.statement, c.id LIMIT $limit"
)


def fetch_claims(snap: Snapshot, ids: Iterable[str]) -> dict[str, Claim]:
    """Return those of `ids` that are claims of the snapshot, whole, keyed by id in the order asked for."""
    wanted = list(dict.fromkeys(ids))
    rows = {row[0]: row for row in snap.rows_for(_CLAIMS, wanted)}
    if not rows:
        return {}
    evidence, touched = _evidence(snap, rows)
    ways = ways_of(snap, rows)
    newer = dict(snap.rows_for(_SUPERSEDED, rows))
    older = dict(snap.rows_for(_SUPERSEDES, rows))
    claims = {}
    for claim_id in wanted:
        if claim_id not in rows:
            continue
        _, statement, confidence, confidence_kind, columns = rows[claim_id]
        life = Lifeline.read(columns)
        state = life.at(snap.revision)
        because = justifications(snap, ways.ways.get(claim_id, []), ways.premises, ways.born)
        claims[claim_id] = Claim(
            id=claim_id,
            statement=statement,
            status=state.status,  # type: ignore[arg-type]
            supported=state.supported,
            evidence=evidence.get(claim_id, []),
            because=because,
            confidence=confidence,
            confidence_kind=confidence_kind,
            revision=max(life.changed(snap.revision), touched.get(claim_id, 0), *(way.born for way in because), 0),
            born=life.born,
            supersedes=older.get(claim_id),
            superseded_by=newer.get(claim_id),
        )
    return claims


def justifications(
    snap: Snapshot, ways: Sequence[Any], premises: dict[str, Found], born: dict[str, int]
) -> list[Justification]:
    """Return justifications as records, each with whether it holds."""
    return [
        Justification(
            id=way.id,
            premises=sorted(way.premises),
            holds=all(premises[p].life.at(snap.revision).supported for p in way.premises),
            born=born[way.id],
        )
        for way in ways
    ]


def _evidence(snap: Snapshot, ids: Iterable[str]) -> tuple[dict[str, list[Evidence]], dict[str, int]]:
    rows = list(snap.rows_for(_EVIDENCE, ids))
    sources = {
        source: (kind, Lifeline.read(life).at(snap.revision))
        for source, kind, life in snap.rows_for(_SOURCES, {row[5] for row in rows})
    }
    pieces: dict[str, dict[str, list[list[Any]]]] = defaultdict(lambda: defaultdict(list))
    touched: dict[str, int] = {}
    for row in rows:
        pieces[row[0]][row[1]].append(row)
        touched[row[0]] = max(touched.get(row[0], 0), row[8])
    result = {}
    for claim_id, group in pieces.items():
        found = []
        for evidence_id, parts in group.items():
            parts.sort(key=lambda part: (part[10], part[9]))
            _, _, quote, starts, ends, source, version, role, born, *_ = parts[0]
            kind, state = sources[source]
            found.append(
                (
                    born,
                    Evidence(
                        id=evidence_id,
                        quote=quote,
                        spans=list(zip(starts, ends, strict=True)),
                        fragment_id=parts[0][9],
                        fragment_ids=[part[9] for part in parts],
                        source_id=source,
                        version_id=version,
                        origin=" + ".join(sorted(source_origins(state))),
                        origin_type=HUMAN_ORIGIN if kind == "human" else kind,
                        role=role,
                        standing=state.status == "active",
                    ),
                )
            )
        result[claim_id] = [piece for _, piece in sorted(found, key=lambda pair: (pair[0], pair[1].id))]
    return result, touched


def claims_with_keys(snap: Snapshot, keys: Iterable[str]) -> dict[str, list[Found]]:
    """Return the claims that have any of these statement keys, whatever their status, by key."""
    found: dict[str, list[Found]] = defaultdict(list)
    for key, claim_id, statement, life in snap.rows_for(_BY_KEY, keys):
        found[key].append(Found(claim_id, statement, Lifeline.read(life)))
    for group in found.values():
        group.sort(key=lambda claim: (claim.life.born, claim.id))
    return found


def claims_of_version(snap: Snapshot, version_id: str) -> list[str]:
    """Return the ids of claims that quote a version, in the order of the text."""
    return list(dict.fromkeys(row[0] for row in snap.rows(_OF_VERSION, version=version_id)))


def claim_rows(snap: Snapshot) -> list[dict[str, Any]]:
    """Return one plain row a claim, oldest first, for frames."""
    counts = {claim: (pieces, sources) for claim, pieces, sources in snap.rows(_COUNTS)}
    rows = []
    for claim_id, statement, confidence, confidence_kind, columns in snap.rows(_ALL):
        life = Lifeline.read(columns)
        state = life.at(snap.revision)
        pieces, sources = counts.get(claim_id, (0, 0))
        rows.append(
            {
                "id": claim_id,
                "statement": statement,
                "status": state.status,
                "supported": state.supported,
                "evidence": pieces,
                "sources": sources,
                "confidence": confidence,
                "confidence_kind": confidence_kind,
                "revision": life.changed(snap.revision),
                "born": life.born,
            }
        )
    return rows


def search_index(snap: Snapshot, query: str, limit: int) -> list[tuple[str, float]]:
    """Return (claim id, score) of the current claims that match a full-text query, best first."""
    return [(claim_id, float(score)) for claim_id, score in snap.rows(_SEARCH, query=query, limit=limit)]
