from __future__ import annotations

import re

import pytest

from engine.layout import COLUMN, ROW, positions
from engine.product import ProductEdge, ProductGraph, ProductNode, offline, plain_title

HOSTILE = [
    "<script>window.pwned=1</script>",
    "<img src=http://evil.example/x onerror=alert(1)>",
    "click <a href='javascript:alert(1)'>href</a> HREF hReF",
    "</script><script>alert(1)</script>",
    "{{ 7*7 }} {% raw %}",
    "quote \" ' ` and U+2028 \u2028 and \u202e backwards",
    "popup.className = 'popup' and popupTimeout",
    "W" * 4000,
    "",
]
KINDS = ("Source", "Claim", "Decision", "Action", "Correction")


def story() -> ProductGraph:
    kinds = {"s": "Source", "a": "Claim", "b": "Claim", "d": "Decision", "e": "Decision", "x": "Action"}
    edges = [
        ("s", "a", "STATES"),
        ("a", "b", "SUPPORTS"),
        ("b", "d", "SUPPORTS"),
        ("d", "e", "SUPPORTS"),
        ("e", "x", "LEADS_TO"),
    ]
    return ProductGraph(
        nodes=[ProductNode(id=i, kind=k, label=f"label {i}", status="current") for i, k in kinds.items()],
        edges=[ProductEdge(source=a, target=b, relation=r) for a, b, r in edges],
        total_nodes=len(kinds),
    )


def test_hostile_labels_stay_text() -> None:
    graph = ProductGraph(
        nodes=[
            ProductNode(id=f"n{n}", kind=KINDS[n % 5], label=label, status="current") for n, label in enumerate(HOSTILE)
        ],
        total_nodes=len(HOSTILE),
    )
    page = graph.to_html()
    assert "<script>window.pwned" not in page
    assert "<img" not in page
    assert "className = 'popup'" not in page
    assert all("href" not in node["title"].lower() for node in graph.to_pyvis().nodes)
    assert all(len(node["title"]) < 200 for node in graph.to_pyvis().nodes)


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = story().to_html()
    markup = re.sub(r"<script.*?</script>|<style.*?</style>|<!--.*?-->", "", page, flags=re.DOTALL)
    assert "http" not in markup
    assert not re.search(r"<script[^>]*src", re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL))
    with pytest.raises(AssertionError, match="elsewhere"):
        offline('<html><img src="https://cdn.example/x.png"></html>')
    with pytest.raises(AssertionError, match="raw HTML"):
        offline("<script>popup.className = 'popup'</script>")


def test_a_frame_in_a_notebook_reaches_nothing_of_it() -> None:
    shown = story()._repr_html_()
    assert 'sandbox="allow-scripts"' in shown
    assert "allow-same-origin" not in shown.split("srcdoc")[0]


def test_what_rests_on_a_node_stands_to_its_right() -> None:
    graph = story()
    places = positions({n.id: n.kind for n in graph.nodes}, [(e.source, e.target, e.relation) for e in graph.edges])
    assert [places[name][0] // COLUMN for name in "sabdex"] == [0, 1, 2, 3, 4, 5]


def test_a_cycle_has_a_layout_and_no_two_nodes_share_a_place() -> None:
    kinds = {f"c{n}": "Claim" for n in range(40)} | {f"k{n}": "Correction" for n in range(5)}
    edges = [(f"c{n}", f"c{(n + 1) % 40}", "SUPPORTS") for n in range(40)]
    edges += [(f"k{n}", f"c{n}", "CORRECTS") for n in range(5)]
    places = positions(kinds, edges)
    assert len(set(places.values())) == len(kinds)
    assert places == positions(kinds, edges)


def test_crossings_are_undone() -> None:
    kinds = {f"s{n}": "Source" for n in range(4)} | {f"c{n}": "Claim" for n in range(4)}
    places = positions(kinds, [(f"s{n}", f"c{3 - n}", "STATES") for n in range(4)])
    assert [places[f"s{n}"][1] for n in range(4)] == [places[f"c{3 - n}"][1] for n in range(4)]
    assert sorted(y for _, y in places.values())[0] == -1.5 * ROW


def test_of_many_nodes_those_nearest_to_the_focus_are_drawn_and_it_says_so() -> None:
    chain = ProductGraph(
        nodes=[ProductNode(id=f"c{n:03}", kind="Claim", label=str(n), status="current") for n in range(400)],
        edges=[ProductEdge(source=f"c{n:03}", target=f"c{n + 1:03}", relation="SUPPORTS") for n in range(399)],
        total_nodes=400,
    )
    near = chain.nearest(["c200"], 5)
    assert [node.id for node in near.nodes] == ["c198", "c199", "c200", "c201", "c202"]
    assert near.showing == "Showing 5 of 400 nodes: those nearest to what is selected."
    assert len(near.edges) == 4
    assert len(chain.to_pyvis().nodes) == 150
    assert len(chain.nearest((), 150).nodes) == 150
    assert ProductGraph().nearest().showing == "Showing all 0 nodes."


def test_tiers_show_without_colour() -> None:
    network = story().to_pyvis(focus="a", highlight={"a": "changed", "d": "needs_review", "x": "acted"})
    labels = {node["id"]: node["label"].split("\n")[0] for node in network.nodes}
    assert labels["a"] == "✎ changes"
    assert labels["d"] == "⚠ needs review"
    assert labels["x"] == "!! already done"
    assert {node["id"] for node in network.nodes if node["opacity"] < 1} == {"s", "b", "e"}


def test_frames_and_networkx_hold_everything() -> None:
    nodes, edges = story().to_frames()
    assert list(nodes.columns) == ["id", "kind", "label", "status"]
    assert list(edges.columns) == ["source", "target", "relation"]
    assert len(nodes) == 6
    assert ProductGraph().to_frames()[0].empty
    graph = story().to_networkx()
    assert graph.nodes["d"]["kind"] == "Decision"
    assert graph.has_edge("d", "e", key="SUPPORTS")


def test_titles_are_short_and_on_one_line() -> None:
    assert plain_title("a\nb\t c") == "a b c"
    assert len(plain_title("x" * 999)) == 160
    assert "href" not in plain_title("HREF href").lower()
