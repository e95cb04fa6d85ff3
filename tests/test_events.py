"""The events are enough: replayed into an empty workspace they give the same graph, to the last property."""

from __future__ import annotations

import base64
import json
import os
import random
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.store.commit import ChangeSet, EventInfo, commit
from engine.store.history import event_rows, payloads

from . import reader

Request = dict[str, Any]
REFUSALS = (engine.NotAllowed, engine.InvalidInput, engine.StalePreview, engine.EvidenceRejected)


def perform(ws: engine.Workspace, request: Request) -> dict[str, Any]:
    """Carry out a request as `RandomHistory` makes them. Requests and results are plain data."""
    words = dict(request)
    op = words.pop("op")
    if op in ("ingest", "submit"):
        if op == "ingest":
            report = ws.ingest(**words)
        else:
            report = ws.submit_claims(words["source"], [engine.ProposedClaim(*pair) for pair in words["pairs"]])
        return {"source": report.source_id, "version": report.version_id, "claims": [c.id for c in report.claims]}
    if op == "apply":
        preview = engine.Preview.model_validate(words["preview"])
        applied = ws.apply(preview, "Ana", words["reason"])
        return {
            "corrections": [k.id for k in applied.corrections],
            "replacements": [k.replacement_id for k in applied.corrections if k.replacement_id],
        }
    if op == "undo":
        return {"corrections": [k.id for k in ws.undo(words["correction"], "Bo").corrections]}
    if op == "settle":
        settlement = {"reaffirm": engine.Reaffirm, "rebase": engine.Rebase, "withdraw": engine.Withdraw}[words["how"]]
        given = {} if words["how"] == "withdraw" else {"because": words["because"]}
        given |= {"title": words["title"]} if words["how"] == "rebase" else {}
        return {"decisions": [ws.settle(words["decision"], settlement(**given), "Cy").id]}
    if op == "replace":
        return {"version": ws.replace_source(words["source"], words["text"]).version_id}
    if op == "reanchor":
        return {"claims": [c.id for c in ws.reanchor(words["source"], words["claims"], words["quotes"])]}
    if op == "ask":
        answer = ws.ask(words["question"])
        return {"decisions": [answer.decision.id], "actions": [a.id for a in answer.actions]}
    if op == "derive":
        return {"claims": [ws.derive(words["statement"], words["because"]).id]}
    if op == "decide":
        return {"decisions": [ws.decide(words["title"], words["because"], words["rationale"]).id]}
    if op == "justify":
        ws.justify(words["node"], words["because"])
    elif op == "plan":
        return {"actions": [ws.plan(words["description"], words["because"]).id]}
    elif op == "done":
        ws.mark_done(words["action"])
    return {}


class RandomHistory:
    """Makes one request after another; some are refused, as some of people's are."""

    def __init__(self, ws: engine.Workspace, seed: int, ops: Sequence[str] = ()) -> None:
        self.ws = ws
        self.random = random.Random(seed)
        self.tag = f"{seed:x}"
        self.counter = 0
        self.op = ""
        self.texts: dict[str, str] = {}
        self.named: dict[str, list[str]] = {"claims": [], "decisions": [], "actions": [], "corrections": []}
        self.sentences: dict[str, str] = {}
        self.of_source: dict[str, list[str]] = {}
        self.ops = ops or [name.removeprefix("make_") for name in dir(self) if name.startswith("make_")]

    def text(self, what: str) -> str:
        self.counter += 1
        return f"The {what} {self.tag} no. {self.counter} holds: „é𝔘“ {self.random.randint(10, 99)} %."

    def some(self, kind: str, most: int = 3) -> list[str]:
        recent = self.named[kind][-12:]
        return self.random.sample(recent, min(len(recent), self.random.randint(1, most)))

    def one(self, kind: str) -> str:
        return self.random.choice(self.named[kind][-12:])

    def because(self) -> list[Any]:
        among = self.named["claims"][-12:] + self.named["decisions"][-4:]
        groups = [sorted(set(self.random.choices(among, k=self.random.randint(1, 2)))) for _ in range(2)]
        return groups[: self.random.randint(1, 2)]

    def next(self) -> Request:
        """Return the next request; the caller says with `did` what came of it."""
        while True:
            op = self.random.choice(self.ops)
            if self.counter < 3:
                op = "ingest"
            make: Callable[[], Request | None] = getattr(self, f"make_{op}")
            try:
                request = make()
            except (IndexError, *REFUSALS):
                continue  # nothing there to do it to, or refused already
            if request is not None:
                self.op = op
                return request

    def did(self, request: Request, result: dict[str, Any]) -> None:
        """Remember what a request made."""
        for kind, known in self.named.items():
            known += [name for name in result.get(kind, []) if name not in known]
        self.named["claims"] += result.get("replacements", [])
        if request["op"] == "ingest":
            self.texts[result["source"]] = request["text"]
        elif request["op"] == "replace":
            self.texts[request["source"]] = request["text"]
        if "source" in result:
            self.of_source.setdefault(result["source"], []).extend(result["claims"])

    def make_ingest(self) -> Request:
        sentences = [self.text("fact") for _ in range(self.random.randint(1, 3))]
        if self.texts and self.random.random() < 0.4:  # a second witness, or a copy
            sentences.append(self.random.choice(list(self.texts.values())).splitlines()[-1])
        how = self.random.choice(["rules", "rules", None])
        request = {"op": "ingest", "text": "\n".join(sentences), "name": self.text("document"), "extractor": how}
        if self.texts and self.random.random() < 0.2:
            copied = self.random.choice(list(self.texts))
            request["copy_of"] = copied
            if self.random.random() < 0.5:
                request["text"] = self.texts[copied]
        return request

    def make_submit(self) -> Request:
        source = self.random.choice(list(self.texts))
        pairs = [[line, line] for line in self.texts[source].splitlines()]
        if self.random.random() < 0.3:
            pairs.append([self.text("rumour"), "this stands nowhere"])
        return {"op": "submit", "source": source, "pairs": pairs}

    def make_derive(self) -> Request:
        return {"op": "derive", "statement": self.text("conclusion"), "because": self.because()}

    def make_decide(self) -> Request:
        rationale = self.random.choice(["", "So it is."])
        return {"op": "decide", "title": self.text("decision"), "because": self.because(), "rationale": rationale}

    def make_justify(self) -> Request:
        return {
            "op": "justify",
            "node": self.one(self.random.choice(["claims", "decisions"])),
            "because": self.because(),
        }

    def make_plan(self) -> Request:
        return {"op": "plan", "description": self.text("action"), "because": self.some("decisions", 2)}

    def make_done(self) -> Request | None:
        return {"op": "done", "action": self.one("actions")} if self.random.random() < 0.5 else None

    def shown(self, preview: engine.Preview) -> Request:
        return {
            "op": "apply",
            "preview": preview.model_dump(mode="json"),
            "reason": self.random.choice(["", "why not"]),
        }

    def make_correct(self) -> Request:
        claims = self.some("claims", 2)
        return self.shown(self.ws.preview_several({claim: self.text("truth") for claim in claims}))

    def make_retract(self) -> Request:
        return self.shown(self.ws.preview(self.one("claims"), None))

    def make_withdraw(self) -> Request | None:
        if self.random.random() < 0.5:
            return None
        return self.shown(self.ws.preview_withdrawal(self.random.choice(list(self.texts))))

    def make_undo(self) -> Request:
        return {"op": "undo", "correction": self.one("corrections")}

    def make_settle(self) -> Request | None:
        open_ones = [d for d in self.named["decisions"][-20:] if self.ws.decision(d).status == "needs_review"]
        how = self.random.choice(["reaffirm", "rebase", "withdraw"])
        request = {"op": "settle", "decision": self.random.choice(open_ones), "how": how}
        return request | {"because": self.because(), "title": self.text("decision")}

    def make_replace(self) -> Request:
        source = self.random.choice(list(self.texts))
        lines = self.texts[source].splitlines()
        kept = [line for line in lines if self.random.random() < 0.7]
        return {"op": "replace", "source": source, "text": "\n".join([self.text("news"), *kept])}

    def make_reanchor(self) -> Request | None:
        source = self.random.choice(list(self.of_source))
        claims = [c for c in self.of_source[source] if self.ws.claim(c).status == "current"]
        claims = self.random.sample(claims, min(2, len(claims)))
        statements = {claim: self.ws.claim(claim).statement for claim in claims}
        lines = self.texts[source].splitlines()
        quotes = {claim: lines[0] for claim, statement in statements.items() if statement not in lines}
        return {"op": "reanchor", "source": source, "claims": claims, "quotes": quotes} if claims else None

    def make_ask(self) -> Request:
        question = self.random.choice([f"Which fact {self.tag} holds?", "What of the zebra?"])
        return {"op": "ask", "question": question}


def run_history(ws: engine.Workspace, seed: int, steps: int, look: Callable[[], None]) -> Counter[str]:
    """Make a random history with requests of every kind. Return how many of each were carried out."""
    history = RandomHistory(ws, seed)
    kinds = set(history.ops)
    history.ops = [*history.ops, "decide", "plan", "plan", "correct"]
    done: Counter[str] = Counter()
    for step in range(5 * steps):
        if step >= steps and kinds <= set(done):
            break
        request = history.next()
        try:
            history.did(request, perform(ws, request))
        except REFUSALS:
            continue
        done[history.op] += 1
        if step % 3 == 0:
            look()
    assert kinds <= set(done), f"never carried out: {kinds - set(done)}"
    return done


def address(wb: engine.Workbench) -> str | Path:
    server = wb._database._server
    return os.environ["FALKORDB_URL"] if server is None else server.socket_path


def interpreted(graph: reader.Graph, revision: int, payload: str) -> None:
    """Carry out a payload on a graph that was read: the format, as somebody else would read it."""
    plain = json.loads(zlib.decompress(base64.b85decode(payload)))
    for label, rows in plain["nodes"].items():
        for row in rows:
            assert row["id"] not in graph.nodes
            graph.nodes[row["id"]] = (label, dict(row))
    for relation, _, _, rows in plain["links"]:
        graph.edges += [reader.Edge(relation, row["a"], row["b"], dict(row["set"])) for row in rows]
    for relation, _, _, rows in plain["ends"]:
        for row in rows:
            for edge in graph.edges:
                same = (edge.relation, edge.a, edge.b) == (relation, row["a"], row["b"])
                if same and "died" not in edge.props and row["id"] in (None, edge.props.get("id")):
                    edge.props["died"] = revision
    for label, updates in plain["updates"].items():
        for name, props in updates.items():
            assert graph.nodes[name][0] == label
            graph.nodes[name][1].update(props)


def compared(graph: reader.Graph, events: bool = True) -> list[str]:
    """The lines to compare: all but what is a workspace's or a writer's own."""
    nodes = {
        name: (label, {k: v for k, v in props.items() if label != "Event" or k != "request_key"})
        for name, (label, props) in graph.nodes.items()
        if events or label != "Event"
    }
    return reader.Graph({}, nodes, graph.edges, graph.extra).plain()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_workspace_is_rebuilt_from_its_events(wb: engine.Workbench, ws: engine.Workspace, seed: int) -> None:
    client = reader.connect(address(wb))

    def look() -> None:
        assert reader.check(client, ws.id) == []

    run_history(ws, seed, 100, look)
    original = reader.read(client, ws.id)
    assert reader.violations(original) == []
    snap = ws._snapshot()
    rows = event_rows(snap)
    kept = payloads(snap, 0, snap.revision)
    assert [row["revision"] for row in rows] == [revision for revision, _ in kept] == list(range(1, snap.revision + 1))
    again = wb.create_workspace("again")
    try:
        by_hand = reader.Graph({}, {}, [])
        for row, (revision, payload) in zip(rows, kept, strict=True):
            change = ChangeSet.from_payload(revision, payload)
            info = EventInfo(**{key: row[key] for key in ("kind", "actor", "reason", "summary", "ref", "at")})
            assert commit(wb._database, again._graph, again.id, revision - 1, change, info)
            interpreted(by_hand, revision, payload)
        rebuilt = reader.read(client, again.id)
        assert rebuilt.workspace["revision"] == original.workspace["revision"]
        assert compared(rebuilt) == compared(original)
        assert compared(by_hand, events=False) == compared(original, events=False)
        assert again.decisions().equals(ws.decisions())
    finally:
        wb.delete_workspace(again.id)


def test_nothing_done_leaves_no_event(wb: engine.Workbench, ws: engine.Workspace) -> None:
    request = {"op": "ingest", "text": "It holds.", "name": "One", "extractor": None}
    perform(ws, request)
    before = reader.read(reader.connect(address(wb)), ws.id).plain()
    perform(ws, request)
    assert reader.read(reader.connect(address(wb)), ws.id).plain() == before
