"""Corrections of real receipts: what a reviewer's file says, imported, counted and made into cases."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import engine
from engine import evals
from engine.exchange import every_correction, guess_mapping, import_table, read_table

from .conftest import SHARED, external_cases

NAME = "corrections_sroie.jsonl"
MAPPING = {
    "original_value": "ocr_value",
    "original_input": "ocr_value",
    "corrected_value": "corrected_value",
    "entity_key": "entity",
    "field": "field",
}


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return external_cases(NAME)


class Book:
    """Rows as a person would keep them: what stands now, and each fix as often as it was said."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.fixes: list[tuple[Any, ...]] = []
        self.seen: Counter[int] = Counter()
        self.standing: dict[tuple[Any, ...], int] = {}
        for row in rows:
            place, right = (row["field"], row["entity"], row["ocr_value"]), row["corrected_value"]
            if row["ocr_value"] == right:
                continue  # nothing is fixed
            number = self.standing.get(place)
            if number is None or self.fixes[number][-1] != right:
                # New, another fix, or one that had been given up in between.
                self.standing[place] = number = len(self.fixes)
                self.fixes.append((*place, right))
            self.seen[number] += 1


def test_the_columns_are_recognised(rows: list[dict[str, Any]]) -> None:
    guessed = guess_mapping(rows[0])
    assert guessed == {argument: column for argument, column in MAPPING.items() if argument != "original_input"}


def test_receipts_import_are_counted_and_become_cases(ws: engine.Workspace, rows: list[dict[str, Any]]) -> None:
    equal = [number for number, row in enumerate(rows, 1) if row["ocr_value"] == row["corrected_value"]]
    report = import_table(ws.corrections, read_table(SHARED / NAME), MAPPING, agent_name="ocr")
    book = Book(rows)
    fixes = book.fixes
    assert ws.revision == report.revision == 1
    assert [row.row for row in report.rejected] == equal
    assert report.created == len(fixes)
    assert report.created + report.seen_again + len(report.rejected) == len(rows)
    assert report.superseded == len(fixes) - len(book.standing)

    stats = ws.corrections.stats()
    assert stats.total == len(fixes)
    assert stats.by_field == Counter(fix[0] for fix in fixes)
    assert stats.by_entity_key == Counter(fix[1] for fix in fixes if fix[1])
    assert stats.by_agent == {"ocr": len(fixes)}
    assert stats.by_status == {"active": len(book.standing), "superseded": len(fixes) - len(book.standing)}
    assert stats.recurred == sum(times > 1 for times in book.seen.values())
    kept = [
        (k.field, k.entity_key, k.original_value, k.corrected_value, k.times_seen)
        for k in every_correction(ws.corrections)
    ]
    assert Counter(kept) == Counter((*fix, book.seen[number]) for number, fix in enumerate(fixes))

    cases = ws.corrections.eval_cases()
    # What nothing was read from has no input, so it is no case.
    standing = Counter(fixes[number] for place, number in book.standing.items() if place[-1] is not None)
    assert Counter((c.field, c.entity_key, c.input, c.expected) for c in cases) == standing
    assert ws.at(0).corrections.stats().total == 0


def test_a_copying_agent_fails_and_one_that_looks_up_passes(ws: engine.Workspace, rows: list[dict[str, Any]]) -> None:
    import_table(ws.corrections, read_table(SHARED / NAME), MAPPING, agent_name="ocr")
    cases = ws.corrections.eval_cases()
    assert len(cases) >= 200
    # Where only blanks and line ends differ, what stands there is the same: no reader of text can tell them apart.
    telling = [c for c in cases if " ".join(str(c.original).split()) != " ".join(str(c.expected).split())]
    assert len(telling) >= 50
    copied = evals.run_cases(telling, lambda text: text)
    assert copied.errors == 0
    assert [r.case.original for r in copied.results if r.passed] == []
    # One input may stand for two receipts: an agent can only look up what it is asked.
    answers: dict[str, set[Any]] = {}
    for case in cases:
        answers.setdefault(case.input, set()).add(case.expected)
    told = [case for case in cases if len(answers[case.input]) == 1]
    assert len(told) >= len(cases) - 5
    looked_up = evals.run_cases(told, lambda text: next(iter(answers[text])))
    assert [(r.case.expected, r.reason) for r in looked_up.results if not r.passed] == []


def test_a_row_that_corrects_nothing_is_reported_with_why(ws: engine.Workspace, rows: list[dict[str, Any]]) -> None:
    mended = [{**rows[0], "ocr_value": rows[0]["corrected_value"]}, rows[0]]
    report = ws.corrections.import_rows(mended, MAPPING, agent_name="ocr")
    assert (report.created, [row.row for row in report.rejected]) == (1, [1])
    assert report.rejected[0].field == "corrected_value"
    assert "equal" in report.rejected[0].reason
