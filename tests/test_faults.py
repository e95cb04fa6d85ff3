"""Killed at any moment, or its reply lost: a change is there whole or not at all, and sent again it is done once."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

import engine
from engine.store import commit as committing
from engine.store.database import Database, WriteUncertain
from engine.store.history import payloads

from . import reader
from .test_events import REFUSALS, RandomHistory, Request, address, perform

ROOT = Path(__file__).resolve().parent.parent
OPS = ("ingest", "submit", "derive", "decide", "decide", "plan", "correct", "correct", "retract", "undo", "settle")
Victim = Literal["client", "server"]


# The child


def say(**words: Any) -> None:
    print(json.dumps(words), flush=True)


def patiently(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Repeat a request until it gets through; say so each time it did not."""
    for _ in range(20):
        try:
            return act()
        except engine.DatabaseUnavailable as error:
            say(failed=str(error))
    raise AssertionError("the database did not come back")


def acknowledged(ws: engine.Workspace, request: Request) -> dict[str, Any]:
    return perform(ws, request) | {"revision": ws.revision}


def applied_already(ws: engine.Workspace, preview: engine.Preview) -> dict[str, Any]:
    return {"already": ws.apply(preview, "Ana").already_applied}


def stream(folder: str, workspace_id: str, seed: str) -> None:
    """The child: one change after another, each announced, done, and acknowledged, until SIGTERM."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    committing.LEARN_SECONDS = 0.5
    with engine.open(data_dir=folder) as wb:
        ws = wb.workspace(workspace_id)
        history = RandomHistory(ws, int(seed), OPS)
        say(ready=True)
        while not stopped.is_set():
            try:
                request = history.next()
            except engine.DatabaseUnavailable:
                continue  # a read: nothing was asked for yet
            say(request=request)
            try:
                result = patiently(partial(acknowledged, ws, request))
            except REFUSALS:
                say(refused=True)
                continue
            history.did(request, result)
            say(done=result)


def apply_on_demand(folder: str, workspace_id: str) -> None:
    """The child: for each line of input, which is a preview, apply it."""
    committing.LEARN_SECONDS = 0.5
    with engine.open(data_dir=folder) as wb:
        ws = wb.workspace(workspace_id)
        say(ready=True)
        for line in sys.stdin:
            preview = engine.Preview.model_validate_json(line)
            ws.claim(preview.changes[0].claim_id)
            say(applying=True)
            started = time.monotonic()
            result = patiently(partial(applied_already, ws, preview))
            say(done=result | {"seconds": time.monotonic() - started})


# The parent


class Child:
    """A process that runs one of the functions above; what it said is read without ever waiting for more."""

    def __init__(self, function: str, *words: object) -> None:
        code = f"import sys; from tests.test_faults import {function}; {function}(*sys.argv[1:])"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout.fileno()
        fcntl.fcntl(self.output, fcntl.F_SETFL, fcntl.fcntl(self.output, fcntl.F_GETFL) | os.O_NONBLOCK)
        self.rest = b""
        self.said: list[dict[str, Any]] = []

    def hear(self) -> list[dict[str, Any]]:
        """Read what is in the pipe. Returns everything ever said; half a line is no acknowledgement."""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self.output, 65536):
                self.rest += chunk
        *lines, self.rest = self.rest.split(b"\n")
        self.said += [json.loads(line) for line in lines]
        return self.said

    def wait_for(self, word: str, number: int = 1, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while sum(word in line for line in self.hear()) < number:
            assert time.monotonic() < end, f"the child did not say {word!r}: {self.said[-3:]}"
            assert self.process.poll() is None, f"the child ended: {self.said[-3:]}"
            select.select([self.output], [], [], 0.2)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def finish(self) -> None:
        """Let it end in order."""
        self.send(signal.SIGTERM)
        self.input.close()
        end = time.monotonic() + 30
        while self.process.poll() is None and time.monotonic() < end:
            self.hear()
            time.sleep(0.01)
        assert self.process.poll() == 0
        self.hear()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.send(signal.SIGKILL)
        self.process.wait()
        self.hear()


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="cg-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def children() -> Iterator[list[Child]]:
    made: list[Child] = []
    yield made
    for child in made:
        child.kill()


def kill(victim: Victim, child: Child, folder: Path) -> None:
    """Kill the client; or the server, and stop the client where it is, before it can notice."""
    if victim == "client":
        child.kill()
        return
    pid = reader.server_pid(folder / "server.sock")
    os.kill(pid, signal.SIGKILL)
    child.send(signal.SIGSTOP)


class Ledger:
    """What was acknowledged, and whether all of it is there."""

    def __init__(self) -> None:
        self.revision = 0
        self.ids: dict[str, int] = {}  # id → the newest revision that it may have been born at
        self.undone: dict[str, int] = {}
        self.settled: set[str] = set()

    def enter(self, said: list[dict[str, Any]]) -> tuple[Request | None, bool]:
        """Enter what a child acknowledged. Return the request that it was at, and whether that was a failure."""
        pending: Request | None = None
        for line in said:
            if "request" in line:
                pending = line["request"]
            elif "done" in line:
                assert pending is not None
                self.acknowledge(pending, line["done"])
                pending = None
            elif "refused" in line:
                pending = None
        return pending, bool(said and "failed" in said[-1])

    def acknowledge(self, request: Request, result: dict[str, Any]) -> None:
        assert self.revision <= result["revision"] <= self.revision + 1
        self.revision = result["revision"]
        for key, made in result.items():
            names = made if isinstance(made, list) else [made] if key in ("source", "version") else []
            for name in names:
                self.ids.setdefault(name, self.revision)
        if request["op"] == "undo":
            self.undone |= dict.fromkeys(result["corrections"], self.revision)

    def missing(self, graph: reader.Graph) -> list[str]:
        found = [
            f"{name} was acknowledged in revision {revision} and is not there"
            for name, revision in self.ids.items()
            if name not in graph.nodes or graph.nodes[name][1]["born"] > revision
        ]
        found += [f"the undoing of {k} is lost" for k in self.undone if graph.status(k) != "undone"]
        if not self.revision <= graph.workspace["revision"] <= self.revision + 1:
            found.append(f"{self.revision} was acknowledged; the workspace is at {graph.workspace['revision']}")
        return found


def looked_at(folder: Path, workspace_id: str, ledger: Ledger) -> reader.Graph:
    graph = reader.read(reader.connect(folder / "server.sock"), workspace_id)
    assert reader.violations(graph) == []
    assert ledger.missing(graph) == []
    return graph


def test_no_kill_loses_or_halves_a_change(folder: Path, children: list[Child]) -> None:
    """Clients and servers are killed by turns, while changes of every kind stream in."""
    seed = int(os.environ.get("CORRIGENDA_SEED", "0")) or random.randrange(1 << 30)
    print(f"CORRIGENDA_SEED={seed}")
    dice = random.Random(seed)
    with engine.open(data_dir=folder) as wb:
        workspace_id = wb.create_workspace("faults").id
    ledger = Ledger()
    between = 0
    for number in range(8):
        child = Child("stream", folder, workspace_id, seed + number)
        children.append(child)
        child.wait_for("done", 4)
        time.sleep(dice.uniform(0, 0.4))

        kill("server", child, folder)
        said = len(child.hear())
        pending, _ = ledger.enter(child.said)
        with engine.open(data_dir=folder):  # starts a server
            graph = looked_at(folder, workspace_id, ledger)
            between += graph.workspace["revision"] > ledger.revision
            child.send(signal.SIGCONT)  # it repeats what was not acknowledged
            child.wait_for("done", sum("done" in line for line in child.said) + 2)
        assert reader.server_pid(folder / "server.sock")
        time.sleep(dice.uniform(0, 0.4))

        kill("client", child, folder)
        pending, _ = ledger.enter(([{"request": pending}] if pending else []) + child.said[said:])
        with engine.open(data_dir=folder) as wb:
            graph = looked_at(folder, workspace_id, ledger)
            between += graph.workspace["revision"] > ledger.revision
            if pending is not None:  # the request that was cut off, sent again: done once
                ws = wb.workspace(workspace_id)
                before = ledger.revision
                with contextlib.suppress(*REFUSALS):
                    result = perform(ws, pending) | {"revision": ws.revision}
                    ledger.acknowledge(pending, result)
                    assert result["revision"] == before + 1 or graph.workspace["revision"] == before
                looked_at(folder, workspace_id, ledger)
    print(f"{ledger.revision} changes, {between} of 16 kills after a commit and before its acknowledgement")
    assert ledger.revision > 50


# Kills during applies

_ID = re.compile(r"\b([svfecdakj])_[0-9a-f]{16}\b")
_OWN = {"Event": ("request_key", "payload", "at", "summary"), "Correction": ("at",)}


class Names:
    """Names for ids that are the same in two workspaces with the same history."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def lines(self, graph: reader.Graph, number: int) -> list[str]:
        nodes = {
            name: (label, {k: v for k, v in props.items() if k not in _OWN.get(label, ())})
            for name, (label, props) in graph.nodes.items()
        }
        workspace = {"revision": graph.workspace["revision"]}
        lines = reader.Graph(workspace, nodes, graph.edges, graph.extra).plain()
        return sorted(_ID.sub(lambda m: self.known.setdefault(m[0], f"{m[1]}_{number}"), line) for line in lines)


def prepare(wb: engine.Workbench, claims: int) -> tuple[engine.Workspace, engine.Workspace, list[str]]:
    """Make a workspace with claims under decisions with actions, and its twin with the very same ids."""
    ws = wb.create_workspace("applies")
    sentences = [f"Fact number {n} holds." for n in range(claims)]
    report = ws.ingest("\n".join(sentences), "Facts", extractor=None)
    ids = [c.id for c in ws.submit_claims(report.source_id, [engine.ProposedClaim(s, s) for s in sentences]).claims]
    for n in range(0, claims, 5):
        for k in range(4):
            group: list[str | list[str]] = [*ids[n : n + 5]] if k % 2 else [ids[n : n + 5]]
            decision = ws.decide(f"Decision {n} {k}", group)
            ws.plan(f"Action {n} {k}", [decision.id])
    twin = wb.create_workspace("twin")
    info = committing.EventInfo("copy", "", "", "", "", "2026-01-01")
    for revision, payload in payloads(ws._snapshot(), 0, ws.revision):
        change = committing.ChangeSet.from_payload(revision, payload)
        assert committing.commit(wb._database, twin._graph, twin.id, revision - 1, change, info)
    return ws, twin, ids


def applies_killed(folder: Path, children: list[Child], rounds: int, seed: int) -> None:
    dice = random.Random(seed)
    ours, theirs = Names(), Names()
    where = {"before": 0, "after": 0}
    longest = 0.03
    with engine.open(data_dir=folder) as wb:
        ws, twin, ids = prepare(wb, rounds)
        # The copies of the earlier events say of another kind: compare what is from here on.
        first = twin.revision

        def seen(workspace: engine.Workspace, names: Names, number: int) -> list[str]:
            graph = reader.read(reader.connect(folder / "server.sock"), workspace.id)
            assert reader.violations(graph) == []
            for name in [n for n, p in graph.of("Event").items() if p["revision"] <= first]:
                del graph.nodes[name]
            return names.lines(graph, number)

    child: Child | None = None
    for number, claim in enumerate(ids):
        victim: Victim = "client" if number % 2 else "server"
        with engine.open(data_dir=folder) as wb:
            ws, twin = wb.workspace(ws.id), wb.workspace(twin.id)
            statement = f"Truth number {number} holds."
            before = seen(ws, ours, -1 if number == 0 else number - 1)
            assert before == seen(twin, theirs, -1 if number == 0 else number - 1)
            twin.apply(twin.preview(claim, statement), "Ana")
            after = seen(twin, theirs, number)
            assert before != after
            preview = ws.preview(claim, statement)
            if child is None:
                child = Child("apply_on_demand", folder, ws.id)
                children.append(child)
                child.wait_for("ready")
            number_before = sum("applying" in line for line in child.hear())
            child.input.write(preview.model_dump_json().encode() + b"\n")
            child.input.flush()
            child.wait_for("applying", number_before + 1)
            time.sleep(dice.uniform(0, longest))
            kill(victim, child, folder)
        was_acknowledged = "done" in child.hear()[-1]
        with engine.open(data_dir=folder) as wb:
            ws = wb.workspace(ws.id)
            trial = Names()
            trial.known.update(ours.known)
            found = seen(ws, trial, number)
            assert found in (before, after), f"round {number}: {set(found) ^ set(after)}"
            assert found == after or not was_acknowledged, f"round {number}: an acknowledged apply is lost"
            where["after" if found == after else "before"] += 1
            if victim == "server":  # it learns what became of its request, or sends it again
                child.send(signal.SIGCONT)
                child.wait_for("done", sum("done" in line for line in child.said) + (not was_acknowledged))
                if not was_acknowledged:
                    assert child.said[-1]["done"]["already"] in (False, True)
            else:
                child = None
            applied = ws.apply(preview, "Ana")
            assert applied.already_applied or (victim == "client" and found == before)
            assert ws.apply(preview, "Ana").already_applied
            assert seen(ws, ours, number) == after
    print(f"{where}, seed {seed}")
    if rounds >= 20:
        assert min(where.values()) > rounds / 20, f"the kills did not fall into the applies: {where}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_kills_during_applies(folder: Path, children: list[Child]) -> None:
    seed = int(os.environ.get("CORRIGENDA_SEED", "0")) or random.randrange(1 << 30)
    print(f"CORRIGENDA_SEED={seed}")
    applies_killed(folder, children, int(os.environ.get("CORRIGENDA_KILLS", "40")), seed)


# The lost reply


class LostReplies:
    """Lets the replies to the next writes of changes get lost, each in its own way."""

    def __init__(self) -> None:
        self.plan: list[Callable[[Callable[[], Any]], Any]] = []
        self.threads: list[threading.Thread] = []

    def later(self, seconds: float) -> Callable[[Callable[[], Any]], Any]:
        def lose(write: Callable[[], Any]) -> None:
            def late() -> None:
                time.sleep(seconds)
                write()

            self.threads.append(threading.Thread(target=late))
            self.threads[-1].start()

        return lose


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> Iterator[LostReplies]:
    losing = LostReplies()
    query = Database._query

    def lossy(self: Database, graph: str, cypher: str, *rest: Any, writing: bool) -> Any:
        def write() -> Any:
            return query(self, graph, cypher, *rest, writing=writing)

        if not writing or "w.revision = $next" not in cypher or not losing.plan:
            return write()
        losing.plan.pop(0)(write)
        raise WriteUncertain("the line broke")

    monkeypatch.setattr(Database, "_query", lossy)
    monkeypatch.setattr(committing, "LEARN_SECONDS", 0.8)
    yield losing
    for thread in losing.threads:
        thread.join()


def after_it_was_done(write: Callable[[], Any]) -> None:
    write()


def before_it_was_done(write: Callable[[], Any]) -> None:
    pass


@pytest.fixture
def graph_of(wb: engine.Workbench, ws: engine.Workspace) -> Callable[[], reader.Graph]:
    client = reader.connect(address(wb))
    return lambda: reader.read(client, ws.id)


def requests(ws: engine.Workspace, claims: Callable[..., list[str]]) -> dict[str, Request]:
    """One request of each kind, ready to be carried out."""
    text = "Ana leads. Bo follows. Cy rests."
    source = ws.ingest(text, "Roles", extractor=None).source_id
    a, b, c, d, e = claims("The sky is blue.", "The sea is deep.", "The moon is far.", "One is odd.", "Two is even.")
    first = ws.decide("Look up", [a])
    action = ws.plan("Buy a telescope", [first.id])
    shaken = ws.decide("Dive", [b])
    ws.plan("Buy a boat", [shaken.id])
    correction = ws.apply(ws.preview(b, "The sea is shallow."), "Ana").correction.id
    preview = ws.preview(c, "The moon is near.").model_dump(mode="json")
    return {
        "ingest": {"op": "ingest", "text": "Di sings.", "name": "Songs", "extractor": "rules"},
        "submit": {"op": "submit", "source": source, "pairs": [["Ana leads.", "Ana leads."]]},
        "derive": {"op": "derive", "statement": "It is all far.", "because": [[a, c]]},
        "decide": {"op": "decide", "title": "Stay", "because": [a], "rationale": ""},
        "justify": {"op": "justify", "node": first.id, "because": [c]},
        "plan": {"op": "plan", "description": "Wait", "because": [first.id]},
        "done": {"op": "done", "action": action.id},
        "apply": {"op": "apply", "preview": preview, "reason": ""},
        "withdraw": {
            "op": "apply",
            "preview": ws.preview_withdrawal(source).model_dump(mode="json"),
            "reason": "",
        },
        "undo": {"op": "undo", "correction": correction},
        "reaffirm": {"op": "settle", "decision": shaken.id, "how": "reaffirm", "because": [d]},
        "rebase": {"op": "settle", "decision": shaken.id, "how": "rebase", "title": "Wade", "because": [e]},
        "drop": {"op": "settle", "decision": shaken.id, "how": "withdraw"},
        "replace": {"op": "replace", "source": source, "text": "Ana leads. Bo too."},
    }


KINDS = ["ingest", "submit", "derive", "decide", "justify", "plan", "done", "apply", "withdraw", "undo"]
KINDS += ["reaffirm", "rebase", "drop", "replace"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_whose_reply_is_lost_is_returned_as_done(
    kind: str,
    ws: engine.Workspace,
    claims: Callable[..., list[str]],
    lost: LostReplies,
    graph_of: Callable[[], reader.Graph],
) -> None:
    request = requests(ws, claims)[kind]
    revision = ws.revision
    lost.plan = [after_it_was_done]
    result = perform(ws, request)
    once = graph_of()
    assert not lost.plan
    assert once.workspace["revision"] == revision + 1
    assert reader.violations(once) == []
    again = perform(ws, request)
    assert again.keys() == result.keys()
    assert {k: v for k, v in again.items() if k != "claims"} == {k: v for k, v in result.items() if k != "claims"}
    assert graph_of().plain() == once.plain()


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_that_was_lost_itself_is_sent_again_and_done_once(
    kind: str,
    ws: engine.Workspace,
    claims: Callable[..., list[str]],
    lost: LostReplies,
    graph_of: Callable[[], reader.Graph],
) -> None:
    request = requests(ws, claims)[kind]
    revision = ws.revision
    lost.plan = [before_it_was_done]
    perform(ws, request)
    assert not lost.plan
    after = graph_of()
    assert after.workspace["revision"] == revision + 1
    assert reader.violations(after) == []


def test_a_line_that_stays_broken_is_reported_and_the_request_can_be_sent_again(
    ws: engine.Workspace,
    claims: Callable[..., list[str]],
    lost: LostReplies,
    graph_of: Callable[[], reader.Graph],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(committing, "LEARN_SECONDS", 0.3)
    (claim,) = claims("The sky is blue.")
    preview = ws.preview(claim, "The sky is grey.")
    before = graph_of()
    lost.plan = [before_it_was_done] * 20
    with pytest.raises(engine.DatabaseUnavailable, match="send the same request again"):
        ws.apply(preview)
    assert graph_of().plain() == before.plain()
    lost.plan = []
    assert not ws.apply(preview).already_applied
    assert reader.violations(graph_of()) == []


def test_a_change_that_comes_late_is_waited_for(
    ws: engine.Workspace, claims: Callable[..., list[str]], lost: LostReplies
) -> None:
    (claim,) = claims("The sky is blue.")
    preview = ws.preview(claim, "The sky is grey.")
    lost.plan = [lost.later(0.3), before_it_was_done, before_it_was_done]
    applied = ws.apply(preview)
    assert not applied.already_applied
    assert applied.replacement is not None
    assert ws.claim(claim).superseded_by == applied.replacement.id
    again = ws.apply(preview)
    assert (again.already_applied, again.replacement) == (True, applied.replacement)


def test_a_change_that_comes_after_it_was_given_up_is_found_when_sent_again(
    ws: engine.Workspace,
    claims: Callable[..., list[str]],
    lost: LostReplies,
    graph_of: Callable[[], reader.Graph],
) -> None:
    (claim,) = claims("The sky is blue.")
    preview = ws.preview(claim, "The sky is grey.")
    lost.plan = [lost.later(1.2), *[before_it_was_done] * 20]
    with pytest.raises(engine.DatabaseUnavailable):
        ws.apply(preview)
    lost.plan = []
    lost.threads[0].join()
    assert ws.apply(preview).already_applied
    assert len(graph_of().of("Correction")) == 1
    assert reader.violations(graph_of()) == []


def test_a_change_sent_again_before_the_lost_one_arrives_is_done_once(
    ws: engine.Workspace,
    claims: Callable[..., list[str]],
    lost: LostReplies,
    graph_of: Callable[[], reader.Graph],
) -> None:
    (claim,) = claims("The sky is blue.")
    preview = ws.preview(claim, "The sky is grey.")
    lost.plan = [lost.later(1.2), *[before_it_was_done] * 20]
    with pytest.raises(engine.DatabaseUnavailable):
        ws.apply(preview)
    lost.plan = []
    applied = ws.apply(preview)
    assert not applied.already_applied
    once = graph_of()
    lost.threads[0].join()
    assert graph_of().plain() == once.plain()
    assert ws.apply(preview).replacement == applied.replacement


def test_somebody_else_s_change_is_not_taken_for_one_s_own(
    ws: engine.Workspace,
    claims: Callable[..., list[str]],
    lost: LostReplies,
    graph_of: Callable[[], reader.Graph],
    wb: engine.Workbench,
) -> None:
    """The write is lost, and another process makes the next revision: ours is planned again, and made once."""
    (claim,) = claims("The sky is blue.")
    preview = ws.preview(claim, "The sky is grey.")
    other = engine.Workspace(wb._database, ws._graph, ws.id, threading.Lock(), wb._services)
    lost.plan = [lambda _: other.ingest("Something else.", "Else", extractor=None)]
    revision = ws.revision
    applied = ws.apply(preview)
    assert not applied.already_applied
    assert ws.revision == applied.revision == revision + 2
    assert len(graph_of().of("Correction")) == 1
    assert reader.violations(graph_of()) == []
