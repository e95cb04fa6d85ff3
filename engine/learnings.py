"""What agents and people concluded, as free text, and what a correction does to it.

A correction invalidates a model's unverified learning that lost the last of what it rests on, and one that says the
old value about the same thing. What a person wrote or verified is never touched, nor what is another tenant's.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.correction_records import Invalidation, Learning
from engine.decisions import alternatives, premises
from engine.entries import SCOPES, party
from engine.errors import InvalidInput, NotAllowed, UnknownNode
from engine.ids import derived_id, kind_of, new_id, require
from engine.impact import OPEN
from engine.inputs import NAME_LIMIT, STATEMENT_LIMIT, checked_text, optional_text, statement_key
from engine.planning import Plan, born, now
from engine.reasons import counted, quoted
from engine.states import State
from engine.store.commit import ChangeSet
from engine.store.learnings import (
    encoded_groups,
    fetch_learnings,
    holding,
    invalidated_by,
    learning_lives,
    resting_on,
)
from engine.store.snapshot import Snapshot
from engine.store.structure import find
from engine.terms import fulltext_phrase, index_terms, phrase_terms, query_terms
from engine.whole_values import stands_in

if TYPE_CHECKING:
    from engine.embeddings import Embedder

THRESHOLD: Final = 0.85
"""Cosine of two passages from which on they are about the same thing, as the local model sees it."""
LOOKED_AT: Final = 200  # learnings that hold the old value, best match first


@dataclass(frozen=True)
class Contradiction:
    """How it is found out that a learning says what was corrected. Without an embedder it is not."""

    embedder: Embedder | None
    threshold: float = THRESHOLD


@dataclass(frozen=True)
class Doubt:
    """What a correction says is wrong: the old value or, for a claim, the words that changed."""

    correction_id: str
    field: str | None
    entity_key: str | None
    old: str
    tenant_id: str | None
    user_id: str | None = None
    words: tuple[str, ...] | None = None

    @property
    def about(self) -> str:
        """The correction as a passage to compare learnings with."""
        where = " ".join(part for part in (self.entity_key, self.field) if part)
        return f"{where}: {self.old}" if where else self.old

    @property
    def held(self) -> tuple[str, ...]:
        """The words a learning must hold, all of them, to say what was wrong."""
        if self.words is not None:
            return self.words
        return (self.old,) if self.old.strip() else ()


@dataclass(frozen=True)
class Found:
    """A learning that a correction invalidates."""

    correction_id: str
    learning: Learning
    how: str
    why: str

    @property
    def shown(self) -> Invalidation:
        """It as a preview shows it."""
        return Invalidation(learning_id=self.learning.id, text=self.learning.text, how=self.how, why=self.why)  # type: ignore[arg-type]


def changed_words(before: str, after: str | None) -> tuple[str, ...]:
    """Return the runs of words of a statement that its correction took away; all of it when nothing replaces it."""
    old = before.split()
    new = after.split() if after is not None else []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    gone = [" ".join(old[a:b]).strip(".,;:!?") for tag, a, b, _, _ in matcher.get_opcodes() if tag != "equal"]
    return tuple(run for run in gone if run and query_terms(run))


def invalidations(
    snap: Snapshot,
    doubts: Sequence[Doubt],
    lost: Mapping[str, str],
    contradiction: Contradiction | None,
) -> list[Found]:
    """Return the learnings that corrections invalidate, each once.

    Args:
        snap: the workspace just before the corrections.
        doubts: what each correction says is wrong.
        lost: claims and decisions that do not stand any more, each with the correction that took it.
        contradiction: how to find learnings that say the old value; None: do not look for them.
    """
    found = {entry.learning.id: entry for entry in _without_support(snap, lost, {d.correction_id: d for d in doubts})}
    if contradiction is not None and contradiction.embedder is not None:
        for doubt in doubts:
            for entry in _contradicting(snap, doubt, contradiction, contradiction.embedder):
                found.setdefault(entry.learning.id, entry)
    return sorted(found.values(), key=lambda entry: entry.learning.id)


def _without_support(snap: Snapshot, lost: Mapping[str, str], doubts: Mapping[str, Doubt]) -> list[Found]:
    by_kind: dict[str, list[str]] = {"Claim": [], "Decision": []}
    for name in lost:
        by_kind.setdefault(kind_of(name), []).append(name)
    learnings = fetch_learnings(snap, resting_on(snap, by_kind))
    premises_of = {p for learning in learnings.values() for group in learning.because for p in group}
    states = {name: node.life.at(snap.revision) for name, node in find(snap, premises_of).items()}
    titles = {name: node.title for name, node in find(snap, premises_of & lost.keys()).items()}

    def stands(name: str) -> bool:
        return name not in lost and states[name].supported and states[name].status in OPEN

    found = []
    for learning in learnings.values():
        fallen = [p for group in learning.because for p in group if p in lost]
        correction = lost[fallen[0]]
        # Who corrects for one tenant touches that tenant's; who corrects the memory that all share, everybody's.
        tenant = doubts[correction].tenant_id if correction in doubts else None
        if not _open(learning) or (tenant is not None and learning.tenant_id != tenant):
            continue
        if any(all(stands(p) for p in group) for group in learning.because):
            continue
        what = quoted(titles[fallen[0]])
        found.append(Found(correction, learning, "rests_on", f"It rests on {what}, which no longer stands."))
    return found


def _contradicting(snap: Snapshot, doubt: Doubt, contradiction: Contradiction, embedder: Embedder) -> list[Found]:
    terms = [phrase_terms(held) for held in doubt.held]
    if not terms or not all(terms):
        return []
    longest = max(terms, key=len)
    query = fulltext_phrase(longest) if len(longest) > 1 else longest[0]
    ids = holding(snap, query, party("tenant", doubt.tenant_id), LOOKED_AT)
    learnings = [
        learning
        for learning in fetch_learnings(snap, ids).values()
        if _open(learning)
        and learning.tenant_id == doubt.tenant_id
        and (doubt.user_id is None or learning.user_id == doubt.user_id)
        and all(stands_in(held, learning.text) for held in doubt.held)
    ]
    if not learnings:
        return []
    about, *others = embedder.passages([doubt.about, *(learning.text for learning in learnings)])
    return [
        Found(
            doubt.correction_id,
            learning,
            "contradicts",
            f"It says {quoted(' … '.join(doubt.held))} about something very close to what was corrected.",
        )
        for learning, vector in zip(learnings, others, strict=True)
        if sum(a * b for a, b in zip(about, vector, strict=True)) >= contradiction.threshold
    ]


def _open(learning: Learning) -> bool:
    return learning.status == "active" and learning.author_kind == "model" and not learning.verified


def write_invalidations(snap: Snapshot, change: ChangeSet, found: Sequence[Found]) -> None:
    """Put invalidations into the change set."""
    lives = learning_lives(snap, [entry.learning.id for entry in found])
    for entry in found:
        name = entry.learning.id
        correction = ("Correction", entry.correction_id)
        change.link("INVALIDATES", correction, ("Learning", name), reason=entry.why, how=entry.how)
        change.move("Learning", name, lives[name], State("invalidated"))


def restore(snap: Snapshot, change: ChangeSet, corrections: Iterable[str]) -> int:
    """Let the learnings that corrections invalidated stand again. Return how many."""
    count = 0
    for correction, learning, life in invalidated_by(snap, corrections):
        change.end("INVALIDATES", ("Correction", correction), ("Learning", learning))
        if life.at(snap.revision).status == "invalidated":
            change.move("Learning", learning, life, State("active"))
            count += 1
    return count


@dataclass(frozen=True)
class Learned:
    """Plans a learning. The same text of the same author on the same ground is one learning."""

    text: str
    because: object = ()
    agent_name: str | None = None
    author: str = ""
    author_kind: str = "human"
    scope: str = "agent"
    user_id: str | None = None
    tenant_id: str | None = None

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """The result is the learning's id.

        Raises:
            InvalidInput: the text is empty, or the scope is unknown or lacks its id.
            UnknownNode, NotAllowed: `because` names what is not there, or does not stand.
        """
        text = checked_text(self.text, "text", STATEMENT_LIMIT).strip()
        if self.author_kind not in ("human", "model"):
            raise InvalidInput("`author_kind` is human or model.", "author_kind")
        if self.scope not in SCOPES:
            raise InvalidInput(f"`scope` is one of {', '.join(SCOPES)}.", "scope")
        names = {
            what: optional_text(value, what, NAME_LIMIT)
            for what, value in (
                ("agent_name", self.agent_name),
                ("author", self.author),
                ("user_id", self.user_id),
                ("tenant_id", self.tenant_id),
            )
        }
        for scope in ("user", "tenant"):
            if self.scope == scope and not names[f"{scope}_id"]:
                raise InvalidInput(f"The scope `{scope}` needs a `{scope}_id`.", f"{scope}_id")
        groups = alternatives(self.because) if self.because else []
        premises(snap, groups)
        key = [statement_key(text), self.author_kind, self.scope, *names.values(), encoded_groups(groups)]
        learning = derived_id("Learning", *key)
        change = ChangeSet(revision)
        if learning in learning_lives(snap, [learning]):
            return Plan(change, "learn", result=learning)
        change.create(
            "Learning",
            learning,
            text=text,
            terms=index_terms(text),
            author_kind=self.author_kind,
            actor=names["author"] or names["agent_name"],
            agent=names["agent_name"] or None,
            scope=self.scope,
            user=names["user_id"] or None,
            tenant=names["tenant_id"] or None,
            tenant_key=party("tenant", names["tenant_id"] or None),
            at=now(),
            **born(revision, "active"),
        )
        for group in groups:
            way = new_id("Justification")
            for premise in sorted(group):
                change.link("LEARNED_FROM", ("Learning", learning), (kind_of(premise), premise), j=way)
        who = names["author"] or names["agent_name"] or "Somebody"
        return Plan(change, "learn", f"{who} learned {quoted(text)}.", who, "", learning, learning)


@dataclass(frozen=True)
class Verified:
    """Plans that a person stands behind a model's learning: no correction invalidates it by itself any more."""

    learning_id: str
    reviewer: str

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """One that is verified already changes nothing."""
        change = ChangeSet(revision)
        learning = fetch_learnings(snap, [require(self.learning_id, "Learning")]).get(self.learning_id)
        if learning is None:
            raise UnknownNode(f"There is no learning {self.learning_id} in this workspace.")
        if learning.status != "active":
            raise NotAllowed(f"{learning.id} was invalidated: {learning.why} Undo that correction, or write a new one.")
        if learning.verified:
            return Plan(change, "verify", result=learning.id)
        life = learning_lives(snap, [learning.id])[learning.id]
        change.move("Learning", learning.id, life, State("active", note="verified"))
        who = optional_text(self.reviewer, "reviewer", NAME_LIMIT) or "A reviewer"
        return Plan(change, "verify", f"Verified {quoted(learning.text)}.", who, "", learning.id, learning.id)


def told(found: Sequence[Found]) -> str:
    """Return the words that a summary adds about invalidated learnings; "" when there are none."""
    if not found:
        return ""
    return f"; {counted(len(found), 'learning')} no longer {'holds' if len(found) == 1 else 'hold'}"
