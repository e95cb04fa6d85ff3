"""The rules that keep FalkorDB from corrupting data; each test fails when its rule is dropped."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import os
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import redis

from engine.errors import DatabaseUnavailable, InvalidInput
from engine.store import database as module
from engine.store import embedded, schema
from engine.store.database import Database, GraphMissing, QueryFailed, QueryTimeout, WriteUncertain
from engine.store.guards import EFFECTS_THRESHOLD, graph_name

APPLY = """
MATCH (w:Workspace {id:$ws}) WHERE w.revision=$r SET w.revision=$r+1 WITH w
CALL { WITH w UNWIND $nodes AS x CREATE (n:Claim) SET n = x RETURN count(n) AS c1 }
CALL { WITH w UNWIND $edges AS x MATCH (a:Claim {id:x.a}) MATCH (b:SourceFragment {id:x.b})
       CREATE (a)-[r:EVIDENCE]->(b) SET r = x.p RETURN count(r) AS c2 }
CALL { WITH w UNWIND $sets AS x MATCH (n:Claim {id:x.id}) SET n += x.set RETURN count(n) AS c3 }
WITH w,c1,c2,c3,
     1/(CASE WHEN c1=size($nodes) AND c2=size($edges) AND c3=size($sets) THEN 1 ELSE 0 END) AS ok
RETURN w.revision, c1, c2, c3
"""


def everything(database: Database, graph: str) -> tuple[list[str], list[str]]:
    nodes = database.read(graph, "MATCH (n) RETURN labels(n), properties(n)")
    edges = database.read(graph, "MATCH (a)-[r]->(b) RETURN a.id, type(r), properties(r), b.id")
    return (
        sorted(repr([labels, sorted(properties.items())]) for labels, properties in nodes),
        sorted(repr([a, kind, sorted(properties.items()), b]) for a, kind, properties, b in edges),
    )


# Names are registered before anything else


def poisoned(database: Database, graph: str) -> dict[str, Any]:
    """Four writes: the second fails, and is repeated after another one has introduced names."""
    create = "MATCH (d:Decision {id:'d'}) WITH d, 1/$z AS ok CREATE (:Event {n:1, at:2})"
    database.write(graph, "CREATE (:Decision {id:'d'})")
    with pytest.raises(QueryFailed):
        database.write(graph, create, {"z": 0})
    database.write(graph, "MATCH (d:Decision {id:'d'}) SET d.title='x', d.state='y'")
    database.write(graph, create, {"z": 1})
    ((properties,),) = database.read(graph, "MATCH (e:Event) RETURN properties(e)")
    assert isinstance(properties, dict)
    return properties


def test_with_registered_names_a_failed_write_poisons_nothing(shared_database: Database, graph: str) -> None:
    assert poisoned(shared_database, graph) == {"n": 1, "at": 2}


def test_without_registered_names_it_does(shared_database: Database, bare_graph: str) -> None:
    """That the rule is what helps. A FalkorDB in which this fails has been repaired."""
    shared_database._command("GRAPH.QUERY", bare_graph, "RETURN 1")
    assert poisoned(shared_database, bare_graph) == {"title": 1, "state": 2}


def test_a_new_graph_has_every_name_and_no_node(shared_database: Database, graph: str) -> None:
    def names(procedure: str) -> set[str]:
        return {row[0] for row in shared_database.read(graph, f"CALL db.{procedure}()")}

    assert names("labels") == set(schema.LABELS)
    assert names("relationshipTypes") == set(schema.RELATIONS)
    assert names("propertyKeys") == set(schema.KEYS)
    assert everything(shared_database, graph) == ([], [])


def test_registered_names_survive_a_rewrite_of_the_log_and_a_kill(folder: Path) -> None:
    graph = graph_name(str(uuid.uuid4()))
    with Database.embedded(folder) as database:
        database.create_graph(graph)
        database._command("BGREWRITEAOF")
        while "aof_rewrite_in_progress:1" in database._command("INFO", "persistence"):
            time.sleep(0.02)
        kill_server(folder)
        assert database._registered(graph)
        assert poisoned(database, graph) == {"n": 1, "at": 2}


@pytest.mark.parametrize("stopped_after", [0, 1, 2, 9])
def test_the_making_of_a_graph_can_be_taken_up_again(
    shared_database: Database, bare_graph: str, monkeypatch: pytest.MonkeyPatch, stopped_after: int
) -> None:
    real, left = Database._query, [stopped_after]

    def query(self: Database, *args: Any, writing: bool) -> list[list[Any]]:
        if writing and left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= writing
        return real(self, *args, writing=writing)

    with monkeypatch.context() as patch:
        patch.setattr(Database, "_query", query)
        with pytest.raises(KeyboardInterrupt):
            shared_database.create_graph(bare_graph)
    shared_database.create_graph(bare_graph)
    shared_database.create_graph(bare_graph)
    assert shared_database._registered(bare_graph)
    wanted = {
        (label, key) for indexed in (schema.INDEXED, schema.FULLTEXT) for label in indexed for key in indexed[label]
    }
    assert shared_database._indexes(bare_graph).keys() == wanted


# Indexes


def test_look_ups_by_an_indexed_property_use_the_index(shared_database: Database, graph: str) -> None:
    for label, keys in schema.INDEXED.items():
        for key in keys:
            plan = shared_database._command(
                "GRAPH.EXPLAIN", graph, f'CYPHER x="1" MATCH (n:{label} {{{key}:$x}}) RETURN n.id'
            )
            assert any("Node By Index Scan" in line for line in plan), (label, key)


def test_the_full_text_index_finds_even_stop_words(shared_database: Database, graph: str) -> None:
    shared_database.write(graph, "CREATE (:Claim {id:'c', terms:$t})", {"t": "the running is"})
    query = "CALL db.idx.fulltext.queryNodes('Claim', $q) YIELD node, score RETURN node.id"
    for word in ("the", "is", "running"):
        assert shared_database.read(graph, query, {"q": word}) == [["c"]]


# Graphs


def test_a_read_never_makes_a_graph(shared_database: Database, bare_graph: str) -> None:
    with pytest.raises(GraphMissing):
        shared_database.read(bare_graph, "RETURN 1")
    assert bare_graph not in shared_database.graphs()


def test_a_read_cannot_change_anything(shared_database: Database, graph: str) -> None:
    with pytest.raises(QueryFailed):
        shared_database.read(graph, "CREATE (:Claim {id:'c'})")
    assert everything(shared_database, graph) == ([], [])


def test_a_write_never_makes_a_graph(shared_database: Database, bare_graph: str) -> None:
    with pytest.raises(GraphMissing):
        shared_database.write(bare_graph, "CREATE (:Claim {id:'c'})")
    assert bare_graph not in shared_database.graphs()
    assert issubclass(GraphMissing, LookupError)


def test_a_deleted_graph_is_gone(shared_database: Database, graph: str) -> None:
    assert graph in shared_database.graphs()
    shared_database.delete_graph(graph)
    assert graph not in shared_database.graphs()
    with pytest.raises(GraphMissing):
        shared_database.delete_graph(graph)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "workspace:",
        "workspace:" + "g" * 36,
        "workspace:" + "0" * 35,
        "workspace:" + "0" * 36 + "\n",
        "workspace:" + "0" * 36 + "\x00",
        " workspace:" + "0" * 36,
    ],
)
def test_other_names_are_refused(shared_database: Database, name: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: shared_database.read(name, "RETURN 1"),
        lambda: shared_database.write(name, "CREATE (:Claim)"),
        lambda: shared_database.create_graph(name),
        lambda: shared_database.delete_graph(name),
        lambda: graph_name(name.removeprefix("workspace:")),
    ]
    for call in calls[: 4 if name.startswith(" ") else 5]:
        with pytest.raises(ValueError, match="not the name of a workspace graph"):
            call()


def test_only_workspace_graphs_are_listed(shared_database: Database, graph: str) -> None:
    shared_database._command("GRAPH.QUERY", "other", "RETURN 1")
    assert "other" not in shared_database.graphs()
    shared_database._command("GRAPH.DELETE", "other")


# Texts


@pytest.mark.parametrize(
    "call",
    [
        "timestamp()",
        "TIMESTAMP ()",
        "rand()",
        "randomUUID()",
        "date()",
        "date('2024-01-01')",
        "`rand`()",
        "localdatetime('2024-01-01T00:00:00')",
        "localtime()",
        "duration('P1D')",
    ],
)
def test_a_write_whose_replay_would_differ_is_refused(shared_database: Database, graph: str, call: str) -> None:
    with pytest.raises(InvalidInput, match="replay"):
        shared_database.write(graph, f"CREATE (:Event {{id:'e', at:{call}}})")
    assert everything(shared_database, graph) == ([], [])


def test_a_write_may_use_properties_with_such_names(shared_database: Database, graph: str) -> None:
    shared_database.write(graph, "CREATE (n:Claim {id:'c'}) SET n.at = n.id")
    shared_database.write(graph, "MATCH (n:Claim) WITH n ORDER BY n.id LIMIT 1 SET n.state = 'date'")


def test_a_write_with_limit_but_no_order_is_refused(shared_database: Database, graph: str) -> None:
    with pytest.raises(InvalidInput, match="ORDER BY"):
        shared_database.write(graph, "MATCH (n:Claim) WITH n LIMIT 1 SET n.state = 'x'")


@pytest.mark.parametrize(
    "pattern",
    [
        "-[:RESTS_ON*1..3]->",
        "-[*]->",
        "<-[r:RESTS_ON|EVIDENCE *2]-",
        "- [ * ] -",
        "-[:`RESTS_ON`*..4 {j:1}]->",
    ],
)
def test_paths_of_variable_length_are_refused(shared_database: Database, graph: str, pattern: str) -> None:
    text = f"MATCH (a:Claim {{id:'a'}}){pattern}(b) RETURN b.id"
    for call in (shared_database.read, shared_database.write):
        with pytest.raises(InvalidInput, match="variable length"):
            call(graph, text)


def test_multiplication_is_not_taken_for_a_path(shared_database: Database, graph: str) -> None:
    text = "MATCH (a:Claim)-[r:RESTS_ON]->(b) RETURN [x IN [1, 2] | x * 2], 2 * 3, count(*)"
    assert shared_database.read(graph, text) == []
    assert shared_database.read(graph, "RETURN [x IN [1, 2] | x * 2], 2 * 3") == [[[2, 4], 6]]


# Parameters


class Evil:
    def __str__(self) -> str:
        return "1 MATCH (n) SET n.state='pwned' RETURN n //"


class EvilText(str):
    __slots__ = ()

    def replace(self, *_: object) -> str:  # type: ignore[override]
        return 'x" MATCH (n) DETACH DELETE n //'


class EvilInteger(int):
    def __str__(self) -> str:
        return str(Evil())


class Colour(str, enum.Enum):  # noqa: UP042 - the older form is the one that prints its class
    RED = "red"


BAD = [
    Evil(),
    EvilText("x"),
    EvilInteger(1),
    Colour.RED,
    2**63,
    -(2**63) - 1,
    math.nan,
    math.inf,
    -math.inf,
    "a\0b",
    "\ud800",
    "x\udfffy",
    b"bytes",
    {1, 2},
    numpy.int64(1),
    numpy.float64(1.0),
    numpy.array([1]),
    decimal.Decimal("1.1"),
    datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    datetime.date(2024, 1, 1),
    uuid.UUID(int=0),
    {"a b": 1},
    {"": 1},
    {"a`": 1},
    {1: 1},
    {EvilText("a"): 1},
]


@pytest.mark.parametrize("value", BAD, ids=lambda value: type(value).__name__)
def test_what_cannot_be_sent_unchanged_is_refused_at_any_depth(
    shared_database: Database, graph: str, value: object
) -> None:
    shared_database.write(graph, "CREATE (:Claim {id:'c', state:'fine'})")
    before = everything(shared_database, graph)
    for params in ({"v": value}, {"v": [value]}, {"v": {"k": [{"j": (value,)}]}}):
        for call in (shared_database.read, shared_database.write):
            with pytest.raises(InvalidInput, match="v"):
                call(graph, "RETURN $v", params)
    assert everything(shared_database, graph) == before


def test_the_message_names_the_place(shared_database: Database, graph: str) -> None:
    with pytest.raises(InvalidInput, match=r"parameter rows\[1\]\.text holds a NUL"):
        shared_database.read(graph, "RETURN $rows", {"rows": [{"text": "a"}, {"text": "\0"}]})


def test_nesting_is_bounded(shared_database: Database, graph: str) -> None:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(InvalidInput, match="nested deeper"):
        shared_database.read(graph, "RETURN $v", {"v": value})


@pytest.mark.parametrize("name", ["", "a b", "a`=1 MATCH (n) DETACH DELETE n //", "é", "1a"])
def test_odd_names_of_parameters_are_refused(shared_database: Database, graph: str, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a name"):
        shared_database.read(graph, "RETURN 1", {name: 1})


HOSTILE = [
    "",
    " a ",
    '"',
    "'",
    "\\",
    '\\"',
    "\\\\'\"`",
    "`",
    "a\nb\r\nc\td",
    "😀👩‍👩‍👧 e\u0301",
    "\u202eעברית العربية\u200f",
    "line\u2028sep\u2029",
    "\x01\x1b\x7f",
    '" }) DETACH DELETE n //',
    "$x {{}} %s \\u0041 \\0",
    "CYPHER a=1 RETURN 2",
    "'; FLUSHALL; --",
    "\ufeff\uffff\U0010ffff",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_come_back_as_they_went(shared_database: Database, graph: str, text: str) -> None:
    assert shared_database.read(graph, "RETURN $v, $m.k, $l", {"v": text, "m": {"k": text}, "l": [text]}) == [
        [text, text, [text]]
    ]
    shared_database.write(graph, "CREATE (n:Claim {id:'c'}) SET n.text = $v", {"v": text})
    assert shared_database.read(graph, "MATCH (n:Claim) RETURN n.text") == [[text]]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        0.5,
        -1e-300,
        1e16,
        [],
        {},
        [[1], ["a"]],
        {"end": 1, "match": [{"k": None}]},
    ],
)
def test_other_values_come_back_as_they_went(shared_database: Database, graph: str, value: object) -> None:
    ((found,),) = shared_database.read(graph, "RETURN $v", {"v": value})
    assert found == value
    assert type(found) is type(value)


def test_a_parameter_of_many_megabytes_works(shared_database: Database, graph: str) -> None:
    text = 'word \\ " ü ' * 1_000_000
    assert shared_database.read(graph, "RETURN size($v)", {"v": text}) == [[len(text)]]


def test_more_than_the_protocol_carries_is_refused(
    shared_database: Database, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_QUERY", 1000)
    with pytest.raises(InvalidInput, match="at once"):
        shared_database.write(graph, "CREATE (n:Claim) SET n.text = $v", {"v": "x" * 1001})


# Results


@pytest.mark.parametrize("what", ["n", "[n]", "{a: n}", "r", "collect(r)"])
def test_whole_nodes_and_edges_are_refused_as_results(shared_database: Database, graph: str, what: str) -> None:
    shared_database.write(graph, "CREATE (n:Claim {id:'a'})-[:RESTS_ON]->(:Claim {id:'b'})")
    with pytest.raises(TypeError, match="scalars, lists and maps"):
        shared_database.read(graph, f"MATCH (n:Claim)-[r:RESTS_ON]->() RETURN {what}")


def test_floats_are_stored_exactly_but_answered_with_15_digits(shared_database: Database, graph: str) -> None:
    value = 0.1 + 0.2
    shared_database.write(graph, "CREATE (:Claim {id:'c', confidence:$v})", {"v": value})
    query = "MATCH (n:Claim) RETURN n.confidence = $v, n.confidence"
    assert shared_database.read(graph, query, {"v": value}) == [[True, 0.3]]


# The shape in which every change is applied


@pytest.fixture
def workspace(shared_database: Database, graph: str) -> str:
    start(shared_database, graph)
    return graph


def start(database: Database, graph: str) -> None:
    database.write(
        graph,
        "CREATE (:Workspace {id:'w', revision:1}) "
        "CREATE (:SourceFragment {id:'f1'}) CREATE (:SourceFragment {id:'f2'})",
    )


def change(**other: object) -> dict[str, object]:
    return {
        "ws": "w",
        "r": 1,
        "nodes": [{"id": "c1", "statement": "s", "starts": [1, 2], "terms": []}, {"id": "c2", "state": "on"}],
        "edges": [
            {"a": "c1", "b": "f1", "p": {"quote": "q", "starts": [0]}},
            {"a": "c2", "b": "f2", "p": {}},
        ],
        "sets": [
            {"id": "c1", "set": {"past_state": ["on"], "past_since": [1], "statement": None}},
            {"id": "c2", "set": {"state": "off", "ends": []}},
        ],
    } | other


def test_later_blocks_of_a_change_see_what_earlier_ones_made(shared_database: Database, workspace: str) -> None:
    assert shared_database.write(workspace, APPLY, change()) == [[2, 2, 2, 2]]
    found = shared_database.read(workspace, "MATCH (n:Claim) RETURN properties(n) ORDER BY n.id")
    assert found == [
        [{"id": "c1", "starts": [1, 2], "terms": [], "past_state": ["on"], "past_since": [1]}],
        [{"id": "c2", "state": "off", "ends": []}],
    ]
    edges = "MATCH (a)-[r:EVIDENCE]->(b) RETURN a.id, b.id, properties(r) ORDER BY a.id"
    assert shared_database.read(workspace, edges) == [
        ["c1", "f1", {"quote": "q", "starts": [0]}],
        ["c2", "f2", {}],
    ]


def test_empty_lists_do_not_lose_the_row(shared_database: Database, workspace: str) -> None:
    assert shared_database.write(workspace, APPLY, change(nodes=[], edges=[], sets=[])) == [[2, 0, 0, 0]]


def test_a_change_at_the_wrong_revision_does_nothing(shared_database: Database, workspace: str) -> None:
    before = everything(shared_database, workspace)
    assert shared_database.write(workspace, APPLY, change(r=7)) == []
    assert everything(shared_database, workspace) == before


@pytest.mark.parametrize(
    "wrong",
    [{"edges": [{"a": "c1", "b": "nowhere", "p": {}}]}, {"sets": [{"id": "nobody", "set": {"n": 1}}]}],
)
def test_a_failed_assertion_takes_everything_back(
    shared_database: Database, workspace: str, wrong: dict[str, object]
) -> None:
    before = everything(shared_database, workspace)
    with pytest.raises(QueryFailed) as caught:
        shared_database.write(workspace, APPLY, change(**wrong))
    assert caught.value.assertion
    assert everything(shared_database, workspace) == before
    assert shared_database.read(workspace, "MATCH (n:Claim {id:'c1'}) RETURN n.id") == []


def test_changes_and_failed_changes_are_the_same_after_a_kill(folder: Path) -> None:
    graph = graph_name(str(uuid.uuid4()))
    with Database.embedded(folder) as database:
        database.create_graph(graph)
        start(database, graph)
        with pytest.raises(QueryFailed):
            database.write(graph, APPLY, change(sets=[{"id": "nobody", "set": {"n": 1}}]))
        database.write(graph, APPLY, change())
        with pytest.raises(QueryFailed):
            database.write(graph, APPLY, change(r=2, edges=[{"a": "c1", "b": "nowhere", "p": {}}]))
        database.write(graph, "MATCH (n:Claim {id:'c1'}) SET n.statement = null, n += {state: null, text: 't'}")
        before = everything(database, graph)
        kill_server(folder)
        assert everything(database, graph) == before
        assert database.read(graph, "MATCH (n:Claim {id:$i}) RETURN n.state", {"i": "c2"}) == [["off"]]


def test_what_the_engine_uses_of_lists(shared_database: Database, graph: str) -> None:
    """A record of what this FalkorDB does, as the store's queries rely on it."""
    shared_database.write(
        graph,
        "CREATE (n:Claim {id:'c'}) SET n += $m",
        {"m": {"past_since": [1, 5, 9], "past_state": list("abc")}},
    )
    answers = {
        "n.past_state[-1]": "c",
        "n.past_state[7]": None,
        "n.missing[-1]": None,
        "[x IN n.past_since WHERE x <= $r]": [1, 5],
        "n.past_state[size([x IN n.past_since WHERE x <= $r]) - 1]": "b",
        "[i IN range(0, size(n.past_since)-1) WHERE n.past_since[i] <= $r | n.past_state[i]]": ["a", "b"],
        "last(n.past_state)": "c",
        "last([])": None,
        "tail(n.past_state)": ["b", "c"],
        "coalesce(n.missing, []) + [1]": [1],
        "n.past_state[0..2]": ["a", "b"],
    }
    for expression, answer in answers.items():
        found = shared_database.read(graph, f"MATCH (n:Claim) RETURN {expression}", {"r": 6})
        assert found == [[answer]], expression
    # The right-hand sides of one SET all see the values from before it.
    swapped = "MATCH (n:Claim) SET n.kind = 'new', n.role = coalesce(n.kind, 'none') RETURN n.kind, n.role"
    assert shared_database.write(graph, swapped) == [["new", "none"]]
    for bad in ({"past_state": ["a", None]}, {"past_state": {"a": 1}}):
        with pytest.raises(QueryFailed):
            shared_database.write(graph, "MATCH (n:Claim) SET n += $m", {"m": bad})


# When the connection breaks


def kill_server(folder: Path) -> None:
    with embedded._client(folder / "server.sock") as client:
        os.kill(client.info("server")["process_id"], signal.SIGKILL)


class Cutter:
    """A proxy that passes a command on and then cuts the connection instead of bringing the reply."""

    def __init__(self, target: Path, path: Path, word: bytes, cuts: int) -> None:
        self.target, self.path, self.word, self.cuts, self.passed = target, path, word, cuts, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(str(self.target))
            while data := client.recv(1_000_000):
                server.sendall(data)
                reply = server.recv(1_000_000)
                if self.word in data:
                    self.passed += 1
                    if self.passed <= self.cuts:
                        return
                client.sendall(reply)


@pytest.fixture
def cut(shared_database: Database, folder: Path) -> Iterator[Callable[[bytes, int], tuple[Cutter, Database]]]:
    made: list[tuple[Cutter, Database]] = []

    def make(word: bytes, cuts: int) -> tuple[Cutter, Database]:
        assert shared_database._server is not None
        cutter = Cutter(shared_database._server.socket_path, folder / "cut.sock", word, cuts)
        made.append((cutter, Database.server(f"unix://{cutter.path}")))
        return made[-1]

    yield make
    for cutter, database in made:
        database.close()
        cutter.listener.close()


def test_a_write_without_reply_is_uncertain_and_not_sent_again(
    shared_database: Database, graph: str, cut: Callable[[bytes, int], tuple[Cutter, Database]]
) -> None:
    cutter, database = cut(b"GRAPH.QUERY", 99)
    with pytest.raises(WriteUncertain, match="may have happened or not"):
        database.write(graph, "CREATE (:Event {id:'e'})")
    assert cutter.passed == 1
    assert shared_database.read(graph, "MATCH (e:Event) RETURN count(e)") == [[1]]
    assert issubclass(WriteUncertain, DatabaseUnavailable)


def test_a_read_without_reply_is_repeated_a_few_times(
    graph: str, cut: Callable[[bytes, int], tuple[Cutter, Database]]
) -> None:
    cutter, database = cut(b"GRAPH.RO_QUERY", 2)
    assert database.read(graph, "RETURN 1") == [[1]]
    assert cutter.passed == 3
    cutter.cuts = 99
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        database.read(graph, "RETURN 1")
    assert cutter.passed == 3 + 1 + len(module.READ_PAUSES)


def test_an_interrupted_command_leaves_no_reply_for_the_next(
    shared_database: Database, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Any, *_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(redis.UnixDomainSocketConnection, "read_response", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shared_database.read(graph, "RETURN 'old'")
    for i in range(20):
        assert shared_database.read(graph, "RETURN $i", {"i": i}) == [[i]]


def test_a_slow_query_is_stopped_with_its_own_message(shared_database: Database, graph: str) -> None:
    slow = "UNWIND range(0, 100000) AS x UNWIND range(0, 10000) AS y WITH x, y WHERE x + y < 0 RETURN count(x)"
    with pytest.raises(QueryTimeout, match="took too long"):
        shared_database.read(graph, slow, timeout_ms=30)


def test_a_slow_write_is_stopped_and_taken_back(
    shared_database: Database, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT_MAX_MS", 50)
    with pytest.raises(QueryTimeout):
        shared_database.write(graph, "UNWIND range(1, 400000) AS x CREATE (:Event {n:x})")
    assert shared_database.read(graph, "MATCH (e:Event) RETURN count(e)") == [[0]]


def test_more_threads_than_connections_wait_for_each_other(
    shared_database: Database, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POOL_SIZE", 2)
    assert shared_database._server is not None
    database = Database.server(f"unix://{shared_database._server.socket_path}")
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda i=i: found.extend(database.read(graph, "RETURN $i", {"i": i})))
        for i in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    assert sorted(found) == [[i] for i in range(24)]


def test_a_closed_database_says_so(folder: Path) -> None:
    database = Database.embedded(folder)
    database.close()
    database.close()
    with pytest.raises(DatabaseUnavailable, match="closed"):
        database.ping()


# Servers of others


@pytest.fixture
def other_server(folder: Path) -> Iterator[Callable[..., str]]:
    """Start a server as somebody might, without our settings; answers its URL."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*words: str, loaded: bool = True, arguments: tuple[str, ...] = (), user: str = "") -> str:
        binary, library = (embedded._command(None, None)[i] for i in (0, -len(embedded.MODULE_SETTINGS) * 2 - 1))
        path = folder / "o.sock"
        command = [binary, "--port", "0", "--unixsocket", str(path), "--save", "", *words]
        if loaded:
            command += ["--loadmodule", library, *arguments]
        started.append(subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL))
        while not path.exists():
            time.sleep(0.01)
        return f"unix://{user}{path}"

    yield run
    for process in started:
        process.kill()
        process.wait()


def settings(url: str) -> dict[str, Any]:
    with redis.Redis.from_url(url, protocol=2, decode_responses=True) as client:
        return dict(client.execute_command("GRAPH.CONFIG", "GET", "*"))


def test_a_server_of_others_is_made_safe(other_server: Callable[..., str]) -> None:
    url = other_server()
    assert settings(url)["EFFECTS_THRESHOLD"] < EFFECTS_THRESHOLD
    with Database.server(url) as database:
        found = settings(url)
        assert found["EFFECTS_THRESHOLD"] == EFFECTS_THRESHOLD
        assert (found["TIMEOUT_MAX"], found["TIMEOUT_DEFAULT"]) == (60_000, 30_000)
        # It is checked at each connection: a restart of the server would have lost it.
        with redis.Redis.from_url(url) as client:
            client.execute_command("GRAPH.CONFIG", "SET", "EFFECTS_THRESHOLD", 300)
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        database.ping()
        assert settings(url)["EFFECTS_THRESHOLD"] == EFFECTS_THRESHOLD


def test_a_shorter_limit_of_the_server_is_respected(other_server: Callable[..., str]) -> None:
    url = other_server(arguments=("TIMEOUT_MAX", "5000", "TIMEOUT_DEFAULT", "1000"))
    graph = graph_name(str(uuid.uuid4()))
    with Database.server(url) as database:
        database.create_graph(graph)
        assert database.read(graph, "RETURN 1", timeout_ms=50_000) == [[1]]
    assert settings(url)["TIMEOUT_MAX"] == 5000


def test_a_server_that_cuts_results_is_refused(other_server: Callable[..., str]) -> None:
    with pytest.raises(DatabaseUnavailable, match="cuts every result after 100 rows"):
        Database.server(other_server(arguments=("RESULTSET_SIZE", "100")))


def test_a_redis_without_falkordb_is_refused(other_server: Callable[..., str]) -> None:
    with pytest.raises(DatabaseUnavailable, match="without FalkorDB"):
        Database.server(other_server(loaded=False))


def test_a_wrong_password_is_refused_and_not_shown(other_server: Callable[..., str]) -> None:
    url = other_server("--requirepass", "right-secret")
    for user in ("", ":wrong-secret@"):
        with pytest.raises(DatabaseUnavailable, match="user or password") as caught:
            Database.server(url.replace("unix://", f"unix://{user}"))
        assert "wrong-secret" not in str(caught.value)
    with Database.server(url.replace("unix://", "unix://:right-secret@")) as database:
        assert "secret" not in database.address
        assert "secret" not in repr(database)


def test_a_full_server_is_named_as_such(other_server: Callable[..., str]) -> None:
    graph = graph_name(str(uuid.uuid4()))
    url = other_server()
    with Database.server(url) as database:
        database.create_graph(graph)
        database._command("CONFIG", "SET", "maxmemory", "1mb")
        with pytest.raises(DatabaseUnavailable, match="out of memory"):
            database.write(graph, "CREATE (:Event {id:'e'})")
        database._command("CONFIG", "SET", "maxmemory", "0")
        database._command("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(DatabaseUnavailable, match="replica"):
            database.write(graph, "CREATE (:Event {id:'e'})")


def test_an_older_falkordb_is_refused_and_a_newer_one_warned_about(
    shared_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shared_database._server is not None
    url = f"unix://{shared_database._server.socket_path}"
    with monkeypatch.context() as patch:
        patch.setattr(module, "OLDEST_KNOWN_GOOD", (4, 99, 0))
        with pytest.raises(DatabaseUnavailable, match=r"runs FalkorDB 4\.16\.3"):
            Database.server(url)
    monkeypatch.setattr(module, "NEWEST_KNOWN_GOOD", (4, 16, 2))
    with pytest.warns(UserWarning, match=r"tried up to 4\.16\.2"):
        Database.server(url).close()


def test_nobody_there(folder: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="docker compose up -d falkordb"):
        Database.server(f"unix://{folder}/nowhere.sock")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis+sentinel://h:1", "not supported"),
        ("redis+cluster://h:1", "not supported"),
        ("http://h", "not supported"),
        ("", "not supported"),
        ("redis://:hidden@h:port", "not a URL"),
        ("redis://:hidden@h?retry_on_timeout=1", "may set db"),
        ("unix://:hidden@/tmp/x?socket_timeout=1", "may set db"),
    ],
)
def test_addresses_that_are_not_supported(url: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        Database.server(url)
    assert "hidden" not in str(caught.value)


def test_the_address_shows_no_password() -> None:
    assert module._address("rediss://me:hidden@db.example:7000/2?ssl_cert_reqs=none") == "rediss://db.example:7000/2"
    assert module._address("redis://:hidden@localhost") == "redis://localhost:6379"
