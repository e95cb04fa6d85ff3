"""Commands of the engine: `python -m engine --help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from engine import correction_commands, mcp_server, tokens
from engine.rules import RULES, load_cases, score, table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m engine", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    rules = commands.add_parser("rules", help="compare the propagation rules on files of cases (JSON lines)")
    rules.add_argument("files", nargs="+", help="files of propagation cases")
    rules.set_defaults(run=_rules)
    correction_commands.add_commands(commands)
    mcp_server.add_command(commands)
    tokens.add_commands(commands)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


def _rules(options: argparse.Namespace) -> int:
    try:
        cases = [case for file in options.files for case in load_cases(file)]
    except OSError as error:
        sys.stderr.write(f"{error.filename} cannot be read: {error.strerror}.\n")
        return 2
    sys.stdout.write(f"{len(cases)} corrections\n\n")
    sys.stdout.write(table([score(rule, cases, name) for name, rule in RULES.items()]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
