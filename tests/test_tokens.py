"""Tokens: shown once, stored as a hash, bound to what they were made for, and ended for good."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path

import pytest

import engine
from engine.tokens import Tokens, add_commands, any_token, authenticate


def everything(workspace: engine.Workspace) -> str:
    """Return all that is stored in a workspace, as text."""
    snap = workspace._snapshot()
    rows = snap.rows("MATCH (n) RETURN properties(n)")
    from engine.store.commit import ChangeSet

    payloads = [
        ChangeSet.from_payload(0, row[0]["payload"]).nodes for row in rows if "payload" in row[0] and row[0]["payload"]
    ]
    return json.dumps([rows, payloads], default=str)


def test_a_secret_is_shown_once_and_stored_nowhere(wb: engine.Workbench, ws: engine.Workspace) -> None:
    secret, token = Tokens(ws).create("CRM", tenant_id="acme", user_id="ana", agent_name="extractor", role="admin")
    assert re.fullmatch(r"corrigenda_[0-9a-f]{32}_[A-Za-z0-9_-]{43}", secret)
    assert secret.split("_")[1] == ws.id.replace("-", ""), "a token says which workspace it opens"
    random_part = secret.split("_", 2)[2]
    stored = everything(ws)
    assert random_part not in stored
    assert hashlib.sha256(random_part.encode()).hexdigest() in stored
    assert (token.tenant_id, token.user_id, token.agent_name, token.role) == ("acme", "ana", "extractor", "admin")
    assert "secret" not in token.model_dump_json()
    assert Tokens(ws).list() == [token]
    event = ws.history().iloc[-1]
    assert event["kind"] == "token"
    assert "CRM" in event["summary"]
    assert random_part not in str(event.to_dict())


def test_only_the_secret_opens_and_only_its_workspace(wb: engine.Workbench, ws: engine.Workspace) -> None:
    secret, token = Tokens(ws).create("one")
    other = wb.create_workspace("other")
    found = authenticate(wb, secret)
    assert found is not None
    assert (found[0].id, found[1]) == (ws.id, token)
    prefix, named, random_part = secret.split("_", 2)
    elsewhere = f"{prefix}_{other.id.replace('-', '')}_{random_part}"
    for wrong in (elsewhere, secret[:-1], secret + "A", f"{prefix}_{named}_{'A' * 43}", "", "x" * 10_000, "\0", "é",
                  f"{prefix}_{'0' * 32}_{random_part}", secret.upper(), f" {secret}", f"{secret}\n"):  # fmt: skip
        assert authenticate(wb, wrong) is None, wrong[:90]
    wb.delete_workspace(other.id)


def test_a_revoked_token_opens_nothing_and_stays_revoked(wb: engine.Workbench, ws: engine.Workspace) -> None:
    secret, token = Tokens(ws).create("one")
    kept, _ = Tokens(ws).create("two")
    assert Tokens(ws).revoke(token.id).revoked
    revision = ws.revision
    assert Tokens(ws).revoke(token.id).revoked
    assert ws.revision == revision, "revoking twice changes nothing"
    assert authenticate(wb, secret) is None
    assert authenticate(wb, kept) is not None
    assert [t.revoked for t in Tokens(ws).list()] == [True, False]
    with pytest.raises(engine.UnknownNode):
        Tokens(ws).revoke("o_0000000000000000")
    with pytest.raises(engine.UnknownNode):
        Tokens(ws).revoke(ws.ingest("A text.", extractor=None).source_id)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("name", {"name": "  "}),
        ("name", {"name": "n" * 501}),
        ("name", {"name": "a\0b"}),
        ("role", {"name": "n", "role": "root"}),
        ("tenant_id", {"name": "n", "tenant_id": ""}),
        ("user_id", {"name": "n", "user_id": " "}),
        ("agent_name", {"name": "n", "agent_name": "a\0"}),
    ],
)
def test_a_token_for_nobody_is_refused(ws: engine.Workspace, field: str, arguments: dict[str, str]) -> None:
    with pytest.raises(engine.InvalidInput) as refused:
        Tokens(ws).create(**arguments)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert ws.revision == 0


def test_roles_include_the_lower_ones(ws: engine.Workspace) -> None:
    allowed = {
        role: [asked for asked in ("read", "review", "admin") if Tokens(ws).create(role, role=role)[1].allows(asked)]  # type: ignore[arg-type]
        for role in ("read", "review", "admin")
    }
    assert allowed == {"read": ["read"], "review": ["read", "review"], "admin": ["read", "review", "admin"]}


def command(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers(required=True))
    options = parser.parse_args(arguments)
    return int(options.run(options))


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FALKORDB_URL", raising=False)
    folder = ("--data-dir", str(tmp_path / "data"))
    assert command("token", "create", "--name", "CI", *folder) == 2
    assert "no workspace yet" in capsys.readouterr().err
    assert command("token", "create", "--name", "CI", "--tenant", "acme", "--new-workspace", "Main", *folder) == 0
    secret = capsys.readouterr().out.split()[0]
    assert command("token", "list", *folder) == 0
    listed = capsys.readouterr().out
    assert "CI" in listed
    assert "tenant=acme" in listed
    assert secret.split("_", 2)[2] not in listed
    with engine.open(data_dir=tmp_path / "data") as workbench:
        assert authenticate(workbench, secret) is not None
        assert any_token(workbench)
    assert command("token", "revoke", listed.split()[0], *folder) == 0
    with engine.open(data_dir=tmp_path / "data") as workbench:
        assert authenticate(workbench, secret) is None
        assert not any_token(workbench)
