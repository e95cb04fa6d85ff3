from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import engine
from engine.samples import RIGHT, WRONG, load_launch_story
from pages.parts import session
from pages.parts.diff_view import diff_html
from pages.parts.evidence_view import excerpt, highlight_html
from pages.parts.words import plain

ROUTER = str(session.PAGES / "router.py")


@pytest.fixture
def shared(wb: engine.Workbench, monkeypatch: pytest.MonkeyPatch) -> engine.Workbench:
    """The pages work on the workbench of the tests rather than open one of their own."""
    monkeypatch.setattr(session, "workbench", lambda: wb)
    return wb


def run(page: str = "", **query: str) -> AppTest:
    at = AppTest.from_file(ROUTER, default_timeout=60)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    if page:
        at.switch_page(page).run()
    assert not at.exception, at.exception
    return at


@pytest.mark.parametrize("page", [session.INGEST, session.ASK, session.CORRECT, session.ANALYTICS])
def test_every_page_has_an_empty_state(shared: engine.Workbench, ws: engine.Workspace, page: str) -> None:
    at = run(page, workspace=ws.id)
    assert at.title[0].value == Path(page).stem.capitalize()
    assert any("first" in box.value or "Nothing is here yet" in box.value for box in at.info)
    assert any("sample" in button.label for button in at.main.button)


def test_preview_and_apply_by_the_page(shared: engine.Workbench) -> None:
    workspace = load_launch_story(shared)
    claims = workspace.claims()
    wrong = str(claims.loc[claims["statement"] == WRONG, "id"].iloc[0])
    at = run(session.CORRECT, workspace=workspace.id, claim=wrong)
    at.text_area(key=f"correct.statement.{wrong}").set_value(RIGHT).run()
    at.button(key="correct.preview").click().run()
    assert [metric.label for metric in at.metric][:2] == ["Acted on", "Needs review"]
    next(button for button in at.button if button.label == "Apply the correction").click().run()
    assert not at.exception
    assert workspace.claim(wrong).status == "superseded"
    next(toggle for toggle in at.toggle if toggle.label.startswith("Undo")).set_value(True).run()
    at.button(key="correct.undo").click().run()
    assert not at.exception
    assert workspace.claim(wrong).status == "current"
    shared.delete_workspace(workspace.id)


def test_a_link_to_no_workspace_is_an_error_with_a_way_out(shared: engine.Workbench) -> None:
    at = run(workspace="nonsense")
    assert "nonsense" in at.error[0].value
    assert at.button(key="frame.forget").label.startswith("Show")


def test_marks_are_exact_where_spans_overlap_nest_and_touch() -> None:
    text = "ab<c>&é—\U0001f600z"
    assert highlight_html(text, []) == "ab&lt;c&gt;&amp;é—\U0001f600z"
    assert highlight_html(text, [(2, 5)]) == ('ab<mark class="quoted">&lt;c&gt;</mark>&amp;é—\U0001f600z')
    assert highlight_html("abcdef", [(0, 3), (1, 4), (4, 6)]) == '<mark class="quoted">abcdef</mark>'
    assert highlight_html("abcdef", [(0, 6)], [(2, 3), (3, 4)]) == (
        '<mark class="quoted">ab</mark><mark class="active">cd</mark><mark class="quoted">ef</mark>'
    )
    assert highlight_html("\U0001f600x", [(1, 2)]) == '\U0001f600<mark class="quoted">x</mark>'
    assert highlight_html("ab", [(-5, 99), (1, 1)]) == '<mark class="quoted">ab</mark>'
    assert highlight_html("", [(0, 3)]) == ""


def test_an_excerpt_holds_the_passage() -> None:
    text = "x" * 5000
    start, end = excerpt(text, [(2500, 2510)])
    assert start < 2500
    assert end > 2510
    assert end - start < 1000
    assert excerpt("short", [(1, 2)]) == (0, 5)


def test_a_diff_marks_words_and_escapes() -> None:
    assert diff_html("on 12 <June>", "on 3 <June>") == (
        "on <del>12</del> &lt;June&gt;",
        "on <ins>3</ins> &lt;June&gt;",
    )
    assert diff_html("same", "same") == ("same", "same")


def test_words_of_users_are_no_markdown() -> None:
    assert plain("**a** [b](c) :material/x: <i> $y$ `z`") == (r"\*\*a\*\* \[b\]\(c\) \:material/x\: \<i\> \$y\$ \`z\`")
