"""`ws.learnings`: what agents and people concluded, as free text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from engine.correction_records import AuthorKind, Caller, Learning, Scope
from engine.decisions import kept
from engine.entries import checked_caller, may_see, party
from engine.errors import InvalidInput, UnknownNode
from engine.ids import require
from engine.learnings import Learned, Verified
from engine.records import Because
from engine.store.learnings import all_learnings, fetch_learnings

if TYPE_CHECKING:
    from pandas import DataFrame

    from engine.view import WorkspaceView
    from engine.workspace import Workspace

COLUMNS: Final = (
    "id", "text", "status", "author_kind", "author", "verified", "agent_name", "scope", "user_id", "tenant_id",
    "because", "invalidated_by", "why", "created_at", "revision",
)  # fmt: skip
TYPES: Final = {"verified": "bool", "revision": "int64", "created_at": "datetime64[us, UTC]"}


class LearningsView:
    """The learnings of a workspace as of one revision."""

    def __init__(self, view: WorkspaceView) -> None:
        self._view = view

    def get(self, learning_id: str, caller: Caller | None = None) -> Learning:
        """Return one learning; UnknownNode when there is none with this id, or it is another tenant's."""
        found = fetch_learnings(self._view._snapshot(), [require(learning_id, "Learning")]).get(learning_id)
        checked_caller(caller)
        if found is None or not may_see(caller, found.tenant_id, found.scope, found.user_id):
            raise UnknownNode(f"There is no learning {learning_id} in this workspace.")
        return found

    def list(
        self,
        status: str | None = None,
        agent_name: str | None = None,
        *,
        tenant_id: str | None = None,
        caller: Caller | None = None,
    ) -> DataFrame:
        """Return one row a learning, oldest first: id, text, status, author_kind, verified, because, why, …"""
        from pandas import DataFrame

        if status not in (None, "active", "invalidated"):
            raise InvalidInput("`status` is active or invalidated.", "status")
        checked_caller(caller)
        tenants = None
        if caller is not None:
            tenants = [party("tenant", None), party("tenant", caller.tenant_id)]
        rows = [
            learning.model_dump()
            for learning in all_learnings(self._view._snapshot(), tenants)
            if may_see(caller, learning.tenant_id, learning.scope, learning.user_id)
            and (status is None or learning.status == status)
            and (agent_name is None or learning.agent_name == agent_name)
            and (tenant_id is None or learning.tenant_id == tenant_id)
        ]
        return DataFrame(rows, columns=[*COLUMNS], dtype="object").astype(TYPES)

    def invalidated(self, *, tenant_id: str | None = None, caller: Caller | None = None) -> DataFrame:
        """Return the learnings that corrections invalidated, each with the correction and a sentence that says why."""
        return self.list("invalidated", tenant_id=tenant_id, caller=caller)


class Learnings(LearningsView):
    """The learnings of a workspace as it is now."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace

    def add(
        self,
        text: str,
        because: Because | Sequence[str] = (),
        *,
        agent_name: str | None = None,
        author: str = "",
        author_kind: AuthorKind = "human",
        scope: Scope = "agent",
        user_id: str | None = None,
        tenant_id: str | None = None,
    ) -> Learning:
        """Keep a conclusion. The same one again is found, not added.

        Args:
            text: the conclusion.
            because: claims and decisions that it rests on, as for `ws.decide`: alternatives, each of which suffices.
            agent_name: whose conclusion it is, or for which agent.
            author: who wrote it.
            author_kind: `human`; or `model`, and then it is unverified, and a correction may invalidate it.
            scope, user_id, tenant_id: whose it is, as for corrections.

        Raises:
            InvalidInput: the text is empty, or the scope lacks its id.
            UnknownNode, NotAllowed: `because` names what is not there, or does not stand.
        """
        planner = Learned(text, kept(because), agent_name, author, author_kind, scope, user_id, tenant_id)
        plan, revision = self._workspace._change(planner.plan)
        return self._workspace._as_of(revision).learnings.get(plan.result)

    def verify(self, learning_id: str, reviewer: str = "") -> Learning:
        """Record that a person stands behind a model's learning: no correction invalidates it by itself any more.

        Raises:
            UnknownNode: there is no such learning.
            NotAllowed: it was invalidated.
        """
        plan, revision = self._workspace._change(Verified(learning_id, reviewer).plan)
        return self._workspace._as_of(revision).learnings.get(plan.result)
