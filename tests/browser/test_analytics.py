"""The Analytics page in a real browser: filters, files in and out, and an eval run against a model server."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import engine
from engine.samples import load_launch_story
from tests.browser.app_process import AppProcess
from tests.browser.test_loop import heading

WRONG_AGAIN = "Read the invoice of Hall Ghent"
SHEET = (
    "Bot;Merchant;OCR;Correct value;Attribute;Comment\n"
    'reader;Acme;12;21;total;"Swapped; twice"\n'
    "reader;Acme;same;same;vendor;equal\n"
    "reader;Globex;=1+1;2;total;a formula\n"
    "writer;Globex;x;;note;should be blank\n"
)


def tile(page: Page, label: str) -> str:
    """Return the number on a tile."""
    box = page.get_by_test_id("stMetric").filter(has_text=label)
    return box.get_by_test_id("stMetricValue").inner_text()


def saved(page: Page, button: str, of: int = 1) -> str:
    """Click the last of as many downloads and return what was saved."""
    found = page.get_by_role("button", name=button)
    expect(found).to_have_count(of)  # those of the section that was left may still be there
    with page.expect_download() as waiting:
        found.last.click()
    return Path(waiting.value.path()).read_text(encoding="utf-8-sig")


def test_the_sample_shows_something_and_filters_survive_a_reload(
    page: Page, app: AppProcess, wb: engine.Workbench
) -> None:
    workspace = load_launch_story(wb)
    page.goto(app.url("analytics", workspace=workspace.id))
    heading(page, "Analytics")
    expect(page.get_by_test_id("stMetric")).to_have_count(5)
    assert tile(page, "Corrections") == "8"
    assert tile(page, "To approve") == "2"
    assert tile(page, "Right at once") == "74 %"
    expect(page.get_by_role("heading", name="Right at once, over time")).to_be_visible()
    expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(7)
    assert page.get_by_test_id("stException").count() == 0

    page.get_by_role("combobox", name="Agent").click()
    page.get_by_role("option", name="mail-assistant").click()
    page.wait_for_url("**agent=mail-assistant**")
    heading(page, "Analytics")
    assert tile(page, "Corrections") == "2"
    page.reload()
    heading(page, "Analytics")
    expect(page.get_by_test_id("stMetric")).to_have_count(5)
    assert tile(page, "Corrections") == "2"

    page.get_by_text("Memory", exact=True).click()
    expect(page.get_by_role("heading", name="What the most depends on")).to_be_visible()
    expect(page).to_have_url(re.compile("section=memory"))
    page.goto(app.url("analytics", workspace=workspace.id, entity="nobody"))
    page.get_by_role("button", name="Show all").click()
    expect(page).not_to_have_url(re.compile("entity="))
    page.get_by_role("link", name="Look at what waits for approval").click()
    heading(page, "Correct")
    expect(page.get_by_text("2 records")).to_be_visible()


def test_a_spreadsheet_is_imported_with_its_columns_mapped(
    page: Page, app: AppProcess, wb: engine.Workbench, tmp_path: Path
) -> None:
    sheet = tmp_path / "review.csv"
    sheet.write_text(SHEET, encoding="utf-8")
    workspace = wb.create_workspace("Sheet")
    page.goto(app.url("analytics", workspace=workspace.id, section="exchange"))
    heading(page, "Analytics")
    page.locator("input[type=file]").set_input_files(sheet)
    expect(page.get_by_text("3 rows to record, 1 to reject")).to_be_visible()
    for label, column in (("Agent", "Bot"), ("Entity", "Merchant"), ("What was wrong", "OCR"), ("Reason", "Comment")):
        expect(page.get_by_label(label).first).to_have_value(column)
    # A guess is changed: the attribute is no field here, but the entity.
    page.get_by_label("Entity").first.click()
    page.get_by_role("option", name="Attribute").click()
    heading(page, "Analytics")
    expect(page.get_by_label("Entity").first).to_have_value("Attribute")
    heading(page, "Analytics")
    page.get_by_role("button", name="Import 3 corrections").dblclick()
    expect(page.get_by_text("3 corrections recorded, 0 seen again, 0 superseded, 1 rejected")).to_be_visible()
    heading(page, "Analytics")
    page.wait_for_timeout(1000)
    assert workspace.revision == 1
    frame = workspace.corrections.list()
    assert sorted(frame["original_value"]) == ["12", "=1+1", "x"]
    assert sorted(frame["entity_key"]) == ["note", "total", "total"]
    assert set(frame["times_seen"]) == {1}
    assert "" in set(frame["corrected_value"])
    assert "Swapped; twice" in set(frame["reason"])

    rows = list(csv.DictReader(io.StringIO(saved(page, "Download as CSV", of=2))))  # the rejected rows, and all
    assert sorted(row["original_value"] for row in rows) == ["'=1+1", "12", "x"]
    lines = [json.loads(line) for line in saved(page, "Download as JSONL").splitlines()]
    assert sorted(line["original_value"] for line in lines) == ["12", "=1+1", "x"]

    page.get_by_text("Corrections", exact=True).first.click()
    expect(page.get_by_role("heading", name="All corrections")).to_be_visible()
    heading(page, "Analytics")
    rows = list(csv.DictReader(io.StringIO(saved(page, "Download as CSV"))))
    assert sorted(row["original_value"] for row in rows) == ["'=1+1", "12", "x"]


class Model(BaseHTTPRequestHandler):
    """A model that makes one old mistake again, knows two answers, and fails once."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        if WRONG_AGAIN in asked:
            said = "The total is 1,240.00."
        elif "Belgian Rail" in asked:
            said = "Travel and lodging"
        elif "Press Lille" in asked:
            said = ""
        elif "press kit" in asked:
            self.send_response(400)
            self.end_headers()
            return
        else:
            said = "I do not know."
        message = {"role": "assistant", "content": said}
        answer = json.dumps(
            {
                "id": "x", "object": "chat.completion", "created": 1, "model": "small",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            }
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


class Slow(Model):
    """A model that never answers in time."""

    wait = threading.Event()

    def do_POST(self) -> None:
        self.wait.wait(60)
        super().do_POST()


@pytest.fixture
def model_app(request: pytest.FixtureRequest, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppProcess]:
    """The app with a model server of the machine's own."""
    Slow.wait = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), getattr(request, "param", Model)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_MODEL", "small")
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with AppProcess(data_dir) as process:
            yield process
            Slow.wait.set()
        server.shutdown()


def test_a_run_shows_which_mistakes_came_back(page: Page, model_app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    page.goto(model_app.url("analytics", workspace=workspace.id, section="evals"))
    heading(page, "Analytics")
    page.get_by_role("button", name="Ask small: 6 cases").dblclick()
    expect(page.get_by_role("heading", name="Which mistakes came back")).to_be_visible()
    heading(page, "Analytics")
    assert [tile(page, name) for name in ("Came back", "Wrong otherwise", "No answer", "Right")] == ["1", "2", "1", "2"]
    first = page.locator(".back").first
    expect(first).to_contain_text("came back")
    expect(first).to_contain_text("It still says “1,240.00”")
    expect(first).to_contain_text(WRONG_AGAIN)

    assert 'tests="6" failures="3" errors="1"' in saved(page, "JUnit")
    results = [json.loads(line) for line in saved(page, "Results as JSONL").splitlines()]
    assert sum(result["passed"] for result in results) == 2
    own = page.locator('[aria-label^="Download as CSV:"]')
    expect(own.first).to_be_attached()
    expect(own.first).to_be_hidden()  # Streamlit's own, which leaves formulas as they are
    rows = list(csv.DictReader(io.StringIO(saved(page, "Download as CSV"))))
    assert rows[0]["result"] == "✗ came back"
    assert rows[-1]["result"] == "✓ right"
    assert "def test_correction_holds" in saved(page, "For pytest")
    assert json.loads(saved(page, "For promptfoo"))["tests"]
    assert len(saved(page, "Cases as JSONL").splitlines()) == 6


@pytest.mark.parametrize("model_app", [Slow], indirect=True)
def test_a_run_is_stopped(page: Page, model_app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    page.goto(model_app.url("analytics", workspace=workspace.id, section="evals"))
    heading(page, "Analytics")
    page.get_by_role("button", name="Ask small: 6 cases").click()
    expect(page.get_by_text("0 of 6 cases answered")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("It was stopped; 6 were not asked.")).to_be_visible()
    expect(page.get_by_role("button", name="Ask small: 6 cases")).to_be_visible()


def test_answers_that_were_recorded_elsewhere_are_checked(
    page: Page, app: AppProcess, wb: engine.Workbench, tmp_path: Path
) -> None:
    workspace = load_launch_story(wb)
    cases = {case.field: case for case in workspace.corrections.eval_cases()}
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(
            json.dumps({"correction_id": cases[field].correction_id, "output": said}) + "\n"
            for field, said in (("total", "1,240.00"), ("salutation", "Dear Ms Peeters,"))
        ),
        encoding="utf-8",
    )
    page.goto(app.url("analytics", workspace=workspace.id, section="evals"))
    heading(page, "Analytics")
    page.locator("input[type=file]").set_input_files(answers)
    page.get_by_role("button", name="Check 2 answers").click()
    expect(page.get_by_text("For 4 cases the file has no answer.")).to_be_visible()
    heading(page, "Analytics")
    assert [tile(page, name) for name in ("Came back", "Right")] == ["1", "1"]
