"""Fragments tile, sentences are exact."""

from __future__ import annotations

import itertools

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
