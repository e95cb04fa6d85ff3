"""Every label, relationship type and property key that a workspace graph may hold.

One place, for two reasons. The store registers all of them in a new graph before anything else is written (a
failing write that introduces a new name corrupts the plan cache of FalkorDB 4.16), and every query is put
together from these constants alone: nothing that a user typed ever becomes part of a query's text.
"""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = 2

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
    "Sighting",
    "Learning",
    "Token",
    "Agent",
    "CorrectionVector",
    "VectorSpace",
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
    "OF_RUN",  # Correction → AgentRun
    "PROPOSES",  # Correction that waits for a person → Claim
    "SEEN_AGAIN",  # Correction → Sighting
    "SHOWN",  # AgentRun → Correction
    "LEARNED_FROM",  # Learning → Claim | Decision; edges with one `j` are needed together
    "INVALIDATES",  # Correction → Learning
    "EMBEDS",  # CorrectionVector → Correction
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
    "about",
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
    # corrections as records
    "agent",
    "session",
    "run",
    "input",
    "field",
    "original",
    "corrected",
    "entity",
    "tags",
    "scope",
    "user",
    "tenant",
    "author_kind",
    "slot_key",
    "same_key",
    "result_key",
    "once_key",
    "audience",
    "entity_key",
    "tenant_key",
    "agent_key",
    "day",
    "heeded",
    "approved_by",
    "outdated",
    # learnings
    "verified",
    "how",
    # vectors: on nodes of their own, because the vector index loses a node when a property of it is updated
    "vector",
    "space",
    "dimensions",
    "until",
    # tokens
    "secret_hash",
    "enabled",
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
    "Correction": (
        "id", "request_key", "born", "kind", "slot_key", "same_key", "result_key", "once_key", "tenant_key",
        "agent_key", "entity_key", "audience",
    ),
    "AgentRun": ("id", "tenant_key", "agent_key"),
    "Handoff": ("id",),
    "AuditEvent": ("id",),
    "IngestRecord": ("id",),
    "Event": ("id", "revision"),
    "Sighting": ("id",),
    "Learning": ("id", "tenant_key"),
    "Token": ("id", "secret_hash"),
    "Agent": ("id",),
    "CorrectionVector": ("id", "audience", "entity_key"),
    "VectorSpace": ("id",),
}  # fmt: skip

# The full-text index ranks by terms that `engine.terms` makes. Who may see a correction, and which entity it is
# about, are terms as well: the index then looks at nothing else, however much others have recorded.
FULLTEXT: Final = {
    "Claim": ("terms",),
    "Correction": ("terms", "about", "audience", "entity_key"),
    "Learning": ("terms",),
}
