"""How long searches take among many records: `python -m tests.benchmarks.recall_scale [--records 100000]`.

Half of the records are the caller's tenant's, the rest are those of 50 other tenants. Words follow Zipf's law. Vectors
come from a model that costs nothing, so what is measured is the engine and the database. The same caller is measured
again among a tenth of the others' records: the cost must not depend on them.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

import engine
from engine import recall as recall_module
from engine.correction_records import Caller
from engine.terms import phrase_terms

WORDS: Final = 24_000
OTHERS: Final = 50
BATCH: Final = 2_000
MINE: Final = Caller(agent_name="agent-0", user_id="user-0", tenant_id="mine")
PARTS: Final = ("by_words", "by_meaning", "cosines", "candidates", "fetch_corrections")


class WordVectors:
    """A direction for each word, and their sum for a text: no model, but neither is it noise."""

    name: Final = "sums of random directions"
    dimensions: Final = 384
    space: Final = "test.word-vectors.384"

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        self._directions = rng.standard_normal((WORDS, self.dimensions)).astype(np.float32)
        self._common = rng.standard_normal(self.dimensions).astype(np.float32) * 12

    def query(self, text: str) -> list[float]:
        """Return the vector of what is looked for."""
        return self.passages([text])[0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of what can be found."""
        found = []
        for text in texts:
            numbers = [int(term[1:]) for term in phrase_terms(text) if term[1:].isdigit() and len(term) < 7]
            vector = self._common + self._directions[[n % WORDS for n in numbers]].sum(axis=0)
            found.append([round(float(x), 5) for x in vector / np.linalg.norm(vector)])
        return found


def zipf(rng: random.Random, weights: Sequence[float], count: int) -> list[str]:
    """Return words, frequent ones more often; the n-th word has 1/n of the first one's frequency."""
    return [f"w{n}" for n in rng.choices(range(WORDS), cum_weights=weights, k=count)]


def rows(mine: int, others: int, weights: Sequence[float], seed: int = 1) -> Iterator[dict[str, Any]]:
    """Yield records, those of all tenants mixed."""
    rng = random.Random(seed)
    tenants = ["mine"] * mine + [f"tenant-{n % OTHERS}" for n in range(others)]
    rng.shuffle(tenants)
    for at, tenant in enumerate(tenants):
        words = zipf(rng, weights, rng.randint(20, 60))
        scope = rng.choices(("tenant", "agent", "user", "global"), (6, 2, 1, 1))[0]
        yield {
            "agent_name": "agent-0" if tenant == "mine" else f"agent-{at % 5}",
            "original_value": " ".join(words[:4]),
            "corrected_value": " ".join(words[4:8]),
            "field": f"field_{at % 40}",
            "reason": " ".join(words[8:14]),
            "entity_key": f"entity-{at % 5000}",
            "original_input": " ".join(words[14:]),
            "scope": scope,
            "user_id": "user-0" if scope == "user" else None,
            "tenant_id": tenant,
        }


def filled(workbench: engine.Workbench, mine: int, others: int, weights: Sequence[float]) -> engine.Workspace:
    """Return a workspace with so many records and their vectors."""
    workspace = workbench.create_workspace(f"{mine + others:,} records")
    started = time.perf_counter()
    stream = rows(mine, others, weights)
    while batch := list(islice(stream, BATCH)):
        workspace.corrections.import_rows(batch, invalidate_contradicted=False)
    imported = time.perf_counter()
    while not workspace.corrections.wait_for_vectors():
        pass
    made = time.perf_counter()
    print(f"{mine + others:,} records: recorded in {imported - started:.0f} s, vectors in {made - imported:.0f} s")
    return workspace


def timed(act: Callable[[], object], times: list[float]) -> None:
    """Do something, and note how many milliseconds it took."""
    started = time.perf_counter()
    act()
    times.append((time.perf_counter() - started) * 1000)


def measured(workspace: engine.Workspace, queries: Sequence[str]) -> dict[str, list[float]]:
    """Return the milliseconds of each thing that is measured."""
    corrections = workspace.corrections
    times: dict[str, list[float]] = defaultdict(list)
    timed(lambda: corrections.search("w1 w2", caller=MINE), times["first search, which learns the words"])
    originals = {name: getattr(recall_module, name) for name in PARTS}

    def watched(name: str) -> Callable[..., object]:
        def call(*arguments: Any, **more: Any) -> object:
            started = time.perf_counter()
            try:
                return originals[name](*arguments, **more)
            finally:
                times[f"— {name}"].append((time.perf_counter() - started) * 1000)

        return call

    for query in queries:
        timed(lambda query=query: corrections.search(query, caller=MINE), times["search"])
    try:
        for name in PARTS:
            setattr(recall_module, name, watched(name))
        for query in queries:
            corrections.search(query, caller=MINE)
    finally:
        for name, original in originals.items():
            setattr(recall_module, name, original)
    for at in range(40):
        entity = f"entity-{at * 37 % 5000}"
        timed(
            lambda e=entity: corrections.search("w5 w70 w900", caller=MINE, entity_key=e), times["search of an entity"]
        )
    for _ in range(15):
        timed(lambda: corrections.stats(caller=MINE), times["stats"])
        timed(lambda: corrections.page(50, caller=MINE), times["page of 50"])
    return times


def percentile(times: Sequence[float], share: float) -> float:
    """Return a percentile."""
    return statistics.quantiles(times, n=100, method="inclusive")[int(share) - 1] if len(times) > 1 else times[0]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=150)
    arguments = parser.parse_args()
    weights = list(np.cumsum(1.0 / np.arange(1, WORDS + 1)))
    rng = random.Random(5)
    queries = [" ".join(zipf(rng, weights, rng.randint(5, 60))) for _ in range(arguments.queries)]
    mine = arguments.records // 2
    columns: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder, engine.open(data_dir=folder, embeddings=WordVectors()) as workbench:
        for others in (arguments.records - mine, (arguments.records - mine) // 10):
            workspace = filled(workbench, mine, others, weights)
            columns[f"{mine:,} mine, {others:,} of others"] = measured(workspace, queries)
            workbench.delete_workspace(workspace.id)
    print("\n| ms | " + " | ".join(f"{name}: p50 | p95" for name in columns) + " |")
    print("|---|" + "---|---|" * len(columns))
    for row in next(iter(columns.values())):
        cells = [f"{percentile(c[row], 50):.1f} | {percentile(c[row], 95):.1f}" for c in columns.values() if c.get(row)]
        print(f"| {row} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
