"""Rules for what a correction brings down: the engine's own, and those that it is measured against.

Every rule is a function of the same plain data: a support structure, the claims that were corrected, and what the
nodes say. It returns the claims and decisions that it would flag. Only the engine's own rule can be applied to a
workspace; the others are for comparing.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

from engine.support import Ground, Node, SupportGraph, Way, origins_behind, supported
from engine.terms import query_terms


@dataclass(frozen=True)
class Case:
    """A graph, the claims corrected in it, and (where it is known) what that brings down."""

    graph: SupportGraph
    corrected: frozenset[str]
    titles: Mapping[str, str] = field(default_factory=dict)
    expected: frozenset[str] = frozenset()
    name: str = ""


Rule: TypeAlias = Callable[[Case], set[str]]


def dependents(graph: SupportGraph) -> dict[str, set[str]]:
    """Return for each node what has it among its premises."""
    found: dict[str, set[str]] = defaultdict(set)
    for node in graph.values():
        for way in node.ways:
            for premise in way.premises:
                found[premise].add(node.id)
    return found


def reachable(case: Case) -> set[str]:
    """Return everything that rests on a corrected claim in any way, at any depth."""
    below = dependents(case.graph)
    found: set[str] = set()
    queue = deque(case.corrected)
    while queue:
        for name in below[queue.popleft()] - found - case.corrected:
            found.add(name)
            queue.append(name)
    return found


def without_corrected(case: Case) -> dict[str, Node]:
    """Return the graph in which the corrected claims do not stand."""
    return {name: node.with_(open=False) if name in case.corrected else node for name, node in case.graph.items()}


def last_support_lost(case: Case) -> set[str]:
    """The engine's own rule: flag what was supported and has no support left (least fixed point)."""
    return supported(case.graph) - supported(without_corrected(case)) - case.corrected


def touch_one_flag_all(case: Case) -> set[str]:
    """Flag everything that is related: whatever is reachable from a corrected claim."""
    return reachable(case)


def last_direct_support(case: Case) -> set[str]:
    """Flag a node when each of its justifications names a corrected claim itself; look no further down."""
    return {
        node.id
        for node in case.graph.values()
        if node.ways and node.id not in case.corrected and all(way.premises & case.corrected for way in node.ways)
    }


def local_groups(case: Case) -> set[str]:
    """Let the loss spread group by group, without the check for cycles: what holds up only itself stays up."""
    fallen = set(case.corrected)
    below = dependents(case.graph)
    queue = deque(fallen)
    while queue:
        for name in below[queue.popleft()] - fallen:
            node = case.graph[name]
            if not node.grounds and all(way.premises & fallen for way in node.ways):
                fallen.add(name)
                queue.append(name)
    return fallen - case.corrected


def independent_origins(case: Case) -> set[str]:
    """Flag what has no support left from an origin other than the corrected claims' own."""
    tainted = {origin for name in case.corrected for ground in case.graph[name].grounds for origin in ground.origins}
    graph = without_corrected(case)
    standing = supported(graph)
    return {
        name for name in reachable(case) if name not in standing or not origins_behind(graph, name, standing) - tainted
    } & supported(case.graph)


def similar_text(threshold: float) -> Rule:
    """Return the rule that flags what is worded like a corrected claim (cosine of word counts) and sees no graph."""

    def rule(case: Case) -> set[str]:
        wrong = [Counter(query_terms(case.titles.get(name, ""))) for name in case.corrected]
        return {
            name
            for name, node in case.graph.items()
            if name not in case.corrected
            and (node.ways or not node.grounds)
            and any(_cosine(Counter(query_terms(case.titles.get(name, ""))), words) >= threshold for words in wrong)
        }

    return rule


def _cosine(a: Counter[str], b: Counter[str]) -> float:
    shared = sum(count * b[term] for term, count in a.items())
    length = math.sqrt(sum(n * n for n in a.values())) * math.sqrt(sum(n * n for n in b.values()))
    return shared / length if length else 0.0


RULES: Final[dict[str, Rule]] = {
    "last support lost (ours)": last_support_lost,
    "touch one, flag all": touch_one_flag_all,
    "last direct support": last_direct_support,
    "local groups, no cycle check": local_groups,
    "independent origins": independent_origins,
    "similar text ≥ 0.3": similar_text(0.3),
    "similar text ≥ 0.5": similar_text(0.5),
    "similar text ≥ 0.7": similar_text(0.7),
}


@dataclass(frozen=True)
class Score:
    """How a rule did on cases with right answers. `precision` and `recall` are None where nothing is to divide by."""

    rule: str
    cases: int
    exact: int
    flagged: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float | None:
        """Of what it flagged, the share that was right to flag."""
        return (self.flagged - self.wrong) / self.flagged if self.flagged else None

    @property
    def recall(self) -> float | None:
        """Of what was to be flagged, the share that it flagged."""
        right = self.flagged - self.wrong
        return right / (right + self.missed) if right + self.missed else None

    def row(self) -> dict[str, Any]:
        """Return the score as a plain row, with what the rule costs a reviewer for each correction."""
        return {
            "rule": self.rule,
            "precision": self.precision,
            "recall": self.recall,
            "exactly right": f"{self.exact} of {self.cases}",
            "flags": self.flagged / self.cases if self.cases else 0.0,
            "wrong": self.wrong / self.cases if self.cases else 0.0,
            "missed": self.missed / self.cases if self.cases else 0.0,
        }


def score(rule: Rule, cases: Iterable[Case], name: str = "") -> Score:
    """Return how `rule` does on cases with expected sets."""
    total = exact = flagged = wrong = missed = 0
    for case in cases:
        flags = rule(case)
        total += 1
        exact += flags == case.expected
        flagged += len(flags)
        wrong += len(flags - case.expected)
        missed += len(case.expected - flags)
    return Score(name or getattr(rule, "__name__", "rule"), total, exact, flagged, wrong, missed)


def load_cases(path: str | PathLike[str]) -> list[Case]:
    """Read propagation cases from JSON lines: `nodes` with `supports`, `steps` with cumulative expected sets.

    Each step becomes a case of its own, with everything corrected by then; expected are its `flag_decisions` and
    `unsupported_claims`.
    """
    found = []
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            found += cases_of(json.loads(line))
    return found


def cases_of(record: Mapping[str, Any]) -> list[Case]:
    """Return the cases of one record."""
    graph: dict[str, Node] = {}
    document = str(record["documents"][0]["id"])
    for node in record["nodes"]:
        if node["kind"] == "action":
            continue
        ways = tuple(Way(f"{node['id']}/{n}", frozenset(group)) for n, group in enumerate(node["supports"]))
        grounds = (Ground(f"{node['id']}/e", document, frozenset({document})),) if node["source_backed"] else ()
        graph[node["id"]] = Node(node["id"], True, grounds, ways)
    titles = {node["id"]: node["statement"] for node in record["nodes"]}
    corrected: list[str] = []
    cases = []
    for number, step in enumerate(record["steps"]):
        if step["op"] == "revert_last":
            corrected.remove(step["claim"])
        else:
            corrected.append(step["claim"])
        expected = {*step["expected"]["flag_decisions"], *step["expected"]["unsupported_claims"]}
        name = f"{record['id']}/{number}"
        cases.append(Case(graph, frozenset(corrected), titles, frozenset(expected), name))
    return cases


def table(scores: Sequence[Score]) -> str:
    """Return scores as a Markdown table."""
    lines = [
        "| rule | precision | recall | exactly right | flags a correction | wrong ones | missed ones |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for entry in scores:
        row = entry.row()
        shares = [f"{row[key]:.3f}" if row[key] is not None else "–" for key in ("precision", "recall")]
        counts = [f"{row[key]:.2f}" for key in ("flags", "wrong", "missed")]
        lines.append("| " + " | ".join([entry.rule, *shares, row["exactly right"], *counts]) + " |")
    return "\n".join(lines)
