"""Every error the engine raises on purpose.

WorkbenchError
├── InvalidInput          what was given cannot be used; nothing was changed
│   └── EvidenceRejected  a quote is not evidence; carries the reason and, where there is one, the likely span
├── UnknownWorkspace      no workspace has that id
├── UnknownNode           no node of this workspace has that id
├── NotAllowed            a rule of the product forbids it, now
├── StalePreview          what the reviewer was shown would no longer happen; carries the fresh preview
├── DatabaseUnavailable   the database cannot be reached, or is not one the engine can trust
├── ModelUnavailable      a model was asked for and none answers, or not with what was asked for
└── Cancelled             whoever asked for it called it off; nothing was changed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.records import Preview, Rejection


class WorkbenchError(Exception):
    """The root: its message says what was wrong and what to do."""


class InvalidInput(WorkbenchError, ValueError):
    """What was given cannot be used; nothing was changed. `field` names the argument, where it is one."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class EvidenceRejected(InvalidInput):
    """A quote is not evidence. `rejection` says why and may propose the span that was probably meant."""

    def __init__(self, message: str, rejection: Rejection | None = None) -> None:
        super().__init__(message)
        self.rejection = rejection


class UnknownWorkspace(WorkbenchError, LookupError):
    """No workspace has that id."""


class UnknownNode(WorkbenchError, LookupError):
    """No node of this workspace has that id, or none of the kind that was asked for."""


class NotAllowed(WorkbenchError):
    """A rule of the product forbids this, in the state that the workspace is in."""


class StalePreview(WorkbenchError):
    """What the reviewer was shown would no longer happen.

    `fresh` is the preview as it would be shown now, `differences` one sentence for each thing that changed.
    """

    code = "stale_correction_preview"

    def __init__(self, message: str, fresh: Preview, differences: list[str] | None = None) -> None:
        super().__init__(message)
        self.fresh = fresh
        self.differences = differences or []


class DatabaseUnavailable(WorkbenchError, ConnectionError):
    """The database cannot be reached, or is not one that the engine can trust with data."""


class ModelUnavailable(WorkbenchError):
    """A model was asked for and none answers, or not with what was asked for; nothing was changed."""


class Cancelled(WorkbenchError):
    """Whoever asked for it called it off; nothing was changed."""
