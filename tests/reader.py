"""A reader of a workspace's graph that shares no code with the engine, and checks what its semantics promise.

It talks to the server with the bare client and queries of its own, and knows the storage only by its names.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import falkordb

Props = dict[str, Any]


class State(NamedTuple):
    status: str
    supported: bool
    cause: int
    note: str


class Edge(NamedTuple):
    relation: str
    a: str
    b: str
    props: Props


def state_of(text: str) -> State:
    status, sign, cause, note = text.split(":", 3)
    if sign not in ("+", "-"):
        raise ValueError(f"no sign of support in {text!r}")
    return State(status, sign == "+", int(cause), note)


def connect(address: str | Path) -> falkordb.FalkorDB:
    """A client for a socket (a path) or a server (a URL)."""
    if isinstance(address, Path):
        return falkordb.FalkorDB(unix_socket_path=str(address))
    return falkordb.FalkorDB.from_url(address)


def server_pid(socket: Path) -> int:
    """The process behind a socket, as it says itself."""
    return int(connect(socket).connection.info("server")["process_id"])


@dataclass
class Graph:
    """Everything in one graph. Two of them are equal when every node, edge and property is."""

    workspace: Props
    nodes: dict[str, tuple[str, Props]]
    edges: list[Edge]
    extra: list[str] = field(default_factory=list)

    def of(self, label: str) -> dict[str, Props]:
        return {name: props for name, (kind, props) in self.nodes.items() if kind == label}

    def alive(self, relation: str) -> Iterator[Edge]:
        now = self.workspace["revision"]
        for edge in self.edges:
            if edge.relation == relation and edge.props["born"] <= now and (edge.props.get("died") or now + 1) > now:
                yield edge

    def status(self, name: str) -> str:
        return state_of(self.nodes[name][1]["state"]).status

    def plain(self) -> list[str]:
        """Every node and edge as a line of text, sorted; for comparing graphs and showing how they differ."""
        lines = [f"Workspace {json.dumps(self.workspace, sort_keys=True)}"]
        lines += [f"{label} {json.dumps(props, sort_keys=True)}" for label, props in self.nodes.values()]
        lines += [f"{r} {a} {b} {json.dumps(props, sort_keys=True)}" for r, a, b, props in self.edges]
        return sorted(lines + self.extra)


def read(client: falkordb.FalkorDB, workspace_id: str) -> Graph:
    """The whole graph, as it is now. Nobody may be writing meanwhile."""
    graph = client.select_graph(f"workspace:{workspace_id}")
    workspace: Props = {}
    nodes: dict[str, tuple[str, Props]] = {}
    extra: list[str] = []
    names: dict[int, str] = {}
    for number, labels, props in graph.ro_query("MATCH (n) RETURN id(n), labels(n), properties(n)").result_set:
        plain = dict(props)
        if labels in (["CorrectionVector"], ["VectorSpace"]):
            continue  # made from the rest, at any time, by whoever searches
        names[number] = str(plain.get("id"))
        if labels == ["Workspace"] and not workspace:
            workspace = plain
        elif len(labels) != 1 or "id" not in plain or plain["id"] in nodes:
            extra.append(f"a node without one label, without an id, or there twice: {labels} {plain}")
        else:
            nodes[plain["id"]] = (labels[0], plain)
    rows = graph.ro_query("MATCH (n)-[e]->(m) RETURN type(e), id(n), id(m), properties(e)").result_set
    edges = [Edge(relation, names[a], names[b], dict(props)) for relation, a, b, props in rows if a in names]
    return Graph(workspace, nodes, edges, extra)


def standing(graph: Graph) -> set[str]:
    """What is supported, by going round until nothing is added."""
    active = {name for name in graph.of("Source") if graph.status(name) == "active"}
    grounds: dict[str, set[str]] = defaultdict(set)
    for edge in graph.alive("EVIDENCE"):
        grounds[edge.a].add(edge.props["source"])
    ways: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for edge in graph.alive("RESTS_ON"):
        ways[edge.a][edge.props["j"]].add(edge.b)
    eligible = {name for name in graph.of("Claim") if graph.status(name) == "current"}
    eligible |= {name for name in graph.of("Decision") if graph.status(name) in ("standing", "needs_review")}
    found: set[str] = set()
    while True:
        more = {
            name
            for name in eligible - found
            if grounds[name] & active or any(premises <= found for premises in ways[name].values())
        }
        if not more:
            return found
        found |= more


def violations(graph: Graph) -> list[str]:
    """Everything in the graph that the semantics do not allow, in words."""
    found = [*graph.extra]
    if not graph.workspace:
        return [*found, "there is no Workspace node"]
    for check in (_times, _events, _quotes, _replacements, _twins, _support, _actions, _corrections):
        found += check(graph)
    return found


def check(client: falkordb.FalkorDB, workspace_id: str) -> list[str]:
    """Read the graph as it is now and return what is wrong with it."""
    return violations(read(client, workspace_id))


def _times(graph: Graph) -> Iterator[str]:
    now = graph.workspace["revision"]
    for name, (label, props) in graph.nodes.items():
        if not 1 <= props.get("born", 0) <= now:
            yield f"{label} {name} is born at {props.get('born')}, which is not a revision up to {now}"
        if "state" in props:
            since = [*props.get("past_since", []), props["since"]]
            if len(props.get("past_state", [])) != len(props.get("past_since", [])):
                yield f"{name} has {len(props['past_state'])} past states for {len(props['past_since'])} revisions"
            if since != sorted(set(since)) or since[0] != props["born"] or since[-1] > now:
                yield f"the states of {name} began at {since}, and it was born at {props['born']} (now {now})"
        elif label in ("Source", "Claim", "Decision", "Action", "Correction"):
            yield f"{label} {name} has no state"
    for relation, a, b, props in graph.edges:
        if not 1 <= props.get("born", 0) <= now or props.get("died", now) > now:
            yield f"{relation} from {a} to {b} lives from {props.get('born')} to {props.get('died')} (now {now})"
        for end in (a, b):
            if end not in graph.nodes:
                yield f"{relation} from {a} to {b} ends at nothing"
            elif graph.nodes[end][1]["born"] > props.get("born", 0):
                yield f"{relation} from {a} to {b} is older than {end}"


def _events(graph: Graph) -> Iterator[str]:
    now = graph.workspace["revision"]
    events = sorted(graph.of("Event").values(), key=lambda event: event["revision"])
    revisions = [event["revision"] for event in events]
    if revisions != list(range(1, now + 1)):
        yield f"the workspace is at revision {now}, and the events are {revisions}"
    times = [event["at"] for event in events]
    if times != sorted(times):
        yield "the times of the events go back"
    if events and events[-1]["at"] != graph.workspace["at"]:
        yield f"the workspace is as of {graph.workspace['at']}, its last event of {events[-1]['at']}"


def _texts(graph: Graph) -> dict[str, list[tuple[int, int, str, str]]]:
    pieces: dict[str, list[tuple[int, int, str, str]]] = defaultdict(list)
    for edge in graph.alive("HAS_FRAGMENT"):
        fragment = graph.nodes[edge.b][1]
        pieces[edge.a].append((fragment["start"], fragment["end"], fragment["text"], edge.b))
    return {version: sorted(group) for version, group in pieces.items()}


def _quotes(graph: Graph) -> Iterator[str]:
    pieces = _texts(graph)
    texts = {version: "".join(text for _, _, text, _ in group) for version, group in pieces.items()}
    for version, props in graph.of("SourceVersion").items():
        group = pieces.get(version, [])
        ends = [0, *(end for _, end, _, _ in group)]
        if [start for start, _, _, _ in group] != ends[:-1] or ends[-1] != props["length"]:
            yield f"the fragments of {version} do not tile its {props['length']} characters"
        if len(texts.get(version, "")) != props["length"]:
            yield f"the text of {version} is {len(texts.get(version, ''))} long, not {props['length']}"
    versions = {(edge.a, edge.b) for edge in graph.alive("HAS_VERSION")}
    evidence: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.alive("EVIDENCE"):
        evidence[edge.props["id"]].append(edge)
    for name, edges in evidence.items():
        props = edges[0].props
        if any(edge.a != edges[0].a or edge.props != props for edge in edges):
            yield f"the edges of evidence {name} say different things"
        if (props["source"], props["version"]) not in versions:
            yield f"evidence {name} names {props['version']}, which is not a version of {props['source']}"
        spans = list(zip(props["starts"], props["ends"], strict=True))
        if not spans:
            yield f"evidence {name} has no span"
        for start, end in spans:
            if texts[props["version"]][start:end] != props["quote"]:
                yield f"the quote of evidence {name} does not stand at [{start}, {end}) of {props['version']}"
        touched = {fragment for a, b, _, fragment in pieces[props["version"]] if any(s < b and a < e for s, e in spans)}
        if sorted(touched) != sorted(edge.b for edge in edges):
            yield f"evidence {name} is linked to other fragments than it touches"
    held_up = {edge.a for relation in ("EVIDENCE", "RESTS_ON") for edge in graph.alive(relation)}
    for claim in graph.of("Claim"):
        if graph.status(claim) == "current" and claim not in held_up:
            yield f"claim {claim} is current and has neither evidence nor a justification"


def _replacements(graph: Graph) -> Iterator[str]:
    for made in graph.alive("REPLACES_WITH"):
        said = graph.nodes[made.a][1]["statement"]
        claim = graph.nodes[made.b][1]
        # What others say of the same since is evidence of its own; the correction's is what it was born with.
        own = [e for e in graph.alive("EVIDENCE") if e.a == made.b and e.props["born"] == made.props["born"]]
        if len(own) != 1:
            yield f"replacement {made.b} was born with {len(own)} pieces of evidence"
            continue
        fragment = graph.nodes[own[0].b][1]
        if not said == claim["statement"] == own[0].props["quote"] == fragment["text"]:
            yield f"replacement {made.b} rests on {fragment['text']!r}, and {made.a} says {said!r}"
        if (claim["confidence"], claim["confidence_kind"]) != (0.0, "human_correction"):
            yield f"replacement {made.b} has the confidence {claim['confidence']} ({claim['confidence_kind']})"
        if any(e.a == made.b and e.props["born"] == made.props["born"] for e in graph.alive("RESTS_ON")):
            yield f"replacement {made.b} was born with a justification"


def _twins(graph: Graph) -> Iterator[str]:
    claims = graph.of("Claim")
    over = Counter(e.b for e in graph.alive("SUPERSEDES") if e.a in claims and graph.status(e.a) == "current")
    for claim, number in over.items():
        if number > 1:
            yield f"{number} current claims supersede {claim}"
        if graph.status(claim) == "current":
            yield f"{claim} is current and superseded at once"


def _support(graph: Graph) -> Iterator[str]:
    right = standing(graph)
    for name, (label, props) in graph.nodes.items():
        if "state" not in props:
            continue
        state = state_of(props["state"])
        wanted = name in right if label in ("Claim", "Decision") else True
        if state.supported != wanted:
            yield f"{label} {name} ({state.status}) is {'' if wanted else 'not '}supported; stored is {props['state']}"
        if label == "Decision" and state.status == "standing" and not state.supported:
            yield f"decision {name} is standing without support"


def _actions(graph: Graph) -> Iterator[str]:
    waiting = {e.a for e in graph.alive("BECAUSE_OF") if graph.status(e.b) == "needs_review"}
    for action in graph.of("Action"):
        status = graph.status(action)
        if action in waiting and status not in ("held", "done", "cancelled"):
            yield f"action {action} is {status} though it hangs on a decision that needs review"
        if action not in waiting and status == "held":
            yield f"action {action} is held though none of its decisions needs review"


def _corrections(graph: Graph) -> Iterator[str]:
    status = {correction: graph.status(correction) for correction in graph.of("Correction")}
    about: dict[str, list[Edge]] = defaultdict(list)
    for relation in ("CORRECTS", "REPLACES_WITH", "WITHDRAWS", "SAYS"):
        for edge in graph.alive(relation):
            about[edge.a].append(edge)
    for correction, props in graph.of("Correction").items():
        kinds = Counter(e.relation for e in about[correction] if e.props.get("role") != "withdrawn")
        wanted = {
            "correct": {"CORRECTS": 1, "REPLACES_WITH": 1, "SAYS": 1},
            "retract": {"CORRECTS": 1},
            "withdraw": {"WITHDRAWS": 1},
        }[props["kind"]]
        if kinds != wanted:
            yield f"correction {correction} ({props['kind']}) has the edges {dict(kinds)}"
        if status[correction] not in ("applied", "undone"):
            yield f"correction {correction} is {status[correction]}"
        applied = status[correction] == "applied"
        for relation, _, name, role in ((e.relation, e.a, e.b, e.props.get("role")) for e in about[correction]):
            if relation == "CORRECTS" and role != "withdrawn" and applied:
                if graph.status(name) != ("superseded" if props["kind"] == "correct" else "retracted"):
                    yield f"{correction} is applied, and {name} is {graph.status(name)}"
            elif relation == "REPLACES_WITH" and not applied and graph.status(name) == "current":
                yield f"{correction} is undone, and its replacement {name} is current"
            elif relation == "WITHDRAWS" and applied != (graph.status(name) == "withdrawn"):
                # Another withdrawal of the same source may stand.
                others = {e.a for e in graph.alive("WITHDRAWS") if e.b == name and status[e.a] == "applied"}
                if applied or not others:
                    yield f"{correction} is {status[correction]}, and source {name} is {graph.status(name)}"
    for edge in graph.alive("SUPERSEDES"):
        if edge.a in graph.of("Claim") and graph.status(edge.b) != "superseded":
            yield f"{edge.a} supersedes {edge.b}, which is {graph.status(edge.b)}"
