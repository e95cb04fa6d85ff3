"""Where the app may be started: the real process, at addresses that others can and cannot reach."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import engine
from engine.http.exposure import exposed_at, terms
from engine.http.origins import is_loopback
from engine.tokens import Tokens
from tests.browser.app_process import ROOT, AppProcess


def start(data_dir: Path, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Start the app, which is expected to end by itself."""
    environment = {**os.environ, "CORRIGENDA_DATA_DIR": str(data_dir), **environ}
    environment.pop("FALKORDB_URL", None)
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90, check=False)


@pytest.mark.parametrize("server", ["streamlit", "uvicorn"])
def test_an_address_that_others_reach_needs_a_token(tmp_path: Path, server: str) -> None:
    binary = str(Path(sys.executable).parent / server)
    commands = {
        "streamlit": (binary, "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "18765"),
        "uvicorn": (binary, "app:app", "--host", "0.0.0.0", "--port", "18766"),
    }
    ended = start(tmp_path / "data", *commands[server])
    said = ended.stdout + ended.stderr
    assert ended.returncode not in (0, None), said
    assert "there is no token for its API" in said
    assert "python -m engine token create" in said
    assert "no sign-in" in said
    assert "Traceback" not in said


def ask(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.getheader("content-type", ""), answer.read().decode()


def test_with_a_token_it_starts_there_and_asks_for_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with engine.open(data_dir=data) as workbench:
        secret, _ = Tokens(workbench.create_workspace("Main")).create("remote")
    binary = str(Path(sys.executable).parent / "streamlit")
    command = (binary, "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "18767")
    environment = {**os.environ, "CORRIGENDA_DATA_DIR": str(data)}
    environment.pop("FALKORDB_URL", None)
    log = tmp_path / "log"
    with log.open("wb") as output:
        app = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and app.poll() is None:
            with contextlib.suppress(OSError):
                ask(18767, "GET", "/healthz")
                break
            time.sleep(0.2)
        assert ask(18767, "GET", "/corrections")[0] == 401
        assert ask(18767, "GET", "/corrections", Authorization=f"Bearer {secret}")[0] == 200
    finally:
        app.send_signal(signal.SIGTERM)
        app.wait(timeout=30)
    assert "the pages do not" in log.read_text()


def test_beside_the_pages(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with engine.open(data_dir=data) as workbench:
        workbench.create_workspace("Main")
    with AppProcess(data) as app:
        for path in ("/metrics", "/healthz", "/openapi.json", "/agents", "/corrections/stats"):
            status, content_type, _ = ask(app.port, "GET", path)
            assert (status, "html" in content_type) == (200, False), path
        for path in ("/corrections/a/b/c", "/agents/..%2F..%2Fetc%2Fpasswd/nothing", "/metrics/x", "/claims/a//b"):
            status, content_type, text = ask(app.port, "GET", path)
            assert (status, content_type) == (404, "application/json"), (path, text[:200])
            assert json.loads(text)["error"]["code"] == "unknown_path"
        assert ask(app.port, "DELETE", "/metrics")[:2] == (405, "application/json")
        foreign = {"Content_Type": "application/json", "Origin": "http://evil.example"}
        assert ask(app.port, "PUT", "/agents/x", b"{}", **foreign)[0] == 403
        assert ask(app.port, "GET", "/agents", Host="rebound.example")[0] == 403
        assert ask(app.port, "PUT", "/agents/x", b"{}", Content_Type="application/json")[0] == 200
        change = b'{"originalValue": "wrong", "correctedValue": "right"}'
        status, _, text = ask(app.port, "POST", "/agents/x/corrections", change, Content_Type="application/json")
        assert (status, json.loads(text)["status"]) == (201, "active")
        assert ask(app.port, "POST", "/agents/y/corrections", change, Content_Type="application/json")[0] == 404
        large = b"x" * 3_000_000
        assert ask(app.port, "POST", "/agents/x/corrections", large, Content_Type="application/json")[0] == 413
        status, content_type, _ = ask(app.port, "GET", "/correct")
        assert status == 200
        assert "html" in content_type, "everything else is the pages'"
        assert "Traceback" not in app.output()


def test_which_addresses_others_reach() -> None:
    for here in ("127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9", "::ffff:127.0.0.1", "unix:///run/app"):
        assert exposed_at(here, {}) is None, here
    for there in (None, "", "0.0.0.0", "::", "192.168.1.2", "example.org", "127.0.0.1.example.org"):
        assert exposed_at(there, {}) is not None, there
    assert exposed_at("0.0.0.0", {"CORRIGENDA_PUBLISHED_ADDRESS": "127.0.0.1"}) is None
    assert not terms("127.0.0.1", {}).token_required
    assert terms("127.0.0.1", {"CORRIGENDA_TOKEN_REQUIRED": "1"}).token_required
    assert terms("0.0.0.0", {"CORRIGENDA_HOSTS": " Tool.example , "}).hosts == {"tool.example"}
    assert not is_loopback(None)
    assert not is_loopback("testclient")
