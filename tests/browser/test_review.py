"""What comes after a correction, in a real browser: explain, undo, retract, settle, and looking back."""

from __future__ import annotations

from playwright.sync_api import Page, expect

import engine
from engine.samples import RIGHT, WRONG, load_launch_story
from tests.browser.app_process import AppProcess
from tests.browser.test_loop import claim_id, heading, preview

BOOK = "Book the main hall in Ghent for 12 June"


def corrected(wb: engine.Workbench) -> tuple[engine.Workspace, engine.Applied, str]:
    """The launch story with its date corrected; and the id of the wrong claim."""
    workspace = load_launch_story(wb)
    wrong = claim_id(workspace, WRONG)
    return workspace, workspace.apply(workspace.preview(wrong, RIGHT), "Ana", "Moved by the board"), wrong


def test_a_claim_that_fell_explains_itself(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, _, wrong = corrected(wb)
    page.goto(app.url("correct", workspace=workspace.id, claim=wrong))
    heading(page, "Correct")
    page.get_by_text("Why it stands or fell").click()
    expect(page.get_by_text("Ana corrected it to").first).to_be_visible()
    expect(page.get_by_role("heading", name=WRONG)).to_be_visible()


def test_an_undo_is_previewed_then_done(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, applied, wrong = corrected(wb)
    page.goto(app.url("correct", workspace=workspace.id, claim=wrong))
    heading(page, "Correct")
    page.get_by_text("Undo this correction…").click()
    expect(page.locator(".effect", has_text=BOOK).filter(has_text="Restored")).to_be_visible()
    assert workspace.revision == applied.revision
    page.get_by_role("button", name="Undo it").click()
    expect(page.get_by_role("button", name="Preview", exact=True)).to_be_visible()
    assert workspace.claim(wrong).status == "current"
    assert workspace.revision == applied.revision + 1


def test_a_claim_is_retracted(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    wrong = claim_id(workspace, WRONG)
    page.goto(app.url("correct", workspace=workspace.id, claim=wrong))
    heading(page, "Correct")
    page.get_by_role("button", name="Preview retracting it").click()
    expect(page.get_by_role("heading", name="What would happen")).to_be_visible()
    page.get_by_role("button", name="Retract the claim").click()
    expect(page.get_by_role("heading", name="What the correction did")).to_be_visible()
    assert workspace.claim(wrong).status == "retracted"


def test_a_fallen_decision_is_rebased_from_the_queue(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, applied, _ = corrected(wb)
    page.goto(app.url("correct", workspace=workspace.id))
    heading(page, "Correct")
    page.get_by_role("radiogroup").get_by_text("To review (3)").click()
    page.get_by_text(BOOK).first.click()
    expect(page.get_by_text("Its last support fell").first).to_be_visible()
    assert "view=review" in page.url
    assert "decision=d_" in page.url
    page.get_by_text("Replace it by a new decision (rebase)").click()
    title = page.get_by_label("The new decision")
    title.fill("Book the main hall in Ghent for 3 July")
    title.press("Enter")
    heading(page, "Correct")
    page.get_by_role("button", name="Settle the decision").click()
    expect(page.get_by_text("To review (2)")).to_be_visible()
    decisions = workspace.decisions()
    (new,) = decisions.loc[decisions["title"] == "Book the main hall in Ghent for 3 July", "id"]
    assert applied.replacement is not None
    assert applied.replacement.id in workspace.decision(new).because[0].premises
    assert list(workspace.decisions(title=BOOK).status) == ["superseded"]
    assert list(workspace.actions(description="Sign the contract for the hall").status) == ["proposed"]


def test_a_fallen_decision_is_withdrawn_from_a_deep_link(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, _, _ = corrected(wb)
    (decision,) = workspace.decisions(title=BOOK).id
    page.goto(app.url("correct", workspace=workspace.id, view="review", decision=decision))
    heading(page, "Correct")
    page.get_by_text("Drop it, and cancel its actions (withdraw)").click()
    page.get_by_role("button", name="Settle the decision").click()
    expect(page.get_by_text("To review (2)")).to_be_visible()
    assert workspace.decision(decision).status == "withdrawn"
    assert list(workspace.actions(description="Sign the contract for the hall").status) == ["cancelled"]


def test_the_slider_shows_the_workspace_as_of_a_revision(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, applied, _ = corrected(wb)
    before = applied.revision - 1
    page.goto(app.url("correct", workspace=workspace.id, view="history", revision=str(before)))
    heading(page, "Correct")
    expect(page.get_by_text(f"Revision {before}", exact=True).first).to_be_visible()
    expect(page.get_by_role("heading", name=f"What changed between revision {before}")).to_be_visible()
    slider = page.get_by_role("slider", name="As of revision")
    expect(slider).to_have_value(str(before))
    slider.focus()
    slider.press("ArrowRight")
    expect(page.get_by_text("Corrected “The public launch of Aurora is on 12 June.”").first).to_be_visible()
    expect(page.get_by_test_id("stMetric").filter(has_text="To review")).to_contain_text("3")
    assert "revision=" not in page.url


def test_who_was_slower_is_shown_the_claim_that_stands_now(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = load_launch_story(wb)
    wrong = claim_id(workspace, WRONG)
    page.goto(app.url("correct", workspace=workspace.id, claim=wrong))
    preview(page, "The public launch of Aurora is on 4 July.")
    applied = workspace.apply(workspace.preview(wrong, RIGHT), "Ana")
    assert applied.replacement is not None
    page.get_by_role("button", name="Apply the correction").click()
    expect(page.get_by_text("nothing was applied")).to_be_visible()
    expect(page.get_by_role("heading", name=RIGHT)).to_be_visible()
    heading(page, "Correct")
    expect(page.get_by_label("What is right", exact=True)).to_have_value("The public launch of Aurora is on 4 July.")
    assert workspace.revision == applied.revision
    page.get_by_role("button", name="Apply the correction").click()
    expect(page.get_by_role("heading", name="What the correction did")).to_be_visible()
    assert workspace.claim(applied.replacement.id).status == "superseded"
