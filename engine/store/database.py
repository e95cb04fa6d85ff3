"""The one place that talks to FalkorDB, and the one that keeps the rules without which it corrupts data.

Each rule was found by experiment and has a test that fails without it (`tests/store/test_database.py`):

* every label, relationship type and property key is registered in a new graph by one successful write;
  otherwise a write that fails (an assertion, say) can make later ones store values under the wrong keys;
* `EFFECTS_THRESHOLD` is out of reach and no write calls a function with a changing result: a query is then
  logged as text, and replaying it after a crash gives the same graph;
* a write is sent once. If its reply is lost, `WriteUncertain` says so and the caller reads what happened;
* parameters are of exactly the types that the client encodes faithfully; everything else is refused before it
  is sent (the client inlines ``str(x)`` of anything it does not know, which is an injection);
* paths of variable length are refused: FalkorDB 4.16 silently leaves out nodes, and every version enumerates
  paths;
* results hold scalars, lists and maps only: the client decodes whole nodes with names that may be outdated.

Floats: a reply carries 15 significant digits, although the stored number is exact.
"""

from __future__ import annotations

import threading
import time
import urllib.parse
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from engine.errors import DatabaseUnavailable, InvalidInput, WorkbenchError
from engine.store import schema
from engine.store.guards import (
    EFFECTS_THRESHOLD,
    GRAPH_NAME,
    SCALARS,
    TIMEOUT_DEFAULT_MS,
    TIMEOUT_MAX_MS,
    check_parameters,
    checked_name,
    checked_query,
)

if TYPE_CHECKING:
    from engine.store.embedded import EmbeddedServer

OLDEST_KNOWN_GOOD: Final = (4, 16, 3)
NEWEST_KNOWN_GOOD: Final = (4, 22, 1)
EFFECTS_FIXED_IN: Final = (4, 22, 0)
"""From here on replaying effects was right in every experiment, whatever the threshold."""

READ_TIMEOUT_MS: Final = 10_000
"""A long read with one waiting writer freezes the whole server, so reads get less."""
SOCKET_TIMEOUT: Final = TIMEOUT_MAX_MS / 1000 + 30
POOL_SIZE: Final = 16
READ_PAUSES: Final = (0.05, 0.2, 0.6)
"""Waits before a read, or the making of a connection, is tried again."""
LARGEST_QUERY: Final = 500_000_000
"""Bytes; the protocol ends at 512 MB."""
INDEX_DEADLINE: Final = 120.0


class GraphMissing(WorkbenchError, LookupError):
    """The graph does not exist."""


class WriteUncertain(DatabaseUnavailable):
    """A write was sent and its reply was lost: it may have happened or not. Read back to know."""


class QueryTimeout(DatabaseUnavailable):
    """The query ran longer than allowed; a write was rolled back."""


class QueryFailed(WorkbenchError):
    """FalkorDB refused the query or an assertion in it failed; nothing was changed.

    `assertion` is true when it was a division by zero, which is how a query of ours asserts something.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.assertion = "Division by zero" in message


class Database:
    """A FalkorDB server and the graphs of its workspaces. May be shared by threads, and used after a fork."""

    def __init__(self, address: str, *, url: str = "", server: EmbeddedServer | None = None) -> None:
        self.address = address
        """Where the database is, for people; never with a password."""
        self._url = url
        self._server = server
        self._timeout_cap = TIMEOUT_MAX_MS
        self._warned = False
        self._closed = False
        self._mutex = threading.Lock()
        self._pool = self._new_pool()

    @classmethod
    def embedded(cls, data_dir: Path, *, server_binary: Path | None = None, module: Path | None = None) -> Database:
        """The database in this folder; its server is started if it is not running."""
        try:
            from engine.store import embedded
        except ImportError as error:  # Windows knows no `fcntl`
            raise DatabaseUnavailable(
                "The embedded FalkorDB does not run on this system. Run `docker compose up -d falkordb` and "
                'connect with `engine.open("redis://localhost:6379")`.'
            ) from error
        server = embedded.acquire(data_dir, server_binary=server_binary, module=module)
        return cls._greeted(cls(f"embedded FalkorDB in {data_dir}", server=server))

    @classmethod
    def server(cls, url: str) -> Database:
        """A server that somebody else runs: ``redis://``, ``rediss://`` (TLS) or ``unix://``."""
        address = _address(url)
        try:
            database = cls(address, url=url)
        except ValueError:  # its message may hold the whole URL, so it is not passed on
            raise InvalidInput(f"{address} is not a usable address of a FalkorDB server") from None
        return cls._greeted(database)

    @staticmethod
    def _greeted(database: Database) -> Database:
        try:
            database.ping()
        except BaseException:
            database.close()
            raise
        return database

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What the engine asks for

    def read(
        self,
        graph: str,
        cypher: str,
        params: Mapping[str, object] | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> list[list[Any]]:
        """Rows of a query that changes nothing. GraphMissing when there is no such graph."""
        checked_query(cypher, writing=False)
        return self._query(graph, cypher, params, timeout_ms or READ_TIMEOUT_MS, writing=False)

    def write(self, graph: str, cypher: str, params: Mapping[str, object] | None = None) -> list[list[Any]]:
        """Rows of a query that changes an existing graph: all of it or, when it fails, nothing.

        It is sent once. WriteUncertain means that it may have happened: read back before trying again.
        """
        checked_query(cypher, writing=True)
        # GRAPH.QUERY would make an empty graph, whose names are not registered.
        if not self._command("EXISTS", checked_name(graph)):
            raise GraphMissing(f"there is no graph {graph}")
        return self._query(graph, cypher, params, TIMEOUT_MAX_MS, writing=True)

    def create_graph(self, graph: str) -> None:
        """Make a graph with all its names and indexes, or complete one whose making was interrupted."""
        checked_name(graph)
        if not self._registered(graph):
            # Must be the graph's first write, and succeed: see the head of this module.
            labels = "".join(f":`{label}`" for label in schema.LABELS)
            keys = ",".join(f"`{key}`:1" for key in schema.KEYS)
            edges = "".join(f" CREATE (n)-[:`{relation}`]->(n)" for relation in schema.RELATIONS)
            text = f"CREATE (n{labels} {{{keys}}}){edges} DELETE n"
            self._query(graph, text, None, TIMEOUT_MAX_MS, writing=True)
        present = self._indexes(graph)
        for label, keys_of_label in schema.INDEXED.items():
            for key in keys_of_label:
                if "RANGE" not in present.get((label, key), ()):
                    self._create_index(graph, f"CREATE INDEX FOR (n:`{label}`) ON (n.`{key}`)")
        for label, keys_of_label in schema.FULLTEXT.items():
            missing = [key for key in keys_of_label if "FULLTEXT" not in present.get((label, key), ())]
            if missing:
                # No stop words: `engine.terms` has already left out what carries no content.
                options = f"{{label:'{label}', language:'english', stopwords:[]}}"
                fields = ", ".join(f"'{key}'" for key in missing)
                self._create_index(graph, f"CALL db.idx.fulltext.createNodeIndex({options}, {fields})")
        end = time.monotonic() + INDEX_DEADLINE
        while not all("OPERATIONAL" in state for state in self._indexes(graph).values()):
            if time.monotonic() > end:
                raise DatabaseUnavailable(f"the indexes of {graph} are not ready after {INDEX_DEADLINE:.0f} s")
            time.sleep(0.02)

    def delete_graph(self, graph: str) -> None:
        """Delete a graph. GraphMissing when there is none."""
        self._command("GRAPH.DELETE", checked_name(graph))

    def graphs(self) -> list[str]:
        """The names of all workspace graphs on this server."""
        return sorted(name for name in self._command("GRAPH.LIST") if GRAPH_NAME.fullmatch(name))

    def ping(self) -> None:
        """Raise DatabaseUnavailable unless the server answers and can be trusted."""
        self._command("PING")

    def close(self) -> None:
        """Disconnect; the embedded server stops when nobody else uses it. May be called more than once."""
        with self._mutex:
            self._closed = True
            self._pool.disconnect()
            if self._server is not None:
                self._server.release()

    # How it is done

    def _query(
        self, graph: str, cypher: str, params: Mapping[str, object] | None, timeout_ms: int, *, writing: bool
    ) -> list[list[Any]]:
        from falkordb.graph import Graph

        # A graph object of its own for each query: nothing that the client remembers can be outdated.
        remote = Graph(SimpleNamespace(execute_command=self._command), checked_name(graph))
        run = remote.query if writing else remote.ro_query
        try:
            result = run(cypher, check_parameters(params), timeout=min(timeout_ms, self._timeout_cap))
        except redis.ResponseError as error:  # an error at run time comes inside the reply
            raise self._explained(error) from error
        rows: list[list[Any]] = result.result_set
        for row in rows:
            for index, cell in enumerate(row):
                row[index] = _plain(cell)
        return rows

    def _registered(self, graph: str) -> bool:
        wanted = {"labels": schema.LABELS, "relationshipTypes": schema.RELATIONS, "propertyKeys": schema.KEYS}
        try:
            for procedure, names in wanted.items():
                found = {row[0] for row in self.read(graph, f"CALL db.{procedure}()")}
                if not found.issuperset(names):
                    return False
        except GraphMissing:
            return False
        return True

    def _indexes(self, graph: str) -> dict[tuple[str, str], tuple[str, ...]]:
        """(label, key) → the kinds of its index, and its state."""
        rows = self.read(graph, "CALL db.indexes() YIELD label, types, status RETURN label, types, status")
        return {(label, key): (*kinds, status) for label, types, status in rows for key, kinds in types.items()}

    def _create_index(self, graph: str, text: str) -> None:
        try:
            self._query(graph, text, None, TIMEOUT_MAX_MS, writing=True)
        except QueryFailed as error:
            if "already indexed" not in str(error):  # another process completes the same graph
                raise

    def _new_pool(self) -> Any:
        settings: dict[str, Any] = {
            "max_connections": POOL_SIZE,
            "timeout": SOCKET_TIMEOUT,
            "socket_timeout": SOCKET_TIMEOUT,
            "socket_connect_timeout": 5,
            "decode_responses": True,
            "protocol": 2,
            # The transport would also repeat a write whose reply was lost.
            "retry": Retry(NoBackoff(), 0),
            "redis_connect_func": self._vet,
        }
        if self._server is None:
            return redis.BlockingConnectionPool.from_url(self._url, **settings)
        settings |= {
            "connection_class": redis.UnixDomainSocketConnection,
            "path": str(self._server.socket_path),
        }
        pool: Any = redis.BlockingConnectionPool
        return pool(**settings)

    def _command(self, *words: str | int) -> Any:
        """Send one command; repeat it only where that cannot do anything twice."""
        if sum(len(word) for word in words if isinstance(word, str)) > LARGEST_QUERY:
            raise InvalidInput("this is more than the database takes at once (500 MB)")
        pauses = iter(READ_PAUSES)
        while True:
            if self._closed:
                raise DatabaseUnavailable("this database was closed; open it again")
            sent = False
            pool = self._pool
            try:
                connection = pool.get_connection()
                try:
                    sent = True
                    connection.send_command(*words)
                    return connection.read_response()
                except redis.ResponseError:
                    raise  # a whole reply was read: the connection is in order
                except BaseException:
                    connection.disconnect()  # the reply may still come, and must not answer another command
                    raise
                finally:
                    pool.release(connection)
            except (redis.ResponseError, redis.AuthenticationError) as error:
                raise self._explained(error) from error
            except (redis.RedisError, OSError) as error:
                if isinstance(error, WorkbenchError):
                    raise
                self._give_up_or_wait(words[0], error, sent, next(pauses, None))

    def _give_up_or_wait(self, command: str | int, error: Exception, sent: bool, pause: float | None) -> None:
        refused = not sent or isinstance(error, redis.BusyLoadingError)
        if not refused and command not in _REPEATABLE:
            raise WriteUncertain(
                f"The line to {self.address} broke after a change was sent; it may have happened or not."
            ) from error
        if pause is None or (sent and isinstance(error, redis.TimeoutError)):
            advice = "" if self._server else " Is it running? `docker compose up -d falkordb` starts one."
            raise DatabaseUnavailable(f"{self.address} does not answer: {error}.{advice}") from error
        time.sleep(pause)
        if self._server is not None and not sent:
            self._server.ensure_running()
            with self._mutex:
                self._pool = self._new_pool()

    def _vet(self, connection: Any) -> None:
        """Check every new connection: a server that was restarted may have lost its settings."""

        def ask(*words: str | int) -> Any:
            connection.send_command(*words)
            return connection.read_response()

        try:
            connection.on_connect()
            version = self._checked_version(_module_version(ask("MODULE", "LIST")))
            self._check_settings(version, dict(ask("GRAPH.CONFIG", "GET", "*")), ask)
        except BaseException:
            connection.disconnect()
            raise

    def _checked_version(self, version: tuple[int, int, int] | None) -> tuple[int, int, int]:
        if version is None:
            raise DatabaseUnavailable(
                f"{self.address} is a Redis without FalkorDB. `docker compose up -d falkordb` starts one."
            )
        shown = ".".join(map(str, version))
        if version < OLDEST_KNOWN_GOOD:
            raise DatabaseUnavailable(
                f"{self.address} runs FalkorDB {shown}, which this program has not been tried with. Use "
                f"{'.'.join(map(str, OLDEST_KNOWN_GOOD))} to {'.'.join(map(str, NEWEST_KNOWN_GOOD))}."
            )
        if version > NEWEST_KNOWN_GOOD and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.address} runs FalkorDB {shown}; this program was tried up to "
                f"{'.'.join(map(str, NEWEST_KNOWN_GOOD))}",
                stacklevel=2,
            )
        return version

    def _check_settings(self, version: tuple[int, int, int], config: dict[str, Any], ask: Any) -> None:
        size = int(config.get("RESULTSET_SIZE", -1))
        if 0 <= size < 2**62:
            raise DatabaseUnavailable(
                f"{self.address} cuts every result after {size} rows. Start it with RESULTSET_SIZE -1 or run "
                "`GRAPH.CONFIG SET RESULTSET_SIZE -1`."
            )
        if version < EFFECTS_FIXED_IN and int(config.get("EFFECTS_THRESHOLD", 0)) < EFFECTS_THRESHOLD:
            try:
                ask("GRAPH.CONFIG", "SET", "EFFECTS_THRESHOLD", EFFECTS_THRESHOLD)
            except redis.ResponseError as error:
                raise DatabaseUnavailable(
                    f"{self.address} would corrupt data when it restarts. Start it with the module argument "
                    f"EFFECTS_THRESHOLD {EFFECTS_THRESHOLD}, or use FalkorDB 4.22 or later."
                ) from error
        longest = int(config.get("TIMEOUT_MAX", 0))
        if longest == 0:
            try:
                ask("GRAPH.CONFIG", "SET", "TIMEOUT_MAX", TIMEOUT_MAX_MS)
                ask("GRAPH.CONFIG", "SET", "TIMEOUT_DEFAULT", TIMEOUT_DEFAULT_MS)
            except redis.ResponseError:
                warnings.warn(f"{self.address} sets no limit to the time of a write (TIMEOUT_MAX)", stacklevel=2)
        self._timeout_cap = min(TIMEOUT_MAX_MS, longest or TIMEOUT_MAX_MS)

    def _explained(self, error: Exception) -> WorkbenchError:
        """The error of the server as one of ours. None of these texts holds a password."""
        said = str(error)
        for sign, kind, text in _MEANINGS:
            if sign in said or sign in type(error).__name__:
                return kind(text.format(address=self.address, said=said))
        return QueryFailed(f"FalkorDB refused the query, nothing was changed: {said}")


_REPEATABLE: Final = frozenset({"GRAPH.RO_QUERY", "GRAPH.LIST", "EXISTS", "PING"})

_MEANINGS: Final[tuple[tuple[str, type[WorkbenchError], str], ...]] = (
    ("empty key", GraphMissing, "there is no such graph"),
    ("timed out", QueryTimeout, "{address}: the query took too long and was stopped; nothing was changed"),
    ("mem consumption", DatabaseUnavailable, "{address}: the query needs more memory than the server allows"),
    ("OutOfMemory", DatabaseUnavailable, "{address} is out of memory (maxmemory): give it more, or delete"),
    ("Max pending", DatabaseUnavailable, "{address} has too many queries waiting; try again"),
    ("ReadOnly", DatabaseUnavailable, "{address} is a replica and cannot be written; connect to its master"),
    (
        "MISCONF",
        DatabaseUnavailable,
        "{address} cannot write to its disk (full?) and refuses changes: {said}",
    ),
    ("Authentication", DatabaseUnavailable, "{address} refuses this user or password; check FALKORDB_URL"),
    (
        "NoPermission",
        DatabaseUnavailable,
        "{address}: this user may not do that ({said}). It needs ~workspace:* and the commands +ping +exists "
        "+module|list +graph.config +graph.query +graph.ro_query +graph.list +graph.delete",
    ),
    (
        "MovedError",
        DatabaseUnavailable,
        "{address} is a cluster, which is not supported; use a single server",
    ),
    (
        "ClusterDown",
        DatabaseUnavailable,
        "{address} is a cluster, which is not supported; use a single server",
    ),
    ("MasterDown", DatabaseUnavailable, "{address} has lost its master: {said}"),
    ("WRONGTYPE", DatabaseUnavailable, "{address} holds something else under the name of this graph"),
)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is list:
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    raise TypeError(f"a query may return scalars, lists and maps only, not a {kind.__name__}")


def _module_version(modules: list[list[Any]]) -> tuple[int, int, int] | None:
    """The version in a reply to MODULE LIST; None when FalkorDB is not there."""
    for module in modules:
        facts = dict(zip(module[::2], module[1::2], strict=False))
        if facts.get("name") == "graph":
            number = int(facts["ver"])
            return number // 10_000, number // 100 % 100, number % 100
    return None


def _address(url: str) -> str:
    """The URL without its secrets; InvalidInput when it is not one that is supported."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidInput("the address of the database is not a URL such as redis://localhost:6379") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise InvalidInput(
            f"addresses of the kind {parts.scheme or '(none)'}:// are not supported; a single server is: "
            "redis://host:6379, rediss://host:6379 (TLS) or unix:///path/of/the.sock"
        )
    # Other options of the client would undo what is set here, the rule about retries among it.
    odd = [name for name in urllib.parse.parse_qs(parts.query) if name != "db" and not name.startswith("ssl_")]
    if odd:
        raise InvalidInput(f"the address may set db and ssl_..., not {', '.join(sorted(odd))}")
    if parts.scheme == "unix":
        return f"unix://{parts.path}"
    return f"{parts.scheme}://{parts.hostname or 'localhost'}:{port or 6379}{parts.path.rstrip('/')}"
