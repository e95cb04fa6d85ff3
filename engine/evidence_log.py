"""What an agent looked at during one run, kept by the engine: the only thing that decides what it may cite.

An agent's tools go through here. A claim may be cited when this run found it by searching *and* fetched its text,
and while it is still current. What an agent says that it read counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.correction_records import Correction, CorrectionHit
from engine.errors import UnknownNode, WorkbenchError
from engine.prompt_section import section
from engine.reasons import join, quoted
from engine.records import Claim, ClaimHit, Fragment, Refusal, Step
from engine.search import search
from engine.store.claims import fetch_claims
from engine.store.snapshot import Snapshot
from engine.store.sources import fetch_fragments
from engine.values import shown

OnStep = Callable[[Step], None]
Remind = Callable[[str, str], list[CorrectionHit]]
"""Finds the corrections that matter for an agent (by name) and a text."""


class EvidenceLog:
    """The tools of one run, and the record of their use."""

    def __init__(
        self, snapshot: Callable[[], Snapshot], on_step: OnStep | None = None, remind: Remind | None = None
    ) -> None:
        self._snapshot = snapshot
        self._on_step = on_step
        self._remind = remind
        self.shown: dict[str, Correction] = {}
        """The corrections that the run was shown."""
        self.steps: list[Step] = []
        self.searched: dict[str, Claim] = {}
        self.fetched: dict[str, Fragment] = {}

    @property
    def allowed(self) -> set[str]:
        """The claims that this run may cite: searched and fetched."""
        return self.searched.keys() & self.fetched.keys()

    def note(self, agent: str, kind: str, summary: str, **detail: Any) -> Step:
        """Record a step and tell whoever watches."""
        step = Step(n=len(self.steps) + 1, agent=agent, kind=kind, summary=summary, detail=detail)
        self.steps.append(step)
        if self._on_step is not None:
            self._on_step(step)
        return step

    def search_corrections(self, agent: str, query: str) -> str:
        """Return the corrections that matter as a section of a prompt, and remember that they were shown."""
        hits = self._remind(agent, query) if self._remind is not None else []
        if not hits:
            return ""
        corrections = [hit.correction for hit in hits]
        self.shown |= {correction.id: correction for correction in corrections}
        count = f"{len(hits)} correction{'' if len(hits) == 1 else 's'}"
        self.note(
            agent,
            "reminded",
            f"Was shown {count} that people made: {join([_fix(correction) for correction in corrections])}.",
            corrections=[correction.id for correction in corrections],
        )
        return section(corrections)

    def search_claims(self, agent: str, query: str, limit: int = 10) -> list[ClaimHit]:
        """Search the current claims, and remember which were found."""
        hits = search(self._snapshot(), query, limit)
        for hit in hits:
            self.searched[hit.claim.id] = hit.claim
        found = f"{len(hits)} claim{'' if len(hits) == 1 else 's'}"
        self.note(
            agent,
            "searched",
            f"Searched for “{query}”: {found}.",
            query=query,
            found=[hit.claim.id for hit in hits],
        )
        return hits

    def fetch_source(self, agent: str, claim_id: str) -> Fragment | None:
        """Read the text that a claim quotes, and remember that it was read. None when there is none to read."""
        snap = self._snapshot()
        try:
            claim = fetch_claims(snap, [claim_id]).get(claim_id)
        except UnknownNode:
            claim = None
        if claim is None or not claim.evidence:
            why = "there is no such claim" if claim is None else "it has no text of its own"
            self.note(agent, "fetched", f"Could not fetch {claim_id}: {why}.", claim=str(claim_id))
            return None
        fragment_id = next((e for e in claim.evidence if e.standing), claim.evidence[0]).fragment_id
        fragment = fetch_fragments(snap, [fragment_id])[fragment_id]
        self.fetched[claim_id] = fragment
        self.note(
            agent,
            "fetched",
            f"Fetched the text behind “{claim.statement}” from “{fragment.source_name}”.",
            claim=claim_id,
            fragment=fragment_id,
        )
        return fragment

    def refusal(self, claim_id: object, snap: Snapshot) -> Refusal | None:
        """Return why a claim may not be cited by this run as of `snap`, or None when it may."""
        name = str(claim_id)[:200]
        if claim_id not in self.searched and claim_id not in self.fetched:
            reason = "it is not among what this run searched"
        elif claim_id not in self.searched:
            reason = "it was fetched without having been found by a search of this run"
        elif claim_id not in self.fetched:
            reason = "its text was not fetched in this run"
        else:
            claim = fetch_claims(snap, [name]).get(name)
            if claim is None:
                raise WorkbenchError(f"{name} was there when it was searched and is gone; claims never go.")
            if claim.status == "current" and claim.supported:
                return None
            reason = f"it is {claim.status if claim.status != 'current' else 'no longer supported'} by now"
        return Refusal(id=name, reason=f"Refused: {reason}.")


def _fix(correction: Correction) -> str:
    wrong, right = shown(correction.original_value) or "nothing", shown(correction.corrected_value) or "nothing"
    return f"{quoted(wrong, 40)} is {quoted(right, 40)}"
