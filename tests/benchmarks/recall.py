"""How good recall is: `python -m tests.benchmarks.recall [--model local|none] [--part "held out"] [--json FILE]`.

Everything goes through the public API with the default floor and three results. The baselines are the same store's
full-text ranking alone and the model's cosine alone, both without a floor.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import engine
from engine.correction_records import Caller, Correction
from engine.embeddings import Embedder, LocalE5
from engine.entries import audiences
from engine.store.corrections import fetch_corrections
from engine.store.recall import Within, all_vectors, by_meaning, vector_count
from engine.terms import query_terms
from engine.vectors import PASSAGE
from tests.benchmarks import recall_data as data
from tests.benchmarks.embedding import Remembering
from tests.benchmarks.recall_data import Query
from tests.benchmarks.workloads import ALL, SEEDS, Workload

FIRST: Final = 3
FOUND: Final = ("lexical", "paraphrase", "stale", "tenants")
NOTHING: Final = ("unrelated", "mentioned", "everyday")
_PLAIN: Final = (
    "CALL db.idx.fulltext.queryNodes('Correction', $query) YIELD node, score WITH node AS k, score "
    "WHERE k.born <= $r AND k.state STARTS WITH 'applied' RETURN k.id ORDER BY score DESC, k.id LIMIT $limit"
)
Searching = Callable[[Query], Sequence[Correction]]


@dataclass(frozen=True)
class Outcome:
    """What one way of searching came to on one workload; each a pair (how many, of how many)."""

    workload: str
    part: str
    method: str
    lexical: tuple[int, int]
    paraphrase: tuple[int, int]
    stale_shown: tuple[int, int]
    others_shown: tuple[int, int]
    injected: tuple[int, int]
    mentioned_injected: tuple[int, int]
    everyday_injected: tuple[int, int]
    stale: tuple[int, int]
    tenants: tuple[int, int]


def loaded(workbench: engine.Workbench, workload: Workload) -> engine.Workspace:
    """Return a workspace with the records of a workload, and their vectors."""
    workspace = workbench.create_workspace(workload.name)
    report = workspace.corrections.import_rows(workload.records)
    if report.rejected:
        raise ValueError(f"{len(report.rejected)} rows were rejected: {report.rejected[0]}")
    workspace.corrections.wait_for_vectors()
    return workspace


def outcome(workload: Workload, method: str, search: Searching) -> Outcome:
    """Return what a way of searching comes to."""
    old = [workload.records[at] for at in workload.outdated]
    found: dict[str, tuple[int, int]] = {}
    stale = others = shown = 0
    for kind, queries in workload.queries.items():
        right = 0
        for query in queries:
            hits = search(query)[:FIRST]
            shown += len(hits)
            stale += sum(any(_is(hit, record) for record in old) for hit in hits)
            others += sum(hit.tenant_id not in (None, query.caller["tenant_id"]) for hit in hits)
            right += bool(hits) if query.right is None else any(_is(hit, workload.records[query.right]) for hit in hits)
        found[kind] = (right, len(queries))
    none = (0, 0)
    return Outcome(
        workload.name, workload.part, method, found["lexical"], found["paraphrase"], (stale, shown), (others, shown),
        found["unrelated"], found["mentioned"], found.get("everyday", none), found["stale"], found["tenants"],
    )  # fmt: skip


def _is(hit: Correction, record: data.RecordArguments) -> bool:
    return (
        hit.original_value == record["original_value"]
        and hit.corrected_value == record["corrected_value"]
        and hit.field == record["field"]
        and hit.entity_key == record.get("entity_key")
        and (record.get("original_input") is None or hit.original_input == record["original_input"])
    )


def engine_search(workspace: engine.Workspace) -> Searching:
    """Return the search that is measured."""

    def search(query: Query) -> Sequence[Correction]:
        hits = workspace.corrections.search(query.text, caller=Caller(**query.caller))
        return [hit.correction for hit in hits]

    return search


def words_alone(workspace: engine.Workspace) -> Searching:
    """Return a plain search: the index's own ranking for any of the words."""
    snap = workspace.corrections._snapshot()

    def search(query: Query) -> Sequence[Correction]:
        within, terms = Within(tuple(audiences(Caller(**query.caller)))), query_terms(query.text)
        text = f"@audience:({'|'.join(within.audiences)}) @terms:({'|'.join(terms)})"
        rows = snap.rows(_PLAIN, query=text, limit=FIRST) if terms else []
        ranked = [row[0] for row in rows]
        return list(fetch_corrections(snap, ranked).values())

    return search


def cosine_alone(workspace: engine.Workspace, embedder: Embedder) -> Searching:
    """Return a plain search: the nearest vectors."""
    snap = workspace.corrections._snapshot()

    def search(query: Query) -> Sequence[Correction]:
        within = Within(tuple(audiences(Caller(**query.caller))))
        space = f"{embedder.space}.{PASSAGE}"
        count = vector_count(snap, within, space)
        ranked = by_meaning(snap, within, space, embedder.query(query.text), FIRST, count, all_vectors(snap))
        return list(fetch_corrections(snap, ranked).values())

    return search


def measure(workbench: engine.Workbench, workload: Workload, embedder: Embedder | None) -> list[Outcome]:
    """Return the outcomes of the engine and of the baselines on one workload."""
    workspace = loaded(workbench, workload)
    if embedder is None:
        ways = {"engine, no model": engine_search(workspace), "full-text alone": words_alone(workspace)}
    else:
        ways = {"engine, local model": engine_search(workspace), "cosine alone": cosine_alone(workspace, embedder)}
    outcomes = [outcome(workload, method, search) for method, search in ways.items()]
    workbench.delete_workspace(workspace.id)
    return outcomes


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the outcomes as a Markdown table."""
    heads = (
        "records", "part", "search", "lexical in 3", "paraphrase in 3", "stale shown", "other tenants' shown",
        "unrelated injected", "mentioned injected", "everyday injected",
    )  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for o in outcomes:
        cells = [
            o.workload, o.part, o.method, _share(o.lexical), _share(o.paraphrase), _count(o.stale_shown),
            _count(o.others_shown), _percent(o.injected), _percent(o.mentioned_injected), _percent(o.everyday_injected),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _share(pair: tuple[int, int]) -> str:
    return f"{pair[0] / pair[1]:.3f} ({pair[0]}/{pair[1]})" if pair[1] else "–"


def _percent(pair: tuple[int, int]) -> str:
    return f"{100 * pair[0] / pair[1]:.1f} % ({pair[0]}/{pair[1]})" if pair[1] else "–"


def _count(pair: tuple[int, int]) -> str:
    return f"{pair[0]} of {pair[1]:,}"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=("local", "none", "both"), default="both")
    parser.add_argument("--part", choices=(*SEEDS, "both"), default="both")
    parser.add_argument("--workload", help="only the one of this name")
    parser.add_argument("--json", type=Path, help="write the counts here too")
    parser.add_argument("--vectors", type=Path, help="keep the model's vectors here between runs")
    arguments = parser.parse_args()
    outcomes = []
    for part in SEEDS if arguments.part == "both" else [arguments.part]:
        for model in ("local", "none") if arguments.model == "both" else [arguments.model]:
            embedder = Remembering(LocalE5(), arguments.vectors) if model == "local" else None
            with (
                tempfile.TemporaryDirectory() as folder,
                engine.open(data_dir=folder, embeddings=embedder or "none") as wb,
            ):
                for make in ALL:
                    workload = make(part)
                    if arguments.workload in (None, workload.name):
                        outcomes += measure(wb, workload, embedder)
            if embedder is not None:
                embedder.save()
    print(table(outcomes))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(each) for each in outcomes], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
