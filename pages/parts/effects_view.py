"""What a change does: counts first, then one row and one sentence a node, the most urgent first."""

from __future__ import annotations

from html import escape
from typing import Final

import pandas as pd
import streamlit as st

import engine
from pages.parts.tables import table
from pages.parts.words import TIER_MEANINGS, TIER_NAMES, counted, status

COUNTED: Final = ("acted", "needs_review", "held", "weakened", "untouched")
IN_FULL: Final = 40
"""How many effects are written out; the table below has them all."""


def show_effects(impact: engine.Impact, key: str) -> None:
    """Show the sentences, and the table with everything."""
    effects = [(tier, effect) for tier, effect in impact.effects() if tier != "untouched"]
    if not effects:
        related = impact.counts["untouched"]
        st.info(
            f"Nothing changes for the {counted(related, 'node')} related to it: what holds them stays, or nothing did."
            if related
            else "Nothing rests on it, so nothing else changes."
        )
    if effects:
        st.html(_STYLE + "".join(_row(tier, effect) for tier, effect in effects[:IN_FULL]))
    if len(effects) > IN_FULL:
        st.caption(f"{counted(len(effects) - IN_FULL, 'further effect')} in the table.")
    frame = effects_frame(impact)
    if len(frame):
        with st.expander(f"As a table, with paths ({counted(len(frame), 'row')})"):
            table(frame, "effects", key, "Effects of the change", _ORDER)


def show_counts(impact: engine.Impact) -> None:
    """Show how many nodes are in each tier; a tier that only some changes fill is left out when empty."""
    counts = impact.counts
    tiers = [tier for tier in TIER_NAMES if tier in COUNTED or counts[tier]]
    with st.container(horizontal=True):
        for tier in tiers:
            st.metric(TIER_NAMES[tier], counts[tier], help=TIER_MEANINGS[tier], border=True, width=140)


_ORDER: Final = ["tier", "kind", "title", "why", "path", "supports before", "supports after"]


def effects_frame(impact: engine.Impact) -> pd.DataFrame:
    """Return every effect as a row, the most urgent first."""
    rows = [
        {
            "tier": TIER_NAMES[tier],
            "kind": effect.kind,
            "title": effect.title,
            "why": effect.why,
            "path": " → ".join(effect.path_titles or effect.path),
            "supports before": effect.supports_before,
            "supports after": effect.supports_after,
            "status before": effect.status_before,
            "status after": effect.status_after,
            "id": effect.id,
        }
        for tier, effect in impact.effects()
    ]
    return pd.DataFrame(rows, columns=[*_ORDER, "status before", "status after", "id"])


def highlighted(impact: engine.Impact, changed: list[str]) -> dict[str, str]:
    """Return id → tier for the picture."""
    return {**{effect.id: tier for tier, effect in impact.effects()}, **dict.fromkeys(changed, "changed")}


_STYLE: Final = """<style>
.effect { display: grid; grid-template-columns: 8.5rem 1fr; gap: .1rem .9rem; padding: .55rem 0;
  border-bottom: 1px solid rgba(128, 138, 150, .3); overflow-wrap: anywhere; }
.effect .tier { font-size: .85rem; font-weight: 600; padding-left: .6rem; border-left: 4px solid; }
.effect .acted, .effect .needs_review { border-color: #c6362c; }
.effect .held, .effect .weakened { border-color: #c9820a; }
.effect .restored { border-color: #2c9460; }
.effect small { opacity: .8; font-size: .85rem; }
@media (max-width: 640px) { .effect { grid-template-columns: 1fr; } }
</style>"""


def _row(tier: str, effect: engine.Effect) -> str:
    change = ""
    if effect.status_before != effect.status_after:
        change = f"<small>{escape(status(effect.status_before))} → {escape(status(effect.status_after))}</small>"
    return (
        f'<div class="effect"><span class="tier {tier}">{TIER_NAMES[tier]}</span><span dir="auto">{effect.kind}: '
        f"<strong>{escape(effect.title)}</strong><br>{escape(effect.why)} {change}</span></div>"
    )
