"""The commands `python -m engine corrections import`, `export` and `evals`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InvalidInput, WorkbenchError
from engine.exchange import every_correction, guess_mapping, import_table, to_csv, to_jsonl
from engine.tables import read_table

if TYPE_CHECKING:
    from engine.correction_memory import Corrections


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `corrections import`, `export` and `evals` to the commands of `python -m engine`."""
    parser = commands.add_parser("corrections", help="import and export corrections, and make tests of them")
    what = parser.add_subparsers(dest="action", required=True)
    taking = what.add_parser("import", help="record the rows of a CSV, JSONL or JSON file")
    taking.add_argument("file", help="the file to read")
    taking.add_argument("--agent", help="the agent of rows that name none")
    taking.add_argument(
        "--map", action="append", default=[], metavar="argument=column", help="for example field=Spalte"
    )
    taking.add_argument("--typed", action="store_true", help="read numbers, true, false and null in CSV as such")
    giving = what.add_parser("export", help="write all corrections into a file")
    giving.add_argument("file", help="the file to write: .jsonl or .csv")
    testing = what.add_parser("evals", help="write corrections as tests, or run them against a model")
    testing.add_argument("file", help="the file to write")
    testing.add_argument("--agent", help="only corrections of this agent")
    testing.add_argument("--format", choices=("jsonl", "pytest", "promptfoo", "junit"), default="jsonl",
        help="junit runs them against the model that OPENAI_MODEL names")  # fmt: skip
    for command in (taking, giving, testing):
        command.add_argument("--workspace", required=True, metavar="ID", help="the id of the workspace")
        command.add_argument("--data-dir", help="the folder of the embedded database")
        command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry out a `corrections` command: 0 when all is well, 1 with rows rejected or tests failed, 2 with an error."""
    from engine.workbench import open_workbench

    try:
        with open_workbench(data_dir=options.data_dir) as workbench:
            corrections = workbench.workspace(options.workspace).corrections
            return {"import": _import, "export": _export, "evals": _evals}[options.action](corrections, options)
    except WorkbenchError as error:
        sys.stderr.write(f"{error}\n")
    except OSError as error:
        sys.stderr.write(f"{error.filename} cannot be written: {error.strerror}.\n")
    return 2


def _import(corrections: Corrections, options: argparse.Namespace) -> int:
    table = read_table(Path(options.file))
    mapping = guess_mapping(table.columns)
    for pair in options.map:
        argument, separator, column = pair.partition("=")
        if not separator:
            raise InvalidInput(f"--map {pair!r} is not of the form argument=column.")
        mapping[argument.strip()] = column.strip()
    defaults = {"agent_name": options.agent} if options.agent else {}
    report = import_table(corrections, table, mapping, typed=options.typed, **defaults)
    used = ", ".join(f"{argument} = {column!r}" for argument, column in mapping.items())
    lines = [f"Read {len(table.rows)} rows with {used}.", *table.notes]
    lines.append(
        f"{report.created} recorded, {report.seen_again} seen again, {report.superseded} superseded, "
        f"{len(report.rejected)} rejected (revision {report.revision})."
    )
    lines += [f"line {table.lines[row.row - 1]}: {row.reason}" for row in report.rejected]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if report.rejected else 0


def _export(corrections: Corrections, options: argparse.Namespace) -> int:
    path = Path(options.file)
    if path.suffix.lower() not in (".jsonl", ".csv"):
        raise InvalidInput(f"{path.name} ends neither in .jsonl nor in .csv. Name the file by its format.")
    found = every_correction(corrections)
    if path.suffix.lower() == ".csv":
        path.write_text(to_csv(found), encoding="utf-8-sig", newline="")
    else:
        path.write_text(to_jsonl(found), encoding="utf-8", newline="")
    sys.stdout.write(f"{len(found)} corrections written to {path}.\n")
    return 0


def _evals(corrections: Corrections, options: argparse.Namespace) -> int:
    from engine import eval_exports, evals

    cases = corrections.eval_cases(agent_name=options.agent)
    failed = 0
    if options.format == "junit":
        result = evals.run_cases(cases, evals.openai_agent())
        text, failed = result.to_junit(), len(result.results) - result.passed
        sys.stdout.write(f"{result.passed} of {len(cases)} passed.\n")
    else:
        make = {
            "jsonl": eval_exports.cases_to_jsonl,
            "pytest": eval_exports.to_pytest,
            "promptfoo": eval_exports.to_promptfoo,
        }
        text = make[options.format](cases)
    Path(options.file).write_text(text, encoding="utf-8", newline="")
    sys.stdout.write(f"{len(cases)} cases written to {options.file}.\n")
    return 1 if failed else 0
