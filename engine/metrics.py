"""Counters and latencies of one process, as Prometheus text and as JSON, by the official client.

A label has one of few values: names that people or agents choose are cut, and when there are too many of them the
rest is counted as `other`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LABEL_LIMIT: Final = 60
VALUES: Final = 100  # different values of one label; a metric keeps each for ever
OTHER: Final = "other"
BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one workbench. May be shared by threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._mutex = threading.Lock()
        self._seen: dict[str, set[str]] = {}
        self._corrections = Counter(
            "corrections", "Corrections recorded, by agent and kind of author.", ["agent", "author_kind"],
            registry=self.registry,
        )  # fmt: skip
        self._runs = Counter("agent_runs", "Runs of agents recorded.", ["agent"], registry=self.registry)
        self._invalidated = Counter("learnings_invalidated", "Learnings that a correction invalidated.",
            registry=self.registry)  # fmt: skip
        self._rate = Gauge(
            "correction_rate", "Corrections for each run, at most 1, by agent, of this process.", ["agent"],
            registry=self.registry,
        )  # fmt: skip
        self._latency = Histogram(
            "operation_seconds", "How long an operation took.", ["operation"], buckets=BUCKETS,
            registry=self.registry,
        )  # fmt: skip
        self._counts: dict[str, list[int]] = {}

    def corrected(self, agent: str | None, author_kind: str, times: int = 1) -> None:
        """Count corrections."""
        name = self.label("agent", agent or "none")
        self._corrections.labels(name, author_kind).inc(times)
        self._count(name, 0, times)

    def ran(self, agent: str) -> None:
        """Count a run."""
        name = self.label("agent", agent)
        self._runs.labels(name).inc()
        self._count(name, 1, 1)

    def invalidated(self, times: int) -> None:
        """Count learnings that no longer hold."""
        self._invalidated.inc(times)

    @contextmanager
    def timed(self, operation: str) -> Iterator[None]:
        """Measure what happens inside. `operation` is a name of ours, never of a user."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._latency.labels(operation).observe(time.perf_counter() - start)

    def label(self, kind: str, value: str) -> str:
        """Return a value as it may be a label: printable, short, and one of a bounded number."""
        safe = "".join(c if c.isprintable() else " " for c in value[:LABEL_LIMIT]).strip() or OTHER
        with self._mutex:
            seen = self._seen.setdefault(kind, set())
            if safe not in seen and len(seen) >= VALUES:
                return OTHER
            seen.add(safe)
        return safe

    def to_prometheus(self) -> str:
        """Return everything in the Prometheus text format."""
        return generate_latest(self.registry).decode("utf-8")

    def to_json(self) -> dict[str, Any]:
        """Return the same as plain data: name → list of samples with labels and value."""
        return {
            metric.name: [
                {"name": sample.name, "labels": dict(sample.labels), "value": sample.value}
                for sample in metric.samples
                if not sample.name.endswith("_created")
            ]
            for metric in self.registry.collect()
        }

    def _count(self, agent: str, which: int, times: int) -> None:
        with self._mutex:
            counts = self._counts.setdefault(agent, [0, 0])
            counts[which] += times
            corrections, runs = counts
        if runs:
            self._rate.labels(agent).set(min(1.0, corrections / runs))
