"""Corrigenda's engine: what an agent remembers, what rests on it, and what a correction brings down.

    import engine

    with engine.open() as wb:
        ws = wb.create_workspace("Launch")
        report = ws.ingest("The launch is on 12 June. The venue holds 200 people.", name="Plan")
        decision = ws.decide("Book the venue for June", because=[report.claims[0].id])
        preview = ws.preview(report.claims[0].id, "The launch is on 3 July.")
        ws.apply(preview, reviewer="Ana", reason="Moved by the board")

Every name exported here is public; everything else may change. Heavy parts are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.cancellation import Cancel
    from engine.correction_records import (
        Caller,
        Correction,
        CorrectionHit,
        CorrectionPage,
        CorrectionStats,
        EvalCase,
        ImportReport,
        Invalidation,
        Learning,
        RecordPreview,
        RejectedRow,
    )
    from engine.embeddings import Embedder
    from engine.errors import (
        Cancelled,
        DatabaseUnavailable,
        EvidenceRejected,
        InvalidInput,
        ModelUnavailable,
        NotAllowed,
        StalePreview,
        UnknownNode,
        UnknownWorkspace,
        WorkbenchError,
    )
    from engine.model import ChatModel
    from engine.notices import Notice
    from engine.product import ProductEdge, ProductGraph, ProductNode
    from engine.records import (
        Action,
        Answer,
        Applied,
        Claim,
        ClaimChange,
        ClaimHit,
        Decision,
        Effect,
        Evidence,
        Explanation,
        Fragment,
        Impact,
        IngestReport,
        Justification,
        MovedQuote,
        Preview,
        ProposedClaim,
        Reaffirm,
        Reason,
        Rebase,
        Refusal,
        Rejection,
        Source,
        SourceReplacement,
        SourceText,
        SourceVersion,
        Step,
        Withdraw,
        WorkspaceInfo,
    )
    from engine.view import WorkspaceView
    from engine.workbench import Workbench
    from engine.workbench import open_workbench as open
    from engine.workspace import Workspace

_HOME = {
    "engine.cancellation": ("Cancel",),
    "engine.model": ("ChatModel",),
    "engine.correction_records": (
        "Caller", "Correction", "CorrectionHit", "CorrectionPage", "CorrectionStats", "EvalCase", "ImportReport",
        "Invalidation", "Learning", "RecordPreview", "RejectedRow",
    ),
    "engine.embeddings": ("Embedder",),
    "engine.notices": ("Notice",),
    "engine.errors": (
        "Cancelled", "DatabaseUnavailable", "EvidenceRejected", "InvalidInput", "ModelUnavailable", "NotAllowed",
        "StalePreview", "UnknownNode", "UnknownWorkspace", "WorkbenchError",
    ),
    "engine.product": ("ProductEdge", "ProductGraph", "ProductNode"),
    "engine.records": (
        "Action", "Answer", "Applied", "Claim", "ClaimChange", "ClaimHit", "Decision", "Effect",
        "Evidence", "Explanation", "Fragment", "Impact", "IngestReport", "Justification",
        "MovedQuote", "Preview", "ProposedClaim", "Reaffirm", "Reason", "Rebase", "Refusal", "Rejection", "Source",
        "SourceReplacement", "SourceText", "SourceVersion", "Step", "Withdraw", "WorkspaceInfo",
    ),
    "engine.view": ("WorkspaceView",),
    "engine.workbench": ("Workbench",),
    "engine.workspace": ("Workspace",),
}  # fmt: skip
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Action",
    "Answer",
    "Applied",
    "Caller",
    "Cancel",
    "Cancelled",
    "ChatModel",
    "Claim",
    "ClaimChange",
    "ClaimHit",
    "Correction",
    "CorrectionHit",
    "CorrectionPage",
    "CorrectionStats",
    "DatabaseUnavailable",
    "Decision",
    "Effect",
    "Embedder",
    "EvalCase",
    "Evidence",
    "EvidenceRejected",
    "Explanation",
    "Fragment",
    "Impact",
    "ImportReport",
    "IngestReport",
    "InvalidInput",
    "Invalidation",
    "Justification",
    "Learning",
    "ModelUnavailable",
    "MovedQuote",
    "NotAllowed",
    "Notice",
    "Preview",
    "ProductEdge",
    "ProductGraph",
    "ProductNode",
    "ProposedClaim",
    "Reaffirm",
    "Reason",
    "Rebase",
    "RecordPreview",
    "Refusal",
    "RejectedRow",
    "Rejection",
    "Source",
    "SourceReplacement",
    "SourceText",
    "SourceVersion",
    "StalePreview",
    "Step",
    "UnknownNode",
    "UnknownWorkspace",
    "Withdraw",
    "Workbench",
    "WorkbenchError",
    "Workspace",
    "WorkspaceInfo",
    "WorkspaceView",
    "open",
]


def __getattr__(name: str) -> Any:
    if name == "open":
        return import_module("engine.workbench").open_workbench
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in ("eval_exports", "evals", "rules", "samples"):
        return import_module(f"engine.{name}")
    raise AttributeError(f"module 'engine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
