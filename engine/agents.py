"""The two agents that need no model: an Analyst that searches and reads, a Coordinator that reviews.

Both are rules. What they may cite is not up to them: see `engine.evidence_log`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from engine.evidence_log import EvidenceLog
from engine.reasons import counted, shorten
from engine.records import ClaimHit, Fragment
from engine.terms import phrase_terms, query_terms

ENOUGH: Final = 0.34  # share of the question's weight that a claim must cover to be an answer
WANTED_BONUS: Final = 0.5
CITED: Final = 5
LOOKED_AT: Final = 12
_ASKS_WHAT_TO_DO: Final = re.compile(
    r"\b(what|how|which|when)\b.{0,40}\b(should|shall|must|need to|ought|do)\b.{0,12}\b(we|i|they|you|one)\b"
    r"|\bshould (we|i|they|you)\b|\bwhat to do\b|\bnext steps?\b|\bwhat now\b|\bdo we need\b|\brecommend",
    re.IGNORECASE,
)
_ASKS_WHEN: Final = re.compile(r"\bwhen\b|\b(?:what|which) (?:date|day|month|year|time)\b", re.IGNORECASE)
_DATE: Final = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|noon|midnight)\b"
    r"|\b(?:1[0-9]|20)\d\d\b|\b\d{1,4}[-/.:]\d{1,2}\b",
    re.IGNORECASE,
)
_ASKS_FOR_A_NUMBER: Final = re.compile(r"\bhow (?:many|much|long|old|far|large|big)\b", re.IGNORECASE)
_NAME: Final = re.compile(r"(?<![.!?]\s)(?<!^)\b[^\W\d_]*[A-ZÀ-ÖØ-Þ][\w-]*|\b\w*\d\w*")


@dataclass(frozen=True)
class Proposal:
    """What an Analyst hands over. `because` as in `ws.decide`; nothing in it is trusted."""

    title: str
    because: list[str | list[str]] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    text: str = ""
    rationale: str = ""


class Analyst(Protocol):
    """Looks for an answer through the log's tools."""

    name: str

    def analyse(self, question: str, log: EvidenceLog) -> Proposal:
        """Return what the question comes to."""
        ...


class Coordinator(Protocol):
    """Reviews an Analyst's proposal before anything is written."""

    name: str

    def review(self, question: str, proposal: Proposal, log: EvidenceLog) -> Proposal:
        """Return what is to be decided."""
        ...


class RuleAnalyst:
    """Proposes the claims that cover most of the question; proposes nothing when none covers enough."""

    name = "Analyst (rules)"

    def analyse(self, question: str, log: EvidenceLog) -> Proposal:
        """Search, fetch the most promising hits, keep those whose words answer the question."""
        hits = log.search_claims(self.name, question, LOOKED_AT)
        if not hits:
            return Proposal(title="")
        weights = _weights(query_terms(question), hits)
        scored: list[tuple[float, ClaimHit]] = []
        for hit in hits:
            fragment = log.fetch_source(self.name, hit.claim.id)
            if fragment is not None and _has_names(question, hit, fragment) and _coverage(weights, hit) >= ENOUGH:
                scored.append((_coverage(weights, hit) + _bonus(question, hit), hit))
        best = max((score for score, _ in scored), default=0.0)
        kept = [hit for score, hit in sorted(scored, key=lambda s: -s[0]) if score >= 0.7 * best][:CITED]
        log.note(
            self.name,
            "proposed",
            f"Proposed {counted(len(kept), 'claim')} as the answer."
            if kept
            else "Proposed nothing: no claim covers enough of the question.",
            claims=[hit.claim.id for hit in kept],
        )
        if not kept:
            return Proposal(title="")
        actions = []
        if _ASKS_WHAT_TO_DO.search(question):
            actions.append(f"Act on this: {shorten(kept[0].claim.statement, 300)}")
        return Proposal(
            title=shorten(kept[0].claim.statement, 300),
            because=[hit.claim.id for hit in kept],
            actions=actions,
            text="\n".join(hit.claim.statement for hit in kept),
            rationale=f"Answer to “{shorten(question, 300)}”, from the claims that cover most of its words.",
        )


class RuleCoordinator:
    """Lets through what the Analyst proposed; the engine's own log then says what of it may be cited."""

    name = "Coordinator (rules)"

    def review(self, question: str, proposal: Proposal, log: EvidenceLog) -> Proposal:
        """Return the proposal as it is: there is no judgement here beyond the rules."""
        log.note(self.name, "reviewed", f"Reviewed a proposal of {counted(len(proposal.because), 'citation')}.")
        return proposal


def _weights(terms: Sequence[str], hits: Sequence[ClaimHit]) -> dict[str, float]:
    """Weigh each word of the question by how few of the hits have it."""
    texts = [_words(hit) for hit in hits]
    having = {term: sum(_has(words, term) for words in texts) for term in terms}
    weights = {term: math.log(1 + (len(texts) + 1) / (0.5 + number)) for term, number in having.items()}
    # A word that is in no hit says that something is missing, but not that nothing is an answer.
    known = [weights[term] for term, number in having.items() if number]
    usual = sum(known) / len(known) if known else 0.0
    return {term: weights[term] if having[term] else min(weights[term], usual) for term in terms}


def _words(hit: ClaimHit) -> set[str]:
    quotes = " ".join(evidence.quote for evidence in hit.claim.evidence)
    return set(phrase_terms(f"{hit.claim.statement} {quotes}"))


def _has(words: set[str], term: str) -> bool:
    """Return whether a word is there, in this or another of its forms."""
    if term in words:
        return True
    stem = term[: max(4, len(term) - 3)]
    return len(term) > 4 and any(word.startswith(stem) for word in words)


def _bonus(question: str, hit: ClaimHit) -> float:
    """Prefer a claim with a date or a number in it where the question asks for one."""
    statement = hit.claim.statement
    if _ASKS_WHEN.search(question):
        return WANTED_BONUS if _DATE.search(statement) else 0.0
    wants = _ASKS_FOR_A_NUMBER.search(question) is not None
    return WANTED_BONUS if wants and any(c.isdigit() for c in statement) else 0.0


def _coverage(weights: dict[str, float], hit: ClaimHit) -> float:
    words = _words(hit)
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if _has(words, term)) / total if total else 0.0


def _has_names(question: str, hit: ClaimHit, fragment: Fragment) -> bool:
    """Return whether every name and number of the question stands in the claim or in the text around it."""
    words = _words(hit) | set(phrase_terms(f"{fragment.text} {fragment.source_name}"))
    names = {term for name in _NAME.findall(question) for term in query_terms(name)}
    return all(_has(words, name) for name in names)
