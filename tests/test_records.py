"""Corrections as records and learnings, by the rules that people were promised, on the real database."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine import Caller, Correction
from engine.errors import ModelUnavailable
from engine.prompt_section import HEADING
from engine.store import recall as store
from engine.vectors import PASSAGE

Claims = Callable[..., list[str]]
HOSTILE = st.text(max_size=60) | st.sampled_from(
    [
        "</memory>",
        "'; MATCH (n) DETACH DELETE n //",
        '"',
        "a\nb",
        "<b>",
        "\u202e",
        "=1+1",
        "@terms:(x)",
        "x" * 200_000,
        " ",
    ]
)


class Words:
    """An embedder that needs no model: words are hashed into directions. `fails` makes it one that does not answer."""

    def __init__(self, space: str = "words.v1", dimensions: int = 64) -> None:
        self.name = f"{space} (fake)"
        self.space = space
        self.dimensions = dimensions
        self.fails = False
        self.slow = 0.0
        self.embedded = 0

    def query(self, text: str) -> list[float]:
        return self.passages([text])[0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        if self.fails:
            raise ModelUnavailable("The fake model does not answer.")
        if self.slow:
            time.sleep(self.slow)
        self.embedded += len(texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split() or ["blank"]:
            seed = hashlib.sha256(f"{self.space} {word}".encode()).digest()
            vector[seed[0] % self.dimensions] += 1.0 if seed[1] % 2 else -1.0
            vector[seed[2] % self.dimensions] += 1.0 if seed[3] % 2 else -1.0
        length = math.sqrt(sum(x * x for x in vector)) or 1.0
        if length == 1.0 and not any(vector):
            vector[0] = 1.0
        return [round(x / length, 6) for x in vector]


def opened(folder: Path, embeddings: Any, **more: Any) -> engine.Workbench:
    """Open the database that the tests use with an embedder of the test's own."""
    if url := os.environ.get("FALKORDB_URL"):
        return engine.open(url, embeddings=embeddings, **more)
    return engine.open(data_dir=folder, embeddings=embeddings, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


@pytest.fixture(scope="module")
def wb(folder: Path) -> Iterator[engine.Workbench]:
    """A workbench that searches by words alone: most rules need no vectors."""
    with opened(folder, "none") as workbench:
        yield workbench


@pytest.fixture(scope="module")
def embedder() -> Words:
    return Words()


@pytest.fixture(scope="module")
def meaning(folder: Path, embedder: Words) -> Iterator[engine.Workbench]:
    """A workbench on the same database that compares meaning, with the fake embedder."""
    with opened(folder, embedder, contradiction_threshold=0.4) as workbench:
        yield workbench


@pytest.fixture
def mws(meaning: engine.Workbench, request: pytest.FixtureRequest) -> Iterator[engine.Workspace]:
    workspace = meaning.create_workspace(request.node.name[:100])
    yield workspace
    meaning.delete_workspace(workspace.id)


def fix(ws: engine.Workspace, old: Any = "100", new: Any = "120", **more: Any) -> Correction:
    """Record a correction as the tests need most: of one agent, one field, one entity."""
    given: dict[str, Any] = {"agent_name": "bot", "field": "total", "entity_key": "ACME"}
    return ws.corrections.record(original_value=old, corrected_value=new, **(given | more))


def found(ws: engine.Workspace, query: str = "ACME total 100", caller: Caller | None = None) -> set[str]:
    who = caller or Caller(agent_name="bot")
    return {hit.correction.id for hit in ws.corrections.search(query, who, top_k=100, min_score=0.0)}


# --- what can be recorded ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        ("a", "a"),
        (None, None),
        ("", ""),
        ([], []),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
        ([1, [2]], [1.0, [2]]),
        (True, True),
        (0, -0.0),
        (10**20, 1e20),
    ],
    ids=repr,
)
def test_equal_values_correct_nothing(ws: engine.Workspace, one: Any, other: Any) -> None:
    with pytest.raises(engine.InvalidInput, match="equal") as refused:
        fix(ws, one, other)
    assert refused.value.field == "corrected_value"
    assert ws.revision == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, "1"),
        (True, "true"),
        (True, 1.0),
        (0, False),
        (None, ""),
        ("", []),
        ([], {}),
        (None, "null"),
        ("a", "A"),
        ("a", "a "),
        ([1, 2], [2, 1]),
        ({"a": None}, {}),
        ([True], [1]),
        ("é", "e\u0301"),
        (7, None),
        ("x", ""),
        (2**63, 2**63 + 1),
        (10**30, "x"),
        (1.5, -1.5),
    ],
    ids=repr,
)
def test_values_that_differ_are_kept_with_their_types(ws: engine.Workspace, one: Any, other: Any) -> None:
    made = fix(ws, one, other)
    kept = ws.corrections.get(made.id)
    assert kept == made
    assert (repr(kept.original_value), repr(kept.corrected_value)) == (repr(one), repr(other))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"agent_name": ""}, "agent_name"),
        ({"agent_name": "  "}, "agent_name"),
        ({"agent_name": None}, "agent_name"),
        ({"agent_name": 5}, "agent_name"),
        ({"agent_name": "a" * 501}, "agent_name"),
        ({"old": float("nan")}, "original_value"),
        ({"new": float("inf")}, "corrected_value"),
        ({"old": b"x"}, "original_value"),
        ({"old": {1: 2}}, "original_value"),
        ({"old": (1,)}, "original_value"),
        ({"old": datetime.now(UTC)}, "original_value"),
        ({"old": "a\0b"}, "original_value"),
        ({"new": "\ud800"}, "corrected_value"),
        ({"new": {"\0": 1}}, "corrected_value"),
        ({"new": "x" * 1_000_000}, "corrected_value"),
        ({"reason": "x" * 1_000_000}, "reason"),
        ({"reason": "\0"}, "reason"),
        ({"field": "x" * 1_000_000}, "field"),
        ({"entity_key": "x" * 1_000_000}, "entity_key"),
        ({"entity_key": 5}, "entity_key"),
        ({"original_input": "x" * 1_000_000}, "original_input"),
        ({"run_id": "x" * 1_000_000}, "run_id"),
        ({"session_id": []}, "session_id"),
        ({"tags": "text"}, "tags"),
        ({"tags": 5}, "tags"),
        ({"tags": ["x" * 1_000_000]}, "tags"),
        ({"tags": ["x"] * 51}, "tags"),
        ({"tags": [5]}, "tags"),
        ({"scope": "everybody"}, "scope"),
        ({"scope": None}, "scope"),
        ({"scope": ["user"]}, "scope"),
        ({"scope": "user"}, "user_id"),
        ({"scope": "tenant"}, "tenant_id"),
        ({"scope": "tenant", "tenant_id": " "}, "tenant_id"),
        ({"scope": "user", "user_id": ""}, "user_id"),
        ({"author_kind": "robot"}, "author_kind"),
        ({"author_kind": None}, "author_kind"),
        ({"reviewer": "x" * 1_000_000}, "reviewer"),
        ({"reviewer": 5}, "reviewer"),
        ({"idempotency_key": 5}, "idempotency_key"),
        ({"idempotency_key": "x" * 1_000_000}, "idempotency_key"),
        ({"tenant_id": 5}, "tenant_id"),
        ({"user_id": "\0"}, "user_id"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_cannot_be_recorded_is_refused_by_name(ws: engine.Workspace, arguments: Any, field: str) -> None:
    with pytest.raises(engine.InvalidInput) as refused:
        fix(ws, **arguments)
    assert refused.value.field == field
    assert len(str(refused.value)) < 500
    assert ws.revision == 0


def test_a_value_nested_too_deep_is_refused(ws: engine.Workspace) -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(engine.InvalidInput, match="deeper"):
        fix(ws, deep)


@pytest.mark.parametrize(
    ("scope", "more"),
    [
        ("user", {"user_id": "u"}),
        ("agent", {}),
        ("tenant", {"tenant_id": "t"}),
        ("global", {}),
        ("global", {"tenant_id": "t", "user_id": "u"}),
    ],
)
def test_every_scope_with_what_it_needs(ws: engine.Workspace, scope: Any, more: dict[str, Any]) -> None:
    made = fix(ws, scope=scope, **more)
    assert (made.scope, made.user_id, made.tenant_id) == (scope, more.get("user_id"), more.get("tenant_id"))


def test_everything_given_is_kept(ws: engine.Workspace) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    made = ws.corrections.record(
        "bot",
        {"a": 1},
        None,
        "total",
        "it was net",
        "ACME",
        "run 1",
        "chat 1",
        "The invoice says…",
        ["x", "y", "x"],
        "tenant",
        "u",
        "t",
        None,
        "key 1",
        author_kind="human",
        reviewer="Ana",
    )
    assert made.model_dump(exclude={"id", "created_at"}) == {
        "kind": "output",
        "status": "active",
        "agent_name": "bot",
        "run_id": "run 1",
        "session_id": "chat 1",
        "original_input": "The invoice says…",
        "field": "total",
        "original_value": {"a": 1},
        "corrected_value": None,
        "reason": "it was net",
        "entity_key": "ACME",
        "tags": ["x", "y"],
        "scope": "tenant",
        "user_id": "u",
        "tenant_id": "t",
        "author_kind": "human",
        "reviewer": "Ana",
        "approved_by": None,
        "times_seen": 1,
        "claim_id": None,
        "replacement_id": None,
        "source_id": None,
        "original": "",
        "statement": None,
        "superseded_by": None,
        "revision": 1,
    }
    assert before < made.created_at <= datetime.now(UTC)
    assert ws.corrections.get(made.id) == made
    assert Correction.model_validate_json(made.model_dump_json()) == made


TEXTS = {
    "agent_name": 500,
    "field": 500,
    "entity_key": 500,
    "reason": 5_000,
    "run_id": 500,
    "session_id": 500,
    "original_input": 100_000,
    "user_id": 500,
    "tenant_id": 500,
    "idempotency_key": 500,
    "reviewer": 500,
}


NAMES = ("agent_name", "run_id", "session_id", "user_id", "tenant_id")


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(TEXTS, HOSTILE)),
    HOSTILE,
    HOSTILE,
    st.lists(HOSTILE, max_size=3),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_hostile_text_is_kept_as_text_or_refused(
    wb: engine.Workbench, texts: dict[str, str], old: str, new: str, tags: list[str]
) -> None:
    ws = wb.create_workspace("hostile")
    arguments = {"agent_name": "bot"} | texts
    every = [old, new, *tags, *texts.values()]
    try:
        made = ws.corrections.record(original_value=old, corrected_value=new, tags=tags, **arguments)  # type: ignore[arg-type]
    except engine.InvalidInput:
        too_long = any(len(text) > TEXTS[name] for name, text in texts.items()) or any(len(t) > 200 for t in tags)
        blank_agent = not arguments["agent_name"].strip()
        assert old == new or too_long or blank_agent or any("\0" in t or len(t) > 99_998 for t in every)
        assert ws.revision == 0
    else:
        assert (made.original_value, made.corrected_value) == (old, new)
        assert set(made.tags) == {tag for tag in tags if tag.strip()}
        for name, text in arguments.items():
            if name == "reviewer":
                assert made.reviewer == (text.strip() or "Anonymous reviewer") or not text.strip()
            elif name != "idempotency_key":
                kept = text.strip() if name in NAMES else text  # blanks around a name do not count
                assert (getattr(made, name) or "") == (kept if text.strip() else "")
        caller = Caller(agent_name=made.agent_name, tenant_id=made.tenant_id)
        for query in every:
            if len(query) <= 100_000:
                ws.corrections.search(query, caller, min_score=0.0)
        section = ws.corrections.prompt_section(f"{old} {new} {made.field}"[:90_000], caller, min_score=0.0)
        if section:
            assert section.count("\n") == 3
            assert section.splitlines()[-1] == "</memory>"
            assert section.count("<") == section.count(">") == 2
        assert ws.corrections.stats(entity_key=made.entity_key).total == 1
        assert list(ws.corrections.list(agent_name=made.agent_name, field=made.field).id) == [made.id]
        assert ws.corrections.eval_cases(entity_key=made.entity_key) == ws.corrections.eval_cases()
    finally:
        wb.delete_workspace(ws.id)


# --- twins ---------------------------------------------------------------------------------------------------


def test_the_same_again_is_counted_not_stored(ws: engine.Workspace) -> None:
    first = fix(ws, run_id="r1")
    again = fix(ws, reason="another reason", run_id="r2", reviewer="Bo", tags=["x"], session_id="s", original_input="i")
    assert (again.id, again.times_seen, again.reason) == (first.id, 2, "")
    assert fix(ws).times_seen == 3
    assert len(ws.corrections.list()) == 1
    assert ws.revision == 3
    assert [ws.at(r).corrections.get(first.id).times_seen for r in (1, 2, 3)] == [1, 2, 3]
    stats = ws.corrections.stats()
    assert (stats.total, stats.recurred, stats.recurrence_rate) == (1, 1, 1.0)
    assert (stats.runs, stats.corrected_runs) == (2, 2)


def test_an_idempotency_key_makes_two_requests_one(ws: engine.Workspace) -> None:
    first = fix(ws, idempotency_key="k")
    assert fix(ws, idempotency_key="k").id == first.id
    with pytest.raises(engine.NotAllowed, match="idempotency key 'k'"):
        fix(ws, new="130", idempotency_key="k")
    assert fix(ws, new="130", idempotency_key="k2").id != first.id
    other = fix(ws, new="130", agent_name="bot 2", idempotency_key="k")
    assert other.id != first.id, "a key is an agent's own"
    assert fix(ws, new="130", tenant_id="t", idempotency_key="k").id not in (first.id, other.id), "and a tenant's"
    assert fix(ws, idempotency_key="k").id == first.id, "also when it was superseded since"
    assert ws.corrections.get(first.id).status == "superseded"


def test_numbers_that_are_equal_are_one_value(ws: engine.Workspace) -> None:
    whole = fix(ws, 1, "x")
    assert fix(ws, 1.0, "x").id == whole.id
    newer = fix(ws, 1.0, "y")
    assert ws.corrections.get(whole.id).superseded_by == newer.id
    listed = fix(ws, [1, {"a": 2}], "x")
    assert fix(ws, [1.0, {"a": 2.0}], "x").id == listed.id


@pytest.mark.parametrize(
    "more",
    [
        {"tenant_id": "t"},
        {"scope": "global"},
        {"scope": "user", "user_id": "u"},
        {"scope": "tenant", "tenant_id": "t"},
        {"field": "net"},
        {"field": None},
        {"entity_key": "Other"},
        {"entity_key": None},
        {"agent_name": "bot 2"},
        {"old": 100},
    ],
    ids=repr,
)
def test_what_is_somebody_elses_or_about_something_else_is_no_twin(ws: engine.Workspace, more: dict[str, Any]) -> None:
    first = fix(ws)
    second = fix(ws, **more)
    third = fix(ws, new="130", **more)
    assert len({first.id, second.id, third.id}) == 3
    assert ws.corrections.get(first.id).status == "active"
    assert ws.corrections.get(second.id).superseded_by == third.id
    assert ws.corrections.get(first.id).times_seen == 1


def test_two_users_of_one_scope_do_not_supersede_each_other(ws: engine.Workspace) -> None:
    one, two = (fix(ws, new=f"12{n}", scope="user", user_id=f"u{n}") for n in (1, 2))
    assert {ws.corrections.get(k.id).status for k in (one, two)} == {"active"}
    assert fix(ws, scope="agent", user_id="u1").id != fix(ws, new="99", scope="agent", user_id="u2").id
    assert ws.corrections.stats().by_status == {"active": 3, "superseded": 1}, "of an agent's, who said so is no part"


# --- superseding and taking back -----------------------------------------------------------------------------


def test_the_newest_fix_of_a_value_stands_alone(ws: engine.Workspace) -> None:
    old = fix(ws, original_input="What is the total?")
    new = fix(ws, new="130", original_input="What is the total?")
    assert ws.corrections.get(old.id).status == "superseded"
    assert ws.corrections.get(old.id).superseded_by == new.id
    assert found(ws) == {new.id}
    assert [case.correction_id for case in ws.corrections.eval_cases()] == [new.id]
    assert list(ws.corrections.list().id) == [new.id, old.id]
    assert list(ws.corrections.list(status="superseded").id) == [old.id]
    assert list(ws.corrections.list(status=["active", "superseded"]).status) == ["active", "superseded"]
    past = ws.at(1).corrections
    assert past.get(old.id) == old
    assert [hit.correction.id for hit in past.search("ACME total", Caller(agent_name="bot"))] == [old.id]
    assert [case.expected for case in past.eval_cases()] == ["120"]
    with pytest.raises(engine.UnknownNode):
        past.get(new.id)


def test_a_fix_of_a_fix_supersedes_it(ws: engine.Workspace) -> None:
    first = fix(ws, "100", "120")
    second = fix(ws, "120", "130")
    third = fix(ws, "130", "140")
    assert [ws.corrections.get(k.id).status for k in (first, second, third)] == ["superseded", "superseded", "active"]
    assert ws.corrections.get(first.id).superseded_by == second.id
    assert found(ws) == {third.id}
    plain = fix(ws, "a", "b", entity_key=None)
    fix(ws, "b", "c", entity_key=None)
    assert ws.corrections.get(plain.id).status == "superseded", "b is known to be wrong"
    other = fix(ws, "x", "y", field="p")
    fix(ws, "y", "z", field="q")
    assert ws.corrections.get(other.id).status == "active"


def test_what_goes_in_a_circle_ends_with_the_last_word(ws: engine.Workspace) -> None:
    one, two = fix(ws, "a", "b"), fix(ws, "b", "a")
    assert [ws.corrections.get(k.id).status for k in (one, two)] == ["superseded", "active"]
    back = fix(ws, "a", "b")
    assert back.id not in (one.id, two.id)
    assert [ws.corrections.get(k.id).status for k in (one, two, back)] == ["superseded", "superseded", "active"]


def test_reverting_lets_stand_what_was_superseded(ws: engine.Workspace) -> None:
    one, two = fix(ws), fix(ws, new="130")
    gone = ws.corrections.revert(two.id, "Ana", "it was right")
    assert gone.status == "reverted"
    assert ws.corrections.get(one.id).status == "active"
    assert ws.corrections.get(one.id).superseded_by is None
    assert found(ws) == {one.id}
    revision = ws.revision
    assert ws.corrections.revert(two.id).status == "reverted"
    assert ws.revision == revision, "once is enough"
    assert ws.at(2).corrections.get(two.id).status == "active"
    assert ws.corrections.stats().by_status == {"active": 1, "reverted": 1}
    assert ws.corrections.stats().total == 1
    again = fix(ws, new="130")
    assert again.id != two.id, "what was reverted is recorded anew"


def test_reverting_in_the_middle_keeps_the_last_word(ws: engine.Workspace) -> None:
    one, two, three = fix(ws), fix(ws, new="130"), fix(ws, new="140")
    ws.corrections.revert(two.id)
    assert [ws.corrections.get(k.id).status for k in (one, two, three)] == ["superseded", "reverted", "active"]
    assert ws.corrections.get(one.id).superseded_by == three.id
    ws.corrections.revert(three.id)
    assert found(ws) == {one.id}
    ws.corrections.revert(one.id)
    assert found(ws) == set()


@given(
    st.lists(
        st.tuples(st.sampled_from(["record", "revert", "model", "approve"]), st.integers(0, 2), st.integers(0, 2)),
        min_size=4,
        max_size=14,
    )
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_one_fix_of_a_value_stands_whatever_happens(wb: engine.Workbench, steps: list[tuple[str, int, int]]) -> None:
    """However people record, take back and approve: of one wrong value at most one fix is active; none is lost."""
    ws = wb.create_workspace("steps")
    made: list[str] = []
    try:
        for op, a, b in steps:
            if op in ("record", "model"):
                if a == b:
                    continue
                kind: Any = "human" if op == "record" else "model"
                name = fix(ws, f"v{a}", f"v{b}", author_kind=kind).id
                made += [name] if name not in made else []
            elif made:
                target = made[(4 * a + b) % len(made)]
                if op == "revert":
                    ws.corrections.revert(target)
                else:
                    try:
                        ws.corrections.approve(target)
                    except engine.NotAllowed:
                        continue
            listed = {k.id: k for k in ws.corrections.page(500).items}
            assert set(listed) == set(made)
            active = [k for k in listed.values() if k.status == "active"]
            assert len({k.original_value for k in active}) == len(active), op
            for k in listed.values():
                if k.status == "superseded":
                    assert k.superseded_by is not None, op
                    assert listed[k.superseded_by].status in ("active", "superseded"), op
                elif k.status == "active":
                    assert k.superseded_by is None, op
    finally:
        wb.delete_workspace(ws.id)


# --- what a model records ------------------------------------------------------------------------------------


def test_a_models_record_waits_for_a_person(ws: engine.Workspace) -> None:
    stands = fix(ws, original_input="i")
    waits = fix(ws, new="130", author_kind="model", original_input="i", run_id="r")
    assert waits.status == "pending"
    assert waits.reviewer == "bot"
    assert ws.corrections.get(stands.id).status == "active"
    assert found(ws) == {stands.id}
    assert [case.correction_id for case in ws.corrections.eval_cases()] == [stands.id]
    stats = ws.corrections.stats()
    assert (stats.total, stats.by_status, stats.corrected_runs) == (1, {"active": 1, "pending": 1}, 0)
    assert fix(ws, new="130", author_kind="model").times_seen == 2
    approved = ws.corrections.approve(waits.id, "Ana")
    assert (approved.status, approved.approved_by, approved.author_kind) == ("active", "Ana", "model")
    assert approved.revision == ws.revision
    assert ws.corrections.get(stands.id).superseded_by == waits.id
    assert found(ws) == {waits.id}
    revision = ws.revision
    assert ws.corrections.approve(waits.id).status == "active"
    assert ws.revision == revision
    with pytest.raises(engine.NotAllowed, match="superseded"):
        ws.corrections.approve(stands.id)
    ws.corrections.revert(waits.id)
    with pytest.raises(engine.NotAllowed, match="reverted"):
        ws.corrections.approve(waits.id)
    assert ws.corrections.get(stands.id).status == "active"
    assert ws.at(2).corrections.get(waits.id).status == "pending"


def test_who_stood_behind_a_record_then_is_kept(ws: engine.Workspace) -> None:
    waits = fix(ws, author_kind="model")
    ws.corrections.approve(waits.id, "Ana")
    assert ws.at(1).corrections.get(waits.id) == waits


def test_a_pending_record_can_be_refused(ws: engine.Workspace) -> None:
    waits = fix(ws, author_kind="model")
    assert ws.corrections.revert(waits.id, "Ana").status == "reverted"
    assert found(ws) == set()
    again = fix(ws, author_kind="model")
    assert (again.status, again.id != waits.id) == ("pending", True)


def test_a_person_who_says_the_same_approves(ws: engine.Workspace) -> None:
    stands = fix(ws, new="130")
    waits = fix(ws, author_kind="model")
    said = fix(ws, reviewer="Ana")
    assert (said.id, said.status, said.approved_by, said.times_seen) == (waits.id, "active", "Ana", 2)
    assert ws.corrections.get(stands.id).superseded_by == said.id
    assert fix(ws, author_kind="model").status == "active", "what a model repeats is not doubted for it"


# --- corrections of claims -----------------------------------------------------------------------------------


def test_a_record_that_names_a_claim_corrects_the_claim(ws: engine.Workspace, claims: Claims) -> None:
    (june,) = claims("The launch is on 12 June.")
    decision = ws.decide("Book the hall", [june])
    made = ws.corrections.record(
        "bot",
        "12 June",
        "3 July",
        "date",
        "moved",
        "Launch",
        claim_id=june,
        reviewer="Ana",
        original_input="When?",
        tags=["x"],
    )
    assert (made.kind, made.status, made.claim_id) == ("correct", "active", june)
    assert (made.original, made.statement) == ("The launch is on 12 June.", "The launch is on 3 July.")
    assert (made.original_value, made.corrected_value, made.field) == ("12 June", "3 July", "date")
    assert made.replacement_id is not None
    assert ws.claim(june).superseded_by == made.replacement_id
    assert ws.decision(decision.id).status == "needs_review"
    assert found(ws, "Launch date") == {made.id}
    assert [case.correction_id for case in ws.corrections.eval_cases()] == [made.id]
    again = ws.corrections.record("bot", "12 June", "3 July", "date", entity_key="Launch", claim_id=june)
    assert (again.id, again.times_seen) == (made.id, 2)
    other = ws.corrections.record("bot 2", "The launch is on 12 June.", "The launch is on 3 July.", claim_id=june)
    assert (other.id, other.times_seen) == (made.id, 3), "another agent's words for the same correction"
    with pytest.raises(engine.NotAllowed, match=made.replacement_id):
        ws.corrections.record("bot", "12 June", "4 July", claim_id=june)
    gone = ws.corrections.revert(made.id, "Ana")
    assert gone.status == "reverted"
    assert ws.claim(june).status == "current"
    assert found(ws, "Launch date") == set()


def test_a_models_correction_of_a_claim_waits(ws: engine.Workspace, claims: Claims) -> None:
    (june,) = claims("The launch is on 12 June.")
    waits = ws.corrections.record("bot", "12 June", "3 July", claim_id=june, author_kind="model")
    assert (waits.status, waits.claim_id, waits.statement) == ("pending", june, "The launch is on 3 July.")
    assert ws.claim(june).status == "current"
    approved = ws.corrections.approve(waits.id, "Ana")
    assert (approved.id, approved.status, approved.approved_by) == (waits.id, "active", "Ana")
    assert approved.replacement_id is not None
    assert ws.claim(approved.replacement_id).statement == "The launch is on 3 July."
    late = claims("The hall is free.")[0]
    one = ws.corrections.record("bot", "free", "taken", claim_id=late, author_kind="model")
    ws.apply(ws.preview(late, "The hall is closed."), "Bo")
    with pytest.raises(engine.NotAllowed):
        ws.corrections.approve(one.id)
    assert ws.corrections.revert(one.id).status == "reverted"


def test_what_a_claim_correction_must_say(ws: engine.Workspace, claims: Claims) -> None:
    one, two = claims("The launch is on 12 June, not 13 June.", "The hall is free.")
    for old, new, says in (
        ("June", "July", "a part of it that stands"),  # stands there twice
        ("free", "taken", "a part of it that stands"),
        ("12 Jun", "3 July", "a part of it that stands"),  # cuts a word
        ("", "x", "a part of it that stands"),
    ):
        with pytest.raises(engine.InvalidInput, match=says):
            ws.corrections.record("bot", old, new, claim_id=one)
    for name in ("c_0123456789abcdef", "nonsense", "d_0123456789abcdef"):
        with pytest.raises(engine.UnknownNode):
            ws.corrections.record("bot", "a", "b", claim_id=name)
    made = ws.corrections.record("bot", "The hall is free.", None, claim_id=two)
    assert (made.kind, made.corrected_value) == ("retract", None)
    assert ws.claim(two).status == "retracted"
    with pytest.raises(engine.InvalidInput, match=r"ws\.preview"):
        ws.corrections.preview("bot", "12 June", "x", claim_id=one)


# --- who may see what ----------------------------------------------------------------------------------------


def test_a_tenants_records_are_its_own_in_every_way_in(ws: engine.Workspace) -> None:
    mine = fix(ws, tenant_id="t1", original_input="i")
    theirs = fix(ws, tenant_id="t2", scope="global", original_input="i")
    common = fix(ws, scope="global", original_input="i")
    for tenant, own in (("t1", mine), ("t2", theirs), (None, None), ("t3", None), ("", None)):
        caller = Caller(agent_name="bot", tenant_id=tenant)
        allowed = {common.id} | ({own.id} if own else set())
        for k in (mine, theirs, common):
            if k.id in allowed:
                assert ws.corrections.get(k.id, caller) == ws.corrections.get(k.id)
            else:
                for refused in (ws.corrections.get, ws.corrections.revert, ws.corrections.approve):
                    with pytest.raises(engine.UnknownNode, match="no correction"):
                        refused(k.id, caller=caller)
        assert set(ws.corrections.list(caller=caller).id) == allowed
        assert {k.id for k in ws.corrections.page(caller=caller).items} == allowed
        assert found(ws, caller=caller) == allowed
        assert found(ws, caller=Caller(agent_name="bot", tenant_id=tenant, user_id="u")) == allowed
        assert ws.corrections.stats(caller=caller).total == len(allowed)
        assert sum(ws.corrections.stats(caller=caller).by_day.values()) == len(allowed)
        assert {case.correction_id for case in ws.corrections.eval_cases(caller=caller)} == allowed
        assert set(ws.corrections.list(caller=caller, tenant_id="t2").id) == allowed & {theirs.id}
        assert ws.corrections.stats(caller=caller, tenant_id="t2").total == len(allowed & {theirs.id})
    assert set(ws.corrections.list(tenant_id="t1").id) == {mine.id}
    assert len(ws.corrections.list()) == 3


def test_runs_of_another_tenant_are_not_counted(ws: engine.Workspace) -> None:
    for tenant in ("t1", "t2", None):
        ws.corrections.record_run("bot", run_id="same", tenant_id=tenant)
    fix(ws, tenant_id="t1", run_id="same")
    k = fix(ws, tenant_id="t2")
    ws.corrections.record_run("bot", run_id="shown", output="100", shown=[k.id], tenant_id="t2")
    one = ws.corrections.stats(caller=Caller(tenant_id="t1"))
    assert (one.runs, one.corrected_runs) == (2, 1)
    two = ws.corrections.stats(caller=Caller(tenant_id="t2"))
    assert (two.runs, two.corrected_runs) == (3, 0)
    assert int(ws.corrections.accuracy(caller=Caller(tenant_id="t1")).runs.sum()) == 2
    assert len(ws.corrections.heeded(caller=Caller(tenant_id="t1"))) == 0
    assert len(ws.corrections.heeded(caller=Caller(tenant_id="t2"))) == 1


def test_scopes_and_callers(ws: engine.Workspace) -> None:
    records = [
        fix(ws, new=f"{n}", scope=scope, tenant_id=tenant, user_id=user, agent_name=agent)
        for n, (scope, tenant, user, agent) in enumerate(
            itertools.product(("user", "agent", "tenant", "global"), (None, "t1", "t2"), ("u1", "u2"), ("bot", "bot 2"))
        )
        if not (scope == "tenant" and tenant is None)
    ]

    def visible(k: Correction, caller: Caller) -> bool:
        if k.tenant_id is not None and k.tenant_id != caller.tenant_id:
            return False
        return {
            "user": k.user_id == caller.user_id,
            "agent": k.agent_name == caller.agent_name,
            "tenant": k.tenant_id == caller.tenant_id,
            "global": True,
        }[k.scope]

    standing = {k.id: k for k in ws.corrections.page(500, status="active").items}
    assert len(records) > len(standing) > 20
    for tenant, user, agent in itertools.product((None, "t1", "t2", "t3"), (None, "u1", "u3"), (None, "bot", "bot 2")):
        caller = Caller(tenant_id=tenant, user_id=user, agent_name=agent)
        assert found(ws, caller=caller) == {k.id for k in standing.values() if visible(k, caller)}, caller
    nobody = {hit.correction.id for hit in ws.corrections.search("ACME total 100", None, top_k=100, min_score=0.0)}
    assert nobody == {k.id for k in standing.values() if visible(k, Caller())}


# --- prompts -------------------------------------------------------------------------------------------------


def test_the_section_of_a_prompt_to_the_letter(ws: engine.Workspace) -> None:
    assert ws.corrections.prompt_section("total of ACME") == ""
    fix(ws, reason="net, not gross")
    fix(ws, "x", None, field=None, entity_key=None, scope="global")
    section = ws.corrections.prompt_section("ACME total", Caller(agent_name="bot"), top_k=1)
    assert section == (
        f'<memory section="corrections" scope="agent">\n{HEADING}\n'
        '- total: "100" was corrected to "120" [ACME] — net, not gross\n</memory>'
    )
    plain = ws.corrections.prompt_section("x", min_score=0.0)
    assert plain.splitlines()[2] == '- output: "x" was corrected to ""'
    assert ws.corrections.prompt_section("elephants in Botswana", Caller(agent_name="bot")) == ""
    assert ws.corrections.prompt_section("", Caller(agent_name="bot")) == ""


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
@settings(max_examples=200, deadline=None)
def test_nothing_written_gets_out_of_its_line(old: str, new: str, field: str, entity: str, reason: str) -> None:
    from engine.prompt_section import section

    k = Correction(
        id="k_0123456789abcdef",
        kind="output",
        status="active",
        original_value=old,
        corrected_value=new,
        field=field,
        entity_key=entity,
        reason=reason,
        created_at=datetime.now(UTC),
        revision=1,
    )
    text = section([k, k])
    assert len(text.splitlines()) == 5
    assert text.count("<") == text.count(">") == 2
    assert text.endswith("\n</memory>")
    assert len(text) < 20_000
    assert all(c == "\n" or c.isprintable() for c in text)


# --- finding -------------------------------------------------------------------------------------------------


def nearest(ws: engine.Workspace, embedder: Words, k: int = 4096) -> int:
    """Return how many vectors the vector index itself still finds."""
    query = "CALL db.idx.vector.queryNodes('CorrectionVector', 'vector', $k, vecf32($v)) YIELD node RETURN count(node)"
    return int(ws._snapshot().rows(query, k=k, v=embedder.query("total"))[0][0])


def test_vectors_outlive_updates_of_their_corrections(mws: engine.Workspace, embedder: Words) -> None:
    mws.corrections.import_rows(
        [{"original_value": f"old {n}", "corrected_value": f"new {n}", "entity_key": f"e{n}"} for n in range(30)],
        agent_name="bot",
        field="total",
    )
    assert mws.corrections.wait_for_vectors(30)
    for n in range(300):
        at = n % 30
        if n % 3 == 0:
            mws.corrections.record("bot", f"old {at}", f"newer {n}", "total", entity_key=f"e{at}")
        else:
            current = next(iter(mws.corrections.page(1, entity_key=f"e{at}", status="active").items))
            mws.corrections.record("bot", current.original_value, current.corrected_value, "total", entity_key=f"e{at}")
    assert mws.corrections.wait_for_vectors(30)
    total = len(mws.corrections.list())
    assert total == 130
    assert nearest(mws, embedder) == total
    active = set(mws.corrections.list(status="active").id)
    assert len(active) == 30
    hits = mws.corrections.search("total", Caller(agent_name="bot"), top_k=100, min_score=0.0)
    assert {hit.correction.id for hit in hits} <= active
    for n in range(30):
        (hit,) = mws.corrections.search(
            f"total of e{n}", Caller(agent_name="bot"), top_k=1, min_score=0.0, entity_key=f"e{n}"
        )
        assert (hit.correction.entity_key, hit.correction.status) == (f"e{n}", "active")


def test_no_filter_starves_a_tenants_only_record(mws: engine.Workspace, embedder: Words) -> None:
    crowd = [
        {
            "original_value": f"quarterly revenue {n}",
            "corrected_value": "quarterly revenue",
            "tenant_id": "big",
            "entity_key": f"e{n}",
        }
        for n in range(5_000)
    ]
    report = mws.corrections.import_rows(crowd, agent_name="bot", field="quarterly revenue", scope="global")
    assert report.created == 5_000
    only = mws.corrections.record(
        "bot", "profit 7 of the third quarter", "9", "profit", tenant_id="small", scope="global", entity_key="e7"
    )
    assert mws.corrections.wait_for_vectors(90)
    assert mws.corrections.embedding_progress.error == ""
    small = Caller(agent_name="bot", tenant_id="small")
    recalled = mws.corrections.recall("quarterly revenue", small, top_k=10, min_score=0.0)
    assert (recalled.mode, recalled.note) == ("words and meaning", "")
    assert [hit.correction.id for hit in recalled.hits] == [only.id]
    again = mws.corrections.search("quarterly revenue", small, min_score=0.0, entity_key="e7")
    assert [hit.correction.id for hit in again] == [only.id]
    assert mws.corrections.search("quarterly revenue", Caller(tenant_id="none"), min_score=0.0) == []
    big = mws.corrections.search("quarterly revenue 4321", Caller(tenant_id="big"), top_k=3, min_score=0.0)
    assert big[0].correction.original_value == "quarterly revenue 4321"
    # The index is approximate: of vectors that are much alike it does not reach every one.
    assert nearest(mws, embedder, 10_000) > 0.99 * 5_001


def test_another_model_embeds_anew_in_the_background_and_mixes_no_spaces(
    mws: engine.Workspace, folder: Path, embedder: Words
) -> None:
    mws.corrections.import_rows(
        [{"original_value": f"old {n}", "corrected_value": f"new {n}"} for n in range(200)],
        agent_name="bot",
        field="total",
    )
    assert mws.corrections.wait_for_vectors(30)
    newer = Words("words.v2", 48)
    newer.slow = 0.05
    with opened(folder, newer) as second:
        ws = second.workspace(mws.id)
        during = ws.corrections.recall("total of old 7", Caller(agent_name="bot"), min_score=0.0)
        assert during.hits
        assert "no vector yet" in during.note
        progress = ws.corrections.embedding_progress
        assert (progress.total, progress.running) == (200, True)
        assert ws.corrections.wait_for_vectors(60)
        assert (progress.done, progress.running, progress.error) == (200, False, "")
        assert store.all_vectors(ws._snapshot()) == 200
        assert nearest(ws, newer) >= 198  # the index is approximate: one of 200 can be out of its reach
        spaces = ws._snapshot().rows("MATCH (v:CorrectionVector) RETURN DISTINCT v.space")
        assert [row[0] for row in spaces] == [f"words.v2.{PASSAGE}"]
        after = ws.corrections.recall("total of old 7", Caller(agent_name="bot"), top_k=1, min_score=0.0)
        assert (after.note, after.hits[0].correction.original_value) == ("", "old 7")


def test_a_model_that_does_not_answer_leaves_the_words(folder: Path) -> None:
    broken = Words("words.broken")
    broken.fails = True
    with opened(folder, broken) as second:
        ws = second.create_workspace("broken")
        made = fix(ws)
        recalled = ws.corrections.recall("ACME total 100", Caller(agent_name="bot"), min_score=0.0)
        assert [hit.correction.id for hit in recalled.hits] == [made.id]
        assert recalled.mode == "words"
        assert "does not answer" in recalled.note
        second.delete_workspace(ws.id)


def test_search_says_how_and_checks_what_it_is_given(ws: engine.Workspace) -> None:
    fix(ws)
    assert ws.corrections.recall("total").mode == "words"
    assert "Full-text search only" in ws.corrections.search_mode
    for bad in (
        {"query": None},
        {"query": 5},
        {"query": "x" * 100_001},
        {"top_k": 0},
        {"top_k": 101},
        {"top_k": True},
        {"min_score": -0.1},
        {"min_score": 1.1},
        {"min_score": "1"},
        {"min_score": True},
        {"min_score": math.nan},
    ):
        with pytest.raises(engine.InvalidInput):
            ws.corrections.search(**({"query": "total"} | bad))  # type: ignore[arg-type]
    hits = ws.corrections.search("ACME total 100", Caller(agent_name="bot"))
    assert all(0 <= hit.score <= 1 for hit in hits)


# --- learnings -----------------------------------------------------------------------------------------------


def test_a_learning_falls_with_the_last_of_its_support(ws: engine.Workspace, claims: Claims) -> None:
    a, b, c = claims("Fact a is so.", "Fact b is so.", "Fact c is so.")
    decision = ws.decide("Go", [a])
    by_claim = ws.learnings.add("It follows.", [[a, b]], agent_name="bot", author_kind="model")
    by_decision = ws.learnings.add("Go is right.", [decision.id], agent_name="bot", author_kind="model")
    either = ws.learnings.add("Either will do.", [a, c], agent_name="bot", author_kind="model")
    human = ws.learnings.add("I think so.", [a], author="Ana")
    verified = ws.learnings.verify(ws.learnings.add("Checked.", [a], agent_name="bot", author_kind="model").id, "Ana")
    loose = ws.learnings.add("Rests on nothing.", agent_name="bot", author_kind="model")
    assert (human.verified, by_claim.verified, verified.verified) == (True, False, True)
    preview = ws.preview(a, "Fact z is so.")
    applied = ws.apply(preview, "Ana")
    gone = ws.learnings.invalidated()
    assert set(gone.id) == {by_claim.id, by_decision.id}
    fallen = ws.learnings.get(by_claim.id)
    assert (fallen.status, fallen.invalidated_by) == ("invalidated", applied.correction.id)
    assert fallen.why.endswith(".")
    assert "Fact a is so." in fallen.why
    for k in (either, human, verified, loose):
        assert ws.learnings.get(k.id).status == "active"
    assert ws.at(applied.revision - 1).learnings.get(by_claim.id).status == "active"
    with pytest.raises(engine.NotAllowed, match="invalidated"):
        ws.learnings.verify(by_claim.id)
    second = ws.apply(ws.preview(c, None))
    assert ws.learnings.get(either.id).invalidated_by == second.correction.id
    ws.undo(second.correction.id)
    assert ws.learnings.get(either.id).status == "active"
    ws.undo(applied.correction.id)
    assert set(ws.learnings.list("active").id) == {
        k.id for k in (by_claim, by_decision, either, human, verified, loose)
    }
    assert ws.learnings.get(by_claim.id).invalidated_by is None


def learn(ws: engine.Workspace, text: str, **more: Any) -> str:
    given: dict[str, Any] = {"agent_name": "bot", "author_kind": "model"}
    return ws.learnings.add(text, **(given | more)).id


def test_a_learning_that_says_the_old_value_about_the_same_thing_falls(mws: engine.Workspace) -> None:
    same = learn(mws, "The ACME total is 100")
    other_value = learn(mws, "The ACME total is 1000")
    other_thing = learn(
        mws, "It takes roughly 100 minutes by slow train from Oslo to Lillehammer in winter, people say"
    )
    human = mws.learnings.add("The ACME total is 100", author="Ana").id
    verified = mws.learnings.verify(learn(mws, "ACME total: 100"), "Ana").id
    tenant = learn(mws, "ACME total 100", tenant_id="t", scope="tenant")
    preview = mws.corrections.preview("bot", "100", "120", field="total", entity_key="ACME")
    assert [(i.learning_id, i.how) for i in preview.invalidates] == [(same, "contradicts")]
    assert preview.same_as is None
    revision = mws.revision
    assert (
        mws.corrections.preview(
            "bot", "100", "120", field="total", entity_key="ACME", invalidate_contradicted=False
        ).invalidates
        == []
    )
    assert mws.revision == revision, "a preview changes nothing"
    made = fix(mws)
    assert set(mws.learnings.invalidated().id) == {same}
    assert mws.learnings.get(same).invalidated_by == made.id
    assert "100" in mws.learnings.get(same).why
    for name in (other_value, other_thing, human, verified, tenant):
        assert mws.learnings.get(name).status == "active", name
    mws.corrections.revert(made.id)
    assert mws.learnings.get(same).status == "active"
    kept = fix(mws, invalidate_contradicted=False)
    assert mws.learnings.get(same).status == "active"
    mws.corrections.revert(kept.id)
    fix(mws, tenant_id="t")
    assert set(mws.learnings.invalidated().id) == {tenant}, "a tenant's correction touches its own alone"


def test_a_models_correction_invalidates_when_it_is_approved(mws: engine.Workspace) -> None:
    same = learn(mws, "The ACME total is 100")
    waits = fix(mws, author_kind="model")
    assert mws.learnings.get(same).status == "active"
    mws.corrections.approve(waits.id, "Ana")
    assert mws.learnings.get(same).invalidated_by == waits.id
    mws.corrections.revert(waits.id)
    again = fix(mws, author_kind="model")
    mws.corrections.approve(again.id, "Ana", invalidate_contradicted=False)
    assert mws.learnings.get(same).status == "active"


def test_a_person_who_repeats_what_a_model_said_invalidates_too(mws: engine.Workspace) -> None:
    same = learn(mws, "The ACME total is 100")
    waits = fix(mws, author_kind="model")
    said = fix(mws)
    assert said.id == waits.id
    assert mws.learnings.get(same).invalidated_by == said.id


def test_an_import_invalidates_as_a_record_does(mws: engine.Workspace) -> None:
    same = learn(mws, "The ACME total is 100")
    row = {"original_value": "100", "corrected_value": "120", "field": "total", "entity_key": "ACME"}
    mws.corrections.import_rows([row], agent_name="bot", invalidate_contradicted=False)
    assert mws.learnings.get(same).status == "active"
    mws.corrections.import_rows([{**row, "corrected_value": "130"}], agent_name="bot")
    assert mws.learnings.get(same).status == "invalidated"


def test_a_claims_correction_invalidates_what_says_the_same(mws: engine.Workspace) -> None:
    claim = mws.ingest("The launch is on 12 June.", name="Plan").claims[0].id
    says = learn(mws, "The launch is on 12 June, I read")
    applied = mws.apply(mws.preview(claim, "The launch is on 3 July."), "Ana")
    assert mws.learnings.get(says).invalidated_by == applied.correction.id
    mws.undo(applied.correction.id)
    assert mws.learnings.get(says).status == "active"
    mws.apply(mws.preview(claim, "The launch is on 3 July.", invalidate_contradicted=False), "Ana")
    assert mws.learnings.get(says).status == "active"


def test_what_a_preview_shows_is_what_happens(ws: engine.Workspace) -> None:
    old = fix(ws)
    arguments: dict[str, Any] = {"agent_name": "bot", "original_value": "100", "field": "total", "entity_key": "ACME"}
    repeat = ws.corrections.preview(corrected_value="120", **arguments)
    assert (repeat.same_as, repeat.supersedes) == (old.id, [])
    newer = ws.corrections.preview(corrected_value="130", **arguments)
    assert (newer.same_as, [k.id for k in newer.supersedes]) == (None, [old.id])
    assert ws.revision == 1
    with pytest.raises(engine.InvalidInput):
        ws.corrections.preview("bot", "1", "1")
    fix(ws, new="130")
    assert ws.corrections.get(old.id).status == "superseded"


def test_a_models_preview_supersedes_nothing_yet(ws: engine.Workspace) -> None:
    fix(ws)
    shown = ws.corrections.preview("bot", "100", "130", field="total", entity_key="ACME", author_kind="model")
    assert (shown.supersedes, shown.invalidates) == ([], []), "what a model records waits"


def test_a_preview_shows_that_it_would_approve_what_waits(mws: engine.Workspace) -> None:
    same = learn(mws, "The ACME total is 100")
    stands = fix(mws, new="130", invalidate_contradicted=False)
    waits = fix(mws, author_kind="model")
    shown = mws.corrections.preview("bot", "100", "120", field="total", entity_key="ACME")
    assert shown.same_as == waits.id
    assert [k.id for k in shown.supersedes] == [stands.id]
    assert [i.learning_id for i in shown.invalidates] == [same]


def test_a_preview_checks_what_a_record_does(ws: engine.Workspace) -> None:
    with pytest.raises(engine.InvalidInput):
        ws.corrections.preview("bot", "a", "b", author_kind="robot")


def test_learnings_are_checked_and_kept_once(ws: engine.Workspace, claims: Claims) -> None:
    (a,) = claims("Fact a is so.")
    one = ws.learnings.add("It follows.", [a], agent_name="bot", author_kind="model", tenant_id="t")
    assert ws.learnings.add("It  follows.", [[a]], agent_name="bot", author_kind="model", tenant_id="t").id == one.id
    assert ws.learnings.add("It follows.", [a], agent_name="bot", author_kind="model").id != one.id
    assert one.because == [[a]]
    for bad in (
        {"text": ""},
        {"text": "\0"},
        {"text": "x" * 1_000_000},
        {"text": 5},
        {"scope": "x"},
        {"scope": "user"},
        {"scope": "tenant"},
        {"author_kind": "robot"},
        {"author": "x" * 1_000_000},
        {"because": "c_1"},
        {"because": [5]},
    ):
        with pytest.raises(engine.InvalidInput):
            ws.learnings.add(**({"text": "x y z"} | bad))  # type: ignore[arg-type]
    with pytest.raises(engine.UnknownNode):
        ws.learnings.add("x", ["c_0123456789abcdef"])
    with pytest.raises(engine.UnknownNode):
        ws.learnings.get(one.id, Caller(tenant_id="t2"))
    with pytest.raises(engine.UnknownNode):
        ws.learnings.verify("l_0123456789abcdef")
    assert ws.learnings.get(one.id, Caller(tenant_id="t")) == one
    assert len(ws.learnings.list(caller=Caller(tenant_id="t2"))) == 1
    assert len(ws.learnings.list(caller=Caller(tenant_id="t"))) == 2
    assert len(ws.learnings.list(tenant_id="t", agent_name="bot")) == 1
    with pytest.raises(engine.InvalidInput):
        ws.learnings.list("nonsense")
    ws.apply(ws.preview(a, None))
    with pytest.raises(engine.NotAllowed):
        ws.learnings.add("Later.", [a])


@given(HOSTILE, HOSTILE)
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_hostile_learnings_and_values(meaning: engine.Workbench, text: str, old: str) -> None:
    ws = meaning.create_workspace("hostile")
    try:
        try:
            kept = ws.learnings.add(text, agent_name="bot", author_kind="model")
            assert kept.text == text.strip()
        except engine.InvalidInput:
            assert not text.strip() or "\0" in text or len(text) > 10_000
        try:
            fix(ws, old, "something else entirely")
        except engine.InvalidInput:
            assert "\0" in old or len(old) > 99_998
    finally:
        meaning.delete_workspace(ws.id)


# --- telling others, and counting ----------------------------------------------------------------------------


def until(true: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert true()


def test_events_of_every_kind_in_order(mws: engine.Workspace) -> None:
    heard: list[engine.Notice] = []
    end = mws.subscribe(heard.append)
    only: list[engine.Notice] = []
    end_only = mws.subscribe(only.append, "memory.learning.invalidated")
    same = learn(mws, "The ACME total is 100")
    first = fix(mws)
    fix(mws)
    waits = fix(mws, new="130", author_kind="model")
    mws.corrections.approve(waits.id)
    recorded, applied = "memory.correction.recorded", "memory.correction.applied"
    until(lambda: len(heard) >= 6)
    assert [(n.kind, n.ids) for n in heard] == [
        (recorded, [first.id]),
        (applied, [first.id]),
        ("memory.learning.invalidated", [same]),
        (recorded, [first.id]),
        (recorded, [waits.id]),
        (applied, [waits.id]),
    ]
    assert [n.revision for n in heard] == [2, 2, 2, 3, 4, 5]
    assert {n.workspace_id for n in heard} == {mws.id}
    assert (heard[0].detail["created"], heard[3].detail["created"], heard[3].detail["seen_again"]) == (1, 0, 1)
    assert [n.kind for n in only] == ["memory.learning.invalidated"]
    end()
    end_only()
    end()
    fix(mws, new="140")
    time.sleep(0.1)
    assert len(heard) == 6


def test_a_claims_correction_is_announced(ws: engine.Workspace, claims: Claims) -> None:
    (one,) = claims("The date is June.")
    ws.decide("Book", [one])
    heard: list[engine.Notice] = []
    end = ws.subscribe(heard.append)
    applied = ws.apply(ws.preview(one, "The date is July."), "Ana")
    until(lambda: len(heard) >= 2)
    assert [(n.kind, n.ids) for n in heard] == [
        ("memory.correction.recorded", [applied.correction.id]),
        ("memory.correction.applied", [applied.correction.id]),
    ]
    assert heard[1].detail["impact"]
    end()


def test_no_subscriber_can_break_or_slow_a_write(folder: Path) -> None:
    with opened(folder, "none") as workbench:
        ws = workbench.create_workspace("subscribers")
        heard: list[int] = []
        free = threading.Event()

        def raises(_: engine.Notice) -> None:
            raise RuntimeError("a subscriber of others")

        def hangs(_: engine.Notice) -> None:
            free.wait(20)

        ws.subscribe(raises)
        ws.subscribe(lambda notice: heard.append(notice.revision))
        fix(ws)
        until(lambda: heard == [1, 1])
        ws.subscribe(hangs)
        start = time.monotonic()
        for n in range(20):
            fix(ws, new=str(n))
        assert time.monotonic() - start < 10
        assert ws.revision == 21
        free.set()
        until(lambda: len(heard) == 42)
        assert heard == sorted(heard)
        workbench.delete_workspace(ws.id)


def test_metrics_count_what_happened(folder: Path) -> None:
    with opened(folder, Words(), contradiction_threshold=0.4) as workbench:
        ws = workbench.create_workspace("metrics")
        learn(ws, "The ACME total is 100")
        fix(ws)
        fix(ws)
        fix(ws, new="1", author_kind="model")
        ws.corrections.import_rows(
            [{"original_value": n, "corrected_value": "x"} for n in range(5)], agent_name="im\nport"
        )
        for _ in range(4):
            ws.corrections.record_run("bot")
        ws.corrections.search("total")
        text = workbench.metrics.to_prometheus()
        for line in (
            'corrections_total{agent="bot",author_kind="human"} 1.0',
            'corrections_total{agent="bot",author_kind="model"} 1.0',
            'corrections_total{agent="im port",author_kind="human"} 5.0',
            'agent_runs_total{agent="bot"} 4.0',
            "learnings_invalidated_total 1.0",
            'correction_rate{agent="bot"} 0.5',
            'operation_seconds_count{operation="record_correction"} 3.0',
            'operation_seconds_count{operation="search_corrections"} 1.0',
        ):
            assert line in text.splitlines(), line
        for n in range(300):
            workbench.metrics.corrected(f"agent {n}", "human")
        assert len(workbench.metrics.to_prometheus().splitlines()) < 1_500
        workbench.delete_workspace(ws.id)


# --- measuring -----------------------------------------------------------------------------------------------


def test_stats_add_up_and_answer_as_of_then(ws: engine.Workspace) -> None:
    empty = ws.corrections.stats()
    assert (empty.total, empty.runs, empty.first_pass_accuracy, empty.accuracy_interval) == (0, 0, None, None)
    assert empty.recurrence_rate is None
    for n in range(4):
        ws.corrections.record_run("bot", input=f"i{n}", output="o", run_id=f"r{n}")
    fix(ws, run_id="r0", reviewer="Ana")
    fix(ws, "a", "b", run_id="r0", field="net", reviewer="Ana")
    at = ws.revision
    third = fix(ws, "c", "d", run_id="r1", field="net", entity_key="Other", agent_name="bot", reviewer="Bo")
    fix(ws, "c", "d", run_id="new run", field="net", entity_key="Other", reviewer="Bo")
    fix(ws, "e", "f", agent_name="bot 2", entity_key=None, field=None)
    stats = ws.corrections.stats()
    assert stats.total == 4
    assert stats.by_entity_key == {"ACME": 2, "Other": 1}
    assert stats.by_field == {"net": 2, "total": 1}
    assert stats.by_agent == {"bot": 3, "bot 2": 1}
    assert stats.by_author_kind == {"human": 4}
    assert {"Ana": 2, "Bo": 1}.items() <= stats.by_author.items()
    assert stats.by_status == {"active": 4}
    assert sum(stats.by_day.values()) == 4
    assert (stats.runs, stats.corrected_runs, stats.first_pass_accuracy) == (5, 3, pytest.approx(0.4))
    assert stats.accuracy_interval is not None
    low, high = stats.accuracy_interval
    assert 0 <= low < 0.4 < high <= 1
    assert (stats.recurred, stats.recurrence_rate) == (1, 0.25)
    past = ws.at(at).corrections.stats()
    assert (past.total, past.by_field, past.runs, past.corrected_runs) == (2, {"total": 1, "net": 1}, 4, 1)
    assert past.recurred == 0
    assert ws.corrections.stats(agent_name="bot 2").total == 1
    assert ws.corrections.stats(entity_key="Other", field="net").total == 1
    assert ws.corrections.stats(entity_key="nobody").total == 0
    soon, long_ago = datetime.now(UTC) + timedelta(hours=1), datetime(2020, 1, 1, tzinfo=UTC)
    assert ws.corrections.stats(since=soon).total == ws.corrections.stats(until=long_ago).total == 0
    assert ws.corrections.stats(since=long_ago, until=soon).total == 4
    ws.corrections.revert(third.id)
    after = ws.corrections.stats()
    assert (after.total, after.corrected_runs, after.recurred) == (3, 1, 0)
    assert after.by_status == {"active": 3, "reverted": 1}
    days = ws.corrections.accuracy()
    assert list(days.columns) == ["day", "runs", "corrected_runs", "first_pass_accuracy", "low", "high"]
    assert int(days.runs.sum()) == 5
    for _, row in days.iterrows():
        assert 0 <= row.low <= row.first_pass_accuracy <= row.high <= 1
    with pytest.raises(engine.InvalidInput):
        ws.corrections.stats(since="yesterday")  # type: ignore[arg-type]


@given(st.integers(0, 50), st.integers(1, 50))
def test_an_interval_of_a_share_is_one(right: int, more: int) -> None:
    from engine.measures import wilson

    interval = wilson(right, right + more)
    assert interval is not None
    assert 0 <= interval[0] <= right / (right + more) <= interval[1] <= 1
    assert wilson(0, 0) is None


def test_whether_runs_kept_to_what_they_were_shown(ws: engine.Workspace) -> None:
    one, blank = fix(ws), fix(ws, "", "x", field="other")
    assert ws.corrections.record_run("bot", "q", "The total is 120.", "good", shown=[one.id]) == "good"
    ws.corrections.record_run("bot", "q", "The total is 100.", "bad", shown=[one.id, blank.id])
    ws.corrections.record_run("bot", "q", None, "unknown", shown=[one.id])
    made = ws.corrections.record_run("bot 2", "q", {"total": "100"}, shown=[one.id])
    assert made.startswith("run-")
    rows = {(row.run_id, row.correction_id): row.heeded for row in ws.corrections.heeded().itertuples()}
    assert rows == {
        ("good", one.id): True,
        ("bad", one.id): False,
        ("bad", blank.id): None,
        ("unknown", one.id): None,
        (made, one.id): False,
    }
    assert set(ws.corrections.heeded("bot 2").run_id) == {made}
    assert len(ws.corrections.heeded(since=datetime.now(UTC) + timedelta(hours=1))) == 0
    revision = ws.revision
    ws.corrections.record_run("bot", "q", "The total is 100.", "good", shown=[one.id])
    assert ws.revision == revision, "what was reported already changes nothing"
    for bad, error in (
        ({"agent_name": ""}, engine.InvalidInput),
        ({"run_id": "r_0123456789abcdef"}, engine.InvalidInput),
        ({"output": "x" * 1_000_000}, engine.InvalidInput),
        ({"input": "\0"}, engine.InvalidInput),
        ({"run_id": "x" * 1_000}, engine.InvalidInput),
        ({"shown": ["k_0123456789abcdef"]}, engine.UnknownNode),
        ({"shown": ["nonsense"]}, engine.UnknownNode),
        ({"tenant_id": 5}, engine.InvalidInput),
        ({"run_id": 5}, engine.InvalidInput),
    ):
        with pytest.raises(error):
            ws.corrections.record_run(**({"agent_name": "bot"} | bad))  # type: ignore[arg-type]
    assert ws.revision == revision


def test_a_run_is_not_shown_another_tenants_correction(ws: engine.Workspace) -> None:
    theirs = fix(ws, tenant_id="t2")
    with pytest.raises(engine.UnknownNode):
        ws.corrections.record_run("bot", run_id="r", output="100", shown=[theirs.id], tenant_id="t1")


@pytest.mark.parametrize(
    "bad", [{"run_id": ""}, {"run_id": "  "}, {"input": 5}, {"input": ["x"]}, {"output": {1, 2}}], ids=repr
)
def test_a_run_that_says_nothing_sensible_is_refused(ws: engine.Workspace, bad: dict[str, Any]) -> None:
    with pytest.raises(engine.InvalidInput):
        ws.corrections.record_run("bot", **bad)


@pytest.mark.parametrize(("agent", "run_id"), [("bot", " r "), (" bot ", "r")])
def test_a_runs_names_are_taken_alike_by_record_and_record_run(ws: engine.Workspace, agent: str, run_id: str) -> None:
    ws.corrections.record_run(agent, run_id=run_id)
    ws.corrections.record(agent, "a", "b", run_id=run_id)
    stats = ws.corrections.stats()
    assert (stats.runs, stats.corrected_runs) == (1, 1)


def test_heeding_is_asked_of_late_runs_shown_early_corrections(ws: engine.Workspace) -> None:
    early = fix(ws)
    time.sleep(0.01)
    now = datetime.now(UTC)
    ws.corrections.record_run("bot", output="100", shown=[early.id])
    assert list(ws.corrections.heeded(since=now).correction_id) == [early.id]


def test_a_run_that_a_correction_made_known_is_filled_in_later(ws: engine.Workspace) -> None:
    made = fix(ws, run_id="r")
    ws.corrections.record_run("bot", "q", "The total is 100.", "r", shown=[made.id])
    stats = ws.corrections.stats()
    assert (stats.runs, stats.corrected_runs) == (1, 1)
    assert list(ws.corrections.heeded().heeded) == [False]


# --- lists and imports ---------------------------------------------------------------------------------------


# "²".isdigit(), but int("²") is refused.
def test_pages_are_stable_while_others_write(ws: engine.Workspace) -> None:
    made = [fix(ws, f"v{n}", "x").id for n in range(25)]
    seen: list[str] = []
    cursor = None
    for n in itertools.count():
        page = ws.corrections.page(4, cursor)
        seen += [k.id for k in page.items]
        cursor = page.next_cursor
        fix(ws, f"late {n}", "x")
        if cursor is None:
            break
    assert seen == made[::-1]
    assert ws.corrections.page(500).next_cursor is None
    for bad in (
        {"limit": 0},
        {"limit": 501},
        {"limit": True},
        {"limit": "5"},
        {"cursor": "x"},
        {"cursor": "1.k_x"},
        {"cursor": ""},
        {"cursor": "9" * 30 + ".k_0123456789abcdef"},
        {"cursor": "1.k_0123456789abcdef\n"},
        {"cursor": "²." + made[0]},
        {"status": "x"},
    ):
        with pytest.raises((engine.InvalidInput, engine.UnknownNode)):
            ws.corrections.page(**bad)  # type: ignore[arg-type]


@pytest.mark.timeout(60)
def test_pages_go_through_one_import(ws: engine.Workspace) -> None:
    ws.corrections.import_rows([{"original_value": n, "corrected_value": "x"} for n in range(100)], agent_name="bot")
    seen: list[str] = []
    cursor = None
    for _ in range(12):
        page = ws.corrections.page(9, cursor)
        seen += [k.id for k in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 100


def test_lists_filter_and_have_types_even_when_empty(ws: engine.Workspace) -> None:
    empty = ws.corrections.list()
    assert len(empty) == 0
    one = fix(ws)
    two = fix(ws, "a", "b", field="net", agent_name="bot 2", entity_key="Other")
    full = ws.corrections.list()
    assert list(full.columns) == list(empty.columns)
    assert list(full.dtypes) == list(empty.dtypes)
    assert list(full.id) == [two.id, one.id]
    assert list(ws.corrections.list(agent_name="bot 2").id) == [two.id]
    assert list(ws.corrections.list(field="total").id) == [one.id]
    assert list(ws.corrections.list("bot", "ACME", "total", one.created_at).id) == [one.id]
    assert list(ws.corrections.list(until=two.created_at).id) == [one.id]
    assert list(ws.corrections.list(limit=1).id) == [two.id]
    for bad in ({"limit": 0}, {"limit": "x"}, {"status": "x"}, {"since": 5}):
        with pytest.raises(engine.InvalidInput):
            ws.corrections.list(**bad)  # type: ignore[arg-type]
    for name in ("nonsense", "k_0123456789abcdef", "c_0123456789abcdef", None, 5):
        with pytest.raises(engine.UnknownNode):
            ws.corrections.get(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [" x", "x ", "x\n", "\x01", "é", "x" * 500, "'", "*", "@a:{b}", "0", "false"])
def test_odd_names_are_found_again(ws: engine.Workspace, name: str) -> None:
    made = fix(ws, agent_name=name, entity_key=name, field=name, tenant_id=name)
    fix(ws, agent_name="x", entity_key="x", field="x", tenant_id="x")
    if name.strip():
        assert list(ws.corrections.list(agent_name=name, entity_key=name, field=name, tenant_id=name).id) == [made.id]
        assert ws.corrections.stats(field=name).total == 1
        caller = Caller(agent_name=name, tenant_id=name)
        hits = ws.corrections.search("100 120", caller, min_score=0.0, entity_key=name)
        assert [hit.correction.id for hit in hits] == [made.id]


def test_an_import_is_one_revision_and_reports_its_rows(ws: engine.Workspace) -> None:
    rows: list[dict[str, Any]] = [
        {"old": "a", "new": "b", "what": "f"},
        {"old": "a", "new": "a"},
        {"old": "a", "new": "b", "what": "f"},
        {"old": "a", "new": "c", "what": "f"},
        {"old": "\0", "new": "x"},
        {"old": "x", "new": "y", "what": 5},
        {"old": 1, "new": None},
    ]
    mapping = {"original_value": "old", "corrected_value": "new", "field": "what"}
    report = ws.corrections.import_rows(rows, mapping, agent_name="bot", entity_key="e")
    assert (report.created, report.seen_again, report.superseded, report.revision) == (3, 1, 1, 1)
    assert [(r.row, r.field) for r in report.rejected] == [(2, "corrected_value"), (5, "original_value"), (6, "field")]
    assert ws.revision == 1
    none = ws.corrections.import_rows([{"old": 1, "new": 1}], mapping, agent_name="bot")
    assert (none.created, none.revision, ws.revision) == (0, 1, 1)
    assert ws.corrections.import_rows([], agent_name="bot").rejected == []


def test_an_import_checks_what_is_given_for_all_rows(ws: engine.Workspace) -> None:
    row = {"original_value": "a", "corrected_value": "b"}
    for bad in ({"author_kind": "robot"}, {"nonsense": 5}, {"scope": "x"}):
        with pytest.raises(engine.InvalidInput):
            report = ws.corrections.import_rows([row], agent_name="bot", **bad)
            assert report.created == 0
            raise engine.InvalidInput(report.rejected[0].reason)


@pytest.mark.parametrize("rows", [[5], ["text"], [None], [["a", "b"]]])
def test_rows_that_are_no_maps_are_reported(ws: engine.Workspace, rows: list[Any]) -> None:
    report = ws.corrections.import_rows(rows, agent_name="bot")
    assert [r.row for r in report.rejected] == [1]


def test_one_rows_used_key_does_not_refuse_all_rows(ws: engine.Workspace) -> None:
    fix(ws, "a", "b", idempotency_key="k")
    rows = [
        {"original_value": "p", "corrected_value": "q"},
        {"original_value": "x", "corrected_value": "y", "idempotency_key": "k"},
        {"original_value": "r", "corrected_value": "s", "run_id": "r_0123456789abcdef"},
    ]
    report = ws.corrections.import_rows(rows, agent_name="bot")
    assert (report.created, [r.row for r in report.rejected]) == (1, [2, 3])


def test_a_mapping_to_nothing_is_no_correction_to_nothing(ws: engine.Workspace) -> None:
    mapping = {"original_value": "old", "corrected_value": "new"}
    report = ws.corrections.import_rows([{"old": "a"}], mapping, agent_name="bot")
    assert [(r.row, r.field) for r in report.rejected] == [(1, "corrected_value")]


def test_every_record_is_one_revision_and_many_writers_lose_none(ws: engine.Workspace) -> None:
    errors: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for n in range(5):
                fix(ws, f"v{n}", "x")
                fix(ws, f"own {name} {n}", "x")
        except BaseException as error:  # noqa: BLE001 - a thread must not fail in silence
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert ws.revision == 40
    listed = ws.corrections.page(500).items
    assert len(listed) == 25
    assert sum(k.times_seen for k in listed) == 40


def test_cases_come_oldest_first_and_know_their_correction(ws: engine.Workspace) -> None:
    one = fix(ws, original_input="What is the total?")
    fix(ws, "a", "b", field="net")
    two = fix(ws, "c", "d", field="gross", original_input="And gross?", agent_name="bot 2")
    cases = ws.corrections.eval_cases()
    assert [case.correction_id for case in cases] == [one.id, two.id]
    assert cases[0] == engine.EvalCase(
        input="What is the total?",
        expected="120",
        original="100",
        field="total",
        correction_id=one.id,
        agent_name="bot",
        entity_key="ACME",
    )
    assert [case.correction_id for case in ws.corrections.eval_cases(agent_name="bot 2")] == [two.id]
    assert [case.correction_id for case in ws.corrections.eval_cases(field="total")] == [one.id]
    assert len(ws.corrections.eval_cases(limit=1)) == 1
    ws.corrections.revert(one.id)
    assert [case.correction_id for case in ws.corrections.eval_cases()] == [two.id]


def test_vectors_are_no_part_of_history(mws: engine.Workspace) -> None:
    fix(mws)
    mws.corrections.search("total", Caller(agent_name="bot"))
    assert mws.revision == 1
    assert store.vector_id("k_0123456789abcdef", "a") != store.vector_id("k_0123456789abcdef", "b")


# --- what an outside checker found ---------------------------------------------------------------------------


def test_a_correction_whose_own_replacement_fell_is_not_shown(ws: engine.Workspace, claims: Claims) -> None:
    (june,) = claims("The launch is on 12 June.")
    one = ws.apply(ws.preview(june, "The launch is on 3 July."))
    assert one.replacement is not None
    two = ws.apply(ws.preview(one.replacement.id, "The launch is on 9 August."))
    assert two.replacement is not None
    asks = Caller(agent_name="bot")
    shown = [h.correction.id for h in ws.corrections.search("When is the launch?", asks, min_score=0.0)]
    assert shown == [two.correction.id]
    assert len(ws.at(one.revision).corrections.search("When is the launch?", asks, min_score=0.0)) == 1
    gone = ws.apply(ws.preview(two.replacement.id, None))
    assert [h.correction.id for h in ws.corrections.search("the launch", asks, min_score=0.0)] == [gone.correction.id]
    assert "was found wrong, and nothing replaces it" in ws.corrections.prompt_section(
        "the launch", asks, min_score=0.0
    )
    ws.undo(two.correction.id)
    assert [h.correction.id for h in ws.corrections.search("the launch", asks, min_score=0.0)] == [one.correction.id]


def test_a_withdrawn_source_is_no_lesson(ws: engine.Workspace) -> None:
    report = ws.ingest("The hall is free all summer.", name="S")
    ws.apply(ws.preview_withdrawal(report.source_id))
    assert ws.corrections.search("S", Caller(agent_name="bot"), min_score=0.0) == []


def test_a_proposal_goes_when_its_claim_is_corrected_otherwise(ws: engine.Workspace, claims: Claims) -> None:
    (june,) = claims("The launch is on 12 June.")
    waits = ws.corrections.record("bot", "12 June", "3 July", claim_id=june, author_kind="model")
    applied = ws.apply(ws.preview(june, "The launch is on 3 July."))
    now = ws.corrections.get(waits.id)
    assert (now.status, now.superseded_by) == ("superseded", applied.correction.id)


def test_one_user_s_own_corrections_are_no_other_s(ws: engine.Workspace) -> None:
    theirs = fix(ws, scope="user", user_id="u2", tenant_id="t1", original_input="private")
    ours, theirs_too = Caller(user_id="u1", tenant_id="t1"), Caller(user_id="u2", tenant_id="t1")
    with pytest.raises(engine.UnknownNode):
        ws.corrections.get(theirs.id, caller=ours)
    assert ws.corrections.list(caller=ours).empty
    assert ws.corrections.page(caller=ours).items == []
    assert ws.corrections.stats(caller=ours).total == 0
    assert ws.corrections.eval_cases(caller=ours) == []
    with pytest.raises(engine.UnknownNode):
        ws.corrections.revert(theirs.id, caller=ours)
    assert ws.corrections.get(theirs.id, caller=theirs_too).id == theirs.id
    assert len(ws.corrections.eval_cases(caller=Caller(tenant_id="t1"))) == 1


@pytest.mark.parametrize("wrong", [5, ["a"], {}, b"a"])
def test_filters_of_the_wrong_type_are_told_so(ws: engine.Workspace, wrong: Any) -> None:
    for name in ("agent_name", "entity_key", "field", "tenant_id", "caller"):
        with pytest.raises(engine.InvalidInput, match=name):
            ws.corrections.list(**{name: wrong})
    with pytest.raises(engine.InvalidInput):
        ws.corrections.search("x", entity_key=wrong)
    with pytest.raises(engine.InvalidInput):
        ws.corrections.search("x", wrong)


@pytest.mark.parametrize(("old", "new"), [("1,200", "1200"), ("a b", "a  b"), ("A\nB", "A B"), ("é", "e\u0301")])
def test_an_output_that_repeats_the_old_layout_has_not_heeded(ws: engine.Workspace, old: str, new: str) -> None:
    from engine.evals import run_cases

    k = fix(ws, old, new, original_input=old)
    assert run_cases(ws.corrections.eval_cases(), lambda text: text).passed == 0
    assert run_cases(ws.corrections.eval_cases(), lambda text: new).passed == 1
    ws.corrections.record_run("bot", output=f"it is {old}", shown=[k.id])
    assert ws.corrections.heeded().heeded.tolist() == [False]
