"""The way to a model: what arrives, what is tried again, what is called off, and what is said when nothing comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from pydantic import BaseModel

import engine
from engine.cancellation import Cancel
from engine.model import OUTPUT_LIMIT, ChatModel, configured_model
from engine.model_replies import Unreadable, read_as, read_json, structured
from tests.scripted_model import ScriptedModel, Turn, call, say, scripted

HELLO = [{"role": "user", "content": "hello"}]
KEY = "sk-very-secret"


@pytest.fixture
def serving() -> Iterator[Callable[..., tuple[ChatModel, ScriptedModel]]]:
    """Start a scripted server and a model that talks to it; pauses between tries are short."""
    opened: list[tuple[ChatModel, ScriptedModel]] = []

    def serve(script: object, timeout: float = 5.0, model: str | None = "scripted") -> tuple[ChatModel, ScriptedModel]:
        server = ScriptedModel(script)
        opened.append((ChatModel(model, server.url, KEY, timeout=timeout, longest_pause=0.02), server))
        return opened[-1]

    yield serve
    for model, server in opened:
        model.close()
        server.close()


def test_text_arrives_in_pieces_and_is_counted(serving):
    model, server = serving([Turn(text="one two three four five six", piece=4, pause=0.06)])
    heard: list[str] = []
    reply = model.chat(HELLO, on_text=heard.append)
    assert (reply.text, reply.finish, reply.tool_calls) == ("one two three four five six", "stop", ())
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.requests) == (11, 7, 1)
    assert not reply.usage.estimated
    assert len(heard) > 1
    assert all(later.startswith(earlier) for earlier, later in pairwise(heard))
    assert server.requests[0]["model"] == "scripted"


def test_tool_calls_are_put_together_from_their_pieces(serving):
    model, server = serving([Turn(calls=[("search", {"query": "Mond"}), ("fetch", '{"id": broken')])])
    tool = {"type": "function", "function": {"name": "search", "parameters": {"type": "object", "properties": {}}}}
    reply = model.chat(HELLO, tools=[tool])
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [
        ("search", '{"query": "Mond"}'),
        ("fetch", '{"id": broken'),
    ]
    assert len({c.id for c in reply.tool_calls}) == 2
    assert server.requests[0]["tool_choice"] == "auto"


def test_without_a_name_the_first_model_of_the_server_is_asked(serving):
    model, server = serving([say("yes")], model=None)
    assert model.chat(HELLO).text == "yes"
    assert server.requests[0]["model"] == "scripted"
    assert model.name.startswith("scripted at 127.0.0.1")


def test_a_server_that_does_not_count_is_estimated(serving):
    model, _ = serving([Turn(text="x" * 400, usage=None)])
    usage = model.chat(HELLO).usage
    assert usage.estimated
    assert usage.completion == 100


@pytest.mark.parametrize(
    "first",
    [
        Turn(status=500), Turn(status=503), Turn(status=429, headers={"retry-after": "0"}),
        Turn(text="half", cut_after=2),
        Turn(text="half of an answer", finish=None, raw=b'data: {"choices": [{"delta": {"content": "ha"}}]}\n\n'),
        Turn(raw=b"data: {broken\n\n"), Turn(raw=b"<html>no</html>"), Turn(raw=b""), Turn(no_choices=True),
        Turn(raw=b'data: {"error": {"message": "overloaded"}}\n\n'),
    ],
)  # fmt: skip
def test_what_may_pass_is_tried_again(serving, first):
    model, server = serving([first, say("there")])
    heard: list[str] = []
    assert model.chat(HELLO, on_text=heard.append).text == "there"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (Turn(status=500), "failed"), (Turn(status=429), "too often"), (Turn(text="half", cut_after=2), "broke off"),
        (Turn(raw=b"data: {broken\n\n"), "protocol"), (Turn(no_choices=True), "without a message"),
    ],
)  # fmt: skip
def test_what_does_not_pass_is_reported_after_bounded_tries(serving, turn, why):
    model, server = serving(lambda _: turn)
    with pytest.raises(engine.ModelUnavailable, match=why) as caught:
        model.chat(HELLO)
    assert len(server.requests) == 4
    assert "4 times" in str(caught.value)


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (Turn(status=401), "OPENAI_API_KEY"), (Turn(status=403), "OPENAI_API_KEY"), (Turn(status=404), "OPENAI_MODEL"),
        (Turn(status=429, error={"message": "x", "code": "insufficient_quota"}), "quota"),
        (Turn(status=400, error={"message": f"maximum context length, key {KEY}"}), "context length"),
    ],
)  # fmt: skip
def test_what_cannot_pass_is_reported_at_once_and_without_the_key(serving, turn, why):
    model, server = serving(lambda _: turn)
    with pytest.raises(engine.ModelUnavailable, match=why) as caught:
        model.chat(HELLO)
    assert len(server.requests) == 1
    assert KEY not in str(caught.value) + repr(model)


def test_retry_after_is_kept_to_within_bounds():
    busy = [Turn(status=429, headers={"retry-after": after}) for after in ("0.4", "9999")]
    with scripted([busy[0], say("a"), busy[1], say("b")]) as server:
        model = ChatModel("m", server.url, longest_pause=0.8)
        begun = time.monotonic()
        assert model.chat(HELLO).text == "a"
        assert time.monotonic() - begun >= 0.4
        assert model.chat(HELLO).text == "b"
        model.close()


def test_nothing_listens():
    model = ChatModel("m", "http://127.0.0.1:9/v1", longest_pause=0.01)
    with pytest.raises(engine.ModelUnavailable, match="cannot be reached"):
        model.chat(HELLO)
    model.close()


def test_a_server_that_says_nothing(serving):
    model, server = serving(lambda _: Turn(wait=1.5), timeout=0.1)
    with pytest.raises(engine.ModelUnavailable, match="said nothing for"):
        model.chat(HELLO)
    assert len(server.requests) == 4


def test_a_server_that_falls_silent(serving):
    model, _ = serving(lambda _: Turn(text="some words", piece=2, pause=1.0), timeout=0.2)
    with pytest.raises(engine.ModelUnavailable, match="said nothing for"):
        model.chat(HELLO)


def test_a_deadline_ends_a_slow_answer(serving):
    model, _ = serving(lambda _: Turn(text="x" * 400, piece=1, pause=0.05))
    begun = time.monotonic()
    with pytest.raises(engine.ModelUnavailable, match="too slow"):
        model.chat(HELLO, deadline=begun + 0.3)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("turn", [Turn(wait=30), Turn(text="x" * 400, piece=1, pause=0.1), Turn(status=500)])
def test_cancel_stops_within_a_moment_and_hangs_up(serving, turn):
    model, server = serving(lambda _: turn, timeout=60)
    model._longest_pause = 60.0
    cancel = Cancel()
    threading.Timer(0.3, cancel.set).start()
    begun = time.monotonic()
    with pytest.raises(engine.Cancelled):
        model.chat(HELLO, cancel=cancel)
    assert time.monotonic() - begun < 5
    if turn.pause:
        until = time.monotonic() + 10
        while not server.hung_up and time.monotonic() < until:
            time.sleep(0.05)
        assert server.hung_up == 1
    assert len(server.requests) == 1


def test_a_megabyte_is_not_read_to_its_end(serving):
    model, _ = serving([Turn(text="a" * 1_000_000, piece=50_000)])
    reply = model.chat(HELLO)
    assert (len(reply.text), reply.finish) == (OUTPUT_LIMIT, "cut")


def test_what_a_server_does_not_know_is_left_out_from_then_on(serving):
    def answer(request):
        for name in ("response_format", "stream_options", "max_tokens"):
            if name in request:
                return Turn(status=400, error={"message": f"Unsupported parameter: {name}"})
        return say({"word": "yes"})

    class Word(BaseModel):
        word: str

    model, server = serving(answer)
    assert structured(model, HELLO, Word)[0].word == "yes"
    assert "max_completion_tokens" in server.requests[-1]
    before = len(server.requests)
    assert structured(model, HELLO, Word)[0].word == "yes"
    assert len(server.requests) == before + 1


class Person(BaseModel):
    name: str
    age: int


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ada", "age": 36}', '```json\n{"name": "Ada", "age": 36}\n```',
        'Sure!\n```\n{"name": "Ada", "age": 36}', 'Here it is: {"name": "Ada", "age": 36} Anything else?',
        '<think>{"name": "no"}</think>{"name": "Ada", "age": 36}',
        '{"name": "Ada", "age": 36,}', "{'name': 'Ada', 'age': 36}", '\n\n{"name": "Ada", "age": 36, "more": 1}',
    ],
)  # fmt: skip
def test_json_is_read_however_it_is_wrapped(text):
    assert read_as(Person, text) == Person(name="Ada", age=36)


@pytest.mark.parametrize("text", ["", "I cannot.", "{", "[]", "[1, 2", '{"name": "Ada"}', "{" * 100_000, "null", '"x"'])
def test_what_is_no_such_json_is_refused(text):
    with pytest.raises(Unreadable):
        read_as(Person, text)


def test_half_a_surrogate_does_not_come_through():
    assert "\ud800" not in read_json('{"a": "\ud800"}')["a"]


@pytest.mark.parametrize(
    "first", [say("no idea"), Turn(refusal="I will not"), Turn(text='{"name": "A', finish="length"), Turn(text="{}")]
)
def test_what_cannot_be_read_goes_back_once(serving, first):
    model, server = serving([first, say({"name": "Ada", "age": 36})])
    person, usage = structured(model, HELLO, Person)
    assert person.name == "Ada"
    assert usage.requests == 2
    assert server.requests[0]["response_format"]["json_schema"]["name"] == "Person"
    assert "cannot be used" in server.requests[1]["messages"][-1]["content"]


def test_twice_unreadable_is_reported(serving):
    model, server = serving(lambda _: say("no idea"))
    with pytest.raises(engine.ModelUnavailable, match="twice"):
        structured(model, HELLO, Person)
    assert len(server.requests) == 2


def test_an_answer_written_as_a_call_is_read(serving):
    model, _ = serving([call("Person", name="Ada", age=36)])
    assert structured(model, HELLO, Person)[0].age == 36


def test_a_model_can_be_asked_from_a_running_loop_and_by_many_threads(serving):
    import asyncio

    model, server = serving(lambda _: Turn(text="yes", wait=0.2))

    async def inside() -> str:
        return model.chat(HELLO).text

    assert asyncio.run(inside()) == "yes"
    threads = [threading.Thread(target=model.chat, args=(HELLO,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.most_at_once > 1
    model.close()
    assert model.chat(HELLO).text == "yes"


def test_which_model_is_configured(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "CORRIGENDA_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert configured_model() is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1")
    monkeypatch.setenv("OPENAI_MODEL", "qwen")
    assert configured_model().name == "qwen at 127.0.0.1:11434"
    assert configured_model("none") is None
    monkeypatch.setenv("CORRIGENDA_MODEL", "none")
    assert configured_model() is None
    monkeypatch.delenv("CORRIGENDA_MODEL")
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    with pytest.raises(engine.InvalidInput, match="OPENAI_BASE_URL"):
        configured_model()
    with pytest.raises(engine.InvalidInput):
        configured_model("gpt")
