"""Source text with the quoted passages marked, as it stands in the source, character for character."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import streamlit as st

import engine
from engine.records import Span
from pages.parts.words import plain

AROUND: Final = 400
"""How many characters before and after a quote are shown when the whole source is long."""

_STYLE: Final = """<style>
.evidence { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.6; font-size: 0.95rem;
  border: 1px solid rgba(128, 138, 150, .35); border-radius: .5rem; padding: .75rem 1rem; max-height: 24rem;
  overflow-y: auto; }
.evidence mark { color: inherit; background: rgba(74, 144, 221, .22); border-radius: 2px; }
.evidence mark.active { background: rgba(240, 176, 32, .42); box-shadow: inset 0 -2px 0 rgba(176, 96, 0, .9); }
.evidence .cut { opacity: .6; }
</style>"""


def highlight_html(text: str, spans: Iterable[Span], active_spans: Iterable[Span] = ()) -> str:
    """Return `text` as HTML in which every span is marked and everything else is text.

    Spans may overlap and nest. Adjacent pieces that look alike become one mark, so that no seam shows.
    """
    quoted = _clipped(spans, len(text))
    active = _clipped(active_spans, len(text))
    cuts = sorted({0, len(text), *(end for span in (*quoted, *active) for end in span)})
    pieces: list[tuple[str, str]] = []
    for start, end in pairwise(cuts):
        if any(a <= start and end <= b for a, b in active):
            look = "active"
        elif any(a <= start and end <= b for a, b in quoted):
            look = "quoted"
        else:
            look = ""
        if pieces and pieces[-1][0] == look:
            pieces[-1] = (look, pieces[-1][1] + text[start:end])
        else:
            pieces.append((look, text[start:end]))
    return "".join(
        f'<mark class="{look}">{html.escape(piece)}</mark>' if look else html.escape(piece) for look, piece in pieces
    )


def _clipped(spans: Iterable[Span], length: int) -> list[Span]:
    clipped = [(max(start, 0), min(end, length)) for start, end in spans]
    return [(start, end) for start, end in clipped if start < end]


def excerpt(text: str, spans: Sequence[Span], around: int = AROUND) -> tuple[int, int]:
    """Return the window of `text` that holds the first span and some text around it."""
    if not spans or len(text) <= 4 * around:
        return 0, len(text)
    start, end = min(spans)
    return max(start - around, 0), min(end + around, len(text))


def show_text(text: str, spans: Sequence[Span], active_spans: Sequence[Span] = (), whole: bool = False) -> None:
    """Show a source text with its marks: the whole of it, or the passage around the active ones."""
    start, end = (0, len(text)) if whole else excerpt(text, active_spans or spans)
    moved = [[(a - start, b - start) for a, b in group] for group in (spans, active_spans)]
    body = highlight_html(text[start:end], moved[0], moved[1])
    before = '<span class="cut">… </span>' if start else ""
    after = '<span class="cut"> …</span>' if end < len(text) else ""
    st.html(f'{_STYLE}<div class="evidence" dir="auto">{before}{body}{after}</div>')


def show_evidence(workspace: engine.WorkspaceView, claim: engine.Claim) -> None:
    """Show every piece of a claim's evidence, marked in its source; for a derived claim, its premises."""
    for evidence in claim.evidence:
        source = workspace.source(evidence.source_id)
        gone = "" if evidence.standing else " (no longer counts)"
        st.caption(
            f"{plain_kind(evidence.origin_type)}: {plain(source.name)}{gone}"
            + (f", quoted {len(evidence.spans)} times" if len(evidence.spans) > 1 else "")
        )
        version = workspace.text(evidence.source_id, evidence.version_id)
        others = [span for other in version.quoted for span in spans_in(other, evidence.version_id)]
        show_text(version.text, others, evidence.spans)
    if not claim.evidence:
        st.caption("It has no text of its own; it follows from:")
    for way in claim.because:
        named = [plain(_title(workspace, premise)) for premise in way.premises]
        st.markdown(f"- {' **and** '.join(named)}{'' if way.holds else ' *(no longer holds)*'}")


def spans_in(claim: engine.Claim, version_id: str) -> list[Span]:
    """Return where a claim's quotes stand in one version."""
    return [span for evidence in claim.evidence if evidence.version_id == version_id for span in evidence.spans]


def plain_kind(origin_type: str) -> str:
    """Return the type of an origin in words: `human_correction` → `Human correction`."""
    return origin_type.replace("_", " ").capitalize()


def _title(workspace: engine.WorkspaceView, node_id: str) -> str:
    if node_id.startswith("d_"):
        return workspace.decision(node_id).title
    return workspace.claim(node_id).statement
