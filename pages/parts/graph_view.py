"""The picture of the graph: built by pyvis, drawn by the vis-network that pyvis ships, in a component.

A component rather than pyvis's own page: it is no frame that could reach the app, its hover box takes text only,
and a click comes back to Python. The table and the lists do the same for the keyboard.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

import streamlit as st

from engine.product import DRAWN, FILLS, SHAPES, ProductGraph
from pages.parts.words import counted

HEIGHT: Final = 460
VIS: Final = "templates/lib/vis-9.1.2/vis-network.min.js"

_CSS: Final = """
.frame { border: 1px solid var(--st-border-color); border-radius: .5rem; overflow: hidden; position: relative; }
.canvas { width: 100%; height: 100%; }
.vis-network:focus-visible { outline: 2px solid var(--st-primary-color); }
div.vis-tooltip { position: absolute; visibility: hidden; pointer-events: none; z-index: 5; padding: .35rem .6rem;
  max-width: 20rem; white-space: normal; overflow-wrap: anywhere; font: 13px/1.4 var(--st-font);
  color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: .35rem; box-shadow: 0 2px 8px rgba(0, 0, 0, .2); }
"""
_JS: Final = """
const drawn = new WeakMap();
const least = (canvas) => (canvas.clientWidth > 600 ? 0.45 : 0.62);
export default function ({ data, parentElement, setTriggerValue }) {
  const frame = parentElement.querySelector(".frame");
  const canvas = parentElement.querySelector(".canvas");
  frame.style.height = data.height + "px";
  frame.setAttribute("role", "img");
  frame.setAttribute("aria-label", data.alt);
  const signature = JSON.stringify([data.nodes, data.edges]);
  let one = drawn.get(canvas);
  if (!one || one.signature !== signature) {
    if (one) one.end();
    const vis = globalThis.vis;
    const network = new vis.Network(
      canvas, { nodes: new vis.DataSet(data.nodes), edges: new vis.DataSet(data.edges) }, data.options);
    // All of it when that can be read, else the node it is about with what rests on it to the right; drag for more.
    const place = () => {
      network.fit({ maxZoomLevel: 1, minZoomLevel: 0.01 });
      const positions = network.getPositions();
      const about = positions[data.selected];
      const scale = least(canvas);
      if (network.getScale() >= (about ? scale : scale / 2)) return;
      const at = about || Object.values(positions).reduce((a, b) => (b.x < a.x ? b : a));
      network.moveTo({ position: { x: at.x - 100 + canvas.clientWidth / 2 / scale, y: at.y }, scale });
    };
    const watch = new ResizeObserver(place);
    watch.observe(canvas);
    one = { network, signature, end() { watch.disconnect(); network.destroy(); } };
    drawn.set(canvas, one);
  }
  one.network.off("click");
  one.network.on("click", (event) => {
    if (event.nodes.length) setTriggerValue("clicked", String(event.nodes[0]));
  });
  one.network.unselectAll();
  if (data.selected && one.network.body.data.nodes.get(data.selected)) one.network.selectNodes([data.selected]);
  return () => { one.end(); drawn.delete(canvas); };
}
"""


@st.cache_resource(show_spinner=False)
def _component() -> Any:
    """Register the component once a process: doing it at each rerun would send the script each time."""
    script = files("pyvis").joinpath(VIS).read_text(encoding="utf-8")
    return st.components.v2.component(
        "corrigenda_graph", html='<div class="frame"><div class="canvas"></div></div>', css=_CSS, js=f"{script}\n{_JS}"
    )


def is_dark() -> bool:
    """Return whether the page is shown dark."""
    return st.context.theme.type == "dark"


def show_graph(
    graph: ProductGraph,
    key: str,
    focus: str | None = None,
    highlight: Mapping[str, str] | None = None,
    height: int = HEIGHT,
) -> str | None:
    """Show counts, picture and legend; return the id that was clicked just now."""
    if not graph.nodes:
        st.caption("There is nothing to draw yet.")
        return None
    drawn = graph.nearest([*([focus] if focus else []), *(highlight or {})], DRAWN)
    counts = ", ".join(counted(number, kind.lower()) for kind, number in graph.counts.items() if number)
    st.caption(f"{counts}. {drawn.showing}")
    network = drawn.to_pyvis(focus, highlight, dark=is_dark())
    result = _component()(
        key=key,
        data={
            "nodes": network.nodes,
            "edges": network.edges,
            "options": network.options,
            "selected": focus,
            "height": height,
            "alt": f"Graph: {counts}. What rests on a node stands to its right.",
        },
        height=height + 2,
        on_clicked_change=_nothing,
    )
    _legend(drawn, bool(highlight))
    clicked = result.clicked
    return str(clicked) if clicked else None


def _nothing() -> None:
    """Stand for the callback that a trigger value needs; the value itself is read after the run."""


_GLYPHS: Final = {"ellipse": "◯", "box": "▢", "diamond": "◆", "triangle": "▲", "star": "★"}


def _legend(graph: ProductGraph, tiers: bool) -> None:
    here = [kind for kind, number in graph.counts.items() if number]
    items = "".join(
        f'<span style="white-space:nowrap"><span aria-hidden="true" style="color:{FILLS[kind][1]};'
        f'background:{FILLS[kind][0]};border-radius:3px;padding:0 .3em">{_GLYPHS[SHAPES[kind]]}</span> {kind}</span> '
        for kind in here
    )
    st.html(
        f'<div style="display:flex;flex-wrap:wrap;gap:.3rem 1rem;font-size:.85rem">{items}'
        f"<span>{'pale: not reached by the change' if tiers else 'dashed and pale: no longer stands'}</span>"
        "<span>the first line of a label says the status</span></div>"
    )
