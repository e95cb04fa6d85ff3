"""Who asks, and what that lets them see and do.

A token decides: its workspace, tenant, user, agent and role. What a request says may repeat that and may not
contradict it. Without a token (on loopback) the owner of the machine asks, who may name any tenant and user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.correction_records import Caller, Correction
from engine.errors import UnknownNode
from engine.http.problems import forbidden
from engine.store.corrections import OF_MEMORY

if TYPE_CHECKING:
    from engine.tokens import Role, TokenInfo
    from engine.workspace import Workspace


@dataclass(frozen=True)
class Asker:
    """Who asks about which workspace. Without a token: the owner."""

    workspace: Workspace
    token: TokenInfo | None = None

    def need(self, role: Role, what: str = "This", field: str | None = None) -> None:
        """Refuse who may not do what `role` may."""
        if self.token is not None and not self.token.allows(role):
            raise forbidden(f"{what} needs a token with the role {role}; this one has {self.token.role}.", field)

    def tenant(self, named: str | None) -> str | None:
        """Return the tenant on whose behalf this is asked."""
        return self._bound("tenant_id", named, self.token.tenant_id if self.token is not None else None)

    def user(self, named: str | None) -> str | None:
        """Return the user on whose behalf this is asked."""
        return self._bound("user_id", named, self.token.user_id if self.token is not None else None)

    def agent(self, named: str | None, field: str = "agent_name") -> str | None:
        """Return the agent that this is about; a token that is bound to one is about no other."""
        if self.token is None or self.token.agent_name is None:
            return named or None
        return self._bound(field, named, self.token.agent_name)

    def reviewer(self, named: str | None) -> str:
        """Return who says so: the user that the token is bound to, else the token's name, else who is named."""
        if self.token is None:
            return named or ""
        who = self.token.user_id or self.token.name
        self._bound("reviewer", named, who)
        return who

    def caller(self, tenant: str | None, user: str | None = None, agent: str | None = None) -> Caller:
        """Return on whose behalf something is searched for."""
        return Caller(agent_name=self.agent(agent), user_id=self.user(user), tenant_id=self.tenant(tenant))

    def gate(self, tenant: str | None = None) -> Caller | None:
        """Return whose records may be seen: the tenant's and those of none; None, for the owner, is everything."""
        named = self.tenant(tenant)
        if self.token is None and named is None:
            return None
        return Caller(tenant_id=named)

    def sees(self, tenant: str | None) -> bool:
        """Return whether what belongs to a tenant (None: to none) may be seen."""
        gate = self.gate()
        return gate is None or tenant in (None, gate.tenant_id)

    def correction(self, correction_id: str, tenant: str | None = None) -> Correction:
        """Return a correction that may be seen.

        Raises:
            UnknownNode: there is none, or it is another tenant's, or another agent's than the token's.
        """
        found = self.workspace.corrections.get(correction_id, self.gate(tenant))
        bound = self.token.agent_name if self.token is not None else None
        if bound is not None and found.agent_name not in (None, bound) and found.scope in ("agent", "user"):
            raise UnknownNode(f"There is no correction {correction_id} in this workspace.")
        return found

    def may_change(self, correction: Correction) -> None:
        """Refuse to touch what more people share than the token speaks for."""
        if correction.kind in OF_MEMORY:
            self.may_correct_claims("correction")
        elif correction.scope == "global" or not self._own(correction.tenant_id):
            self.need("admin", "Changing a correction that others share", "correction")

    def may_correct_claims(self, field: str) -> None:
        """Claims belong to all tenants of a workspace: who is bound to one of them needs the role admin."""
        if self.token is not None and self.token.tenant_id is not None:
            self.need("admin", "Correcting a claim, which all tenants share, with a token that is bound to one", field)

    def scope(self, named: str | None) -> str:
        """Return for whom something is recorded: for the agent when nothing is said."""
        scope = named or "agent"
        if self.token is None:
            return scope
        if scope == "global":
            self.need("admin", "The scope `global`", "scope")
        if scope == "tenant" and self.token.tenant_id is None:
            raise forbidden("This token is bound to no tenant, so it cannot record for one.", "scope")
        if scope == "user" and self.token.user_id is None:
            raise forbidden("This token is bound to no user, so it cannot record for one.", "scope")
        return scope

    def _own(self, tenant: str | None) -> bool:
        return self.token is None or tenant == self.token.tenant_id

    def _bound(self, field: str, named: str | None, bound: str | None) -> str | None:
        if self.token is None or not named:
            return (named or None) if self.token is None else bound
        if named != bound:
            to = "another one" if bound is not None else "none"
            raise forbidden(
                f"`{field}` says something else than the token, which is bound to {to}. Leave it out, or use a token "
                "that was made for it.",
                field,
            )
        return bound
