"""A real HTTP server on loopback that speaks the OpenAI protocol and says what a test tells it to.

A script is a list of turns, or a function from the request to a turn, for when several requests come at once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Turn:
    """One answer. `calls` are (name, arguments); arguments that are text are sent as they are."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    refusal: str = ""
    finish: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: Any = None
    """The body of a status that is not 200."""
    raw: bytes | None = None
    """Sent instead of a proper stream."""
    cut_after: int | None = None
    """The connection breaks after so many pieces."""
    wait: float = 0.0
    """Seconds before anything is said."""
    pause: float = 0.0
    """Seconds between two pieces."""
    no_choices: bool = False
    usage: tuple[int, int] | None = (11, 7)
    piece: int = 20


def say(value: Any) -> Turn:
    """Return a turn that answers with a value as JSON, or with a text."""
    return Turn(text=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def call(name: str, /, **arguments: Any) -> Turn:
    """Return a turn that calls one tool."""
    return Turn(calls=[(name, arguments)])


Script = Callable[[dict[str, Any]], Turn]


class ScriptedModel:
    """The server. `requests` has what was asked, `hung_up` how many answers the client did not read to the end."""

    def __init__(self, script: Script | Iterable[Turn]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.hung_up = 0
        self.most_at_once = 0
        self._at_once = 0
        self._mutex = threading.Lock()
        self._turns = iter(script) if not callable(script) else None
        self._script = script if callable(script) else None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                body = json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}).encode()
                self._whole(200, body)

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                try:
                    outer._answer(self, request)
                except (BrokenPipeError, ConnectionResetError):
                    with outer._mutex:
                        outer.hung_up += 1
                    self.close_connection = True

            def _whole(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
                self.send_response(status)
                for name, value in {"content-type": "application/json", **(headers or {})}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def texts(self) -> list[str]:
        """Everything that was said to the model, one text a request."""
        return ["\n".join(str(m.get("content") or "") for m in request["messages"]) for request in self.requests]

    def _turn(self, request: dict[str, Any]) -> Turn:
        if self._script is not None:
            return self._script(request)
        assert self._turns is not None
        try:
            return next(self._turns)
        except StopIteration:
            return Turn(status=400, error={"message": "the script is over", "type": "invalid_request_error"})

    def _answer(self, handler: Any, request: dict[str, Any]) -> None:
        with self._mutex:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            turn = self._turn(request)
        try:
            if turn.wait:
                time.sleep(turn.wait)
            if turn.status != 200:
                error = turn.error if turn.error is not None else {"message": "scripted", "type": "error"}
                handler._whole(turn.status, json.dumps({"error": error}).encode(), turn.headers)
                return
            self._stream(handler, turn)
        finally:
            with self._mutex:
                self._at_once -= 1

    def _stream(self, handler: Any, turn: Turn) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.close_connection = True
        if turn.raw is not None:
            handler.wfile.write(turn.raw)
            return
        for number, chunk in enumerate(_chunks(turn)):
            if turn.cut_after is not None and number >= turn.cut_after:
                return
            handler.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            handler.wfile.flush()
            if turn.pause:
                time.sleep(turn.pause)
        handler.wfile.write(b"data: [DONE]\n\n")


def _chunks(turn: Turn) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choices = [] if turn.no_choices else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": choices}

    yield chunk({"role": "assistant", "content": ""})
    for start in range(0, len(turn.text), turn.piece):
        yield chunk({"content": turn.text[start : start + turn.piece]})
    if turn.refusal:
        yield chunk({"refusal": turn.refusal})
    for number, (name, arguments) in enumerate(turn.calls):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        half = len(written) // 2
        function = {"name": name, "arguments": written[:half]}
        yield chunk({"tool_calls": [{"index": number, "id": f"t{number}", "type": "function", "function": function}]})
        yield chunk({"tool_calls": [{"index": number, "function": {"arguments": written[half:]}}]})
    yield chunk({}, turn.finish or ("tool_calls" if turn.calls else "stop"))
    if turn.usage is not None:
        counted = {"prompt_tokens": turn.usage[0], "completion_tokens": turn.usage[1], "total_tokens": sum(turn.usage)}
        yield {**chunk({}), "choices": [], "usage": counted}


@contextmanager
def scripted(script: Script | Iterable[Turn]) -> Iterator[ScriptedModel]:
    """Run a server for as long as a block."""
    server = ScriptedModel(script)
    try:
        yield server
    finally:
        server.close()
