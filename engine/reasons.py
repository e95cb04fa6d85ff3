"""The sentences that say why. Each is built from what was computed, never from what a model wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.impact import Fate
from engine.support import Fragility

TITLE_LIMIT = 80


def shorten(text: str, limit: int = TITLE_LIMIT) -> str:
    """Return `text` on one line, cut at `limit` code points with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def quoted(text: str, limit: int = TITLE_LIMIT) -> str:
    """Return `text` shortened, in quotation marks."""
    return f"“{shorten(text, limit)}”"


def counted(number: int, noun: str) -> str:
    """Return `1 support`, `2 supports`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def why(fate: Fate, kind: str, title_of: Callable[[str], str], fragility: Fragility | None = None) -> str:
    """Return one sentence that says why a node is in its tier."""
    noun = "claim" if kind == "Claim" else kind.lower()
    if kind == "Action":
        return _why_action(fate, title_of)
    if fate.tier == "needs_review":
        return f"Its last support is gone: {_lost_through(fate, title_of)}, and nothing else holds this {noun} up."
    if fate.tier == "weakened":
        return f"{_remain(fate)} {_holds(fate, title_of)}{_hangs_on(fragility, title_of)}"
    if fate.tier == "restored":
        if fate.before.supported:
            return f"It stood already and gains support: {fate.supports_before} before, {fate.supports_after} now."
        return f"It is supported again, by {counted(fate.supports_after, 'support')}."
    if not fate.after.supported:
        return f"This {noun} had no support before and has none now; nothing changes for it."
    return f"It is related, but none of the supports that hold it ({fate.supports_after}) rests on what changes."


def _why_action(fate: Fate, title_of: Callable[[str], str]) -> str:
    decision = quoted(title_of(fate.path[-2])) if len(fate.path) > 1 else "its decision"
    if fate.tier == "acted":
        return f"It was already done, and the decision {decision} that it was done for needs review."
    if fate.tier == "held":
        already = " It was on hold already." if fate.before.status == "held" else ""
        return f"The decision {decision} that it waits for needs review.{already}"
    if fate.tier == "restored":
        return "None of its decisions needs review any more; it is released."
    return "None of its decisions loses support by this."


def _lost_through(fate: Fate, title_of: Callable[[str], str]) -> str:
    lost = counted(fate.supports_before, "support")
    if len(fate.path) < 2:
        return f"the {lost} that it had no longer hold" if fate.supports_before > 1 else "it no longer holds"
    premise = quoted(title_of(fate.path[-2]))
    steps = len(fate.path) - 2
    far = f", {counted(steps, 'step')} away from the change" if steps else ""
    if fate.supports_before <= 1:
        return f"it rested on {premise}{far}"
    return f"all {fate.supports_before} of its supports fell, one of them {premise}{far}"


def _remain(fate: Fate) -> str:
    if fate.supports_after >= fate.supports_before:
        return f"What holds it changes: {counted(fate.supports_after, 'support')} now."
    verb = "remains" if fate.supports_after == 1 else "remain"
    return f"{fate.supports_after} of {fate.supports_before} supports {verb}."


def _holds(fate: Fate, title_of: Callable[[str], str]) -> str:
    if fate.kept:
        premises = sorted(fate.kept[0].premises)
        return f"It is still held by {join([quoted(title_of(p), 60) for p in premises])}"
    sources = len({ground.source for ground in fate.kept_grounds})
    return f"It is still held by evidence from {counted(sources, 'source')}"


def _hangs_on(fragility: Fragility | None, title_of: Callable[[str], str]) -> str:
    if fragility is None or not fragility.all:
        return "."
    if fragility.claims:
        return f", and now hangs on {join([quoted(title_of(c), 60) for c in fragility.claims[:3]])} alone."
    return f", and now hangs on one origin: {join([title_of(o) for o in fragility.origins[:3]])}."


def join(parts: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
