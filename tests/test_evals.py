from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from engine.correction_records import EvalCase, Value
from engine.errors import InvalidInput, ModelUnavailable
from engine.eval_exports import cases_from_jsonl, cases_to_jsonl, to_promptfoo, to_pytest
from engine.evals import COLUMNS, CaseResult, EvalRun, openai_agent, run_cases, score_case
from engine.whole_values import came_back, compare, is_blank, patterns, stands_in

ROOT = Path(__file__).resolve().parent.parent
NODE = shutil.which("node")

HOSTILE = [
    '\'"""\' + """ \\',
    "line\nline\r\nline\u2028line\u2029line\x85line",
    "</memory><script>alert(1)</script>",
    "nul\x00 bell\x07 esc\x1b[31m vt\x0b \ufffe",
    "&amp; ]]> <![CDATA[ <?xml",
    "${HOME} $DATA $$ `id` ${process.exit(1)}",
    "{{ env.HOME }} {% raw %} {# gone #} {{case}} {{ 7*7 }}",
    "file:///etc/passwd",
    "package:evil:run",
    "\\u0022 \\n \\ C:\\new",
    "👩‍👩‍👧 👍🏽 \U0010ffff",
    "\u202eabc שלום\u202c مرحبا",
    "@CASES@",
    '{"$ref": "file:///etc/passwd"}',
    "[(.*+?^)]|/-#&&~~",
    "```json\n{}\n```",
    "'); process.exit(1); ('",
]


def case(expected: Value, original: Value, field: str | None = None, **more: Any) -> EvalCase:
    return EvalCase(**{"input": "What is it?", "correction_id": "c1", **more}, expected=expected, original=original,
                    field=field)  # fmt: skip


def passes(expected: Value, original: Value, output: Value, field: str | None = None) -> bool:
    return score_case(case(expected, original, field), output).passed


class TestWhole:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("THC", "It has THC."),
            ("THC", "thc"),
            ("THC", "THC-rich"),
            ("Ana", "Ana's hat"),
            ("hôtel", "l’hôtel"),
            ("THC", "含THC的"),
            ("大麻", "这是大麻油"),
            ("大麻", "THC大麻"),
            ("กรุงเทพ", "ที่กรุงเทพมหานคร"),
            ("東京", "東京タワー"),
            ("서울", "서울은 크다"),
            ("café", "cafe\u0301"),
            ("two words", "two\n\t words"),
            ("THC", "T\u00adHC"),
            ("C++", "in C++, mostly"),
            ("a.b*c", "say a.b*c"),
            ("12", "It is 12."),
            ("12", "(12)"),
            ("12", "12% of it"),
            ("12", "$12"),
            ("12", "8, 12, 16"),
            ("Falcon 9", "a Falcon 9."),
            ("1,200", "1200"),
            (12, "12.0"),
            (12.0, "12"),
            (12, "+12"),
            (1200, "1200"),
            (1200, "1,200"),
            (1200, "1 200 seats"),
            (1234567, "1,234,567."),
            (1.1, "1.10"),
            (-5, "It is -5 outside"),
            (-5, "−5"),
            (0, "0"),
            (-0.0, "0"),
            (1e21, "1000000000000000000000"),
            (True, "True"),
            (["a b", 3], "3 of a b"),
            ({"dose": 10, "unit": "mg"}, "10 mg"),
            (None, " \n"),
            ("", "null"),
            ([], "None"),
            ("👍", "ok 👍"),
        ],
    )
    def test_stands(self, value: Value, text: str) -> None:
        assert stands_in(value, text)

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("THC", "DTHC"),
            ("DTHC", "THC"),
            ("THC", "THCA"),
            ("THC", "my_THC"),
            ("can", "I can't"),
            ("compliant", "non-compliant"),
            ("example.com", "mail.example.com"),
            ("cafe", "café"),
            ("cafe", "cafe\u0301"),
            ("हिन्द", "हिन्दी"),
            ("👍", "👍🏽"),
            ("12", "120"),
            ("12", "312"),
            ("12", "1,200"),
            ("12", "12,500"),
            ("12", "12.5"),
            ("12", "3.12"),
            ("12", "-12"),
            ("12", "10-12"),
            ("12", "2026-12-01"),
            ("12", "12:30"),
            ("12", "12kg"),
            ("12", "12万"),
            ("12", "12 500 people"),
            ("500", "12 500 people"),
            ("5", "it is .5"),
            (".5", "1.5"),
            ("1.1", "1.10"),
            ("1.2", "1.2.3"),
            (5, "-5"),
            (5, "1-5"),
            (-5, "5"),
            (-5, "1-5"),
            (12, "12.05"),
            (1200, "1.200"),
            (True, "untrue"),
            (["a", "b"], "only a"),
            (None, "nothing at all"),
            ("a", ""),
        ],
    )
    def test_does_not_stand(self, value: Value, text: str) -> None:
        assert not stands_in(value, text)

    @given(st.text(), st.sampled_from([" ", "\n", " … ", " «"]))
    def test_any_text_stands_between_blanks_and_in_itself(self, value: str, edge: str) -> None:
        if not is_blank(value):
            assert stands_in(value, value)
            # A first character may be a mark, a joiner or a modifier, which hangs on whatever stands before it.
            if regex.match(r"[\p{L}\p{N}]", value) and regex.search(r"[\p{L}\p{N}]\Z", value):
                assert stands_in(value, f"so{edge}{value}{edge}so")

    @given(st.from_regex(r"[A-M]{1,8}", fullmatch=True), st.from_regex(r"[N-Z0-9_é]{1,3}", fullmatch=True))
    def test_no_word_stands_in_a_longer_one(self, word: str, more: str) -> None:
        for longer in (more + word, word + more, more + word + more):
            assert not stands_in(word, f"It is {longer}.")

    @given(st.integers(), st.integers())
    def test_a_whole_number_stands_in_itself_alone(self, one: int, other: int) -> None:
        assert stands_in(one, f"It is {other:,}, they say.") == (one == other)
        assert stands_in(one, f"It is {one}.")

    @given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
    def test_a_decimal_number_stands_in_itself(self, number: Any) -> None:
        assert stands_in(float(number), f"It is {number}.")


class TestCameBack:
    @pytest.mark.parametrize(
        ("original", "corrected", "text", "expected"),
        [
            ("Falcon 9", "Falcon 9 Heavy", "The Falcon 9 Heavy", False),
            ("Falcon 9", "Falcon 9 Heavy", "The Falcon 9", True),
            ("Falcon 9", "Falcon 9 Heavy", "Falcon 9 Heavy, not Falcon 9", True),
            ("Falcon 9 Heavy", "Falcon 9", "The Falcon 9", False),
            ("Falcon 9 Heavy", "Falcon 9", "The Falcon 9 Heavy", True),
            ("大麻", "大麻油", "大麻油", False),
            ("大麻油", "大麻", "大麻油", True),
            ("us", "US", "in the US", False),
            ("us", "US", "in the us", True),
            ("1200", 1200, "1,200", False),
            (["a"], ["a", "b"], "a, b", False),
            (["a", "b"], ["a"], "a", False),
            (["a", "b"], ["a"], "a and b", True),
            ({"dose": 5, "unit": "mg"}, {"dose": 10, "unit": "mg"}, "10 mg", False),
            ({"dose": 5, "unit": "mg"}, {"dose": 10, "unit": "mg"}, "5 mg", True),
            (["Falcon 9 Heavy", "Falcon 9"], ["Falcon 9 Heavy", "Z"], "Falcon 9 Heavy, Z", False),
            ("x", None, "x", True),
            (None, "x", "x", None),
            (" ", "x", "", None),
        ],
    )
    def test_the_longer_one_stands(self, original: Value, corrected: Value, text: str, expected: bool | None) -> None:
        assert came_back(original, corrected, text) is expected

    @given(st.text(), st.text(), st.text())
    def test_any_three_texts_are_compared(self, original: str, corrected: str, text: str) -> None:
        standing = compare(original, corrected, text)
        assert standing.original in ((None,) if is_blank(original) else (True, False))
        assert not standing.original or stands_in(original, text)


class TestScore:
    def test_both_ways(self) -> None:
        assert passes("DTHC", "THC", "The strain has DTHC.")
        assert not passes("DTHC", "THC", "The strain has THC.")
        assert passes("THC", "DTHC", "The strain has THC.")
        assert not passes("THC", "DTHC", "The strain has DTHC.")
        assert not passes("DTHC", "THC", "It has DTHC, not THC.")

    def test_overlaps_both_ways(self) -> None:
        assert passes("Falcon 9 Heavy", "Falcon 9", "Falcon 9 Heavy")
        assert not passes("Falcon 9 Heavy", "Falcon 9", "Falcon 9")
        assert passes("Falcon 9", "Falcon 9 Heavy", "Falcon 9")
        assert not passes("Falcon 9", "Falcon 9 Heavy", "Falcon 9 Heavy")

    def test_a_field_of_a_structure_is_judged_alone(self) -> None:
        for output in (
            {"strain": "DTHC", "was": "THC"},
            '{"strain": "DTHC", "was": "THC"}',
            'Here it is, no THC:\n```json\n{"strain": "DTHC", "was": "THC"}\n```\nDone.',
        ):
            assert passes("DTHC", "THC", output, "strain")
            assert not passes("DTHC", "THC", output, "was")
            assert not passes("DTHC", "THC", output, "unknown")

    def test_a_structure_without_the_field_is_judged_whole(self) -> None:
        assert passes("DTHC", "THC", {"answer": ["DTHC"]}, "strain")
        assert passes(3, 2, [1, 3])
        assert passes(3, 2, "[1,3]")
        assert passes("é", "e", '{"a": "\\u00e9"}')

    def test_the_order_of_a_structure_counts_where_it_is_given_back(self) -> None:
        there, back = {"from": "Rome", "to": "Oslo"}, {"from": "Oslo", "to": "Rome"}
        assert passes(there, back, {"to": "Oslo", "from": "Rome"})
        assert not passes(there, back, back)
        assert not passes(["a", "b"], ["b", "a"], '["b", "a"]')

    def test_blank_is_what_is_expected(self) -> None:
        for output in (None, "", "  ", "null", {"code": None}, {"code": ""}, '{"code": null}', {"other": "x"}):
            assert passes(None, "X1", output, "code"), output
        assert passes(None, "X1", {"a": None, "b": [""]})
        for output in ("X1", "something", {"code": "X1"}, {"code": "n"}, {"code": 0}, {"code": False}):
            assert not passes(None, "X1", output, "code"), output

    def test_a_blank_original_is_not_looked_for(self) -> None:
        assert passes("X1", None, "It is X1.")
        assert not passes("X1", "", "It is something.")

    def test_what_is_not_json_after_all_is_text(self) -> None:
        assert passes("DTHC", "THC", '{"strain": DTHC', "strain")
        assert passes("DTHC", "THC", "[" * 100_000 + " DTHC", "strain")

    def test_the_reason_is_one_sentence(self) -> None:
        assert score_case(case("DTHC", "THC"), "DTHC").reason == "It says “DTHC” and no longer “THC”."
        assert score_case(case("DTHC", "THC"), "THC").reason == "It still says “THC”, instead of “DTHC”."
        assert score_case(case("a\n" * 500, "THC"), "x").reason.count("\n") == 0

    def test_an_output_is_shown_as_text(self) -> None:
        assert score_case(case(1, 2), {"a": 1}).output == '{"a": 1}'
        assert score_case(case(1, 2), None).output == ""


class TestRun:
    def test_results_come_in_the_order_of_the_cases_and_progress_counts(self) -> None:
        cases = [case(n, -1, correction_id=f"c{n}", input=str(n)) for n in range(20)]
        gate = threading.Event()

        def agent(question: str) -> str:
            if question == "0":
                gate.wait(5)
            elif question == "19":
                gate.set()
            return question

        seen: list[tuple[int, int, str]] = []
        here = threading.get_ident()

        def on_result(done: int, total: int, result: CaseResult) -> None:
            assert threading.get_ident() == here
            seen.append((done, total, result.case.correction_id))

        run = run_cases(cases, agent, on_result=on_result, workers=2)
        assert [r.case.correction_id for r in run.results] == [f"c{n}" for n in range(20)]
        assert [(done, total) for done, total, _ in seen] == [(n, 20) for n in range(1, 21)]
        assert [name for *_, name in seen] != [f"c{n}" for n in range(20)]
        assert run.passed == 20 and run.pass_rate == 1.0

    @pytest.mark.parametrize("workers", [1, 3])
    def test_an_error_is_a_result(self, workers: int) -> None:
        def agent(question: str) -> Any:
            if question == "boom":
                raise RuntimeError("no such model \udcff")
            if question == "exit":
                raise SystemExit(2)
            return {"set": {1}, "half": "\ud800 ok", "good": "ok"}[question]

        questions = ["good", "boom", "set", "exit", "half"]
        run = run_cases([case("ok", "ko", input=q) for q in questions], agent, workers=workers)
        assert [r.passed for r in run.results] == [True, False, False, False, True]
        assert (run.passed, run.failed, run.errors, run.pass_rate) == (2, 0, 3, 0.4)
        assert run.results[1].error == "RuntimeError: no such model \ufffd"
        assert "returned a set" in str(run.results[2].error)
        assert all(r.seconds >= 0 for r in run.results)

    def test_a_coroutine_is_no_answer(self, recwarn: pytest.WarningsRecorder) -> None:
        async def agent(question: str) -> str:
            return question

        assert "coroutine" in str(run_cases([case(1, 2)], agent).results[0].error)
        assert not recwarn.list

    def test_a_scorer_of_ones_own(self) -> None:
        def scorer(asked: EvalCase, output: Any) -> CaseResult:
            if output == "bad":
                raise ValueError("cannot score")
            return CaseResult(case=asked, output=output, passed=True, reason="fine")

        assert run_cases([case(1, 2)], lambda _: "\ud800", scorer).passed == 1
        broken = run_cases([case(1, 2)], lambda _: "bad", scorer).results[0]
        assert broken.error == "ValueError: cannot score" and broken.output == "bad"

    @pytest.mark.parametrize("workers", [1, 3])
    def test_an_interrupt_ends_the_run(self, workers: int) -> None:
        asked: list[str] = []

        def agent(question: str) -> str:
            asked.append(question)
            if question == "0":
                raise KeyboardInterrupt
            time.sleep(0.005)
            return question

        with pytest.raises(KeyboardInterrupt):
            run_cases([case(1, 2, input=str(n)) for n in range(200)], agent, workers=workers)
        time.sleep(0.5)
        assert len(asked) < 200

    def test_no_workers(self) -> None:
        with pytest.raises(InvalidInput, match="worker"):
            run_cases([], str, workers=0)

    def test_an_empty_run(self) -> None:
        run = run_cases([], str)
        assert run.pass_rate is None and run.to_jsonl() == ""
        assert ElementTree.fromstring(run.to_junit()).find("testsuite") is not None
        full = run_cases([case(1, 2)], str).to_frame()
        empty = run.to_frame()
        assert list(empty.columns) == list(full.columns) == list(COLUMNS)
        assert empty["passed"].dtype == bool and empty["seconds"].dtype == full["seconds"].dtype == float

    def test_importing_is_light(self) -> None:
        code = "import sys, engine.evals; sys.exit(bool({'pandas', 'openai', 'falkordb'} & set(sys.modules)))"
        assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def hostile_cases() -> list[EvalCase]:
    return [
        EvalCase(
            input=text,
            expected=f"right {text} right",
            original=f"wrong {text} wrong",
            field=text,
            correction_id=text,
            agent_name=text,
            entity_key=text,
        )
        for text in HOSTILE
    ] + [
        case({"k": ["{{x}}", 3, None]}, [True, "</memory>"], "f"),
        case(None, "THC", "strain"),
        case("DTHC", "THC", "strain"),
        case("US", "us"),
        case(1200, 12),
    ]


class TestLines:
    def test_hostile_cases_come_back(self) -> None:
        text = cases_to_jsonl(hostile_cases())
        assert cases_from_jsonl(text) == hostile_cases()
        assert len(text.splitlines()) == len(hostile_cases())
        assert cases_from_jsonl("\ufeff" + text.replace("\n", "\r\n\r\n")) == hostile_cases()

    @pytest.mark.parametrize(
        ("broken", "says"),
        [("{", "Line 2 is not JSON"), ("[]", "Line 2 is not a case"), ('{"input": 1}', "Line 2 is not a case: input"),
         ("[" * 100_000, "Line 2")],
    )  # fmt: skip
    def test_a_broken_line_is_named(self, broken: str, says: str) -> None:
        with pytest.raises(InvalidInput, match=says):
            cases_from_jsonl(cases_to_jsonl([case(1, 2)]) + broken + "\n")

    def test_a_run(self) -> None:
        run = run_cases(hostile_cases(), lambda question: question)
        lines = run.to_jsonl().splitlines()
        assert EvalRun(results=[CaseResult.model_validate_json(line) for line in lines]) == run


class TestJUnit:
    def test_hostile_text_is_valid_xml(self) -> None:
        def agent(question: str) -> str:
            if "$" in question:
                raise RuntimeError(question)
            return question

        run = run_cases(hostile_cases(), agent)
        suite = ElementTree.fromstring(run.to_junit().encode()).find("testsuite")
        assert suite is not None
        assert suite.get("tests") == str(len(run.results)) == str(len(suite.findall("testcase")))
        assert suite.get("errors") == str(run.errors) == str(len(suite.findall("testcase/error"))) != "0"
        assert suite.get("failures") == str(run.failed) == str(len(suite.findall("testcase/failure"))) != "0"
        assert suite.findall("testcase")[2].get("classname") == HOSTILE[2]

    @given(st.text(), st.text())
    def test_any_text_is_valid_xml(self, text: str, error: str) -> None:
        asked = case("a", "b", input=text, agent_name=text)
        results = [
            CaseResult(case=asked, output=text, passed=False, reason=text, error=error),
            CaseResult(case=asked, output=text, passed=True, reason=text),
        ]
        ElementTree.fromstring(EvalRun(results=results).to_junit().encode())


GOOD = """
import json, pytest
from pathlib import Path
ANSWERS = json.loads((Path(__file__).parent / "answers.json").read_text())
@pytest.fixture
def agent():
    return lambda question: ANSWERS[question]
"""


class TestPytestExport:
    def run(self, folder: Path, cases: list[EvalCase], answers: dict[str, Value]) -> str:
        (folder / "test_corrections.py").write_text(to_pytest(cases), encoding="utf-8")
        (folder / "conftest.py").write_text(GOOD)
        (folder / "answers.json").write_text(json.dumps(answers))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        return done.stdout

    def test_a_good_and_a_bad_agent(self, tmp_path: Path) -> None:
        cases = [c.model_copy(update={"input": f"{n} {c.input}"}) for n, c in enumerate(hostile_cases())]
        good = self.run(tmp_path, cases, {c.input: {c.field: c.expected} if c.field else c.expected for c in cases})
        assert f"{len(cases)} passed" in good, good
        bad = self.run(tmp_path, cases, {c.input: {c.field: c.original} if c.field else c.original for c in cases})
        assert f"{len(cases)} failed" in bad and "It still says" in bad, bad

    def test_no_case(self, tmp_path: Path) -> None:
        assert "1 skipped" in self.run(tmp_path, [], {})

    @given(st.text())
    def test_any_text_stays_data(self, text: str) -> None:
        source = to_pytest([case(text, text, text, input=text)])
        assert source.isascii()
        assigned = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)]
        (line,) = ast.literal_eval(assigned[0].value)
        assert EvalCase.model_validate(json.loads(line)).expected == text


HARNESS = """
const rounds = JSON.parse(require("fs").readFileSync(0, "utf8"));
const made = new Map();
console.log(JSON.stringify(rounds.map(([code, output]) => {
  if (!made.has(code)) made.set(code, new Function("output", "context", "process", code));
  return made.get(code)(output, {}, undefined).pass;
})));
"""


def embedded(code: str) -> dict[str, Any]:
    literal = regex.search(r'JSON\.parse\((".*")\);\n', code)
    assert literal is not None
    data: dict[str, Any] = json.loads(json.loads(literal[1]))
    return data


class TestPromptfoo:
    def test_nothing_in_it_is_a_template_or_a_reference(self) -> None:
        config = json.loads(to_promptfoo(hostile_cases()))
        assert set(config) == {"description", "prompts", "providers", "tests"}
        for asked, test in zip(hostile_cases(), config["tests"], strict=True):
            pieces = test["vars"]["case"]["input"]
            assert "".join(pieces) == asked.input
            code = test["assert"][0]["value"]
            for text in (*pieces, code, test["description"]):
                assert not regex.search(r"\{\{|\{%|\{#|^file://|^package:.", text), text
                assert "$ref" not in json.loads(json.dumps(test))
            assert test["assert"][0]["type"] == "javascript" and "\n" in code

    def test_its_expressions_say_the_same_here(self) -> None:
        for asked in hostile_cases():
            code = json.loads(to_promptfoo([asked]))["tests"][0]["assert"][0]["value"]
            data = embedded(code)
            assert data["expected"] == patterns(asked.expected) and data["original"] == patterns(asked.original)
            assert data["field"] == asked.field
            assert data["flags"] == ("gu" if asked.expected == "US" else "giu")

    @pytest.mark.skipif(NODE is None, reason="Node is not installed")
    def test_its_javascript_judges_as_the_scorer_does(self) -> None:
        cases = [
            *hostile_cases(),
            case({"from": "Rome", "to": "Oslo"}, {"from": "Oslo", "to": "Rome"}),
            case({"dose": 10, "unit": "mg"}, {"dose": 5, "unit": "mg"}),
            case(["Falcon 9 Heavy", "Z"], ["Falcon 9 Heavy", "Falcon 9"]),
            case("Falcon 9 Heavy", "Falcon 9"),
            case("Falcon 9", "Falcon 9 Heavy"),
            case("大麻油", "大麻"),
            case(-5, 5),
            case(["a", "b"], ["a", "c"]),
            case("compliant", "non-compliant"),
            case("café", "cafe"),
            case(True, False),
            case("👍", "👍🏽"),
            case("1.10", "1.1"),
        ]
        outputs: list[Value] = [
            None,
            "",
            "null",
            "  NULL ",
            "us",
            "US",
            "12",
            "1,200 and 12",
            "cafe\u0301",
            "🙂👍🏽",
            "👍",
        ]
        outputs += ["a b", '["a", "c"]', {"strain": "DTHC", "x": "THC"}, {"strain": ""}, {"x": 1}, [None], {"f": 0}]
        outputs += [
            '```json\n{"strain": "DTHC"}\n```',
            'So:\n```\n{"strain": "THC"}\n``` ok',
            "{broken",
            "non-compliant",
        ]
        outputs += [
            "Falcon 9 Heavy",
            "falcon 9",
            "大麻油",
            "-5",
            "1-5",
            "1.1",
            "1.10",
            True,
            1200,
            12.5,
            "T\u00adHC DTHC",
        ]
        outputs += (
            [c.expected for c in cases] + [c.original for c in cases] + [{c.field or "f": c.expected} for c in cases]
        )
        rounds, wanted = [], []
        for asked, test in zip(cases, json.loads(to_promptfoo(cases))["tests"], strict=True):
            for output in outputs:
                rounds.append([test["assert"][0]["value"], output])
                wanted.append(score_case(asked, output).passed)
        done = subprocess.run(
            [str(NODE), "-e", HARNESS], input=json.dumps(rounds), capture_output=True, text=True, check=True
        )
        differ = [
            (code[:200], output, want)
            for (code, output), want, got in zip(rounds, wanted, json.loads(done.stdout), strict=True)
            if want != got
        ]
        assert not differ
        assert len(cases) <= sum(wanted) < len(wanted)


class ChatHandler(BaseHTTPRequestHandler):
    asked: ClassVar[list[dict[str, Any]]] = []
    answer: ClassVar[tuple[int, Any]] = (200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, "key": self.headers["Authorization"], **body})
        status, answer = self.answer
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), ChatHandler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    ChatHandler.asked.clear()
    yield f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def chat(content: str | None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }


class TestOpenAI:
    def test_an_answer(self, server: str) -> None:
        ChatHandler.answer = (200, chat("It has DTHC."))
        agent = openai_agent("m", server, "k", system="Be brief.")
        assert run_cases([case("DTHC", "THC")], agent).passed == 1
        (asked,) = ChatHandler.asked
        assert asked["path"] == "/v1/chat/completions" and asked["key"] == "Bearer k" and asked["model"] == "m"
        assert [m["role"] for m in asked["messages"]] == ["system", "user"]
        assert asked["messages"][1]["content"] == "What is it?"

    def test_the_environment_is_the_default(self, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
        ChatHandler.answer = (200, chat(None))
        monkeypatch.setenv("OPENAI_BASE_URL", server)
        monkeypatch.setenv("OPENAI_MODEL", "local")
        assert openai_agent()("hello") == ""
        assert ChatHandler.asked[0]["model"] == "local"

    @pytest.mark.parametrize("answer", [(500, {"error": {"message": "broken"}}), (401, {"error": "who?"}), (200, {}),
                                        (200, {**chat(""), "choices": []})])  # fmt: skip
    def test_an_error_of_the_server_is_the_error_of_the_case(self, server: str, answer: tuple[int, Any]) -> None:
        ChatHandler.answer = answer
        result = run_cases([case(1, 2)], openai_agent("m", server, "k")).results[0]
        assert result.error and not result.passed
        assert ("without a message" in result.error) == (answer[0] == 200)

    def test_a_dead_port(self, server: str) -> None:
        result = run_cases([case(1, 2)], openai_agent("m", "http://127.0.0.1:9/v1", "k")).results[0]
        assert result.error is not None and "Connection" in result.error

    def test_nothing_configured(self, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ModelUnavailable, match="OPENAI_MODEL"):
            openai_agent()
        with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
            openai_agent("m")
        monkeypatch.setenv("OPENAI_API_KEY", "")
        with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
            openai_agent("m")
