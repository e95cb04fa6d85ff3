from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import engine
from engine.evals import score_case
from engine.samples import RIGHT, WRONG, load_launch_story
from pages.parts import session
from pages.parts.charts import _literal
from pages.parts.diff_view import diff_html
from pages.parts.eval_job import verdict
from pages.parts.evidence_view import excerpt, highlight_html
from pages.parts.tables import csv_of, safe_cell
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


def unlike(ws: engine.Workspace) -> engine.Correction:
    """A record that a model made, and that would supersede a person's."""
    ws.corrections.record("reader", "12", "21", "total", None, "Acme", original_input="Read it")
    return ws.corrections.record("reader", "21", "22", "total", None, "Acme", author_kind="model")


def press(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception, at.exception
    return at


def texts(at: AppTest) -> str:
    return "\n".join(str(part.value) for part in [*at.markdown, *at.caption, *at.info, *at.warning, *at.success])


@pytest.mark.parametrize("section", ["corrections", "memory", "evals", "exchange", "nonsense"])
def test_every_section_of_analytics_shows_the_sample(shared: engine.Workbench, section: str) -> None:
    workspace = load_launch_story(shared)
    at = run(session.ANALYTICS, workspace=workspace.id, section=section)
    assert at.title[0].value == "Analytics"
    if section in ("corrections", "nonsense"):
        assert [metric.label for metric in at.metric] == [
            "Corrections", "To approve", "Right at once", "Came again", "Kept to",
        ]  # fmt: skip
    shared.delete_workspace(workspace.id)


def test_filters_keep_what_they_name_and_a_strange_one_has_a_way_out(
    shared: engine.Workbench, ws: engine.Workspace
) -> None:
    unlike(ws)
    at = run(session.ANALYTICS, workspace=ws.id, agent="reader", since="2020-01-01")
    assert at.metric[0].value == "1"
    at = run(session.ANALYTICS, workspace=ws.id, agent="nobody")
    assert any("No correction matches" in box.value for box in at.info)
    press(at, "accuracy.filter.forget")
    assert at.metric[0].value == "1"
    at = run(session.ANALYTICS, workspace=ws.id, since="no day", status="<b>")
    assert at.metric[0].value == "1"


def test_a_record_is_approved_after_it_was_shown_what_that_does(shared: engine.Workbench, ws: engine.Workspace) -> None:
    record = unlike(ws)
    at = run(session.CORRECT, workspace=ws.id, view="records", record=record.id)
    assert "supersedes 1 correction" in texts(at)
    at.text_input(key="correct.reviewer").set_value("Ana").run()
    press(at, "records.approve")
    approved = ws.corrections.get(record.id)
    assert (approved.status, approved.approved_by) == ("active", "Ana")
    assert "approved by Ana" in texts(at)
    at.toggle(key=f"records.reverting.{record.id}").set_value(True).run()
    at.text_input(key=f"records.reason.{record.id}").set_value("It was right").run()
    press(at, "records.revert")
    assert ws.corrections.get(record.id).status == "reverted"
    assert ws.history().iloc[-1]["reason"] == "It was right"


def test_approving_is_refused_when_it_would_do_something_else_by_now(
    shared: engine.Workbench, ws: engine.Workspace
) -> None:
    record = unlike(ws)
    at = run(session.CORRECT, workspace=ws.id, view="records", record=record.id)
    ws.corrections.record("reader", "20", "21", "total", None, "Acme")  # would be superseded too
    press(at, "records.approve")
    assert ws.corrections.get(record.id).status == "pending"
    assert any("something else" in box.value for box in at.warning)
    press(at, "records.approve")
    assert ws.corrections.get(record.id).status == "active"


def test_a_record_of_a_claim_that_moved_on_waits_no_more(shared: engine.Workbench, ws: engine.Workspace) -> None:
    claim = ws.ingest("The bridge opens on 4 May.").claims[0]
    record = ws.corrections.record("reader", "4 May", "9 May", claim_id=claim.id, author_kind="model")
    ws.apply(ws.preview(claim.id, "The bridge opens on 5 May."))
    at = run(session.CORRECT, workspace=ws.id, view="records", record=record.id)
    assert any("superseded" in text.value for text in at.markdown)
    assert not {"records.approve", "records.reject"} & {button.key for button in at.button}
    assert ws.corrections.get(record.id).status == "superseded"


def test_a_typed_record_is_previewed_and_counts_when_it_is_there_already(
    shared: engine.Workbench, ws: engine.Workspace
) -> None:
    ws.corrections.record("reader", 12, None, "total")
    at = run(session.CORRECT, workspace=ws.id, view="records")
    at.text_input(key="records.form.agent").set_value("reader")
    at.text_input(key="records.form.field").set_value("total")
    at.text_area(key="records.form.original").set_value("{")
    at.checkbox(key="records.form.json").set_value(True)
    press(at.run(), "records.form.preview")
    assert any("no JSON" in box.value for box in at.error)
    at.text_area(key="records.form.original").set_value("12")
    press(at.run(), "records.form.preview")
    assert "seen again" in texts(at)
    at.text_area(key="records.form.original").set_value("13").run()
    assert at.button(key="records.form.record").disabled, "what was previewed is not what is typed"
    at.text_area(key="records.form.original").set_value("12").run()
    press(at, "records.form.record")
    assert list(ws.corrections.list()["times_seen"]) == [2]


def test_learnings_that_fall_are_shown_before_and_after(shared: engine.Workbench, ws: engine.Workspace) -> None:
    claim = ws.ingest("The bridge opens on 4 May.").claims[0]
    ws.learnings.add("Tolls start in May.", because=[claim.id], author_kind="model")
    at = run(session.CORRECT, workspace=ws.id, claim=claim.id)
    at.text_area(key=f"correct.statement.{claim.id}").set_value("The bridge opens on 9 June.").run()
    press(at, "correct.preview")
    assert "1 learning would be invalidated" in texts(at)
    assert "Tolls start in May" in texts(at)
    next(button for button in at.button if button.label == "Apply the correction").click().run()
    correction = str(ws.corrected().iloc[-1]["id"])
    at = run(session.CORRECT, workspace=ws.id, view="records", record=correction)
    assert "It invalidated 1 learning" in texts(at)
    at = run(session.ANALYTICS, workspace=ws.id, section="memory")
    assert "1 invalidated by corrections" in texts(at).replace("\\", "")


def test_a_link_to_a_claim_leads_to_it_whatever_was_looked_at_before(
    shared: engine.Workbench, ws: engine.Workspace
) -> None:
    claim = ws.ingest("The bridge opens on 4 May.").claims[0]
    at = run(session.CORRECT, workspace=ws.id, view="records")
    del at.query_params["view"]
    at.query_params["claim"] = claim.id
    at.run()
    assert at.text_area(key=f"correct.statement.{claim.id}")


def test_a_sheet_is_mapped_checked_and_imported(shared: engine.Workbench, ws: engine.Workspace) -> None:
    at = run(session.ANALYTICS, workspace=ws.id, section="exchange")
    at.file_uploader[0].upload("sheet.csv", b"Wrong,Right\n12,21\nsame,same\n7,\n", "text/csv").run()
    assert not at.exception, at.exception
    assert any("Choose the column for: Agent" in box.value for box in at.info)
    at.text_input(key="import.agent").set_value("reader").run()
    assert "2 rows to record, 1 to reject" in texts(at)
    assert not at.exception, at.exception
    assert ws.revision == 0
    press(at, "import.go.0")
    assert sorted(ws.corrections.list()["original_value"]) == ["12", "7"]
    assert "2 corrections recorded" in at.success[0].value
    assert ws.revision == 1


def test_evals_say_what_is_missing(
    shared: engine.Workbench, ws: engine.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.corrections.record("reader", "12", "21", "total")
    at = run(session.ANALYTICS, workspace=ws.id, section="evals")
    assert any("There is no case yet" in box.value for box in at.info)
    unlike(ws)
    for name in ("OPENAI_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    at = run(session.ANALYTICS, workspace=ws.id, section="evals")
    assert "1 active correction knows" in texts(at)
    at.segmented_control(key="evals.how").set_value("model").run()
    assert any("OPENAI_MODEL" in box.value for box in at.info)


def test_what_came_back_is_told_from_any_other_wrong_answer() -> None:
    case = engine.EvalCase(input="?", expected="21", original="12", correction_id="k_1")
    told = [verdict(score_case(case, said)) for said in ("21", "12", "21, not 12", "33", "")]
    assert told == ["right", "came back", "came back", "wrong otherwise", "wrong otherwise"]


def test_no_cell_of_a_csv_is_a_formula() -> None:
    frame = pd.DataFrame({"=a": ["=1+1", "+1", "-1", "@x", "plain", None], "b": [-1, 2, 3, 4, 5, 6]})
    lines = csv_of(frame).removeprefix("\ufeff").splitlines()
    assert lines == ["'=a,b", "'=1+1,-1", "'+1,2", "'-1,3", "'@x,4", "plain,5", ",6"]
    assert safe_cell(["=1"]) == '["=1"]'


def test_names_on_an_axis_are_no_expression() -> None:
    assert _literal({0: 'a"] + 1', 1: "\U0001f600"}) == '["a\\u0022\\u005d \\u002b 1", "\\ud83d\\ude00"]'
