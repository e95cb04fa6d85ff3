"""`ws.tokens`: who may use the HTTP API, and as whom.

A token names its workspace, so that nothing has to be searched for it, and carries 32 random bytes. Only their
SHA-256 is stored. What a token is bound to (a tenant, a user, an agent) is decided here, never by what a request says.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import re
import secrets
import sys
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from engine.errors import InvalidInput, UnknownNode, UnknownWorkspace, WorkbenchError
from engine.ids import new_id, require
from engine.inputs import NAME_LIMIT, checked_text, optional_text
from engine.planning import Plan, born, now
from engine.reasons import quoted
from engine.record import Record
from engine.states import State
from engine.store.commit import ChangeSet
from engine.store.snapshot import Snapshot
from engine.store.tokens import all_tokens, token_by_id, tokens_by_hash

if TYPE_CHECKING:
    from engine.workbench import Workbench
    from engine.workspace import Workspace

Role: TypeAlias = Literal["read", "review", "admin"]
ROLES: Final = get_args(Role)
PREFIX: Final = "corrigenda"
SECRET_BYTES: Final = 32
_SHAPE: Final = re.compile(rf"{PREFIX}_([0-9a-f]{{32}})_([A-Za-z0-9_-]{{43}})", re.ASCII)


class TokenInfo(Record):
    """A token without its secret. `role` is `read`; `review`, which may also record and correct; or `admin`."""

    id: str
    name: str
    role: Role
    tenant_id: str | None = None
    user_id: str | None = None
    agent_name: str | None = None
    created_at: datetime
    revoked: bool = False
    revision: int

    def allows(self, role: Role) -> bool:
        """Return whether who holds this token may do what `role` may."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Tokens:
    """The tokens of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def create(
        self,
        name: str,
        tenant_id: str | None = None,
        user_id: str | None = None,
        agent_name: str | None = None,
        role: Role = "review",
    ) -> tuple[str, TokenInfo]:
        """Make a token. Return its secret, which is shown this once and stored nowhere, and what is kept of it.

        Args:
            name: what it is for.
            tenant_id: whose records it sees and makes; left out, only those that belong to no tenant.
            user_id: who its holder is.
            agent_name: the one agent that it may speak for; left out, any.
            role: `read`, `review` (also record, correct and revert) or `admin` (also what everybody shares).

        Raises:
            InvalidInput: a name is blank or too long, or there is no such role.
        """
        secret = secrets.token_urlsafe(SECRET_BYTES)
        planner = Minted(name, hashed(secret), tenant_id, user_id, agent_name, role)
        plan, _ = self._workspace._change(planner.plan)
        return f"{PREFIX}_{uuid.UUID(self._workspace.id).hex}_{secret}", self.get(plan.result)

    def get(self, token_id: str) -> TokenInfo:
        """Return one token; UnknownNode when there is none with this id."""
        snap = self._workspace._snapshot()
        return _shown(snap, _known(snap, token_id))

    def list(self) -> list[TokenInfo]:
        """Return every token, oldest first, also those that were revoked."""
        snap = self._workspace._snapshot()
        return [_shown(snap, row) for row in all_tokens(snap)]

    def revoke(self, token_id: str) -> TokenInfo:
        """End a token: nobody gets in with it any more. One that was revoked already stays so.

        Raises:
            UnknownNode: there is no such token.
        """
        self._workspace._change(Revoked(token_id).plan)
        return self.get(token_id)


def authenticate(workbench: Workbench, secret: str) -> tuple[Workspace, TokenInfo] | None:
    """Return the workspace and token that a secret opens; None when it opens nothing, whatever the reason."""
    shape = _SHAPE.fullmatch(secret)
    if shape is None:
        return None
    try:
        workspace = workbench.workspace(str(uuid.UUID(shape[1])))
    except UnknownWorkspace:
        return None
    wanted = hashed(shape[2])
    snap = workspace._snapshot()
    for row in tokens_by_hash(snap, wanted):
        token = _shown(snap, row)
        if hmac.compare_digest(row["secret_hash"], wanted) and not token.revoked:
            return workspace, token
    return None


def any_token(workbench: Workbench) -> bool:
    """Return whether any workspace has a token that is not revoked."""
    return any(
        not token.revoked for info in workbench.workspaces() for token in Tokens(workbench.workspace(info.id)).list()
    )


def hashed(secret: str) -> str:
    """Return what is stored of a secret. It is random, so that no salt and no slow hash is needed."""
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Minted:
    """Plans a token."""

    name: str
    secret_hash: str
    tenant_id: str | None
    user_id: str | None
    agent_name: str | None
    role: str

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """The result is the token's id.

        Raises:
            InvalidInput: a name is blank or too long, or there is no such role.
        """
        try:
            name = checked_text(self.name, "name", NAME_LIMIT).strip()
        except InvalidInput as error:
            raise InvalidInput(str(error), "name") from error
        if self.role not in ROLES:
            raise InvalidInput(f"`role` is {str(self.role)[:80]!r}; it is one of {', '.join(ROLES)}.", "role")
        bound = {
            what: _bound(value, what)
            for what, value in (
                ("tenant_id", self.tenant_id),
                ("user_id", self.user_id),
                ("agent_name", self.agent_name),
            )
        }
        change = ChangeSet(revision)
        token = change.create(
            "Token",
            new_id("Token"),
            name=name,
            secret_hash=self.secret_hash,
            role=self.role,
            tenant=bound["tenant_id"],
            user=bound["user_id"],
            agent=bound["agent_name"],
            at=now(),
            **born(revision, "active"),
        )
        to = ", ".join(
            f"{what.removesuffix('_id').removesuffix('_name')} {quoted(v)}" for what, v in bound.items() if v
        )
        whose = f", bound to {to}" if to else ""
        return Plan(change, "token", f"Made a token for {quoted(name)} ({self.role}{whose}).", "", "", token, token)


@dataclass(frozen=True)
class Revoked:
    """Plans the end of a token."""

    token_id: str

    def plan(self, snap: Snapshot, revision: int) -> Plan:
        """One that was revoked already changes nothing."""
        change = ChangeSet(revision)
        row = _known(snap, self.token_id)
        token = _shown(snap, row)
        if token.revoked:
            return Plan(change, "token", result=token.id)
        change.move("Token", token.id, row["life"], State("revoked"))
        return Plan(change, "token", f"Revoked the token for {quoted(token.name)}.", "", "", token.id, token.id)


def _known(snap: Snapshot, token_id: str) -> dict[str, Any]:
    row = token_by_id(snap, require(token_id, "Token"))
    if row is None:
        raise UnknownNode(f"There is no token {token_id} in this workspace.")
    return row


def _shown(snap: Snapshot, row: dict[str, Any]) -> TokenInfo:
    kept = {key: value for key, value in row.items() if key not in ("secret_hash", "life")}
    life = row["life"]
    revoked = life.at(snap.revision).status == "revoked"
    return TokenInfo(**kept, revoked=revoked, revision=life.changed(snap.revision))


def _bound(value: object, what: str) -> str | None:
    """Return a binding exactly as it is: it is compared with what records say."""
    if value is None:
        return None
    if type(value) is not str or not value.strip():
        raise InvalidInput(f"`{what}` is blank. Name whom the token is bound to, or leave it out.", what)
    try:
        optional_text(value, what, NAME_LIMIT)
    except InvalidInput as error:
        raise InvalidInput(str(error), what) from error
    return value


# --- on the command line -------------------------------------------------------------------------------------


def add_commands(commands: Any) -> None:
    """Add `token create`, `token list` and `token revoke` to a parser's subparsers.

    Each sets `run`, a function that takes the parsed options and returns the exit code.
    """
    tokens = commands.add_parser("token", help="make, list and revoke tokens for the HTTP API")
    verbs = tokens.add_subparsers(dest="verb", required=True)
    create = verbs.add_parser("create", help="make a token and print its secret, once")
    create.add_argument("--name", required=True, help="what the token is for")
    create.add_argument("--tenant", help="the tenant whose records it sees and makes")
    create.add_argument("--user", help="the user that its holder is")
    create.add_argument("--agent", help="the one agent that it may speak for")
    create.add_argument("--role", choices=ROLES, default="review")
    create.add_argument("--new-workspace", metavar="NAME", help="make a workspace of this name for it first")
    create.set_defaults(run=_run, act=_create)
    listed = verbs.add_parser("list", help="list tokens, without their secrets")
    listed.set_defaults(run=_run, act=_list)
    revoke = verbs.add_parser("revoke", help="end a token")
    revoke.add_argument("token", help="its id, as `token list` shows it")
    revoke.set_defaults(run=_run, act=_revoke)
    for verb in (create, listed, revoke):
        verb.add_argument("--workspace", help="the id of the workspace; may be left out where there is only one")
        verb.add_argument("--data-dir", help="the folder of the database, as for `engine.open`")


def _run(options: argparse.Namespace) -> int:
    import engine

    try:
        with engine.open(data_dir=options.data_dir) as workbench:
            sys.stdout.write(options.act(workbench, options))
    except WorkbenchError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _create(workbench: Workbench, options: argparse.Namespace) -> str:
    if options.new_workspace:
        workspace = workbench.create_workspace(options.new_workspace)
    else:
        workspace = only_workspace(workbench, options.workspace)
    secret, token = Tokens(workspace).create(options.name, options.tenant, options.user, options.agent, options.role)
    return (
        f"{secret}\n\nThis is {token.id}, for “{token.name}”, and its secret is not shown again. Send it with every "
        "request,\nin the header `Authorization: Bearer …`.\n"
    )


def _list(workbench: Workbench, options: argparse.Namespace) -> str:
    lines = []
    for token in Tokens(only_workspace(workbench, options.workspace)).list():
        bound = [f"{k}={v}" for k, v in (("tenant", token.tenant_id), ("user", token.user_id)) if v]
        bound += [f"agent={token.agent_name}"] if token.agent_name else []
        state = "revoked" if token.revoked else token.role
        lines.append(f"{token.id}  {state:8} {token.name}  {' '.join(bound)}".rstrip())
    return "\n".join([*lines, ""]) if lines else "There is no token in this workspace.\n"


def _revoke(workbench: Workbench, options: argparse.Namespace) -> str:
    token = Tokens(only_workspace(workbench, options.workspace)).revoke(options.token)
    return f"Revoked {token.id}, “{token.name}”.\n"


def only_workspace(workbench: Workbench, workspace_id: str | None) -> Workspace:
    """Return the workspace that is named, else the only one.

    Raises:
        UnknownWorkspace: there is no such workspace, or none at all.
        InvalidInput: none is named and there are several.
    """
    if workspace_id is not None:
        return workbench.workspace(workspace_id)
    there = workbench.workspaces()
    if not there:
        raise UnknownWorkspace("There is no workspace yet. Make one in the app, or with `wb.create_workspace`.")
    if len(there) > 1:
        names = "; ".join(f"{info.id} (“{info.name}”)" for info in there[:20])
        raise InvalidInput(f"There are several workspaces. Name one by its id: {names}.", "workspace")
    return workbench.workspace(there[0].id)
