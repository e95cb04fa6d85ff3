"""Find the weights of `engine.relevance`: `python -m tests.benchmarks.calibrate [--vectors FILE]`.

Everything is fitted on the calibration part of the workloads alone. The order of candidates: multinomial regression of
the right record among them. Whether a query is about what is recorded at all: logistic regression, its bias then moved
so that of the queries of the calibration part that no correction matters for no more than `INJECTED` get anything.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

import engine
from engine.correction_records import Caller
from engine.embeddings import LocalE5
from engine.relevance import AGAINST_TALK, BY_WORDS, RANKED, Signals, Talk, words_judge
from engine.store.corrections import fetch_corrections
from tests.benchmarks.embedding import Remembering
from tests.benchmarks.recall import NOTHING, _is, loaded
from tests.benchmarks.workloads import ALL

INJECTED: Final = 0.03
PARAPHRASES: Final = 6.0  # how much one counts: there are few of them
TIES: Final = 0.003
RIDGE: Final = 0.01
Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Row:
    """One query: its kind, what speaks for each candidate, which is right, and what it sounds like."""

    workload: str
    kind: str
    signals: list[Signals]
    right: list[bool]
    talk: Talk | None

    @property
    def about(self) -> bool:
        """Whether there is anything to find."""
        return self.kind not in NOTHING


def rows(part: str, vectors: Path | None) -> list[Row]:
    """Return the queries of one part, judged through the engine."""
    embedder = Remembering(LocalE5(), vectors)
    found = []
    with tempfile.TemporaryDirectory() as folder, engine.open(data_dir=folder, embeddings=embedder) as workbench:
        for make in ALL:
            workload = make(part)
            workspace = loaded(workbench, workload)
            snap, recaller = workspace.corrections._snapshot(), workbench._services.recaller
            for kind, queries in workload.queries.items():
                for query in queries:
                    judged, near = recaller.judge(snap, query.text, Caller(**query.caller))
                    there = fetch_corrections(snap, [name for name, _ in judged])
                    right = [
                        query.right is not None and _is(there[name], workload.records[query.right])
                        for name, _ in judged
                    ]
                    found.append(Row(workload.name, kind, [one for _, one in judged], right, near.talk))
            workbench.delete_workspace(workspace.id)
            embedder.save()
    return found


def ranking(given: Sequence[Row]) -> dict[str, float]:
    """Return the weights that put the right candidate first."""
    names = list(RANKED)
    cases = [
        (np.array([[getattr(s, n) for n in names] for s in row.signals]), row.right.index(True), _counts(row))
        for row in given
        if row.about and any(row.right)
    ]
    weights = np.zeros(len(names))
    for _ in range(40):
        slope, curve = -RIDGE * weights * len(cases), RIDGE * np.eye(len(names)) * len(cases)
        for features, right, count in cases:
            odds = np.exp(features @ weights - (features @ weights).max())
            odds /= odds.sum()
            mean = odds @ features
            slope += count * (features[right] - mean)
            curve += count * ((features * odds[:, None]).T @ features - np.outer(mean, mean))
        weights += np.linalg.solve(curve, slope)
    return dict(zip(names, weights, strict=True))


def relevance(features: Array, about: Array, counts: Array) -> Array:
    """Return weights and bias of a logistic regression."""
    mean, spread = features.mean(0), features.std(0) + 1e-9
    scaled = np.c_[(features - mean) / spread, np.ones(len(features))]
    ridge = RIDGE * np.diag([1.0] * features.shape[1] + [0.0])
    weights = np.zeros(scaled.shape[1])
    for _ in range(60):
        share = 1 / (1 + np.exp(-np.clip(scaled @ weights, -40, 40)))
        slope = scaled.T @ (counts * (share - about)) / counts.sum() + ridge @ weights
        curve = (scaled * (counts * share * (1 - share))[:, None]).T @ scaled / counts.sum() + ridge
        weights -= np.linalg.solve(curve + 1e-9 * np.eye(len(weights)), slope)
    found = weights[:-1] / spread
    return np.r_[found, weights[-1] - (found * mean).sum()]


def floored(weights: Array, features: Array, about: Array) -> Array:
    """Return the weights with the bias at which hardly any unrelated query is above 0."""
    against = np.sort((np.c_[features, np.ones(len(features))] @ weights)[about == 0])[::-1]
    return np.r_[weights[:-1], weights[-1] - max(against[int(INJECTED * len(against))] + TIES, -1e9)]


def judges(given: Sequence[Row]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the judge by words, and the one by words, meaning and what the query sounds like."""
    about = np.array([float(row.about) for row in given])
    counts = np.array([_counts(row) for row in given])
    names = [name for name in BY_WORDS if name != "bias"]
    # By words a query is as relevant as its best candidate; a paraphrase has no word in common, so it cannot teach.
    worded = np.array([row.kind != "paraphrase" for row in given])
    best = np.array([_best(row, names) for row in given])
    for _ in range(3):  # which candidate is best depends on the weights
        found = relevance(best[worded], about[worded], counts[worded])
        best = np.array([_best(row, names, found) for row in given])
    found = floored(found, best[worded], about[worded])
    words = dict(zip([*names, "bias"], map(float, found), strict=True))
    talk = [name for name in AGAINST_TALK if name != "bias"]
    features = np.array([[AGAINST[name](row, words) for name in talk] for row in given])
    found = floored(relevance(features, about, counts), features, about)
    return words, dict(zip([*talk, "bias"], map(float, found), strict=True))


def _best(row: Row, names: Sequence[str], weights: Array | None = None) -> list[float]:
    if not row.signals:
        return [0.0] * len(names)
    features = np.array([[getattr(s, n) for n in names] for s in row.signals])
    scores = features.sum(1) if weights is None else features @ weights[:-1]
    return [float(x) for x in features[int(scores.argmax())]]


def _nearest(row: Row) -> float:
    return max((s.centred for s in row.signals if s.meaning), default=0.0)


AGAINST: Final = {
    "words": lambda row, words: words_judge(row.signals, words),
    "best": lambda row, _: _nearest(row),
    "idle": lambda row, _: row.talk.idle,
    "idlest": lambda row, _: row.talk.idlest,
    "backdrop": lambda row, _: row.talk.backdrop,
    "centred_idle": lambda row, _: row.talk.centred_idle,
}


def _counts(row: Row) -> float:
    return PARAPHRASES if row.kind == "paraphrase" else 1.0


def main() -> None:
    """Fit, and print the constants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=Path, help="keep the model's vectors here between runs")
    parser.add_argument("--rows", type=Path, help="keep what the engine made of the queries here between runs")
    arguments = parser.parse_args()
    if arguments.rows is not None and arguments.rows.exists():
        given = pickle.loads(arguments.rows.read_bytes())
    else:
        given = rows("calibration", arguments.vectors)
        if arguments.rows is not None:
            arguments.rows.write_bytes(pickle.dumps(given))
    words, talk = judges(given)
    for name, weights in (("RANKED", ranking(given)), ("BY_WORDS", words), ("AGAINST_TALK", talk)):
        print(name, {key: round(weight, 2) for key, weight in weights.items()})


if __name__ == "__main__":
    main()
