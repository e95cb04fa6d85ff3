"""Corrections that reach our own agents before they err again: what each was shown goes on its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.correction_records import Caller, Correction, CorrectionHit
from engine.prompt_section import section
from engine.reasons import quoted
from engine.recall import Recaller
from engine.store.commit import ChangeSet
from engine.store.recall import any_recallable
from engine.store.snapshot import Snapshot
from engine.values import shown
from engine.whole_values import stands_in

ANALYST: Final = "Analyst"
COORDINATOR: Final = "Coordinator"
EXTRACTOR: Final = "Extractor"
OUR_AGENTS: Final = (ANALYST, COORDINATOR, EXTRACTOR)
"""What the workbench's own agents are called in corrections and runs."""
LOOKED_AT: Final = 4_000  # characters of a text that corrections are looked for by


def remind(snap: Snapshot, recaller: Recaller, agent: str, text: str, top_k: int = 3) -> list[CorrectionHit]:
    """Return the corrections that matter for what an agent is about to do; no model is loaded when there are none."""
    if not any_recallable(snap):
        return []
    hits = recaller.recall(snap, text[:LOOKED_AT], Caller(agent_name=agent), top_k).hits
    return [hit for hit in hits if bears_on(hit.correction, text)] if agent == EXTRACTOR else hits


def bears_on(correction: Correction, text: str) -> bool:
    """Return whether a text that is taken in names what a correction is about, or holds one of its values."""
    named = (correction.entity_key, correction.original_value, correction.corrected_value)
    return any(shown(value).strip() and stands_in(value, text) for value in named)


@dataclass(frozen=True)
class Reminders:
    """What the extractor is shown for a text."""

    corrections: tuple[Correction, ...] = ()

    @property
    def section(self) -> str:
        """The section of a prompt."""
        return section(self.corrections)

    def warnings(self, text: str) -> list[str]:
        """Return a sentence for each old value that stands in a text again."""
        return [
            f"It says {quoted(shown(correction.original_value))}, which was corrected to "
            f"{quoted(shown(correction.corrected_value) or 'nothing')}"
            f"{' for ' + quoted(correction.entity_key) if correction.entity_key else ''}. Look at the claims from it."
            for correction in self.corrections
            if shown(correction.original_value).strip() and stands_in(correction.original_value, text)
        ]

    def write(self, change: ChangeSet, record: str) -> None:
        """Put on an ingest's record what its extractor was shown."""
        for correction in self.corrections:
            change.link("SHOWN", ("IngestRecord", record), ("Correction", correction.id))
