"""Fragments tile, sentences are exact."""

from __future__ import annotations

import itertools
import time

import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.segmentation import fragments, sentences

TEXT = st.text(st.sampled_from("abc .!?\n\r\t-#|`1世。ก\u0301é👩\u200d🚒 "), max_size=300) | st.text(max_size=80)


@settings(max_examples=200, deadline=None)
@given(TEXT, st.integers(5, 60))
def test_fragments_tile_the_text_and_cut_no_grapheme(text: str, target: int) -> None:
    spans = fragments(text, target)
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(a < b for a, b in spans)
    starts = {match.start() for match in regex.finditer(r"\X", text)} | {len(text)}
    assert all(a in starts for a, _ in spans)


def test_fragments_are_cut_where_the_text_pauses() -> None:
    paragraph = "One sentence stands here. Another follows it there. "
    text = "\n\n".join([paragraph * 5] * 4)
    spans = fragments(text, 300)
    assert len(spans) >= 4
    assert all(b - a <= 320 for a, b in spans)
    assert all(text[b - 1].isspace() or b == len(text) for _, b in spans)


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_sentences_are_exact_ordered_and_trimmed(text: str) -> None:
    spans = sentences(text)
    assert all(text[a:b] == text[a:b].strip() != "" for a, b in spans)
    assert all(a < b for a, b in spans)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


def test_sentences_in_many_scripts_and_layouts() -> None:
    text = (
        "# A heading\nDr. Smith paid 5.5 euros. It was\nenough!\n\n- first item\n- second item. With more\n\n"
        "```\ncode.is. no text.\n```\n今日は晴れ。明日は雨。\n\nمرحبا بالعالم. كيف حالك؟\n\nयह पहला है। यह दूसरा है।"
    )
    assert [text[a:b] for a, b in sentences(text)] == [
        "A heading",
        "Dr. Smith paid 5.5 euros.",
        "It was\nenough!",
        "first item",
        "second item.",
        "With more",
        "今日は晴れ。",
        "明日は雨。",
        "مرحبا بالعالم.",
        "كيف حالك؟",
        "यह पहला है।",
        "यह दूसरा है।",
    ]


def test_a_long_paragraph_takes_no_longer_than_many_short_ones() -> None:
    sentence = "会议将于六月举行。没有别的变化！"
    text = sentence * 12_000
    began = time.perf_counter()
    spans = sentences(text)
    assert time.perf_counter() - began < 5  # it was 16 s when the whole paragraph went to sentencex
    assert len(spans) == 24_000
    assert text[slice(*spans[-1])] == "没有别的变化！"


def test_a_long_paragraph_is_not_cut_at_an_abbreviation() -> None:
    text = "Then Dr. Smith of the board signed it. " * 400
    assert {text[a:b] for a, b in sentences(text)} == {"Then Dr. Smith of the board signed it."}


def test_a_run_without_an_end_loses_nothing() -> None:
    text = "會" * 9_000 + "e\u0301" * 3_000
    spans = sentences(text)
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(not text[a:].startswith("\u0301") for a, _ in spans)
