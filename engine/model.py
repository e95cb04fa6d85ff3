"""A language model behind the OpenAI protocol: one way to ask it, which can be called off and never hangs.

Which model is used is decided by `configured_model`; without one everything works by rules. Nothing that a model
answers is trusted here or anywhere: this module only sees to it that an answer arrives, or that it is said why not.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from engine.cancellation import Cancel
from engine.errors import InvalidInput, ModelUnavailable

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from tenacity import RetryCallState

OPENAI: Final = "https://api.openai.com/v1"
USUAL: Final = "gpt-4o-mini"  # at OpenAI, where OPENAI_MODEL does not say
OUTPUT_LIMIT: Final = 200_000  # characters; what answers more is not read to its end
ANSWER_TOKENS: Final = 2_048
TRIES: Final = 4
LONGEST_PAUSE: Final = 20.0  # seconds between two tries, whatever Retry-After says
POLL: Final = 0.05
CHARACTERS_A_TOKEN: Final = 4  # for servers that do not count
# What a server may not know, and what stands in its place.
_OPTIONAL: Final[Mapping[str, str | None]] = {
    "response_format": None, "stream_options": None, "tool_choice": None, "parallel_tool_calls": None,
    "temperature": None, "max_tokens": "max_completion_tokens", "seed": None,
}  # fmt: skip
Message = dict[str, Any]
OnText = Callable[[str], None]
"""Is told the whole of the text so far, so that a request that is tried again begins anew."""


@dataclass(frozen=True)
class ToolCall:
    """A tool that a model wants called. `arguments` is what it wrote, which may be no JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Usage:
    """Tokens and requests. `estimated`: a server did not count, so characters were."""

    prompt: int = 0
    completion: int = 0
    requests: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.requests + other.requests,
            self.estimated or other.estimated,
        )

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt + self.completion


@dataclass(frozen=True)
class Reply:
    """What a model answered. `finish` is the server's word for why it ended, or "cut" if we stopped reading."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    finish: str = "stop"
    usage: Usage = field(default_factory=Usage)


class _Passing(Exception):
    """A failure that another try may not meet; the message is for people."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause


class ChatModel:
    """A model at OpenAI or at any server that speaks its protocol. May be shared by threads.

    Without `base_url` the server is OpenAI's; without `api_key` none is sent; without `model` the first one that the
    server lists is used. `timeout` is for how long, in seconds, a server may say nothing. No message and no repr
    contains the key.
    """

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        concurrency: int = 4,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        """Raise InvalidInput for an address that is not http(s)."""
        self._url = (base_url or OPENAI).strip()
        address = urlsplit(self._url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise InvalidInput("OPENAI_BASE_URL must be an address like http://127.0.0.1:11434/v1.", "base_url")
        self.host = address.netloc.rpartition("@")[2]
        self._model = (model or "").strip() or (USUAL if self._url.rstrip("/") == OPENAI else "")
        self._key = (api_key or "").strip()
        self._timeout = timeout
        self._longest_pause = longest_pause
        self.concurrency = max(1, concurrency)
        self._without: set[str] = set()
        self._mutex = threading.Lock()
        self._running: tuple[AbstractContextManager[BlockingPortal], BlockingPortal, Any] | None = None

    def __repr__(self) -> str:
        return f"ChatModel({self._model!r}, {self.host!r})"

    @property
    def name(self) -> str:
        """What people call the model, and where it runs."""
        # A server may call a model by the path of its file, which is nobody's business.
        model = PurePath(self._model).name if self._model.startswith(("/", "~")) else self._model
        return f"{model or 'the model'} at {self.host}"

    def chat(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        must_call: bool = False,
        schema: tuple[str, Mapping[str, Any]] | None = None,
        max_tokens: int = ANSWER_TOKENS,
        on_text: OnText | None = None,
        cancel: Cancel | None = None,
        deadline: float | None = None,
    ) -> Reply:
        """Return what the model answers.

        Args:
            messages: the conversation, as the protocol has it.
            tools: what the model may call, as the protocol has it. `must_call` demands one where the server can.
            schema: name and JSON schema of what is wanted. A server that does not know schemas is asked without.
            on_text: is told the text so far, in the caller's thread.
            cancel: called off, the request ends within a moment and Cancelled is raised.
            deadline: in `time.monotonic`; later than this nothing is waited for.

        Raises:
            ModelUnavailable: no answer, after several tries where that can help; the message says why.
            Cancelled: it was called off.
        """
        import tenacity

        cancel = cancel if cancel is not None else Cancel()
        options: dict[str, Any] = {"messages": list(messages), "max_tokens": max_tokens, "temperature": 0.0}
        options |= {"stream_options": {"include_usage": True}}
        if tools:
            options |= {"tools": list(tools), "tool_choice": "required" if must_call else "auto"}
        if schema is not None:
            described = {"name": schema[0], "schema": dict(schema[1]), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": described}
        trying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Passing),
            stop=tenacity.stop_after_attempt(TRIES),
            wait=self._pause,
            sleep=cancel.sleep,
            reraise=True,
        )
        try:
            return trying(self._once, options, on_text, cancel, deadline)
        except _Passing as error:
            raise ModelUnavailable(f"{self.name} {error} It was tried {TRIES} times.") from None

    def close(self) -> None:
        """Disconnect. A model that is asked again connects again."""
        with self._mutex:
            running, self._running = self._running, None
        if running is not None:
            manager, portal, client = running
            portal.call(client.close)
            manager.__exit__(None, None, None)

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.pause if isinstance(error, _Passing) else None
        return min(asked if asked is not None else 0.5 * 2 ** (state.attempt_number - 1), self._longest_pause)

    def _once(self, options: dict[str, Any], on_text: OnText | None, cancel: Cancel, deadline: float | None) -> Reply:
        cancel.check()
        portal, client = self._connected()
        heard = [""]
        told = ""
        task: Future[Reply] = portal.start_task_soon(self._asked, client, options, heard)
        try:
            while not task.done():
                wait([task], timeout=POLL)
                cancel.check()
                if deadline is not None and time.monotonic() > deadline:
                    raise ModelUnavailable(f"{self.name} was too slow: the time for this run is over.")
                if on_text is not None and heard[0] != told:
                    told = heard[0]
                    on_text(told)
            return task.result()
        finally:
            task.cancel()

    async def _asked(self, client: Any, options: dict[str, Any], heard: list[str]) -> Reply:
        """Ask once; where a server does not know an option, without it, and from then on always."""
        import openai

        for _ in range(len(_OPTIONAL) + 1):
            try:
                model = self._model or await self._first_listed(client)
                return await self._streamed(client, self._understood(options) | {"model": model}, heard)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                said = str(error)
                unknown = next((name for name in _OPTIONAL if self._sent(name, options) and name in said), None)
                if unknown is None and self._sent("response_format", options) and "context" not in said:
                    unknown = "response_format"
                if unknown is None:
                    raise ModelUnavailable(f"{self.name} refused the request: {self._quoted(said)}") from None
                self._without.add(unknown)
            except openai.APIStatusError as error:
                raise self._failed(error.status_code, error.response.headers, f"{error} {error.code}") from None
            except openai.APITimeoutError:
                raise _Passing(f"said nothing for {self._timeout:g} seconds.") from None
            except openai.APIConnectionError:
                raise _Passing("cannot be reached, or broke off its answer.") from None
            except (openai.OpenAIError, ValueError, TypeError, AttributeError, KeyError, IndexError):
                raise _Passing("answered with something that is not the OpenAI protocol.") from None
        raise ModelUnavailable(f"{self.name} refuses every form of the request.")

    async def _streamed(self, client: Any, options: dict[str, Any], heard: list[str]) -> Reply:
        stream = await client.chat.completions.create(**options, stream=True)
        text, refusal, finish, size = [], [], "", 0
        calls: dict[int, list[str]] = {}
        counted: Usage | None = None
        heard[0] = ""
        async with stream:
            async for chunk in stream:
                if chunk.usage is not None:
                    counted = Usage(chunk.usage.prompt_tokens or 0, chunk.usage.completion_tokens or 0, 1)
                for choice in (chunk.choices or [])[:1]:
                    finish = choice.finish_reason or finish
                    delta = choice.delta
                    if delta is None:
                        continue
                    refusal.append(getattr(delta, "refusal", None) or "")
                    size += len(refusal[-1])
                    if delta.content:
                        text.append(delta.content)
                        size += len(delta.content)
                        heard[0] += delta.content
                    for call in delta.tool_calls or []:
                        size += _add_call(calls, call)
                if size > OUTPUT_LIMIT:
                    finish = "cut"
                    break
        said = "".join(text)
        if not finish:
            raise _Passing("broke off its answer." if said or calls else "answered without a message.")
        written = tuple(ToolCall(each[0] or f"call_{at}", each[1], each[2]) for at, each in sorted(calls.items()))
        if counted is None:
            asked = sum(len(str(message.get("content") or "")) for message in options["messages"])
            counted = Usage(asked // CHARACTERS_A_TOKEN, size // CHARACTERS_A_TOKEN, 1, estimated=True)
        return Reply(said[:OUTPUT_LIMIT], written if finish != "cut" else (), "".join(refusal), finish, counted)

    async def _first_listed(self, client: Any) -> str:
        listed = await client.models.list()
        if not listed.data:
            raise ModelUnavailable(f"{self.host} lists no model. Set OPENAI_MODEL to the name of one.")
        self._model = str(listed.data[0].id)
        return self._model

    def _understood(self, options: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in options.items() if name not in self._without}
        for name in self._without & options.keys():
            instead = _OPTIONAL[name]
            if instead is not None:
                kept[instead] = options[name]
        return kept

    def _sent(self, name: str, options: Mapping[str, Any]) -> bool:
        return name in options and name not in self._without

    def _failed(self, status: int, headers: Mapping[str, str], said: str) -> Exception:
        if status in (401, 403):
            return ModelUnavailable(f"{self.name} does not accept the key ({status}). Check OPENAI_API_KEY.")
        if status == 404:
            return ModelUnavailable(
                f"{self.name} is not known there (404). Check OPENAI_MODEL and OPENAI_BASE_URL (often …/v1)."
            )
        if status == 429 and "insufficient_quota" in said:
            return ModelUnavailable(f"{self.name} has no quota left for this key (429).")
        if status in (408, 409, 425, 429) or status >= 500:
            why = "is asked too often" if status == 429 else "failed"
            return _Passing(f"{why} ({status}).", _seconds(headers.get("retry-after")))
        return ModelUnavailable(f"{self.name} refused the request ({status}): {self._quoted(said)}")

    def _quoted(self, said: str) -> str:
        """Return the beginning of what a server said, without the key, which some repeat."""
        if self._key:
            said = said.replace(self._key, "…")
        return re.sub(r"[\s\x00-\x1f]+", " ", said)[:300]

    def _connected(self) -> tuple[BlockingPortal, Any]:
        import openai
        from anyio.from_thread import start_blocking_portal

        with self._mutex:
            if self._running is None:
                client = openai.AsyncOpenAI(
                    # The client insists on a key; servers of one's own want none.
                    api_key=self._key or "none",
                    base_url=self._url,
                    timeout=openai.Timeout(self._timeout, connect=min(10.0, self._timeout)),
                    max_retries=0,
                )
                manager = start_blocking_portal()
                self._running = (manager, manager.__enter__(), client)
            return self._running[1], self._running[2]


def configured_model(asked: str | ChatModel = "auto") -> ChatModel | None:
    """Return the model that the environment names, or None.

    OPENAI_API_KEY or OPENAI_BASE_URL configures one (a server of one's own needs no key), OPENAI_MODEL names it;
    `CORRIGENDA_MODEL=none` switches it off.

    Args:
        asked: "auto", "none", or a model of one's own.

    Raises:
        InvalidInput: `asked` is none of these, or OPENAI_BASE_URL is no address.
    """
    if isinstance(asked, ChatModel):
        return asked
    if asked not in ("auto", "none"):
        raise InvalidInput('`model` is "auto", "none" or a ChatModel.', "model")
    key, url = os.environ.get("OPENAI_API_KEY", "").strip(), os.environ.get("OPENAI_BASE_URL", "").strip()
    off = os.environ.get("CORRIGENDA_MODEL", "").strip().casefold() == "none"
    if asked == "none" or off or not (key or url):
        return None
    return ChatModel(os.environ.get("OPENAI_MODEL"), url or None, key or None)


def _add_call(calls: dict[int, list[str]], call: Any) -> int:
    """Add a piece of a tool call to those it belongs to; return how many characters it had."""
    at = call.index if call.index is not None else (len(calls) if call.id else max(len(calls) - 1, 0))
    known = calls.setdefault(at, ["", "", ""])
    known[0] = known[0] or (call.id or "")
    if call.function is None:
        return 0
    known[1] += call.function.name or ""
    known[2] += call.function.arguments or ""
    return len(call.function.name or "") + len(call.function.arguments or "")


def _seconds(retry_after: str | None) -> float | None:
    """Return how long Retry-After says to wait, in seconds; None if it does not say it as a number."""
    try:
        return max(0.0, float(retry_after)) if retry_after is not None else None
    except ValueError:
        return None
