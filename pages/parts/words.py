"""How the words of users and of the engine are shown: as they are, whatever they contain."""

from __future__ import annotations

from typing import Final

import engine

_MARKDOWN: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]()<>#+-.!|~$:&@"})

TIER_NAMES: Final = {
    "acted": "Acted on",
    "needs_review": "Needs review",
    "held": "Put on hold",
    "weakened": "Weakened",
    "restored": "Restored",
    "untouched": "Untouched",
}
TIER_MEANINGS: Final = {
    "acted": "Actions that were done for a decision that falls: they cannot be held back any more.",
    "needs_review": "Decisions and derived claims that lose their last support.",
    "held": "Actions not done yet that wait for such a decision.",
    "weakened": "Still supported, by less than before.",
    "restored": "Supported again, or released.",
    "untouched": "Related, but nothing that holds them changes.",
}
STATUS_MARKS: Final = {
    "current": "● current",
    "standing": "● standing",
    "active": "● active",
    "pending": "○ pending",
    "proposed": "○ proposed",
    "superseded": "✗ superseded",
    "retracted": "✗ retracted",
    "withdrawn": "✗ withdrawn",
    "cancelled": "✗ cancelled",
    "reverted": "✗ reverted",
    "needs_review": "⚠ needs review",
    "held": "‖ on hold",
    "done": "✓ done",
    "unsupported": "∅ no support",
}


def plain(text: str) -> str:
    """Return text such that Streamlit's Markdown shows it as it is."""
    return text.translate(_MARKDOWN).replace("\n", "  \n")


def short(text: str, limit: int = 90) -> str:
    """Return text on one line, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def status(name: str) -> str:
    """Return a status with a mark that tells it apart without colour."""
    return STATUS_MARKS.get(name, name.replace("_", " "))


def claim_status(claim: engine.Claim) -> str:
    """Return a claim's status, which for a current one also depends on its support."""
    return status("unsupported" if claim.status == "current" and not claim.supported else claim.status)


def counted(number: int, noun: str) -> str:
    """Return `1 claim`, `2 claims`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(share: float | None) -> str:
    """Return a share as `83 %`; a dash where there is none."""
    return "–" if share is None else f"{share:.0%}".replace("%", " %")


def duration(seconds: float) -> str:
    """Return how long something took, in its largest unit: `3 days`."""
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return counted(round(seconds / size), noun)
    return "less than a minute"
