"""Cases as files for other test runners. What is exported judges as `engine.evals.score_case` does.

Every text is carried as data: nothing in a case is ever code, template or path there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from string import Template
from typing import Final

import regex
from pydantic import ValidationError

from engine.correction_records import EvalCase
from engine.errors import InvalidInput
from engine.record import Record
from engine.whole_values import (
    BLANKS,
    INVISIBLE,
    SAYS_NOTHING,
    differ_by_case,
    differ_in_layout,
    is_blank,
    patterns,
    spread,
)

_LINE_ENDS: Final = str.maketrans({"\u2028": r"\u2028", "\u2029": r"\u2029", "\x85": r"\u0085"})


def cases_to_jsonl(cases: Iterable[EvalCase]) -> str:
    """Return one JSON object per case, a line each."""
    return json_lines(cases)


def cases_from_jsonl(text: str) -> list[EvalCase]:
    """Return the cases that `cases_to_jsonl` wrote; blank lines are skipped.

    Raises InvalidInput, naming the line, when one is not a case.
    """
    cases = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            cases.append(EvalCase.model_validate(json.loads(line)))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "the line"
            raise InvalidInput(f"Line {number} is not a case: {place}: {first['msg']}.") from error
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"Line {number} is not JSON: {error}.") from error
    return cases


def to_pytest(cases: Sequence[EvalCase]) -> str:
    """Return a test file in Python that runs the cases against an `agent` fixture, which its user writes."""
    # ASCII in a literal of Python: no line end, quote or backslash of a case can get out of it.
    lines = [ascii(json.dumps(case.model_dump(mode="json"))) for case in cases]
    embedded = "".join(f"    {line},\n" for line in lines)
    return _PYTEST.replace("@CASES@", f"[\n{embedded}]" if lines else "[]")


def to_promptfoo(cases: Sequence[EvalCase]) -> str:
    """Return a promptfoo configuration as JSON, which is YAML too: save it as `promptfooconfig.yaml`.

    Its provider is a placeholder. Each test asks what the case asks; its assertion is a JavaScript function that
    judges as `score_case` does.
    """
    config = {
        "description": "Mistakes that were corrected: the agent must not make them again.",
        "prompts": [{"label": "input", "raw": _PROMPT}],
        "providers": ["openai:gpt-5-mini"],
        "tests": [
            {
                "description": f"{number} {regex.sub(r'[^A-Za-z0-9_-]', '_', case.correction_id)}",
                "vars": {"case": {"input": _inert(case.input)}},
                "assert": [{"type": "javascript", "value": _javascript(case)}],
            }
            for number, case in enumerate(cases, start=1)
        ],
    }
    return json.dumps(config, indent=2) + "\n"


def json_lines(records: Iterable[Record]) -> str:
    """Return records as JSON, one a line, each line whole for every reader of lines."""
    return "".join(f"{line}\n" for line in _json_lines(records))


def _json_lines(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        # These three end a line for many readers of lines; in JSON they occur in strings alone.
        yield json.dumps(record.model_dump(mode="json"), ensure_ascii=False).translate(_LINE_ENDS)


def _inert(text: str) -> list[str]:
    """Return `text` in pieces that promptfoo takes as they are.

    It renders templates in variables, and loads what looks like a file or a package; no piece looks like either.
    """
    pieces: list[str] = regex.findall(r"[^{}:]*[{}:]|[^{}:]+", text)
    return pieces or [""]


def _javascript(case: EvalCase) -> str:
    data = {
        "field": case.field,
        "expected": patterns(case.expected),
        "original": patterns(case.original),
        "blank": is_blank(case.expected),
        "values": [case.expected, case.original],
        "literal": [spread(case.expected), spread(case.original)]
        if differ_in_layout(case.original, case.expected)
        else None,
        "flags": "gu" if differ_by_case(case.original, case.expected) else "giu",
        "nothing": SAYS_NOTHING,
        "invisible": INVISIBLE,
        "blanks": BLANKS,
    }
    # Twice JSON, so that the braces of the data can be escaped: promptfoo renders an assertion as a template first.
    literal = json.dumps(json.dumps(data)).replace("{", r"\u007b").replace("}", r"\u007d")
    return Template(_JAVASCRIPT).substitute(DATA=literal)


_PROMPT: Final = """[{"role": "user", "content": "{{ case.input | join('') }}"}]"""

_PYTEST: Final = '''"""Mistakes that were corrected, as tests. Made by Corrigenda.

Write the agent as a fixture, in `conftest.py` next to this file:

    import pytest

    @pytest.fixture
    def agent():
        return lambda question: my_agent(question)  # returns text or a JSON value
"""

import json

import pytest

from engine.correction_records import EvalCase
from engine.evals import score_case

CASES = @CASES@


@pytest.mark.parametrize("number", range(len(CASES)))
def test_correction_holds(agent, number):
    case = EvalCase.model_validate(json.loads(CASES[number]))
    result = score_case(case, agent(case.input))
    assert result.passed, result.reason
'''

# The rules of `compare` and `_said` again; the expressions are those of `engine.whole_values`.
_JAVASCRIPT: Final = r"""const data = JSON.parse($DATA);
const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const spread = (value) =>
  value === null || value === undefined ? ""
  : Array.isArray(value) ? value.map(spread).join(" | ")
  : isMap(value) ? Object.entries(value).map(([key, item]) => key + ": " + spread(item)).join(" | ")
  : String(value);
const fold = (text) =>
  text.normalize("NFC").replace(new RegExp(data.invisible, "gu"), "")
    .replace(new RegExp(data.blanks, "gu"), " ").replace(/^ | $$/g, "");
const isBlank = (value) =>
  value === null || value === undefined ? true
  : typeof value === "object" ? Object.values(value).every(isBlank)
  : typeof value === "string" && fold(value) === "";
const parse = (text) => {
  if (!/^\s*[\[\x7b]/.test(text)) return null;
  try { return JSON.parse(text); } catch (error) { return null; }
};
const read = (text) => {
  const whole = parse(text);
  if (whole !== null) return [whole, true];
  for (const fence of text.matchAll(/```(?:json)?[ \t]*\r?\n([^]*?)```/gi)) {
    const inside = parse(fence[1]);
    if (inside !== null) return [inside, fence[0].trim() === text.trim()];
  }
  return [null, false];
};
const [structure, whole] = typeof output === "string" ? read(output) : [output, true];
let said = whole && structure !== null ? structure : output;
if (data.field !== null && isMap(structure)) {
  if (Object.hasOwn(structure, data.field)) said = structure[data.field];
  else if (data.blank) said = null;
}
const text = fold(spread(said));
const found = new Map();
[data.expected, data.original].forEach((patterns, side) => patterns.forEach((pattern, at) => {
  for (const match of text.matchAll(new RegExp(pattern, data.flags))) {
    const [start, end] = [match.index, match.index + match[0].length];
    found.set([start, end, side, at].join(), [start, end, side, at]);
  }
}));
const all = [...found.values()].sort((a, b) => (b[1] - b[0]) - (a[1] - a[0]) || a[0] - b[0] || a[2] - b[2]);
const places = new Set(all.map(([start, end, side]) => [start, end, side].join()));
const isShared = (start, end) => [0, 1].every((side) => places.has([start, end, side].join()));
const owner = new Array(text.length).fill(-1);
const standing = [new Set(), new Set()];
let differs = false;
for (const [start, end, side, at] of all) {
  const shared = isShared(start, end);
  if (!shared && owner.slice(start, end).includes(1 - side)) continue;
  owner.fill(shared ? 0 : side, start, end);
  standing[side].add(at);
  differs = differs || (side === 1 && !shared);
}
const sorted = (value) =>
  Array.isArray(value) ? value.map(sorted)
  : isMap(value) ? Object.entries(value).map(([key, item]) => [key, sorted(item)]).sort() : value;
const isSame = (value) =>
  isMap(value) === isMap(said) && JSON.stringify(sorted(value)) === JSON.stringify(sorted(said));
let saysIt = data.blank ? data.nothing.includes(text.toLowerCase()) : standing[0].size === data.expected.length;
let saysOld = differs && standing[1].size === data.original.length;
if (data.literal !== null) {
  const raw = spread(said);
  const [longer, shorter] = [...data.literal].sort((a, b) => b.length - a.length);
  const rest = raw.split(longer).join("\u0000");
  const stands = (one) => (one === longer ? raw.includes(longer) : rest.includes(shorter));
  [saysIt, saysOld] = data.literal.map(stands);
}
if (data.blank && isBlank(said)) [saysIt, saysOld] = [true, false];
else if (typeof said === "object" && said !== null && data.values.some(isSame)) {
  saysIt = isSame(data.values[0]);
  saysOld = !saysIt;
}
return {
  pass: saysIt && !saysOld,
  score: saysIt && !saysOld ? 1 : 0,
  reason: (saysIt ? "It says what is right" : "It does not say what is right")
    + (saysOld ? " and still says what was wrong." : "."),
};
"""
