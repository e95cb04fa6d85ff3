"""Corrections as files: every way in and out, hostile texts included."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine.correction_commands import add_commands, run
from engine.correction_records import Correction
from engine.exchange import every_correction, guess_mapping, import_table, read_table, to_csv, to_jsonl
from engine.row_import import IMPORTED
from engine.tables import MAX_COLUMNS, MAX_ROWS, with_guard, without_guard

TEXTS = st.text(max_size=40) | st.text(alphabet="'=+-@\t\r\n\",; ＝x", max_size=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
TAKEN = [name for name in IMPORTED if name != "idempotency_key"]
HOSTILE = [
    '"', "'", '""', "a\nb", "a\r\nb", "\t", "</memory>", "<script>alert(1)</script>", "'; MATCH (n) DETACH DELETE n //",
    "=HYPERLINK(\"http://x\")", "+1", "-1", "@SUM(A1)", "'=1", "''=1", "'quoted", "\r=1", "\t=1", "＝1", "{{7*7}}",
    "\u2028", "\u202e", "a\x85b", "𝔘é\u0301", ",;\t", "null", "007", "true", "[1]", "{}", " padded ", "\\", "\x01\x1f",
]  # fmt: skip


def correction(**fields: Any) -> Correction:
    given: dict[str, Any] = {
        "id": "k_0123456789abcdef", "kind": "output", "status": "active", "agent_name": "bot",
        "created_at": datetime(2026, 1, 1, tzinfo=UTC), "revision": 1, "original_value": "a", "corrected_value": "b",
    }  # fmt: skip
    return Correction(**(given | fields))


# --- reading -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_csv_as_programs_write_it(delimiter: str, end: str, encoding: str) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([["old", "new", "field"], ["1,5; x\ty", "two\nlines", 'a "quote"'], ["007", "", "é"]])
    table = read_table(out.getvalue().encode(encoding), "review.csv")
    assert table.columns == ["old", "new", "field"]
    assert table.rows == [
        {"old": "1,5; x\ty", "new": "two\nlines", "field": 'a "quote"'},
        {"old": "007", "new": "", "field": "é"},
    ]
    assert table.notes == []
    assert table.refused == {}


def test_a_semicolon_file_with_decimal_commas_in_every_cell() -> None:
    table = read_table("Betrag, alt;Betrag, neu;Feld\n1,5;2,5;a\n1,25;2,25;b\n", "x.csv")
    assert table.columns == ["Betrag, alt", "Betrag, neu", "Feld"]
    assert table.rows[0] == {"Betrag, alt": "1,5", "Betrag, neu": "2,5", "Feld": "a"}


def test_excel_says_its_separator_and_a_column_may_be_alone() -> None:
    table = read_table("sep=;\r\na,b;c\r\n1;2\r\n")
    assert (table.columns, table.lines) == (["a,b", "c"], [3])
    assert read_table("old\nx\ny\n").rows == [{"old": "x"}, {"old": "y"}]
    assert read_table("old\tnew\n1,2\t3,4\n", "x.tsv").rows == [{"old": "1,2", "new": "3,4"}]


def test_an_encoding_that_had_to_be_guessed_is_said() -> None:
    text = "alt;neu\n" + "Müller wohnt in Köln;Möller wohnt in Düsseldorf und grüßt\n" * 20
    table = read_table(text.encode("cp1252"), "alt.csv")
    assert table.rows[0]["alt"] == "Müller wohnt in Köln"
    assert "was assumed" in table.notes[0]


def test_ragged_rows_are_reported_not_guessed() -> None:
    table = read_table("field,old,new\na,b,c\n\n,,\na,b\na,b,c,d\na,b,c,,\n", "x.csv")
    assert [len(row) for row in table.rows] == [3, 2, 3, 3]
    assert table.lines == [2, 5, 6, 7]
    assert table.notes == ["Line 5 of x.csv ends before the last column."]
    assert list(table.refused) == [2]
    assert "Line 6 has 4 cells" in table.refused[2]


def test_headers_twice_or_blank() -> None:
    table = read_table("old,old,,new,,\n1,2,3,4,,\n", "x.csv")
    assert table.columns == ["old", "old (2)", "column 3", "new"]
    assert len(table.notes) == 2
    assert read_table("a,a (2),a\n1,2,3\n").columns == ["a", "a (2)", "a (3)"]


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b"", None, "empty"),
        (b"  \n", "x.csv", "empty"),
        (b"PK\x03\x04rest", "x.xlsx", "Save the sheet as CSV"),
        (b"PK\x03\x04rest", "x.csv", "Save the sheet as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "x.xls", "Save the sheet as CSV"),
        ("a,b\n1,2\n", "x.ods", "Save the sheet as CSV"),
        ('a,b\n1,2\n"open,3\n4,5\n', "x.csv", "line 3.*never closed"),
        ('a,b\n"1"x,2\n', "x.csv", "line 2"),
        ("a,b\n" + "x" * 1_000_000 + ",2\n", "x.csv", "line 2.*131,072"),
        ('{"a": 1}\n\n{"a": \n', "x.jsonl", "line 3.*not JSON"),
        ('{"a": 1}\n[1]\n', "x.jsonl", "line 2.*no JSON object"),
        ('[{"a": 1}, 5]', "x.json", "item 2.*no JSON object"),
        ('[{"a": 1}', "x.json", "not JSON"),
        ("[" * 100_000, "x.json", "not JSON"),
        ("old,new\n".encode("utf-16-le"), "x.csv", "NUL"),
        (",".join(f"c{n}" for n in range(MAX_COLUMNS + 1)) + "\n", "x.csv", "columns"),
        ("a,b\n" + "1,2\n" * (MAX_ROWS + 1), "x.csv", "rows. Split"),
        ('{"a":1}\n' * (MAX_ROWS + 1), "x.jsonl", "rows. Split"),
        (Path("/nowhere/x.csv"), None, "cannot be read"),
        (Path("/tmp"), None, "cannot be read"),
        (b"a,b\n\xed\xa0\x80,1\n", "x.csv", "surrogate"),
    ],
    ids=range(21),
)  # fmt: skip
def test_what_cannot_be_read_says_what_to_do(data: Any, name: str | None, says: str) -> None:
    with pytest.raises(engine.InvalidInput, match=f"(?s){says}"):
        read_table(data, name)


def test_json_in_every_form() -> None:
    rows = [{"a": 1, "b": None}, {"b": [True], "c": "x\u2028y"}]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\r\n\n" for row in rows)
    for data, name in (
        (lines, "x.jsonl"),
        (lines.encode(), None),
        (json.dumps(rows), "x.json"),
        (json.dumps(rows), None),
    ):
        table = read_table(data, name)
        assert (table.columns, table.rows) == (["a", "b", "c"], rows)
    assert read_table(lines, "x.jsonl").lines == [1, 3]


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for name in (None, "x.csv", "x.jsonl", "x.json", "x.tsv"):
        try:
            table = read_table(data, name)
        except engine.InvalidInput:
            continue
        assert all(set(row) <= set(table.columns) for row in table.rows)
        assert len(table.lines) == len(table.rows)


# --- mapping -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "mapped"),
    [
        (
            ["originalValue", "Corrected Value", "entity-key"],
            "original_value=originalValue corrected_value=Corrected Value entity_key=entity-key",
        ),
        (
            ["ocr_value", "right", "customer", "why", "prompt"],
            "original_value=ocr_value corrected_value=right entity_key=customer reason=why original_input=prompt",
        ),
        (
            ["Before", "After", "Vendor", "Comment", "Input"],
            "original_value=Before corrected_value=After entity_key=Vendor reason=Comment original_input=Input",
        ),
        (["old", "before", "new", "expected"], "original_value=old corrected_value=new"),
        (["reason", "note", "original", "original_value"], "reason=reason original_value=original_value"),
        (["HTMLField", "", "???", "Δ"], ""),
        (list(IMPORTED), " ".join(f"{name}={name}" for name in IMPORTED)),
        ([*Correction.model_fields], " ".join(f"{name}={name}" for name in TAKEN)),
    ],
    ids=range(8),
)
def test_columns_are_recognised_by_their_names(columns: list[str], mapped: str) -> None:
    assert guess_mapping(columns) == dict(re.findall(r"(\w+)=(.+?)(?= \w+=|$)", mapped))


@given(st.lists(TEXTS | st.sampled_from(["old", "Old", "before", "new", "after", "input", "field"]), max_size=12))
def test_no_column_serves_two_arguments(columns: list[str]) -> None:
    mapping = guess_mapping(columns)
    assert len(set(mapping.values())) == len(mapping)
    assert set(mapping) <= set(IMPORTED)
    assert set(mapping.values()) <= set(columns)


# --- formulas and types --------------------------------------------------------------------------------------


@given(TEXTS)
def test_no_cell_is_a_formula_and_every_text_comes_back(text: str) -> None:
    cell = with_guard(text)
    assert without_guard(cell) == text
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@pytest.mark.parametrize("text", HOSTILE)
def test_the_guard_is_one_apostrophe_where_needed(text: str) -> None:
    cell = with_guard(text)
    assert cell in (text, "'" + text)
    assert (cell != text) == (text.lstrip("'")[:1] in tuple("=+-@\t\r\n＝"))


@given(st.lists(st.tuples(VALUES, VALUES, TEXTS, st.lists(TEXTS, max_size=3)), min_size=1, max_size=5))
def test_csv_and_jsonl_keep_values_with_their_types(rows: list[Any]) -> None:
    made = [correction(original_value=a, corrected_value=b, reason=c, tags=d) for a, b, c, d in rows]
    text = to_jsonl(made)
    assert text.count("\n") == len(text.splitlines()) == len(made)
    assert [Correction.model_validate(row) for row in read_table(text).rows] == made
    table = read_table(to_csv(made).encode("utf-8-sig"), "x.csv")
    assert (table.notes, table.refused, len(table.rows)) == ([], {}, len(made))
    for row, one in zip(table.rows, made, strict=True):
        for name in ("original_value", "corrected_value"):
            value = getattr(one, name)
            assert row[f"{name}_type"] == ("text" if isinstance(value, str) else "json")
            read = row[name] if isinstance(value, str) else json.loads(row[name])
            assert repr(read) == repr(value)
        assert row["reason"] == one.reason
        assert json.loads(row["tags"]) == one.tags


def test_csv_cells_are_safe_for_a_spreadsheet() -> None:
    made = [correction(original_value=text, corrected_value=-5, reason=text, entity_key=text) for text in HOSTILE]
    for row in csv.reader(io.StringIO(to_csv(made), newline="")):
        assert not [cell for cell in row if cell[:1] in tuple("=+-@\t\r\n＝")]


# --- into a workspace ----------------------------------------------------------------------------------------


def shown(corrections: list[Correction]) -> list[dict[str, Any]]:
    return [{name: getattr(one, name) for name in TAKEN} for one in corrections]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_export_imports_elsewhere_equal(ws: engine.Workspace, wb: engine.Workbench, form: str) -> None:
    values: list[Any] = [
        None,
        "",
        " ",
        "007",
        "=1+1",
        "'=1",
        7,
        7.5,
        -3,
        True,
        [1, "a", None],
        {"k": {"x": []}},
        "</memory>\n",
    ]
    for number, value in enumerate(values):
        ws.corrections.record(
            "bot", value, f"right {number}", field="f", reason="-because\nof \"this\"", entity_key=f"e{number}",
            run_id="run 1", session_id="=s", original_input=" the input,\r\n é", tags=["a,b", '["x"]', "ü"],
            scope="tenant", tenant_id="t", user_id="u", reviewer="Ana",
        )  # fmt: skip
    before = every_correction(ws.corrections)
    text = to_csv(before) if form == "csv" else to_jsonl(before)
    other = wb.create_workspace("other")
    report = import_table(other.corrections, read_table(text.encode(), f"x.{form}"))
    assert (report.created, report.rejected, other.revision) == (len(values), [], 1)
    after = every_correction(other.corrections)
    key = repr
    assert sorted(map(key, shown(after))) == sorted(map(key, shown(before)))
    again = import_table(other.corrections, read_table(text.encode(), f"x.{form}"))
    assert (again.created, again.seen_again) == (0, len(values))
    wb.delete_workspace(other.id)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_what_superseded_still_supersedes_after_a_round_trip(
    ws: engine.Workspace, wb: engine.Workbench, form: str, newest_first: bool
) -> None:
    ws.corrections.record("bot", "a", "b", field="f", entity_key="e")
    ws.corrections.import_rows([
        {"original_value": "a", "corrected_value": "c"}, {"original_value": "a", "corrected_value": "d"},
    ], agent_name="bot", field="f", entity_key="e")  # fmt: skip
    gone = ws.corrections.record("bot", "x", "y", field="g")
    ws.corrections.revert(gone.id)
    ws.corrections.record("bot", "p", "q", field="h", author_kind="model")
    before = every_correction(ws.corrections)
    given = before[::-1] if newest_first else before
    text = to_csv(given) if form == "csv" else to_jsonl(given)
    other = wb.create_workspace("other")
    report = import_table(other.corrections, read_table(text, f"x.{form}"))
    assert (report.created, report.superseded) == (3, 2)
    assert sorted(row.reason.split(" in ")[0] for row in report.rejected) == ["It is pending", "It is reverted"]
    assert all(given[row.row - 1].status in row.reason for row in report.rejected)
    after = every_correction(other.corrections)
    pairs = {(k.corrected_value, k.status) for k in before if k.status in ("active", "superseded")}
    assert {(k.corrected_value, k.status) for k in after} == pairs
    wb.delete_workspace(other.id)


def test_claims_corrections_do_not_become_corrections_of_outputs(ws: engine.Workspace, wb: engine.Workbench) -> None:
    claim = ws.ingest("The launch is on 12 June.", name="Plan").claims[0]
    ws.apply(ws.preview(claim.id, "The launch is on 3 July."), "Ana")
    other = wb.create_workspace("other")
    report = import_table(other.corrections, read_table(to_jsonl(every_correction(ws.corrections))), agent_name="bot")
    assert (report.created, len(report.rejected)) == (0, 1)
    assert "Correct that claim" in report.rejected[0].reason
    wb.delete_workspace(other.id)


def test_a_reviewers_spreadsheet(ws: engine.Workspace) -> None:
    text = (
        "Kunde;Feld;Alt;Neu;Tags\r\n"
        "ACME;total;007;8;a, b\r\n"
        "ACME;total;same;same;\r\n"
        "ACME;iban;'-5;;\r\n"
        "ACME;iban;x\r\n"
        "ACME;iban;x;y;;zu viel\r\n"
        "ACME;nul;\0;y;\r\n"
    )
    mapping = {
        "original_value": "Alt",
        "corrected_value": "Neu",
        "field": "Feld",
        "entity_key": "Kunde",
        "tags": "Tags",
    }
    report = import_table(ws.corrections, read_table(text), mapping, agent_name="bot", reviewer="Ana")
    assert (report.created, report.revision, ws.revision) == (2, 1, 1)
    assert [(row.row, row.field) for row in report.rejected] == [
        (2, "corrected_value"), (4, "corrected_value"), (5, None), (6, "original_value")
    ]  # fmt: skip
    one, two = every_correction(ws.corrections)
    found = {k.field: k for k in (one, two)}
    assert (found["total"].original_value, found["total"].corrected_value) == ("007", "8")
    assert found["total"].tags == ["a", "b"]
    assert (found["iban"].original_value, found["iban"].corrected_value) == ("-5", "")
    assert (one.agent_name, one.reviewer) == ("bot", "Ana")


def test_typed_cells_are_asked_for(ws: engine.Workspace) -> None:
    cells = ["7", "-7.5", "1e3", "true", "null", "007", "NaN", "1e999", "Infinity", "[1]", "x", "", "٣", "9" * 400]
    text = "old,new,entity\n" + "".join(f"{cell},right,{n}\n" for n, cell in enumerate(cells))
    report = import_table(ws.corrections, read_table(text), typed=True, agent_name="bot")
    assert report.created == len(cells)
    found = {k.entity_key: k.original_value for k in every_correction(ws.corrections)}
    assert [found[str(n)] for n in range(14)] == [
        7, -7.5, 1000.0, True, None, "007", "NaN", "1e999", "Infinity", "[1]", "x", "", "٣", "9" * 400
    ]  # fmt: skip


def test_json_rows_lack_what_they_lack(ws: engine.Workspace) -> None:
    rows = [
        {"old": 1, "new": 2, "customer": 4711},
        {"old": 1},
        {"old": None, "new": "x", "customer": None},
        {"old": "x", "new": "y", "customer": ["no text"]},
    ]
    report = import_table(ws.corrections, read_table(json.dumps(rows)), agent_name="bot")
    assert [(row.row, row.field) for row in report.rejected] == [(2, "corrected_value"), (4, "entity_key")]
    found = {k.original_value: k for k in every_correction(ws.corrections)}
    assert set(found) == {1, None}
    assert found[1].entity_key == "4711"


def test_a_mapping_that_fits_nothing_is_refused(ws: engine.Workspace) -> None:
    table = read_table("old,new\n1,2\n")
    for mapping, defaults, says in (
        ({"original_value": "nope", "corrected_value": "new"}, {"agent_name": "bot"}, "no column 'nope'.*'old', 'new'"),
        ({"id": "old"}, {"agent_name": "bot"}, "'id' is no part"),
        ({"original_value": "old"}, {"agent_name": "bot"}, "`corrected_value`"),
        (None, {}, "`agent_name`"),
    ):
        with pytest.raises(engine.InvalidInput, match=says):
            import_table(ws.corrections, table, mapping, **defaults)
    assert ws.revision == 0
    both = {"original_value": "old", "original_input": "old", "corrected_value": "new"}
    import_table(ws.corrections, table, both, agent_name="bot")
    assert every_correction(ws.corrections)[0].original_input == "1"


@given(st.lists(st.tuples(*[st.sampled_from(HOSTILE) | TEXTS] * 5), min_size=1, max_size=6))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_cells_are_stored_as_text_or_reported(wb: engine.Workbench, rows: list[tuple[str, ...]]) -> None:
    names = ["original_value", "corrected_value", "field", "reason", "entity_key"]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows([[with_guard(cell) for cell in row] for row in rows])
    lines = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    for table in (read_table(out.getvalue().encode(), "x.csv"), read_table(lines.encode(), "x.jsonl")):
        assert len(table.rows) == len([row for row in rows if any(c.strip() for c in row)]) or not table.is_text
        ws = wb.create_workspace("hostile")
        try:
            report = import_table(ws.corrections, table, agent_name="bot")
            for k in every_correction(ws.corrections):
                given = [row for row in rows if row[0] == k.original_value and row[1] == k.corrected_value]
                assert any(
                    (row[2] if row[2].strip() else None, row[4] if row[4].strip() else None) == (k.field, k.entity_key)
                    for row in given
                )
                assert any((row[3] if row[3].strip() else "") == k.reason for row in given)
            bad = sum(row[0] == row[1] or any("\0" in cell for cell in row) for row in rows)
            assert len(report.rejected) <= bad
            assert report.created + report.seen_again + len(report.rejected) == len(table.rows)
        finally:
            wb.delete_workspace(ws.id)


def test_a_million_characters_are_refused_for_their_row_alone(ws: engine.Workspace) -> None:
    rows = [
        {"old": "a", "new": "x" * 1_000_000},
        {"old": "a", "new": "b", "reason": "x" * 1_000_000},
        {"old": "a", "new": "b"},
    ]
    report = import_table(ws.corrections, read_table(json.dumps(rows)), agent_name="bot")
    assert report.created == 1
    assert ["characters" in row.reason for row in report.rejected] == [True, True]


def test_an_altered_export_is_told_so(ws: engine.Workspace) -> None:
    text = to_csv([correction(original_value=5)]).replace(",5,", ",five,")
    report = import_table(ws.corrections, read_table(text))
    assert [(row.row, row.field) for row in report.rejected] == [(1, "original_value")]
    lines = to_jsonl([correction()]) + '{"old": 1}\n'
    with pytest.raises(engine.InvalidInput, match="revision"):
        import_table(ws.corrections, read_table(lines))


def test_every_correction_pages_through_all(ws: engine.Workspace) -> None:
    ws.corrections.import_rows([{"original_value": n, "corrected_value": "x"} for n in range(1203)], agent_name="bot")
    found = every_correction(ws.corrections)
    assert sorted(k.original_value for k in found) == list(range(1203))


# --- the commands --------------------------------------------------------------------------------------------


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers(dest="command", required=True))
    return run(parser.parse_args(["corrections", *words]))


@pytest.mark.skipif("FALKORDB_URL" in os.environ, reason="the commands are tried on an embedded database")
def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    data = tmp_path / "data"
    with engine.open(data_dir=data, embeddings="none") as wb:
        workspace = wb.create_workspace("CLI").id
        other = wb.create_workspace("Other").id
        where = ("--data-dir", str(data), "--workspace")
        sheet = tmp_path / "review.csv"
        sheet.write_text("Alt,new,field,input\n=1,2,f,What?\nx,x,f,\n", encoding="utf-8")
        assert command("import", str(sheet), "--agent", "bot", "--map", "original_value=Alt", *where, workspace) == 1
        said = capsys.readouterr().out
        assert "1 recorded" in said
        assert "line 3: " in said
        for name in ("all.csv", "all.jsonl"):
            assert command("export", str(tmp_path / name), *where, workspace) == 0
            assert command("import", str(tmp_path / name), *where, other) == 0
        assert (tmp_path / "all.csv").read_bytes().startswith(b"\xef\xbb\xbf")
        assert every_correction(wb.workspace(other).corrections)[0].times_seen == 2
        for form in ("jsonl", "pytest", "promptfoo"):
            assert command("evals", str(tmp_path / form), "--format", form, *where, workspace) == 0
            assert "What?" in (tmp_path / form).read_text(encoding="utf-8")
        capsys.readouterr()
        for words, says in (
            (("evals", str(tmp_path / "x"), "--format", "junit", *where, workspace), "OPENAI_MODEL"),
            (("export", str(tmp_path / "x.xlsx"), *where, workspace), ".jsonl"),
            (("export", str(tmp_path / "no" / "x.csv"), *where, workspace), "cannot be written"),
            (("import", str(tmp_path / "no.csv"), *where, workspace), "cannot be read"),
            (("import", str(sheet), "--map", "field", *where, workspace), "argument=column"),
            (("import", str(sheet), *where, workspace), "agent_name"),
            (("import", str(sheet), *where, "nope"), "workspaces"),
        ):
            assert command(*words) == 2
            assert says in capsys.readouterr().err
