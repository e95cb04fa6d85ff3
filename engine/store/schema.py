"""Every label, relationship type and property key that a workspace graph may hold.

One place, for two reasons. The store registers all of them in a new graph before anything else is written (a
failing write that introduces a new name corrupts the plan cache of FalkorDB 4.16), and every query is put
together from these constants alone: nothing that a user typed ever becomes part of a query's text.
"""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = 1

# Labels whose nodes carry an `id` from our own alphabet, and an index on it.
LABELS: Final = (
    "Workspace",
    "Source",
    "SourceVersion",
    "SourceFragment",
    "Claim",
    "Decision",
    "Action",
    "Correction",
    "AgentRun",
    "Handoff",
    "AuditEvent",
    "IngestRecord",
    "Event",
)

RELATIONS: Final = (
    "HAS_VERSION",  # Source → SourceVersion
    "HAS_FRAGMENT",  # SourceVersion → SourceFragment
    "EVIDENCE",  # Claim → SourceFragment
    "RESTS_ON",  # Claim | Decision → Claim | Decision; edges with one `j` are one justification
    "BECAUSE_OF",  # Action → Decision
    "SUPERSEDES",  # Claim → Claim, Decision → Decision
    "CORRECTS",  # Correction → Claim
    "REPLACES_WITH",  # Correction → Claim
    "WITHDRAWS",  # Correction → Source
    "SAYS",  # Correction → SourceFragment
    "INGESTED",  # IngestRecord → SourceVersion
    "MADE_BY",  # Decision | Action → AgentRun
    "STEP",  # AgentRun → AuditEvent
    "HANDED_OVER",  # AgentRun → Handoff
)

KEYS: Final = (
    # every node
    "id",
    "born",
    # what changes over time, and how it was before
    "state",
    "since",
    "past_state",
    "past_since",
    # workspace and events
    "name",
    "revision",
    "at",
    "created_at",
    "schema_version",
    "kind",
    "actor",
    "reason",
    "summary",
    "payload",
    "ref",
    # sources
    "origin",
    "origins",
    "copy_of",
    "media_type",
    "sha256",
    "length",
    "n",
    "start",
    "end",
    "text",
    # claims and evidence
    "statement",
    "statement_key",
    "terms",
    "confidence",
    "confidence_kind",
    "quote",
    "starts",
    "ends",
    "role",
    "source",
    "version",
    # decisions and actions
    "title",
    "rationale",
    "description",
    "j",
    "died",
    # corrections
    "request_key",
    "reviewer",
    "statements",
    # runs
    "question",
    "answer",
    "outcome",
    "detail",
    "extractor",
    "rejected",
    "allowed",
    "refused",
    "from_agent",
    "to_agent",
)

# Properties that are looked up by equality. Only values from our own alphabet go in (ids, hashes, counts above
# zero): the range index of FalkorDB answers wrongly for empty, padded or long strings, for 0 and for false.
INDEXED: Final = {
    "Workspace": ("id",),
    "Source": ("id",),
    "SourceVersion": ("id", "sha256"),
    "SourceFragment": ("id",),
    "Claim": ("id", "statement_key"),
    "Decision": ("id", "request_key"),
    "Action": ("id", "request_key"),
    "Correction": ("id", "request_key"),
    "AgentRun": ("id",),
    "Handoff": ("id",),
    "AuditEvent": ("id",),
    "IngestRecord": ("id",),
    "Event": ("id", "revision"),
}

# The full-text index ranks claims by terms that `engine.terms` makes.
FULLTEXT: Final = {"Claim": ("terms",)}
