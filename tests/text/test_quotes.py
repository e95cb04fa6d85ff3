"""Exact evidence, by external verdicts and by cases of our own."""

from __future__ import annotations

import time
import unicodedata

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.quotes import _PLAIN, Quotes, _fold_grapheme, check_quote

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
        ("It costs 12 500 euros.", "500 euros", "inside_number"),
        ("In all 1 234 567 people.", "567 people", "inside_number"),
        ("Take .5 mg of it.", "5 mg of it", "inside_number"),
        ("Take 1½ cups.", "½ cups", "inside_number"),
        ("共二十五人。", "五人", "inside_number"),
        ("約200万円です。", "約200", "inside_number"),
        ("They co\u00adoperate now.", "operate now", "inside_word"),
        ("He was un\u200bable to pay.", "able to pay", "inside_word"),
        ("They don't ship.", "They don", "inside_word"),
        ("They don't ship.", "They don'", "inside_word"),
        ("It is a non-binding offer.", "It is a non", "inside_word"),
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
        ("It ended. 5 more came.", "5 more came"),
        ("\ufeffMinutes of May.", "Minutes"),
        ("A 3-year plan.", "year plan"),
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


@pytest.mark.parametrize(
    ("text", "quote", "suggestion"),
    [
        ("They don't ship.", "They do", "They don't"),
        ("It is a non-binding offer.", "binding offer", "non-binding offer"),
        ("The firm was unable to pay.", "able to pay", "unable to pay"),
    ],
)
def test_the_whole_word_is_offered_for_a_badly_cut_one(text: str, quote: str, suggestion: str) -> None:
    assert check_quote(text, quote).suggestion == suggestion


@pytest.mark.parametrize(
    ("text", "quote", "suggestion"),
    [
        ("A self-\ngoverning board.", "A self-governing board", "A self-\ngoverning board"),
        ("A great example of this.", "great exam-\nple of", "great example of"),
        ("A great exam-  \r\n  ple of this.", "great example of", "great exam-  \r\n  ple of"),
    ],
)
def test_a_hyphen_at_a_line_end_may_be_kept_or_dropped(text: str, quote: str, suggestion: str) -> None:
    verdict = check_quote(text, quote)
    assert (verdict.code, verdict.suggestion) == ("layout", suggestion)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("We saw \ufb01brils in\nit.", "ibrils in it"),
        ("The m\u0304 is\nlong.", "The m is long"),
        ("It is 12 m² in\ntotal.", "12 m2 in total"),
        ("Only a 3-year\ncontract.", "a 3 year contract"),
        ("The board\nmet.", "the board met"),
    ],
)
def test_a_rewrite_is_not_taken_for_layout(text: str, quote: str) -> None:
    assert check_quote(text, quote).code != "layout"


def test_hostile_texts_are_checked_in_time() -> None:
    began = time.perf_counter()
    assert check_quote("a" * 100_000, "aaa").code == "inside_word"
    assert check_quote("e\u0301" * 50_000, "e").code == "inside_grapheme"
    assert check_quote("1," * 50_000 + "1", "1").code == "inside_number"
    quotes = Quotes("The board met – twice. 会议将于六月举行。 Café. " * 10_000)
    assert not any(quotes.check(f"no such words {n}").valid for n in range(200))
    assert time.perf_counter() - began < 10  # minutes, if every occurrence were widened to its whole word


def test_what_folding_passes_over_is_what_it_would_not_change() -> None:
    plain = regex.compile(rf"[{_PLAIN}]")
    apart = regex.compile(r"[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}]")
    for character in map(chr, range(0x10000)):
        if plain.match(character):
            assert _fold_grapheme(character) == character
            assert apart.match(character), ascii(character)


WORDS = st.lists(
    st.sampled_from(
        ["board", "café", "Việt", "“go”", "−5", "12\u202f000", "o\ufb03ce", "日本", "가나", "हिन्दी", "１２", "a-b"]
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(
    WORDS,
    WORDS,
    st.sampled_from(["\n", "\u00a0", "  ", "\r\n\r\n", "\u2009", "\u00ad ", "\t"]),
    st.sampled_from(["NFC", "NFD"]),
)
def test_other_spaces_and_other_composition_are_layout(
    before: list[str], words: list[str], gap: str, form: str
) -> None:
    text = " ".join(before) + " # " + gap.join(words) + " # end"
    quote = unicodedata.normalize(form, " ".join(words))  # type: ignore[arg-type]
    verdict = check_quote(text, quote)
    if verdict.valid:
        assert quote in text
        return
    assert verdict.code == "layout"
    assert gap.join(words) in {text[a:b] for a, b in verdict.did_you_mean}
    assert verdict.suggestion is not None
    assert check_quote(text, verdict.suggestion).valid


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
