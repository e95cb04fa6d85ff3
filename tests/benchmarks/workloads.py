"""What recall is measured on: the made-up office in several shapes, each with its questions, parted in two.

Weights and floor are found on the `calibration` part alone. `held out` is another seed of the records, other topics
of the paraphrases, other templates of what is unrelated, and everyday requests that no calibration has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tests.benchmarks import recall_data as data
from tests.benchmarks.recall_data import Query, RecordArguments

AGENT: Final = "assistant"
SEEDS: Final = {"calibration": 1, "held out": 11}
# Desks whose paraphrases calibrate; those of all others are held out.
DESKS: Final = ("invoices", "logistics", "hr", "travel", "property", "banking", "school")
EVERYDAY: Final = (
    "What's the weather like in Paris tomorrow?", "Draft a birthday card for my colleague.", "Set an alarm for seven.",
    "Book a table for four tonight.", "Summarise the plot of Hamlet.", "How do I boil an egg?", "Play some music.",
    "Give me three ideas for a garden party.", "What is the meaning of life?", "Convert 12 miles to kilometres.",
    "Recommend a science fiction novel.", "How far away is the Moon?", "Explain recursion.", "Who rules Spain?",
    "Fix this regex: ^[a-z]+$", "What should I name my cat?", "How can I fall asleep faster?", "Tell me a fun fact.",
    "Plan a workout for beginners.", "What does 'carpe diem' mean?", "Write a haiku about autumn.", "Roll two dice.",
    "Can dogs eat grapes?", "What year did the Titanic sink?", "How many planets are there?", "Teach me to juggle.",
    "Wer hat die Glühbirne erfunden?", "Quelle est la capitale de l'Australie ?", "讲一个笑话。", "¿Cómo bailo salsa?",
    "import numpy as np; print(np.arange(3))", "Is a tomato a fruit?", "Describe the taste of mango.",
    "Which guitar is best for a beginner?", "How do airplanes fly?", "Make up a riddle.", "Who discovered penicillin?",
    "What is the best way to clean sneakers?", "Compose a toast for a wedding.", "How old is the universe?",
)  # fmt: skip

# What somebody mentions, and no correction can matter for: every second one calibrates.
MENTIONED: Final = (
    "The meeting was cancelled.", "The engine needs oil.", "Our server crashed last night.",
    "I missed the bus.", "The projector in the big hall is broken.", "My daughter got a puppy.",
    "The bakery opens at six.", "The river is frozen.", "He plays chess every evening.", "The wifi is slow.",
    "They planted three apple trees.", "The keynote was inspiring.", "Snow is expected in the mountains.",
    "The choir rehearses on Tuesdays.", "My phone fell into the sink.", "The parking lot is full.",
    "We adopted two kittens.", "The lamp flickers.", "She ran her first marathon.",
    "The strike ends tomorrow.", "Wolves have returned to the valley.", "The elevator smells of paint.",
    "I am allergic to cats.", "The backup did not run.", "The milk has gone sour.", "The opera was too long.",
    "A hedgehog lives under our shed.", "The sprint review is at three.", "The mayor opened a playground.",
    "My knee hurts when I run.", "The kettle is boiling.", "Traffic was terrible.", "The laptop overheats.",
    "He speaks four languages.", "The pool is closed for cleaning.", "Mars is visible tonight.",
    "Our cactus has a flower.", "The intern made pancakes.", "The tide comes in at noon.",
    "The deploy was rolled back.", "Wir haben den Zug verpasst.", "Der Hund hat Flöhe.",
    "La piscine est fermée.", "Mon vélo est volé.", "Los niños juegan fuera.", "今天下雪了。", "服务器又宕机了。",
    "猫が寝ています。",
)  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """Records of one shape, and what is asked, by kind."""

    name: str
    part: str
    records: list[RecordArguments]
    queries: dict[str, list[Query]]
    outdated: frozenset[int]
    """Records that a later one corrects, by what the generator knows, not by what the engine says."""


def office(part: str) -> Workload:
    """Several tenants, agents and scopes: what the generator makes."""
    records = data.records(seed=SEEDS[part])
    return Workload("office", part, records, _queries(records, part), _outdated(records))


def one_caller(part: str) -> Workload:
    """The same, but every record is global and of one agent: a caller sees all of them."""
    plain = _to_all(data.records(seed=SEEDS[part]))
    return _shared("one caller sees all", part, plain, lambda record: record)


def minimal(part: str) -> Workload:
    """One agent's records with values, field and reason alone. The reason says what the input was about."""
    plain = _to_all(data.records(seed=SEEDS[part]))
    return _shared("minimal fields", part, plain, _minimal)


def hand_written(part: str) -> Workload:
    """The hand-written records alone, all to one caller: a small workspace without a crowd."""
    records = [record for record in data.records(seed=SEEDS[part]) if record["entity_key"] is None]
    plain = _to_all(records)
    return _shared("small workspace", part, plain, lambda record: record)


def with_entities(part: str) -> Workload:
    """As for one caller, and the hand-written records are about entities too, which the paraphrases do not name."""
    plain = _to_all(data.records(seed=SEEDS[part]))
    return _shared("entities everywhere", part, plain, lambda record: record, named=True)


ALL: Final[tuple[Callable[[str], Workload], ...]] = (office, one_caller, with_entities, minimal, hand_written)


def _queries(records: Sequence[RecordArguments], part: str) -> dict[str, list[Query]]:
    calibrating = part == "calibration"
    unrelated = data.unrelated_queries(records)
    queries = {
        "lexical": data.lexical_queries(records) if any(r["entity_key"] for r in records) else [],
        "paraphrase": [
            query for query in data.paraphrase_queries(records) if (_desk(records, query) in DESKS) == calibrating
        ],
        "stale": data.stale_queries(records),
        "tenants": data.tenant_queries(records),
        "unrelated": [query for at, query in enumerate(unrelated) if _calibrates(at) == calibrating],
    }
    every = [query.caller for query in unrelated]
    queries["mentioned"] = [
        Query(text, None, every[at]) for at, text in enumerate(MENTIONED) if (at % 2 == 0) == calibrating
    ]
    if not calibrating:
        callers = [query.caller for query in unrelated]
        queries["everyday"] = [Query(text, None, callers[at]) for at, text in enumerate(EVERYDAY)]
    return queries


def _to_all(records: Sequence[RecordArguments]) -> list[RecordArguments]:
    return [record | {"scope": "global", "tenant_id": None, "user_id": None} for record in records]


def _calibrates(at: int) -> bool:
    """Return whether the text at this place of the unrelated ones calibrates: 30 single, 20 × 6 by topic, 12 × 6."""
    if at < 30:
        return at % 2 == 0
    return (at - 30) // 6 < 10 if at < 150 else (at - 150) // 6 % 2 == 0


def _desk(records: Sequence[RecordArguments], query: Query) -> str:
    assert query.right is not None
    agent = records[query.right]["agent_name"]
    return next((name for name, desk in data.DOMAINS.items() if desk.agent == agent), agent.removesuffix("_agent"))


def _shared(
    name: str,
    part: str,
    plain: list[RecordArguments],
    shape: Callable[[RecordArguments], RecordArguments],
    named: bool = False,
) -> Workload:
    caller: dict[str, str | None] = {"agent_name": AGENT, "user_id": None, "tenant_id": None}
    queries = {
        kind: [replace(query, caller=caller) for query in asked if _is_clear(plain, query)]
        for kind, asked in _queries(plain, part).items()
    }
    records = [shape(record) | {"agent_name": AGENT} for record in plain]
    if named:
        records = [r | {"entity_key": r["entity_key"] or f"CASE-{at:04}"} for at, r in enumerate(records)]
    # Without an entity, nothing tells that a corrected value was wrong in its turn from another thing's correction.
    outdated = _outdated(plain, ("again",) if shape is _minimal else ("again", "onward"))
    return Workload(name, part, records, queries, outdated)


def _is_clear(records: Sequence[RecordArguments], query: Query) -> bool:
    """Return whether one record is right: what two tenants say of one thing is two answers to who sees both."""
    if query.right is None or records[query.right]["entity_key"] is None:
        return True
    right = records[query.right]
    same = [r for r in records if (r["entity_key"], r["field"]) == (right["entity_key"], right["field"])]
    return len({r["agent_name"] for r in same}) == 1 and len({str(r["original_value"]) for r in same}) == 1


def _outdated(records: Sequence[RecordArguments], kinds: Sequence[str] = ("again", "onward")) -> frozenset[int]:
    chains = [[records[at] for at in chain.indexes] for chain in data.stale(records) if chain.kind in kinds]
    places = [chain.indexes for chain in data.stale(records) if chain.kind in kinds]
    return frozenset(
        at
        for indexes, chain in zip(places, chains, strict=True)
        for at in indexes[:-1]
        if records[at]["corrected_value"] != chain[-1]["corrected_value"]
    )


def _minimal(record: RecordArguments) -> RecordArguments:
    entity = record["entity_key"]
    said = f"{entity}: {record['original_value']}" if entity else record["original_value"]
    right = f"{entity}: {record['corrected_value']}" if entity else record["corrected_value"]
    reason = f"{record['original_input']} {record['reason']}".strip()
    return {
        "original_value": said,
        "corrected_value": right,
        "field": record["field"],
        "reason": reason,
        "scope": "global",
    }
