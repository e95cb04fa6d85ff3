"""The product view as a record: only what people see, as frames, as a networkx graph, or as a picture.

pyvis builds the picture. Three things about it are dealt with here, because each is a way in for hostile text or a
request that leaves the machine: a title that contains `href` turns its hover box into raw HTML, its page loads
bootstrap from a host elsewhere, and it takes neither menus nor headings that are safe.
"""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pydantic import Field

from engine.layout import positions
from engine.record import Record
from engine.records import NodeKind

if TYPE_CHECKING:
    from networkx import MultiDiGraph
    from pandas import DataFrame
    from pyvis.network import Network

Relation: TypeAlias = Literal["STATES", "SUPPORTS", "LEADS_TO", "SUPERSEDES", "CORRECTS"]
DRAWN: Final = 150
"""How many nodes a picture holds before nobody can read it."""

SHAPES: Final[dict[str, str]] = {
    "Source": "ellipse",
    "Claim": "box",
    "Decision": "diamond",
    "Action": "triangle",
    "Correction": "star",
}
FILLS: Final[dict[str, tuple[str, str]]] = {
    # kind → fill and border; text on a fill is always dark, so both themes share them
    "Source": ("#d5dbe3", "#5d6b7e"),
    "Claim": ("#cfe3fb", "#2f6fb5"),
    "Decision": ("#b9a5ea", "#5b3fa8"),
    "Action": ("#8fd0ac", "#1f7a4d"),
    "Correction": ("#f3c56b", "#96690a"),
}
GONE: Final = frozenset({"superseded", "retracted", "withdrawn", "reverted", "cancelled", "unsupported"})
MARKS: Final[dict[str, str]] = {
    "superseded": "✗ superseded",
    "retracted": "✗ retracted",
    "withdrawn": "✗ withdrawn",
    "reverted": "✗ reverted",
    "cancelled": "✗ cancelled",
    "unsupported": "∅ no support",
    "needs_review": "⚠ needs review",
    "held": "‖ on hold",
    "done": "✓ done",
}
TIERS: Final[dict[str, tuple[str, str]]] = {
    # tier → mark and border; what is drawn does not depend on the colour alone
    "changed": ("✎ changes", "#96690a"),
    "acted": ("!! already done", "#b3261e"),
    "needs_review": ("⚠ needs review", "#b3261e"),
    "held": ("‖ on hold", "#b3261e"),
    "weakened": ("▽ weakened", "#b06000"),
    "restored": ("△ restored", "#1f7a4d"),
    "untouched": ("= untouched", "#5d6b7e"),
}
RELATION_LABELS: Final[dict[str, str]] = {
    "STATES": "states",
    "SUPPORTS": "supports",
    "LEADS_TO": "leads to",
    "SUPERSEDES": "supersedes",
    "CORRECTS": "corrects",
}
_HREF: Final = re.compile("href", re.IGNORECASE)
_REMOTE_TAG: Final = re.compile(
    r"<link\b[^>]*?https?://[^>]*>|<script\b[^>]*?\bsrc\s*=\s*[\"']https?://[^>]*>\s*</script>", re.IGNORECASE
)
# JSON in the page has its apostrophes escaped, so only the template of pyvis can write this.
_RAW_HOVER_BOX: Final = "popup.className = 'popup'"


class ProductNode(Record):
    """A Source, Claim, Decision, Action or Correction. `label` is its whole text."""

    id: str
    kind: NodeKind
    label: str
    status: str


class ProductEdge(Record):
    """A readable relation, along the arrow: what a node rests on is the source."""

    source: str
    target: str
    relation: Relation


class ProductGraph(Record):
    """Some or all of what people see. `total_nodes` is how many there were before any were left out."""

    nodes: list[ProductNode] = Field(default_factory=list)
    edges: list[ProductEdge] = Field(default_factory=list)
    total_nodes: int = 0

    @property
    def showing(self) -> str:
        """One sentence that says how much of the whole this is."""
        shown = len(self.nodes)
        if shown >= self.total_nodes:
            return f"Showing all {shown} nodes." if shown != 1 else "Showing the only node."
        return f"Showing {shown} of {self.total_nodes} nodes: those nearest to what is selected."

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes of each kind there are, in reading order."""
        found = dict.fromkeys(SHAPES, 0)
        for node in self.nodes:
            found[node.kind] += 1
        return found

    def nearest(self, focus: Iterable[str] = (), limit: int = DRAWN) -> ProductGraph:
        """Return the `limit` nodes that lie nearest to `focus`, along edges in either direction.

        Without a focus, or beyond what is connected to it, the nodes with the most edges come first.
        """
        if len(self.nodes) <= limit:
            return self
        neighbours: dict[str, list[str]] = defaultdict(list)
        for edge in self.edges:
            neighbours[edge.source].append(edge.target)
            neighbours[edge.target].append(edge.source)
        known = {node.id for node in self.nodes}
        busiest = sorted(known, key=lambda name: (-len(neighbours[name]), name))
        kept: dict[str, None] = {}
        starts = [*(name for name in focus if name in known), *busiest]
        frontier = starts[: max(len(starts) - len(busiest), 1)]
        while len(kept) < limit:
            frontier = [name for name in dict.fromkeys(frontier) if name not in kept and name in known]
            if not frontier:
                frontier = [next(name for name in busiest if name not in kept)]
            kept.update(dict.fromkeys(frontier[: limit - len(kept)]))
            frontier = [near for name in frontier for near in sorted(neighbours[name])]
        return ProductGraph(
            nodes=[node for node in self.nodes if node.id in kept],
            edges=[edge for edge in self.edges if edge.source in kept and edge.target in kept],
            total_nodes=max(self.total_nodes, len(self.nodes)),
        )

    def to_frames(self) -> tuple[DataFrame, DataFrame]:
        """Return the nodes and the edges, one row each."""
        from pandas import DataFrame

        nodes = DataFrame([node.model_dump() for node in self.nodes], columns=list(ProductNode.model_fields))
        edges = DataFrame([edge.model_dump() for edge in self.edges], columns=list(ProductEdge.model_fields))
        return nodes, edges

    def to_networkx(self) -> MultiDiGraph[str]:
        """Return a directed multigraph; nodes carry kind, label and status, edges their relation (also as key)."""
        from networkx import MultiDiGraph

        graph: MultiDiGraph[str] = MultiDiGraph()
        for node in self.nodes:
            graph.add_node(node.id, kind=node.kind, label=node.label, status=node.status)
        for edge in self.edges:
            graph.add_edge(edge.source, edge.target, key=edge.relation, relation=edge.relation)
        return graph

    def to_pyvis(
        self,
        focus: str | None = None,
        highlight: Mapping[str, str] | None = None,
        dark: bool = False,
        height: str = "600px",
        limit: int = DRAWN,
    ) -> Network:
        """Return the picture as a pyvis network, with positions set and physics off.

        Args:
            focus: the node that the picture is about; of more than `limit` nodes, those nearest to it are kept.
            highlight: id → tier (a key of `TIERS`). Nodes without one are dimmed, none is hidden.
            dark: draw for a dark page.
            height: of the picture, in CSS.
            limit: how many nodes to draw at most.
        """
        from pyvis.network import Network

        tiers = dict(highlight or {})
        drawn = self.nearest([*([focus] if focus else []), *tiers], limit)
        ink, line, paper = ("#e8ecf1", "#8792a2", "#12161c") if dark else ("#1c2430", "#7b8794", "#ffffff")
        network = Network(height=height, width="100%", directed=True, bgcolor=paper, cdn_resources="in_line")
        places = positions(
            {node.id: node.kind for node in drawn.nodes},
            [(edge.source, edge.target, edge.relation) for edge in drawn.edges],
        )
        for node in drawn.nodes:
            tier = tiers.get(node.id)
            dimmed = tier is None if tiers else node.status in GONE
            x, y = places[node.id]
            network.add_node(node.id, x=x, y=y, **_node_look(node, tier, dimmed, node.id == focus, ink))
        for edge in drawn.edges:
            lit = not tiers or (edge.source in tiers and edge.target in tiers)
            network.add_edge(edge.source, edge.target, **_edge_look(edge, lit, line))
        network.set_options(json.dumps(_OPTIONS))
        return network

    def to_html(self, focus: str | None = None, highlight: Mapping[str, str] | None = None, dark: bool = False) -> str:
        """Return the picture as one page that loads nothing from anywhere."""
        return offline(self.to_pyvis(focus, highlight, dark).generate_html(notebook=False))

    def _repr_html_(self) -> str:
        """Show the picture in a notebook, in a frame that can reach nothing of the notebook."""
        note = html.escape(self.nearest().showing)
        return (
            f"<p>{note}</p>"
            f'<iframe title="{note}" sandbox="allow-scripts" style="border:0;width:100%;height:640px" '
            f'srcdoc="{html.escape(self.to_html())}"></iframe>'
        )


def offline(page: str) -> str:
    """Return a page of pyvis without the tags that load from elsewhere.

    Raises:
        AssertionError: something would still be loaded, or the hover box takes raw HTML.
    """
    cleaned = _REMOTE_TAG.sub("", page)
    tags = _RemoteTags()
    tags.feed(cleaned)
    if tags.found:
        raise AssertionError(f"pyvis wrote a page that loads from elsewhere and must not be shown: {tags.found}")
    if _RAW_HOVER_BOX in cleaned:
        raise AssertionError("pyvis wrote a page whose hover box takes raw HTML; it must not be shown.")
    return cleaned


class _RemoteTags(HTMLParser):
    """Collects what tags load from elsewhere. Texts in the script are no tags, whatever they say."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes that make a browser load something."""
        self.found += [
            f"<{tag} {name}={value}>"
            for name, value in attrs
            if name in ("src", "href", "srcset", "data", "action") and value and "//" in value
        ]


def plain_title(text: str, limit: int = 160) -> str:
    """Return text for a hover box: one short line, in which pyvis cannot find the word that makes it HTML."""
    line = " ".join(text.split())
    short = line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
    return _HREF.sub(lambda found: f"{found[0][:3]}\u200b{found[0][3:]}", short)


def _wrapped(text: str, width: int, lines: int) -> str:
    """Return text as at most `lines` lines of about `width` code points, unbroken words cut."""
    rows: list[str] = []
    row = ""
    for whole_word in text.split():
        word = whole_word if len(whole_word) <= width else whole_word[: width - 1] + "…"
        if row and len(row) + 1 + len(word) > width:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}".strip()
    rows.append(row)
    if len(rows) > lines:
        rows = [*rows[: lines - 1], rows[lines - 1][: width - 1].rstrip() + "…"]
    return "\n".join(rows)


def _node_look(node: ProductNode, tier: str | None, dimmed: bool, focused: bool, ink: str) -> dict[str, Any]:
    fill, border = FILLS[node.kind]
    mark, edge = TIERS.get(tier or "", ("", ""))
    mark = mark or MARKS.get(node.status, "")
    inside = SHAPES[node.kind] in ("box", "ellipse")
    label = _wrapped(node.label, 21, 3)
    pale = dimmed and not focused
    width = 4 if focused else 3 if tier or node.status == "needs_review" else 1.5
    broken = node.status in GONE or node.status == "held"
    outline = edge or ("#b3261e" if node.status == "needs_review" else border)
    return {
        "label": f"{mark}\n{label}" if mark else label,
        "title": plain_title(f"{node.kind}, {mark.partition(' ')[2] or node.status.replace('_', ' ')}: {node.label}"),
        "shape": SHAPES[node.kind],
        "size": 20,
        "color": {
            "background": fill,
            "border": outline,
            "highlight": {"background": fill, "border": outline},
            "hover": {"background": fill, "border": outline},
        },
        "borderWidth": width,
        "borderWidthSelected": max(width, 3),
        "shapeProperties": {"borderDashes": [6, 4] if broken else False, "borderRadius": 8},
        "font": {"color": "#1c2430" if inside and not pale else ink, "size": 16, "face": "Source Sans, sans-serif"},
        "margin": 10,
        "opacity": 0.5 if pale else 1,
    }


def _edge_look(edge: ProductEdge, lit: bool, line: str) -> dict[str, Any]:
    aside = edge.relation in ("SUPERSEDES", "CORRECTS")
    return {
        "title": RELATION_LABELS[edge.relation],
        "color": {"color": line, "opacity": 0.9 if lit else 0.25},
        "dashes": [4, 4] if aside else False,
        "width": 2 if lit else 1,
    }


_OPTIONS: Final[dict[str, Any]] = {
    "physics": {"enabled": False},
    "layout": {"improvedLayout": False},
    "edges": {"smooth": False, "arrows": {"to": {"enabled": True, "scaleFactor": 0.6}}},
    "nodes": {"widthConstraint": {"maximum": 180}, "scaling": {"label": {"drawThreshold": 3}}},
    "interaction": {
        "hover": True,
        "tooltipDelay": 100,
        "dragNodes": False,
        "keyboard": False,
        "navigationButtons": False,
    },
}
