"""Terms for the full-text index, and what the real index makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.terms import fulltext_phrase, fulltext_query, index_terms, phrase_terms, query_terms


def test_content_words_without_stop_words_or_with_them_if_there_is_nothing_else() -> None:
    assert query_terms("What is the date of the launch?") == ["date", "launch"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]


def test_case_accents_and_width_are_folded_in_all_scripts() -> None:
    assert phrase_terms("CAFÉ") == phrase_terms("cafe\u0301") == phrase_terms("ｃａｆｅ") == ["cafe"]
    assert phrase_terms("ΑΣ") == phrase_terms("ας")
    assert phrase_terms("ПРИВЕТ") == phrase_terms("привет")
    assert phrase_terms("Straße") == phrase_terms("STRASSE")
    assert phrase_terms("كُتَّاب") == phrase_terms("كتاب")
    assert phrase_terms("हिन्दी") != phrase_terms("हन्द")


@given(st.text())
def test_terms_are_plain_ascii_words(text: str) -> None:
    assert all(term.isascii() and term.isalnum() and term == term.lower() for term in phrase_terms(text))


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("The café in Zürich opens at nine.", "CAFE zurich"),
        ("Запуск перенесён на июль.", "запуск ИЮЛЬ"),
        ("Η εκτόξευση είναι τον Ιούλιο.", "ΕΚΤΟΞΕΥΣΗ"),
        ("今日は会議があります。", "会議"),
        ("发射时间改到七月。", "发射时间"),
        ("การประชุมเริ่มวันจันทร์", "ประชุม"),
        ("लॉन्च जुलाई में होगा।", "जुलाई"),
        ("الإطلاق في شهر يوليو.", "الإطلاق"),
        ("출시는 칠월에 있다.", "출시는"),
        ("The price is 1,200 euros.", "1,200"),
    ],
)
def test_a_claim_in_any_script_is_found_by_its_words(ws: engine.Workspace, statement: str, query: str) -> None:
    source = ws.ingest(f"{statement}\n\nNothing to see.", extractor=None).source_id
    ws.submit_claims(
        source,
        [engine.ProposedClaim(statement, statement), engine.ProposedClaim("Nothing to see.", "Nothing to see.")],
    )
    hits = ws.search(query)
    assert [hit.claim.statement for hit in hits] == [statement]


@settings(max_examples=120, deadline=None)
@given(st.text(max_size=40) | st.text("-()\"%~$[]:;'@|*+!\\{}^?<>=,./&# ab", max_size=40))
def test_no_query_of_a_user_is_a_syntax_error(wb: engine.Workbench, query: str) -> None:
    info = next((info for info in wb.workspaces() if info.name == "queries"), None)
    ws = wb.workspace(info.id) if info else wb.create_workspace("queries")
    assert isinstance(ws.search(query), list)


def test_the_phrase_comes_before_the_words(ws: engine.Workspace) -> None:
    sentences = ["Launch of the plan is near.", "The launch plan is ready.", "A plan for a launch exists."]
    source = ws.ingest("\n\n".join(sentences), extractor=None).source_id
    ws.submit_claims(source, [engine.ProposedClaim(s, s) for s in sentences])
    hits = ws.search("the launch plan")
    assert hits[0].claim.statement == "The launch plan is ready."
    assert hits[0].how == "phrase"
    assert {hit.how for hit in hits[1:]} == {"words"}
    assert len(hits) == 3


def test_queries_are_made_of_terms() -> None:
    assert fulltext_query(["a", "b"]) == "a|b"
    assert fulltext_phrase(["a", "b"]) == '"a b"'
    assert index_terms("One, two!") == "one two"
