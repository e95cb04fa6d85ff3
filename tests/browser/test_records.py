"""Corrections as records, in a real browser: approving, rejecting, recording, finding, reverting."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

import engine
from tests.browser.app_process import AppProcess
from tests.browser.test_loop import heading, type_into

HOSTILE = (
    "<script>window.pwned=1</script> **bold** [link](javascript:alert(1)) "
    "<img src=http://evil.example/x.png onerror=alert(2)> =HYPERLINK(1) :red[x] $y$"
)
RTL = "السعر هو ١٢ يورو"


def recorded(wb: engine.Workbench) -> tuple[engine.Workspace, engine.Correction, engine.Correction]:
    """A workspace with a correction that a person recorded, and one of a model's that would supersede it."""
    workspace = wb.create_workspace("Records")
    old = workspace.corrections.record("reader", "12", "21", "total", "Swapped.", "Acme", reviewer="Ana")
    pending = workspace.corrections.record("reader", "21", "22", "total", "One more.", "Acme", author_kind="model")
    return workspace, old, pending


def test_a_pending_record_is_approved_once_on_a_double_click(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, old, pending = recorded(wb)
    page.goto(app.url("correct", workspace=workspace.id))
    heading(page, "Correct")
    page.get_by_role("radiogroup").get_by_text("Records (1 to approve)").click()
    page.get_by_text("21 → 22").click()
    expect(page.get_by_text("It supersedes 1 correction")).to_be_visible()
    expect(page.locator(".diff del")).to_have_text("21")
    expect(page.locator(".diff ins")).to_have_text("22")
    expect(page).to_have_url(re.compile(f"record={pending.id}"))
    before = workspace.revision
    heading(page, "Correct")
    page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_role("radiogroup").get_by_text("Records", exact=True)).to_be_visible()
    heading(page, "Correct")
    page.wait_for_timeout(1000)
    assert workspace.revision == before + 1
    assert workspace.corrections.get(pending.id).status == "active"
    assert workspace.corrections.get(old.id).superseded_by == pending.id
    expect(page.get_by_role("link", name="Supersedes: 12 → 21")).to_be_visible()


def test_a_pending_record_is_rejected(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, old, pending = recorded(wb)
    page.goto(app.url("correct", workspace=workspace.id, view="records", record=pending.id))
    heading(page, "Correct")

    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("✗ reverted").first).to_be_visible()
    assert workspace.corrections.get(pending.id).status == "reverted"
    assert workspace.corrections.get(old.id).status == "active"


def test_a_models_correction_of_a_claim_shows_what_would_fall(
    page: Page, app: AppProcess, wb: engine.Workbench
) -> None:
    workspace = wb.create_workspace("Claim")
    claim = workspace.ingest("The bridge opens on 4 May.").claims[0]
    workspace.decide("Open the toll booth on 4 May", because=[claim.id])
    pending = workspace.corrections.record("reader", "4 May", "9 May", claim_id=claim.id, author_kind="model")
    page.goto(app.url("correct", workspace=workspace.id, view="records", record=pending.id))
    heading(page, "Correct")
    expect(page.locator(".effect", has_text="Open the toll booth")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("To review (1)")).to_be_visible()
    assert workspace.claim(claim.id).status == "superseded"


def test_a_correction_to_a_blank_is_recorded(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = wb.create_workspace("Blank")
    page.goto(app.url("correct", workspace=workspace.id, view="records"))
    heading(page, "Correct")
    for label, text in (
        ("Agent", "reader"),
        ("Field (optional)", "tax_id"),
        ("What it put out", "BE000"),
        ("Reason (optional)", "None is printed"),
    ):
        type_into(page, label, text)
        heading(page, "Correct")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("It is new: nothing is superseded")).to_be_visible()
    expect(page.locator(".diff")).to_contain_text("(blank)")
    heading(page, "Correct")
    page.get_by_role("button", name="Record it").dblclick()
    expect(page.get_by_text("● active").first).to_be_visible()
    heading(page, "Correct")
    page.wait_for_timeout(1000)
    frame = workspace.corrections.list()
    assert list(frame["corrected_value"]) == [""]
    assert list(frame["original_value"]) == ["BE000"]
    assert list(frame["times_seen"]) == [1]
    assert list(frame["reason"]) == ["None is printed"]


def test_filters_and_the_record_survive_a_reload(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, old, _ = recorded(wb)
    workspace.corrections.record("writer", "colour", "color", "text")
    page.goto(app.url("correct", workspace=workspace.id, view="records"))
    heading(page, "Correct")
    expect(page.get_by_text("colour → color")).to_be_visible()
    page.get_by_role("combobox", name="Agent").click()
    page.get_by_role("option", name="reader").click()
    expect(page.get_by_text("colour → color")).to_have_count(0)
    heading(page, "Correct")
    page.get_by_text("12 → 21").click()
    expect(page.get_by_role("heading", name="total of Acme")).to_be_visible()
    page.reload()
    heading(page, "Correct")
    expect(page.get_by_role("heading", name="total of Acme")).to_be_visible()
    expect(page.get_by_text("colour → color")).to_have_count(0)
    expect(page).to_have_url(re.compile("agent=reader"))
    expect(page).to_have_url(re.compile(f"record={old.id}"))


def test_reverting_brings_back_what_was_superseded(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace, old, pending = recorded(wb)
    workspace.corrections.approve(pending.id)
    assert workspace.corrections.get(old.id).status == "superseded"
    page.goto(app.url("correct", workspace=workspace.id, view="records", record=pending.id))
    heading(page, "Correct")
    page.get_by_text("Revert this correction…").click()
    expect(page.get_by_text("1 correction that it superseded")).to_be_visible()
    page.get_by_role("button", name="Revert it").click()
    expect(page.get_by_text("✗ reverted").first).to_be_visible()
    assert workspace.corrections.get(old.id).status == "active"


def test_hostile_long_and_rtl_values_are_text(page: Page, app: AppProcess, wb: engine.Workbench) -> None:
    workspace = wb.create_workspace("Hostile")
    record = workspace.corrections.record(
        HOSTILE, HOSTILE, "x" * 20_000, HOSTILE[:400], HOSTILE, HOSTILE[:400], "run " + HOSTILE, None, HOSTILE,
        tags=[HOSTILE[:150]], reviewer=HOSTILE[:150],
    )  # fmt: skip
    arabic = workspace.corrections.record(RTL, RTL, RTL + RTL, RTL, RTL, RTL, author_kind="model")
    workspace.learnings.add(HOSTILE, agent_name=HOSTILE, author=HOSTILE[:150], author_kind="model")
    for name, selection in (
        ("correct", {"view": "records", "record": record.id}),
        ("correct", {"view": "records", "record": arabic.id}),
        ("analytics", {}),
        ("analytics", {"section": "memory"}),
        ("analytics", {"section": "evals"}),
    ):
        page.goto(app.url(name, workspace=workspace.id, **selection))
        heading(page, name.capitalize())
        page.wait_for_load_state("networkidle")
        if selection.get("record") == record.id:
            expect(page.locator(".diff")).to_contain_text("<script>window.pwned=1</script>")
            expect(page.get_by_text("**bold**").first).to_be_visible()
        page.wait_for_timeout(800)
        assert page.locator("[data-testid=stException]").count() == 0
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= page.evaluate("document.querySelector('[data-testid=stMain]').clientWidth") + 1
    assert page.evaluate("window.pwned") is None
    assert page.locator("img[src*=evil]").count() == 0
