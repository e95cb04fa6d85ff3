"""Fixed mistakes as tests: run them against an agent, score what it says, and hand them to other test runners.

A case passes when what is right stands in the output as a whole and what was wrong does not (`engine.whole_values`).
An export judges as `score_case` does, and carries every text as data: nothing in a case is ever code there.
"""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from xml.etree import ElementTree

import regex
from pydantic import Field, TypeAdapter, ValidationError

from engine.correction_records import EvalCase, Value
from engine.errors import InvalidInput, ModelUnavailable
from engine.eval_exports import json_lines
from engine.reasons import quoted, shorten
from engine.record import Record
from engine.whole_values import (
    compare,
    is_blank,
    spread,
)

if TYPE_CHECKING:
    from pandas import DataFrame

Agent: TypeAlias = Callable[[str], Any]
"""Takes an input and returns text or a JSON value; whatever it raises becomes the error of its case."""

COLUMNS: Final = (
    "correction_id", "agent_name", "entity_key", "field", "input", "expected", "original",
    "output", "passed", "reason", "seconds", "error",
)  # fmt: skip
_VALUE: Final[TypeAdapter[Value]] = TypeAdapter(Value)
_FENCE: Final = regex.compile(r"```(?:json)?[ \t]*\r?\n(.*?)```", regex.DOTALL | regex.IGNORECASE)
_SURROGATE: Final = regex.compile(r"[\ud800-\udfff]")
_NOT_XML: Final = regex.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CaseResult(Record):
    """What became of one case. `error` is what the agent or the scorer raised, and None where nothing was."""

    case: EvalCase
    output: str
    passed: bool
    reason: str
    came_back: bool = False
    """The old value is in the output."""
    seconds: float = 0.0
    error: str | None = None


Scorer: TypeAlias = Callable[[EvalCase, Any], CaseResult]
Progress: TypeAlias = Callable[[int, int, CaseResult], object]


class EvalRun(Record):
    """The results of a run, in the order of its cases."""

    results: list[CaseResult] = Field(default_factory=list)

    @property
    def passed(self) -> int:
        """Return how many cases passed."""
        return sum(result.passed for result in self.results)

    @property
    def failed(self) -> int:
        """Return how many cases were answered wrongly; errors are not among them."""
        return len(self.results) - self.passed - self.errors

    @property
    def errors(self) -> int:
        """Return how many cases raised an error instead of an answer."""
        return sum(result.error is not None for result in self.results)

    @property
    def pass_rate(self) -> float | None:
        """Return the share of all cases, errors included, that passed; None when there was none."""
        return self.passed / len(self.results) if self.results else None

    def to_frame(self) -> DataFrame:
        """Return one row per result, with the same columns and types when there is none."""
        from pandas import DataFrame

        rows = [
            (
                result.case.correction_id,
                result.case.agent_name,
                result.case.entity_key,
                result.case.field,
                result.case.input,
                shown(result.case.expected),
                shown(result.case.original),
                result.output,
                result.passed,
                result.reason,
                result.seconds,
                result.error,
            )
            for result in self.results
        ]
        return DataFrame(rows, columns=list(COLUMNS)).astype({"passed": bool, "seconds": float})

    def to_junit(self) -> str:
        """Return the run as JUnit XML; characters that XML cannot hold are left out."""
        suite = ElementTree.Element(
            "testsuite",
            name="corrigenda",
            tests=str(len(self.results)),
            failures=str(self.failed),
            errors=str(self.errors),
            skipped="0",
            time=f"{sum(result.seconds for result in self.results):.3f}",
        )
        for result in self.results:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=_xml(result.case.agent_name or "corrigenda"),
                name=_xml(f"{shorten(result.case.input)} [{result.case.correction_id}]"),
                time=f"{result.seconds:.3f}",
            )
            if not result.passed:
                kind = "failure" if result.error is None else "error"
                detail = ElementTree.SubElement(case, kind, message=_xml(result.reason))
                detail.text = _xml(result.error or result.reason)
            ElementTree.SubElement(case, "system-out").text = _xml(result.output)
        suites = ElementTree.Element("testsuites")
        suites.append(suite)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"

    def to_jsonl(self) -> str:
        """Return one JSON object per result, a line each."""
        return json_lines(self.results)


def score_case(case: EvalCase, output: Value) -> CaseResult:
    """Return whether `output`, text or a JSON value, says what is right and no longer what was wrong.

    Where the output is a map that has the case's field, or text that is such a map in JSON (alone or in a fence),
    that field alone is judged.
    """
    said = _said(case, output)
    if is_blank(case.expected) and is_blank(said):
        says_it, says_old = True, False
    elif isinstance(said, list | dict) and said in (case.expected, case.original):
        # Two lists in another order, or maps with their values swapped, differ in nothing that a text shows.
        says_it = said == case.expected
        says_old = not says_it
    else:
        standing = compare(case.original, case.expected, spread(said))
        says_it, says_old = standing.corrected, bool(standing.original)
    return CaseResult(
        case=case,
        output=shown(output),
        passed=says_it and not says_old,
        reason=_reason(case, says_it, says_old),
        came_back=says_old,
    )


def run_cases(
    cases: Iterable[EvalCase],
    agent: Agent,
    scorer: Scorer = score_case,
    on_result: Progress | None = None,
    workers: int = 1,
) -> EvalRun:
    """Run every case against `agent` and return the results in the order of the cases.

    What the agent or the scorer raises becomes an errored result; KeyboardInterrupt alone ends the run. After each
    case `on_result` is called with how many are done, how many there are, and the result, always in the thread that
    called this. Raises InvalidInput when `workers` is less than one.
    """
    asked = list(cases)
    if workers < 1:
        raise InvalidInput(f"A run needs at least one worker, not {workers}.")
    results: dict[int, CaseResult] = {}

    def take(at: int, result: CaseResult) -> None:
        results[at] = result
        if on_result is not None:
            on_result(len(results), len(asked), result)

    if workers == 1:
        for at, case in enumerate(asked):
            take(at, _run_case(case, agent, scorer))
        return EvalRun(results=list(results.values()))
    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        waiting: dict[Future[CaseResult], int] = {
            pool.submit(_run_case, case, agent, scorer): at for at, case in enumerate(asked)
        }
        for future in as_completed(waiting):
            take(waiting[future], future.result())
    finally:
        # Nobody waits for an agent that still answers when the run was broken off.
        pool.shutdown(wait=False, cancel_futures=True)
    return EvalRun(results=[results[at] for at in range(len(asked))])


def openai_agent(
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    system: str | None = None,
    timeout: float = 60.0,
) -> Callable[[str], str]:
    """Return an agent that asks an OpenAI-compatible model, with `system` as its instructions.

    What is not given comes from OPENAI_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY; a server of one's own needs no key.
    Raises ModelUnavailable when that names no model or no server. The agent raises what the client raises.
    """
    model = model or os.environ.get("OPENAI_MODEL")
    base_url = base_url or os.environ.get("OPENAI_BASE_URL")
    api_key = api_key or os.environ.get("OPENAI_API_KEY")
    if not model:
        raise ModelUnavailable("No model is configured: give `model`, or set OPENAI_MODEL.")
    if not (api_key or base_url):
        raise ModelUnavailable(
            "No model server is configured: give `api_key` or `base_url`, or set OPENAI_API_KEY or OPENAI_BASE_URL."
        )
    from openai import OpenAI

    client = OpenAI(api_key=api_key or "none", base_url=base_url or None, timeout=timeout)
    name = model

    def ask(question: str) -> str:
        asked: list[Any] = [{"role": "user", "content": question}]
        if system:
            asked.insert(0, {"role": "system", "content": system})
        answer = client.chat.completions.create(model=name, messages=asked)
        if not answer.choices:
            raise ModelUnavailable(f"The model {name} answered without a message.")
        return answer.choices[0].message.content or ""

    return ask


def shown(value: Value) -> str:
    """Return a value as a reader should see it: text as it is, None as nothing, the rest as JSON."""
    if value is None:
        return ""
    return _storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _run_case(case: EvalCase, agent: Agent, scorer: Scorer) -> CaseResult:
    started = time.perf_counter()
    output: Value = None
    try:
        output = _checked(agent(case.input))
        seconds = time.perf_counter() - started
        return scorer(case, output).model_copy(update={"seconds": seconds})
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an agent raises is its result
        said = _storable(f"{type(error).__name__}: {error}".rstrip(": "))
        return CaseResult(
            case=case,
            output=shown(output),
            passed=False,
            reason=f"It was not scored: {shorten(said, 200)}",
            seconds=time.perf_counter() - started,
            error=said,
        )


def _checked(answer: object) -> Value:
    """Return an agent's answer if it is text or a JSON value; raise InvalidInput when it is anything else."""
    if inspect.iscoroutine(answer):
        answer.close()
    elif isinstance(answer, str):
        return _storable(answer)
    try:
        return _VALUE.validate_python(answer)
    except ValidationError:
        raise InvalidInput(
            f"The agent returned a {type(answer).__name__}; what can be scored is text or a JSON value."
        ) from None


def _said(case: EvalCase, output: Value) -> Value:
    """Return the part of an output that answers the case: the value of its field, or all of it."""
    structure = output
    whole = True
    if isinstance(output, str):
        structure, whole = _parsed(output)
    if case.field is not None and isinstance(structure, dict):
        if case.field in structure:
            return structure[case.field]
        if is_blank(case.expected):
            return None
    return structure if whole and structure is not None else output


def _parsed(text: str) -> tuple[Value, bool]:
    """Return the list or map that `text` is, or that a fence in it holds, and whether it is the whole text."""
    whole = _json(text)
    if whole is not None:
        return whole, True
    for fence in _FENCE.finditer(text):
        inside = _json(fence[1])
        if inside is not None:
            return inside, fence[0].strip() == text.strip()
    return None, False


def _json(text: str) -> Value:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: Value = json.loads(text)
        return _VALUE.validate_python(value)
    except (ValueError, RecursionError):
        return None


def _reason(case: EvalCase, says_it: bool, says_old: bool) -> str:
    where = f" in “{shorten(case.field)}”" if case.field else ""
    expected, original = quoted(spread(case.expected)), quoted(spread(case.original))
    if is_blank(case.expected):
        if says_it:
            return f"It says nothing{where}, as it should."
        return (
            f"It still says {original}{where}, where nothing should stand."
            if says_old
            else (f"It says something{where}, where nothing should stand.")
        )
    if says_it and not says_old:
        return (
            f"It says {expected}{where}."
            if is_blank(case.original)
            else (f"It says {expected}{where} and no longer {original}.")
        )
    if says_old:
        besides = "besides" if says_it else "instead of"
        return f"It still says {original}{where}, {besides} {expected}."
    return f"It does not say {expected}{where}."


def _xml(text: str) -> str:
    allowed: str = _NOT_XML.sub("", text)
    return allowed


def _storable(text: str) -> str:
    """Return `text` with halves of characters replaced, which no file and no record can hold."""
    whole: str = _SURROGATE.sub("\ufffd", text)
    return whole
