"""Exact evidence, by external verdicts and by cases of our own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.quotes import Quotes, check_quote

from ..conftest import external_cases

# Rows whose quote stands in the text but is cut where it must not be, or says nothing.
STRICTER = {
    "q014": "blank",
    "q020": "inside_word",
    "q021": "inside_number",
    "q022": "inside_number",
    "q057": "inside_grapheme",
    "q074": "inside_grapheme",
}


def test_every_external_row_gets_its_verdict_and_spans() -> None:
    rows = external_cases("quote_validation.jsonl")
    assert len(rows) == 55
    for row in rows:
        verdict = check_quote(row["document"], row["quote"])
        if row["id"] in STRICTER:
            assert row["tolerant"]["verdict"] == "invalid"
            assert (verdict.valid, verdict.code) == (False, STRICTER[row["id"]]), row["id"]
            continue
        assert verdict.valid == row["exact"]["valid"], row["id"]
        assert [list(span) for span in verdict.spans] == row["exact"]["spans"], row["id"]
        tolerant = row["tolerant"]
        if not verdict.valid and tolerant["verdict"] == "valid":
            assert verdict.code == "layout", row["id"]
            assert list(verdict.did_you_mean[0]) == [tolerant["start"], tolerant["end"]], row["id"]
        if tolerant["verdict"] == "invalid":
            assert verdict.code != "layout", row["id"]


@pytest.mark.parametrize(
    ("text", "quote", "code"),
    [
        ("The firm was unable to pay.", "able to pay", "inside_word"),
        ("A 25% discount.", "5% discount", "inside_number"),
        ("It costs 1,200 euros.", "200 euros", "inside_number"),
        ("It costs 12 000 euros.", "000 euros", "inside_number"),
        ("It costs 1.50 now.", "It costs 1", "inside_number"),
        ("Stored at −5 °C always.", "5 °C", "inside_number"),
        ("Stored at -5 degrees.", "5 degrees", "inside_number"),
        ("From 2026-06-12 on.", "12 on", "inside_number"),
        ("Between 5–10 people came.", "10 people", "inside_number"),
        ("They don't ship.", "They don", "inside_word"),
        ("It is a non-binding offer.", "binding offer", "inside_word"),
        ("The cafe\u0301 opens.", "The cafe", "inside_grapheme"),
        ("A 👩‍🚒 came.", "\u200d🚒 came", "inside_grapheme"),
        ("A word.", "", "empty"),
        ("A word.", " \u200b\u00ad ", "blank"),
        ("A word.", "…", "blank"),
    ],
)
def test_what_is_cut_badly_or_says_nothing_is_rejected(text: str, quote: str, code: str) -> None:
    verdict = check_quote(text, quote)
    assert (verdict.valid, verdict.code) == (False, code)
    assert len(verdict.reason) > 20
    if verdict.suggestion is not None:
        assert check_quote(text, verdict.suggestion).valid


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("In 2024 300 people came.", "300 people"),
        ("John's plan holds.", "John"),
        ("A state-of-the-art plan.", "art plan"),
        ("L'accord est signé.", "accord est signé"),
        ("契約金額は千円です。", "金額は千円"),
        ("See (5) below.", "5"),
        ("Costs: 5, 6 and 7.", "6 and 7"),
        ("The end is 2024.", "The end is 2024"),
    ],
)
def test_what_is_cut_well_is_accepted(text: str, quote: str) -> None:
    verdict = check_quote(text, quote)
    assert verdict.valid, verdict
    assert all(text[a:b] == quote for a, b in verdict.spans)


def test_every_occurrence_that_is_cut_well_is_kept() -> None:
    text = "able: he was able, she was unable, they were able"
    assert check_quote(text, "able").spans == [(0, 4), (13, 17), (45, 49)]
    assert check_quote("ha ha ha ha", "ha ha").spans == [(0, 5), (3, 8), (6, 11)]


def test_a_word_broken_at_a_line_end_is_offered_whole() -> None:
    text = "A great exam-\nple of this."
    verdict = check_quote(text, "great example of")
    assert verdict.code == "layout"
    assert verdict.suggestion == "great exam-\nple of"


def test_other_capitals_are_named_as_the_reason() -> None:
    verdict = check_quote("The Launch moves.", "the launch moves.")
    assert verdict.code == "not_found"
    assert "capitals" in verdict.reason
    assert verdict.suggestion == "The Launch moves."


ALPHABET = "ab 1.,-–’'“”\u00ad\u00a0\n\r\t\u0301é…ﬁ世界Ж５👩\u200d🚒\ufeff"


@settings(max_examples=300, deadline=None)
@given(st.text(ALPHABET, max_size=30), st.integers(0, 30), st.integers(0, 30), st.text(ALPHABET, max_size=8))
def test_a_verdict_never_lies(text: str, start: int, end: int, other: str) -> None:
    quotes = Quotes(text)
    for quote in (text[start:end], other):
        verdict = quotes.check(quote)
        assert all(text[a:b] == quote for a, b in verdict.spans)
        assert verdict.valid == bool(verdict.spans)
        if not verdict.valid:
            assert verdict.code
            assert verdict.reason
        if verdict.suggestion is not None:
            assert verdict.suggestion == text[slice(*verdict.did_you_mean[0])]
            assert quotes.check(verdict.suggestion).valid
            assert verdict.did_you_mean[0] in quotes.check(verdict.suggestion).spans
        if verdict.code == "not_found":
            assert quote not in text
