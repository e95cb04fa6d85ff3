"""The made-up corrections are what the measurements of recall take them for."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from tests.benchmarks import recall_data as data
from tests.benchmarks.recall_data import Query

RECORDS = data.records()
ALL_QUERIES = {
    "lexical": data.lexical_queries(RECORDS),
    "paraphrase": data.paraphrase_queries(RECORDS),
    "unrelated": data.unrelated_queries(RECORDS),
    "stale": data.stale_queries(RECORDS),
    "tenant": data.tenant_queries(RECORDS),
}
ARGUMENTS = {
    "agent_name", "original_value", "corrected_value", "field", "reason", "entity_key", "original_input", "tags",
    "scope", "user_id", "tenant_id",
}  # fmt: skip


def visible(record: data.RecordArguments, query: Query) -> bool:
    if record["tenant_id"] not in (None, query.caller["tenant_id"]):
        return False
    owner = {"user": "user_id", "agent": "agent_name"}.get(record["scope"])
    return owner is None or record[owner] == query.caller[owner]


def test_the_same_seed_gives_the_same() -> None:
    assert data.records() == RECORDS
    assert data.records(seed=2) != RECORDS
    assert data.lexical_queries(RECORDS) == ALL_QUERIES["lexical"]
    assert data.unrelated_queries(RECORDS) == ALL_QUERIES["unrelated"]
    assert len({query for queries in ALL_QUERIES.values() for query in queries}) > 800


def test_counts() -> None:
    assert len(RECORDS) == 2300 == len(data.records(2300, seed=9))
    assert len(data.records(800)) == 800
    with pytest.raises(ValueError, match="can be made"):
        data.records(10)
    assert {name: len(queries) for name, queries in ALL_QUERIES.items()} == {
        "lexical": 400,
        "paraphrase": 68,
        "unrelated": 222,
        "stale": 150,
        "tenant": 90,
    }


def test_records_are_varied_json() -> None:
    assert all(set(record) == ARGUMENTS for record in RECORDS)
    assert json.loads(json.dumps(RECORDS)) == RECORDS
    assert all(record["original_value"] != record["corrected_value"] for record in RECORDS)
    assert all(record["scope"] != "tenant" or record["tenant_id"] for record in RECORDS)
    kinds = Counter(type(record["corrected_value"]).__name__ for record in RECORDS)
    assert {"str", "int", "float", "bool", "list", "NoneType"} <= set(kinds)
    assert min(Counter(record["tenant_id"] for record in RECORDS).values()) > 500
    assert len({record["agent_name"] for record in RECORDS}) >= 14
    assert sum(any("\u4e00" <= c <= "\u9fff" for c in str(record)) for record in RECORDS) > 50


def test_who_asks_may_see_the_right_record() -> None:
    for queries in ALL_QUERIES.values():
        assert all(query.right is None or visible(RECORDS[query.right], query) for query in queries)


def test_a_lexical_query_is_about_one_record_alone() -> None:
    for query in ALL_QUERIES["lexical"] + ALL_QUERIES["stale"] + ALL_QUERIES["tenant"]:
        assert query.right is not None
        right = RECORDS[query.right]
        assert data.content(query.text) & data.content(data.words_of(right))
        same = [
            at
            for at, record in enumerate(RECORDS)
            if (record["entity_key"], record["field"]) == (right["entity_key"], right["field"])
            and visible(record, query)
        ]
        assert max(same) == query.right


@pytest.mark.parametrize("query", ALL_QUERIES["paraphrase"], ids=lambda query: query.text[:40])
def test_a_paraphrase_shares_no_word_of_content(query: Query) -> None:
    assert query.right is not None
    right = RECORDS[query.right]
    assert not data.content(query.text) & data.content(data.words_of(right))
    neighbours = [
        record
        for record in RECORDS
        if record is not right and record["agent_name"] == right["agent_name"] and record["original_input"]
    ]
    assert len(neighbours) >= 3
    assert any(record["field"] == right["field"] and record["entity_key"] is None for record in neighbours), (
        "it has a neighbour of the same topic"
    )


def test_paraphrases_are_of_distinct_topics() -> None:
    rights = [query.right for query in ALL_QUERIES["paraphrase"]]
    assert len(set(rights)) == len(rights) >= 60
    assert len({RECORDS[at]["original_input"] for at in rights if at is not None}) == len(rights)


def test_unrelated_queries_are_no_input_of_a_record() -> None:
    texts = [query.text for query in ALL_QUERIES["unrelated"]]
    assert len(set(texts)) == len(texts) >= 200
    assert not set(texts) & {record["original_input"] for record in RECORDS}
    assert {query.right for query in ALL_QUERIES["unrelated"]} == {None}


def test_chains() -> None:
    chains = data.stale(RECORDS)
    assert min(Counter(chain.kind for chain in chains).values()) >= 60
    assert sum(len(chain.indexes) == 3 for chain in chains) == 30
    for chain in chains:
        assert list(chain.indexes) == sorted(chain.indexes)
        linked = [RECORDS[at] for at in chain.indexes]
        about = {(r["tenant_id"], r["agent_name"], r["entity_key"], r["field"], r["scope"]) for r in linked}
        assert len(about) == 1
        for earlier, later in pairwise(linked):
            expected = "original_value" if chain.kind == "again" else "corrected_value"
            assert later["original_value"] == earlier[expected]
            assert later["corrected_value"] != earlier["corrected_value"]


def test_twins_are_asked_alike_and_answered_differently() -> None:
    queries = ALL_QUERIES["tenant"]
    for one, other in zip(queries[::2], queries[1::2], strict=True):
        assert one.text == other.text
        assert {one.caller["tenant_id"], other.caller["tenant_id"]} == {"north", "south"}
        assert one.right is not None
        assert other.right is not None
        assert RECORDS[one.right]["corrected_value"] != RECORDS[other.right]["corrected_value"]
