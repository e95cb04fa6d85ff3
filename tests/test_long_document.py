"""A document of more than 50 pages, from the file to what a correction brings down."""

from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF

import engine

from .conftest import external_cases


def a_long_pdf(path: Path) -> int:
    """Put the external paragraphs, each once, into a PDF of more than 50 pages. Return how many pages it has."""
    paragraphs = {
        document["text"].encode("latin-1", "replace").decode("latin-1")
        for row in external_cases("retrieval_multihop.jsonl")
        for document in row["documents"]
    }
    pdf = FPDF()
    pdf.set_font("Helvetica", size=10)
    pdf.add_page()
    for paragraph in sorted(paragraphs):
        if pdf.page_no() > 60:
            break
        pdf.multi_cell(0, 5, paragraph)
        pdf.ln(4)
    pdf.output(str(path))
    return int(pdf.pages_count)


@pytest.mark.timeout(240)
def test_a_long_document_goes_the_whole_way(ws: engine.Workspace, tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    assert a_long_pdf(path) > 50
    report = ws.ingest_file(path)
    assert report.fragments > 100
    assert len(report.claims) > 800
    text = ws.text(report.source_id).text
    for claim in report.claims:
        for evidence in claim.evidence:
            assert all(text[a:b] == evidence.quote for a, b in evidence.spans)
    assert ws.ingest_file(path).unchanged

    answer = ws.ask("Where was Catherine Jagiellon born?")
    assert "Kraków" in answer.text
    wrong = answer.cited[0]
    decision = ws.decide("Print the biography", [wrong.id])
    action = ws.plan("Send it to the printer", [decision.id])
    preview = ws.preview(wrong.id, "Catherine Jagiellon was born in Warsaw.")
    assert {e.id for e in preview.impact.needs_review} >= {decision.id}
    assert {e.id for e in preview.impact.held} >= {action.id}
    applied = ws.apply(preview, "Ana")
    assert ws.decision(decision.id).status == "needs_review"
    again = ws.ask("Where was Catherine Jagiellon born?")
    assert wrong.id not in {claim.id for claim in again.cited}
    ws.undo(applied.correction.id)
    assert ws.action(action.id).status == "proposed"
