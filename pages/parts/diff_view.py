"""Old and new side by side, with the words that differ marked."""

from __future__ import annotations

import html
import re
from difflib import SequenceMatcher
from typing import Final

import streamlit as st

_PIECES: Final = re.compile(r"\s+|\w+|[^\w\s]")
LONGEST: Final = 4_000
"""Beyond this many pieces a word diff takes seconds; the texts are then shown unmarked."""

_STYLE: Final = """<style>
.diff { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); gap: .75rem; }
.diff > div { border: 1px solid rgba(128, 138, 150, .35); border-radius: .5rem; padding: .6rem .9rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.diff .name { display: block; font-size: .8rem; opacity: .75; white-space: normal; }
.diff del { background: rgba(217, 72, 60, .2); text-decoration: line-through; color: inherit; }
.diff ins { background: rgba(46, 160, 100, .25); text-decoration: underline; color: inherit; }
</style>"""


def diff_html(old: str, new: str) -> tuple[str, str]:
    """Return both texts as HTML: what only the old one has in `del`, what only the new one has in `ins`."""
    before, after = _PIECES.findall(old), _PIECES.findall(new)
    if len(before) + len(after) > LONGEST:
        return html.escape(old), html.escape(new)
    left: list[str] = []
    right: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = html.escape("".join(before[a:b])), html.escape("".join(after[c:d]))
        left.append(gone if kind == "equal" or not gone else f"<del>{gone}</del>")
        right.append(come if kind == "equal" or not come else f"<ins>{come}</ins>")
    return "".join(left), "".join(right)


def show_change(old: str, new: str | None) -> None:
    """Show what a claim says and what it will say; None is retracting it."""
    if new is None:
        left, right = html.escape(old), "<em>Nothing replaces it.</em>"
    else:
        left, right = diff_html(old, new)
    st.html(
        f'{_STYLE}<div class="diff"><div dir="auto"><span class="name">Wrong</span>{left}</div>'
        f'<div dir="auto"><span class="name">Right</span>{right}</div></div>'
    )
