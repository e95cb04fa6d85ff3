"""Embedders for measurements: one that remembers, and one that costs nothing."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from engine.embeddings import Embedder
from engine.terms import phrase_terms


class Remembering:
    """Another embedder, that never makes one vector twice; with `path`, not even in the next run."""

    def __init__(self, inner: Embedder, path: Path | None = None) -> None:
        self._inner, self._path = inner, path
        self.name, self.space, self.dimensions = inner.name, inner.space, inner.dimensions
        self._kept: dict[tuple[bool, str], list[float]] = {}
        if path is not None and path.exists():
            self._kept = pickle.loads(path.read_bytes())  # our own file

    def query(self, text: str) -> list[float]:
        """Return the vector of what is looked for."""
        if (True, text) not in self._kept:
            self._kept[True, text] = self._inner.query(text)
        return self._kept[True, text]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of what can be found."""
        missing = [text for text in dict.fromkeys(texts) if (False, text) not in self._kept]
        for text, vector in zip(missing, self._inner.passages(missing) if missing else [], strict=True):
            self._kept[False, text] = vector
        return [self._kept[False, text] for text in texts]

    def save(self) -> None:
        """Keep what was made for the next run."""
        if self._path is not None:
            self._path.write_bytes(pickle.dumps(self._kept))


class HashedWords:
    """Vectors from hashes of the words alone: the same everywhere, at once, and near where words are shared."""

    name: Final = "hashed words"
    dimensions: Final = 384
    space: Final = "test.hashed-words.384"

    def query(self, text: str) -> list[float]:
        """Return the vector of what is looked for."""
        return self.passages([text])[0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of what can be found."""
        return [_hashed(text, self.dimensions) for text in texts]


def _hashed(text: str, dimensions: int) -> list[float]:
    words = phrase_terms(text) or [""]
    vector = np.zeros(dimensions)
    vector[0] = 2.0  # as with real models, all vectors lean one way
    for word in words:
        seed = zlib.crc32(word.encode())
        for turn in range(4):
            vector[(seed >> (turn * 7)) % dimensions] += 1.0 if (seed >> (28 + turn % 4)) & 1 else -1.0
    return [round(float(x), 6) for x in vector / np.linalg.norm(vector)]
