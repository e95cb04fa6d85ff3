"""What a workbench shares with its workspaces: the models, notices, metrics, and settings."""

from __future__ import annotations

import threading
from typing import Final

from engine.embeddings import Embedder, choose_embedder, describe
from engine.learnings import THRESHOLD, Contradiction
from engine.metrics import Metrics
from engine.model import ChatModel, configured_model
from engine.notices import Notices
from engine.recall import Recaller
from engine.vectors import VectorKeeper

AUTO: Final = "auto"


class Services:
    """Made when first needed; shared by threads."""

    def __init__(
        self,
        embeddings: str | Embedder = AUTO,
        contradiction_threshold: float = THRESHOLD,
        model: str | ChatModel = AUTO,
    ) -> None:
        self._asked = embeddings
        self.model = configured_model(model)
        self._threshold = contradiction_threshold
        self._mutex = threading.Lock()
        self._recaller: Recaller | None = None
        self.notices = Notices()
        self.metrics = Metrics()

    @property
    def recaller(self) -> Recaller:
        """What searches corrections, with the model that it searches by."""
        with self._mutex:
            if self._recaller is None:
                asked = self._asked
                embedder = choose_embedder(asked) if isinstance(asked, str) else asked
                self._recaller = Recaller(embedder, VectorKeeper(embedder) if embedder is not None else None)
            return self._recaller

    @property
    def embeddings(self) -> str:
        """A sentence that says which embedding model is in use, or that there is none and what to do."""
        return describe(self.recaller.embedder)

    def contradiction(self, wanted: bool) -> Contradiction | None:
        """How learnings that say what was corrected are found; None when they are not wanted."""
        return Contradiction(self.recaller.embedder, self._threshold) if wanted else None

    def close(self) -> None:
        """Stop what runs in the background."""
        if self._recaller is not None and self._recaller.keeper is not None:
            self._recaller.keeper.close()
        if self.model is not None:
            self.model.close()
        self.notices.close()
