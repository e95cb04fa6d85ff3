"""What the rule-based extractor takes for a statement."""

from __future__ import annotations

import pytest

from engine.errors import InvalidInput, ModelUnavailable
from engine.extraction import RuleExtractor, extractor_for, is_statement
from engine.quotes import check_quote


@pytest.mark.parametrize(
    "sentence",
    [
        "The launch moves to July.",
        "The launch moves to July",
        "Our partners are ready to ship",
        "Der Start ist im Juni",
        "今日は良い天気です。",
        "发射时间改到七月。",
        "यह पहला वाक्य है।",
        "الإطلاق في شهر يوليو.",
        "He said “we go.”",
        "the tenant pays the rent;",
    ],
)
def test_statements_are_kept(sentence: str) -> None:
    assert is_statement(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Is the launch in July?",
        "何時ですか？",
        "Πότε είναι η εκτόξευση;",
        "Aurora: launch plan, second draft",
        "Home About Contact us",
        "2.3 Results",
        "Revenue",
        "Introduction ........ 12",
        "Home | Products | Login | Help",
        "https://example.org/some/long/path",
        "| a cell | another cell with words in it |",
        "Name\tRole of the person in the team",
        "To do before the launch:",
        "12 June 2024",
    ],
)
def test_what_is_no_statement_is_left_out(sentence: str) -> None:
    assert not is_statement(sentence)


def test_proposals_quote_the_text_exactly_and_repeated_lines_are_no_claims() -> None:
    text = (
        "Page header here.\n\nThe launch\nis in July.\n\nPage header here.\n\nIt costs 5 euros.\n\nPage header here.\n"
    )
    proposals = list(RuleExtractor().propose(text))
    assert [p.statement for p in proposals] == ["The launch is in July.", "It costs 5 euros."]
    assert proposals[0].evidence_quote == "The launch\nis in July."
    assert all(check_quote(text, p.evidence_quote).valid for p in proposals)
    assert all(text[p.hint :].startswith(p.evidence_quote) for p in proposals if p.hint is not None)


def test_extractors_are_chosen_by_name() -> None:
    assert extractor_for(None) is None
    assert extractor_for("auto").name == "rules"  # type: ignore[union-attr]
    with pytest.raises(ModelUnavailable, match="rules"):
        extractor_for("model")
    with pytest.raises(InvalidInput, match="no extractor"):
        extractor_for("magic")
