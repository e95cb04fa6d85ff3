"""Pictures of every page, from the running app: `make screenshots` writes them to docs/images.

Wide and narrow, light and dark, on the sample workspace, the Correct page in the middle of a preview.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from playwright.sync_api import Browser, Page, sync_playwright

import engine
from engine.samples import RIGHT, WRONG, load_launch_story
from tests.browser.app_process import ROOT, AppProcess
from tests.browser.conftest import FLAGS, chromium

OUT = ROOT / "docs" / "images"
SIZES = {"wide": (1280, 1000), "narrow": (400, 900)}
SHEET = (
    b"Bot;Merchant;OCR;Correct value;Attribute;Comment\n"
    b"invoice-reader;Acme;12.00;21.00;total;Two digits were swapped\n"
    b"invoice-reader;Acme;Acme;Acme;vendor;equal\n"
    b"mail-assistant;Globex;Dear Sir;;salutation;should be blank\n"
)
ANSWERS: dict[str, bytes] = {}
View: TypeAlias = tuple[str, str, dict[str, str], Callable[[Page], None] | None]
"""A name for the file, the page, what the URL selects, and what is done there."""
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def settle(page: Page) -> None:
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1200)  # the grid and the graph draw themselves afterwards


def preview(page: Page) -> None:
    box = page.get_by_label("What is right", exact=True)
    box.fill(RIGHT)
    box.press("Control+Enter")
    page.get_by_role("button", name="Preview", exact=True).click()
    page.get_by_role("heading", name="What would happen").wait_for()
    settle(page)


def check_answers(page: Page) -> None:
    """Run the evals against answers in a file, some of which make old mistakes again."""
    page.locator("input[type=file]").set_input_files(
        {"name": "answers.jsonl", "mimeType": "application/jsonl", "buffer": ANSWERS["file"]}
    )
    page.get_by_role("button", name="Check").click()
    page.get_by_role("heading", name="Which mistakes came back").wait_for()
    settle(page)


def map_columns(page: Page) -> None:
    page.locator("input[type=file]").set_input_files({"name": "review.csv", "mimeType": "text/csv", "buffer": SHEET})
    page.get_by_text("to record").wait_for()
    settle(page)


def shoot(browser: Browser, app: AppProcess, workspace: engine.Workspace, views: list[View]) -> None:
    for size, (width, height) in SIZES.items():
        for theme in THEMES:
            with browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=theme, has_touch=size == "narrow"
            ) as context:
                page = context.new_page()
                for name, where, selection, then in views:
                    page.set_viewport_size({"width": width, "height": height})
                    page.goto(app.url(where, workspace=workspace.id, **selection))
                    settle(page)
                    if then is not None:
                        then(page)
                    # The page scrolls inside a container, so the window is made as tall as what it holds.
                    tall = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
                    page.set_viewport_size({"width": width, "height": max(height, min(int(tall), 4000))})
                    page.wait_for_timeout(800)
                    page.screenshot(path=OUT / f"{name}-{size}-{theme}.png")


def answers(workspace: engine.Workspace) -> bytes:
    """Return answers to the sample's cases: every other one says the old value."""
    lines = [
        {"correction_id": case.correction_id, "output": case.original if number % 2 == 0 else case.expected}
        for number, case in enumerate(workspace.corrections.eval_cases())
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    path = chromium()
    if path is None:
        raise SystemExit("No Chromium on this machine: install one, or name it with CHROMIUM=…")
    with tempfile.TemporaryDirectory(prefix="corrigenda-") as folder, sync_playwright() as playwright:
        data_dir = Path(folder) / "data"
        data_dir.mkdir(mode=0o700)
        with engine.open(data_dir=data_dir) as wb, AppProcess(data_dir) as app:
            workspace = load_launch_story(wb)
            claims = workspace.claims()
            claim_id = str(claims.loc[claims["statement"] == WRONG, "id"].iloc[0])
            survey = claims.loc[claims["statement"].str.startswith("Of 1,200"), "id"].iloc[0]
            workspace.apply(workspace.preview(str(survey), "Of 1,200 customers, 74% want an offline mode."), "Ana")
            run = workspace.ask("When is the launch, and what should we do?")
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            ANSWERS["file"] = answers(workspace)
            pending = str(workspace.corrections.list(status="pending")["id"].iloc[0])
            views: list[View] = [
                ("ingest", "ingest", {}, None),
                ("ask", "ask", {"run": run.run_id}, None),
                ("correct", "correct", {"claim": claim_id}, preview),
                ("records", "correct", {"view": "records", "record": pending}, None),
                ("analytics", "analytics", {}, None),
                ("analytics-memory", "analytics", {"section": "memory"}, None),
                ("analytics-evals", "analytics", {"section": "evals"}, check_answers),
                ("analytics-import", "analytics", {"section": "exchange"}, map_columns),
            ]
            shoot(browser, app, workspace, views)
            browser.close()


if __name__ == "__main__":
    main()
