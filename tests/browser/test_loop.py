"""The whole loop in a real browser, on the real app and the real database."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

import engine
from engine.samples import RIGHT, WRONG, load_launch_story
from tests.browser.app_process import AppProcess

TEXT = """Minutes of the meeting

The bridge opens on 4 May. The toll is two euros. Cyclists pay nothing.
"""
HOSTILE = (
    "The <b onmouseover=alert(1)>fee</b> is <img src=http://evil.example/x.png onerror=alert(2)> 5 euros "
    "<script>window.pwned=1</script> [link](javascript:alert(3)) href."
)


def heading(page: Page, name: str) -> None:
    """Wait for a page to be there whole."""
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def type_into(page: Page, label: str, text: str) -> None:
    box = page.get_by_label(label, exact=True)
    box.fill(text)
    box.press("Control+Enter")


def preview(page: Page, statement: str) -> None:
    type_into(page, "What is right", statement)
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.get_by_role("heading", name="What would happen")).to_be_visible()


def claim_id(workspace: engine.Workspace, statement: str) -> str:
    claims = workspace.claims()
    return str(claims.loc[claims["statement"] == statement, "id"].iloc[-1])


def test_from_an_empty_folder_to_an_applied_correction(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    page.goto(app.url())
    heading(page, "Ingest")
    type_into(page, "Name", "Bridge")
    page.get_by_role("button", name="Create").click()

    page.get_by_label("Text", exact=True).fill(TEXT)
    page.get_by_role("button", name="Ingest the text").click()
    expect(page.get_by_text("3 claims kept")).to_be_visible()
    expect(page.locator(".evidence mark")).to_have_count(3)

    page.get_by_role("link", name="Ask").click()
    heading(page, "Ask")
    type_into(page, "Your question", "When does the bridge open?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="When does the bridge open?")).to_be_visible()
    expect(page.locator(".evidence mark.active").first).to_have_text("The bridge opens on 4 May.")

    page.get_by_role("link", name="Correct", exact=True).click()
    heading(page, "Correct")
    page.get_by_text("The bridge opens on 4 May.").first.click()
    preview(page, "The bridge opens on 9 May.")
    expect(page.locator(".diff del").first).to_have_text("4")
    expect(page.locator(".effect").first).to_contain_text("Needs review")
    page.get_by_role("button", name="Apply the correction").click()
    expect(page.get_by_role("heading", name="What the correction did")).to_be_visible()

    info = wb.workspaces()[0]
    corrected = wb.workspace(info.id).corrected()
    assert list(corrected["statement"]) == ["The bridge opens on 9 May."]

    page.get_by_role("link", name="Analytics").click()
    heading(page, "Analytics")
    expect(page.get_by_text("1 decision to be reviewed")).to_be_visible()


def test_without_evidence_there_is_no_answer(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    page.goto(app.url("ask", workspace=workspace.id))
    type_into(page, "Your question", "Which submarine is purple?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_text("No source-backed answer yet")).to_be_visible()
    expect(page.get_by_text("needs review").first).to_be_visible()


def test_a_deep_link_is_the_very_first_request(page: Page, data_dir: Path) -> None:
    with engine.open(data_dir=data_dir) as wb:
        workspace = load_launch_story(wb)
        wb.create_workspace("A later one")
        wrong = claim_id(workspace, WRONG)
    with AppProcess(data_dir) as app:
        page.goto(app.url("correct", workspace=workspace.id, claim=wrong))
        heading(page, "Correct")
        expect(page.get_by_role("heading", name=WRONG)).to_be_visible()
        expect(page.get_by_role("link", name="Analytics")).to_be_visible()
        assert f"workspace={workspace.id}" in page.url
        assert f"claim={wrong}" in page.url


def test_a_link_to_no_workspace_says_what_to_do(page: Page, app: AppProcess) -> None:
    page.goto(app.url("correct", workspace="00000000-0000-4000-8000-000000000000"))
    page.get_by_role("button", name="Show the workspaces there are").click()
    expect(page.get_by_text("There is no workspace yet")).to_be_visible()


def test_no_page_asks_anything_of_another_host(
    page: Page, app: AppProcess, wb: engine.Workbench, strangers: list[str]
) -> None:
    workspace = load_launch_story(wb)
    run = workspace.ask("When is the launch?")
    for name, title, selection in (
        ("ingest", "Ingest", {}),
        ("ask", "Ask", {"run": run.run_id}),
        ("correct", "Correct", {"claim": claim_id(workspace, WRONG)}),
        ("analytics", "Analytics", {}),
    ):
        page.goto(app.url(name, workspace=workspace.id, **selection))
        heading(page, title)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
    assert strangers == []


def test_hostile_text_is_shown_as_text_also_on_hover(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = wb.create_workspace("<script>alert('name')</script> [x](javascript:alert(1))")
    source = workspace.ingest(HOSTILE, name="<img src=x onerror=alert(4)>", extractor=None)
    claim = workspace.add_claim(source.source_id, HOSTILE, HOSTILE)
    workspace.decide(f"Decide: {HOSTILE}", because=[claim.id], rationale=HOSTILE)
    run = workspace.ask("What is the fee?")
    for name, selection in (
        ("ingest", {}),
        ("ask", {"run": run.run_id}),
        ("analytics", {}),
        ("correct", {"claim": claim.id}),
    ):
        page.goto(app.url(name, workspace=workspace.id, **selection))
        heading(page, name.capitalize())
        page.wait_for_load_state("networkidle")
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()

    canvas = page.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    box = canvas.bounding_box()
    assert box is not None
    shown: set[str] = set()
    for step in range(30):
        page.mouse.move(box["x"] + box["width"] * (step + 0.5) / 30, box["y"] + box["height"] / 2)
        page.wait_for_timeout(250)
        shown.update(text for text in page.locator(".vis-tooltip").all_inner_texts() if text)
    assert any("<script>" in text for text in shown), shown
    assert page.locator(".vis-tooltip *").count() == 0

    preview(page, f"Right: {HOSTILE}")
    expect(page.locator(".diff")).to_contain_text("<script>window.pwned=1</script>")
    page.get_by_role("button", name="Apply the correction").click()
    expect(page.get_by_role("heading", name="What the correction did")).to_be_visible()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img[src*=evil], img[src=x]").count() == 0


def test_a_double_click_applies_once(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    before = workspace.revision
    page.goto(app.url("correct", workspace=workspace.id, claim=claim_id(workspace, WRONG)))
    preview(page, RIGHT)
    page.get_by_role("button", name="Apply the correction").dblclick()
    expect(page.get_by_role("heading", name="What the correction did")).to_be_visible()
    page.wait_for_timeout(1500)
    assert workspace.revision == before + 1
    assert len(workspace.corrected()) == 1


def test_a_preview_that_went_stale_is_shown_anew(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    wrong = claim_id(workspace, WRONG)
    page.goto(app.url("correct", workspace=workspace.id, claim=wrong))
    preview(page, RIGHT)
    workspace.decide("Tell the mayor the date", because=[wrong])
    page.get_by_role("button", name="Apply the correction").click()
    expect(page.get_by_text("nothing was applied")).to_be_visible()
    expect(page.locator(".effect", has_text="Tell the mayor the date")).to_be_visible()
    heading(page, "Correct")
    page.get_by_role("button", name="Apply the correction").click()
    expect(page.get_by_role("heading", name="What the correction did")).to_be_visible()


def test_what_is_typed_survives_a_change_of_page(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    page.goto(app.url("correct", workspace=workspace.id, claim=claim_id(workspace, WRONG)))
    type_into(page, "What is right", "The launch is later.")
    page.get_by_role("link", name="Ask").click()
    heading(page, "Ask")
    type_into(page, "Your question", "Half a question")
    heading(page, "Ask")
    page.get_by_role("link", name="Correct", exact=True).click()
    heading(page, "Correct")
    expect(page.get_by_label("What is right", exact=True)).to_have_value("The launch is later.")
    assert "claim=" in page.url
    page.get_by_role("link", name="Ask").click()
    expect(page.get_by_label("Your question", exact=True)).to_have_value("Half a question")


def test_a_click_in_the_picture_selects(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    wrong = claim_id(workspace, WRONG)
    page.goto(app.url("correct", workspace=workspace.id, claim=wrong))
    canvas = page.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(800)
    box = canvas.bounding_box()
    assert box is not None
    for step in range(30):
        page.mouse.click(box["x"] + box["width"] * (step + 0.5) / 30, box["y"] + box["height"] / 2)
        page.wait_for_timeout(150)
        if wrong not in page.url:
            break
    page.wait_for_url(re.compile(r"claim=c_(?!" + wrong[2:] + ")"))


def test_files_are_taken_in_one_by_one(page: Page, app: AppProcess, wb: engine.Workbench, tmp_path: Path) -> None:
    workspace = wb.create_workspace("Files")
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.md").write_text("# Title\n\nThe ferry sails at noon.\n", encoding="utf-8")
    (tmp_path / "c.pdf").write_bytes(b"no PDF at all")
    page.goto(app.url("ingest", workspace=workspace.id))
    page.get_by_text("Files", exact=True).click()
    page.locator("input[type=file]").set_input_files([tmp_path / name for name in ("a.txt", "b.md", "c.pdf")])
    page.get_by_role("button", name="Ingest the files").click()
    expect(page.get_by_text("c.pdf").first).to_be_visible()
    expect(page.get_by_text("3 claims kept")).to_be_visible()
    expect(page.get_by_text("1 claim kept")).to_be_visible()
    assert len(workspace.sources()) == 2
