"""The graph that people see: the whole of it, or what lies around one node."""

from __future__ import annotations

from engine.errors import InvalidInput, UnknownNode
from engine.product import ProductEdge, ProductGraph, ProductNode
from engine.store.product import Seen, all_edges, all_nodes, edges_around, is_seen, some_nodes
from engine.store.snapshot import Snapshot

GONE = {"superseded", "retracted", "withdrawn", "reverted", "pending", "cancelled"}
DOWNWARD = {"STATES", "SUPPORTS", "LEADS_TO"}
Edges = set[tuple[str, str, str]]


def product_graph(snap: Snapshot, focus: str | None, hops: int | None, include_superseded: bool) -> ProductGraph:
    """Return the product view as of the snapshot.

    Without `focus`, all of it. With it: the node, what lies one step up from it, and everything down from it,
    `hops` steps at most. What no longer stands is left out unless it is asked for, or is the focus.

    Raises:
        UnknownNode: `focus` names nothing that people see.
        InvalidInput: `hops` is negative.
    """
    if hops is not None and (type(hops) is not int or hops < 0):
        raise InvalidInput("`hops` is how many steps down to go: 0 or more, or None for all of them.")
    if focus is None:
        nodes, edges = all_nodes(snap), all_edges(snap)
    else:
        nodes, edges = _around(snap, focus, hops)
    if not include_superseded:
        nodes = {name: node for name, node in nodes.items() if node.status not in GONE or name == focus}
    kept = sorted(edge for edge in edges if edge[1] in nodes and edge[2] in nodes)
    return ProductGraph(
        nodes=[
            ProductNode(id=node.id, kind=node.kind, label=node.label, status=node.status)  # type: ignore[arg-type]
            for node in sorted(nodes.values(), key=lambda node: (node.kind, node.id))
        ],
        edges=[ProductEdge(source=a, target=b, relation=relation) for relation, a, b in kept],  # type: ignore[arg-type]
        total_nodes=len(nodes),
    )


def _around(snap: Snapshot, focus: str, hops: int | None) -> tuple[dict[str, Seen], Edges]:
    if not is_seen(focus) or not some_nodes(snap, [focus]):
        raise UnknownNode(f"There is no node {focus} in this workspace.")
    edges: Edges = set()
    reached = {focus}
    frontier = {focus}
    step = 0
    while frontier and (hops is None or step <= hops):
        around = edges_around(snap, frontier)
        if step == 0:
            edges |= around
        edges |= {edge for edge in around if edge[0] in DOWNWARD and edge[1] in reached}
        if hops is not None and step == hops:
            break
        frontier = {b for relation, a, b in around if relation in DOWNWARD and a in frontier} - reached
        reached |= frontier
        step += 1
    shown = reached | {end for _, a, b in edges for end in (a, b) if hops != 0 or focus in (a, b)}
    return some_nodes(snap, shown), edges
