"""Fixed mistakes as tests: run them, see which came back, and take them along to other test runners."""

from __future__ import annotations

import os
from html import escape
from typing import Final

import streamlit as st

import engine
from engine.eval_exports import cases_to_jsonl, to_promptfoo, to_pytest
from engine.evals import CaseResult, EvalRun, openai_agent, score_case
from engine.tables import Table, read_table
from pages.parts import session
from pages.parts.eval_job import EvalJob, verdict
from pages.parts.filters import Filters
from pages.parts.tables import table
from pages.parts.words import counted, percent, plain, short

LISTED: Final = 20
MAX_MB: Final = 50
ORDER: Final = ("came back", "wrong otherwise", "no answer", "right")
MARKS: Final = {"came back": "✗ came back", "wrong otherwise": "✗ wrong otherwise", "no answer": "∅ no answer",
                "right": "✓ right"}  # fmt: skip
MEANINGS: Final = {
    "came back": "The answer still says what had been corrected.",
    "wrong otherwise": "The old value is gone, but what is right is not there either.",
    "no answer": "The agent failed, or did not answer.",
    "right": "It says what is right, and no longer what was wrong.",
}
ID_COLUMNS: Final = ("correction_id", "id", "case_id", "case")
OUTPUT_COLUMNS: Final = ("output", "answer", "response", "completion", "result")

_STYLE: Final = """<style>
.back { padding: .6rem 0 .6rem .8rem; border-left: 4px solid #d0554a; margin-bottom: .6rem;
  overflow-wrap: anywhere; }
.back.otherwise { border-color: #c07d12; }
.back small { display: block; opacity: .8; }
</style>"""


def show_evals(workspace: engine.Workspace, kept: Filters) -> None:
    """Show the section."""
    cases = workspace.corrections.eval_cases(**kept.scope)
    if not cases:
        st.info(
            "No case matches these filters."
            if kept.any
            else "There is no case yet. A correction becomes one when it is recorded with the input that the agent had "
            "been given (original_input)."
        )
        session.link(session.CORRECT, "Record a correction", workspace, icon=":material/add_notes:", view="records")
        return
    st.caption(
        f"{counted(len(cases), 'active correction')} {'knows' if len(cases) == 1 else 'know'} the input that the agent "
        "had been given. Each is a test: given that input, the answer must say what is right, and no longer what was "
        "wrong. The filters above choose which."
    )
    _exports(cases)
    st.subheader("Run them", anchor=False)
    key = f"evals.job.{workspace.id}"
    job: EvalJob | None = st.session_state.get(key)
    if job is not None and job.running:
        _progress(key)
        return
    how = st.segmented_control(
        "Against",
        ["model", "answers"],
        format_func=lambda name: {"model": "A model", "answers": "Answers in a file"}[name],
        default="model" if os.environ.get("OPENAI_MODEL") else "answers",
        required=True,
        key="evals.how",
        persist_state="session",
    )
    if how == "model":
        _by_model(key, cases)
    else:
        _by_file(key, cases)
    if job is not None:
        _show_run(job)


def _exports(cases: list[engine.EvalCase]) -> None:
    with st.container(horizontal=True):
        for name, label, make, mime in (
            ("eval_cases.jsonl", "Cases as JSONL", cases_to_jsonl, "application/jsonl"),
            ("promptfooconfig.yaml", "For promptfoo", to_promptfoo, "application/yaml"),
            ("test_corrections.py", "For pytest", to_pytest, "text/x-python"),
        ):
            st.download_button(
                label,
                make(cases),
                file_name=name,
                mime=mime,
                key=f"evals.export.{name}",
                on_click="ignore",
                icon=":material/download:",
            )


# --- running ------------------------------------------------------------------------------------------------


def _by_model(key: str, cases: list[engine.EvalCase]) -> None:
    model = os.environ.get("OPENAI_MODEL")
    try:
        openai_agent()
    except engine.ModelUnavailable:
        st.info(
            "No model is configured. Start the app with OPENAI_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL: any "
            "server that speaks the OpenAI protocol will do, also your own. Or run the cases elsewhere, and bring the "
            "answers in a file."
        )
        return
    st.text_area(
        "Instructions for the model (optional)",
        key=session.recall("evals.system"),
        on_change=session.remember,
        args=("evals.system",),
        placeholder="What your agent is told before the input",
        height=80,
    )
    st.button(
        f"Ask {plain(short(str(model), 60))}: {counted(len(cases), 'case')}",
        type="primary",
        key="evals.start",
        on_click=_start,
        args=(key, cases),
        icon=":material/play_arrow:",
    )


def _start(key: str, cases: list[engine.EvalCase]) -> None:
    running: EvalJob | None = st.session_state.get(key)
    if running is not None and running.running:
        return  # the second click of two
    try:
        agent = openai_agent(system=(st.session_state.get("evals.system") or "").strip() or None)
    except engine.WorkbenchError as error:
        session.notify("error", str(error))
        return
    job = EvalJob(f"the model {os.environ.get('OPENAI_MODEL')}", cases)
    st.session_state[key] = job
    job.start(agent)


@st.fragment(run_every=0.5)
def _progress(key: str) -> None:
    job: EvalJob = st.session_state[key]
    if not job.running:
        st.rerun()
    done, total = len(job.results), len(job.cases)
    st.progress(done / total, text=f"Asked {plain(job.about)}: {done:,} of {counted(total, 'case')} answered")
    st.button("Stop", key="evals.stop", on_click=job.stop, icon=":material/stop:")


def _by_file(key: str, cases: list[engine.EvalCase]) -> None:
    st.caption("A CSV or JSONL file with the id of the correction and what the agent put out, one row each.")
    upload = st.file_uploader(
        "Answers", type=["csv", "jsonl", "json", "tsv"], max_upload_size=MAX_MB, key="evals.answers"
    )
    if upload is None:
        return
    try:
        answers = read_table(upload.getvalue(), upload.name)
    except engine.WorkbenchError as error:
        session.show_error(error)
        return
    if not answers.columns:
        st.error("The file has no columns.")
        return
    with st.container(horizontal=True):
        ids = st.selectbox("Id of the correction", answers.columns, index=_guess(answers, ID_COLUMNS), key="evals.id")
        outputs = st.selectbox(
            "What the agent put out", answers.columns, index=_guess(answers, OUTPUT_COLUMNS), key="evals.output"
        )
    st.button(
        f"Check {counted(len(answers.rows), 'answer')}",
        type="primary",
        key="evals.check",
        on_click=_check,
        args=(key, cases, answers, ids, outputs, upload.name),
        icon=":material/fact_check:",
    )


def _guess(answers: Table, names: tuple[str, ...]) -> int:
    lower = [column.lower() for column in answers.columns]
    return next((lower.index(name) for name in names if name in lower), 0)


def _check(key: str, cases: list[engine.EvalCase], answers: Table, ids: str, outputs: str, name: str) -> None:
    said = {str(row[ids]): row.get(outputs) for row in answers.rows if ids in row}
    job = EvalJob(f"the answers in {name}", cases)
    job.results = [score_case(case, said[case.correction_id]) for case in cases if case.correction_id in said]
    job.unanswered = len(cases) - len(job.results)
    st.session_state[key] = job


# --- the results --------------------------------------------------------------------------------------------


def _show_run(job: EvalJob) -> None:
    run = job.run
    found = {name: [result for result in run.results if verdict(result) == name] for name in ORDER}
    st.subheader("Which mistakes came back", anchor=False)
    note = f"Against {plain(job.about)}. {percent(run.pass_rate)} of {counted(len(run.results), 'case')} right."
    if job.stopped:
        note += f" It was stopped; {len(job.cases) - len(run.results):,} were not asked."
    if job.unanswered:
        note += f" For {counted(job.unanswered, 'case')} the file has no answer."
    st.caption(note)
    with st.container(horizontal=True):
        for name in ORDER:
            st.metric(name.capitalize(), len(found[name]), help=MEANINGS[name], border=True, width=160)
    if not run.results:
        return
    worst = [*found["came back"], *found["wrong otherwise"]]
    if worst:
        st.html(_STYLE + "".join(_row(result) for result in worst[:LISTED]))
        if len(worst) > LISTED:
            st.caption(f"{counted(len(worst) - LISTED, 'further case')} in the table.")
    elif not found["no answer"]:
        st.success("No mistake came back.")
    _table(run)


def _row(result: CaseResult) -> str:
    case = result.case
    where = " · ".join(part for part in (case.agent_name, case.entity_key, case.field) if part)
    look = "" if verdict(result) == "came back" else " otherwise"
    return (
        f'<div class="back{look}" dir="auto"><strong>{escape(MARKS[verdict(result)])}</strong>: '
        f"{escape(short(result.reason, 400))}<small>{escape(short(case.input, 300))}</small>"
        f"<small>Answer: {escape(short(result.output, 300)) or '(blank)'}</small><small>{escape(where)}</small></div>"
    )


def _table(run: EvalRun) -> None:
    frame = run.to_frame()
    frame.insert(0, "result", [verdict(result) for result in run.results])
    frame = frame.iloc[sorted(range(len(frame)), key=lambda at: ORDER.index(frame["result"].iloc[at]))]
    frame["result"] = frame["result"].map(MARKS)
    table(
        frame, "eval_run", "evals", "Results, what came back first",
        ["result", "input", "expected", "original", "output", "reason", "agent_name", "entity_key", "field", "seconds"],
        {
            "expected": "right", "original": "wrong", "agent_name": "agent", "entity_key": "entity",
            "seconds": st.column_config.NumberColumn("seconds", format="%.2f"),
        },
    )  # fmt: skip
    with st.container(horizontal=True):
        for name, label, text, mime in (
            ("corrections.xml", "JUnit", run.to_junit(), "application/xml"),
            ("eval_run.jsonl", "Results as JSONL", run.to_jsonl(), "application/jsonl"),
        ):
            st.download_button(
                label, text, file_name=name, mime=mime, key=f"evals.results.{name}", on_click="ignore",
                icon=":material/download:",
            )  # fmt: skip
