"""Calling off what takes long: one flag, set by whoever waits, looked at by whoever works."""

from __future__ import annotations

import threading

from engine.errors import Cancelled


class Cancel:
    """May be shared by threads. Once set, it stays set."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Call it off."""
        self._event.set()

    @property
    def is_set(self) -> bool:
        """Whether it was called off."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise Cancelled if it was called off."""
        if self.is_set:
            raise Cancelled("It was called off. Nothing was changed.")

    def sleep(self, seconds: float) -> None:
        """Wait so long; raise Cancelled as soon as it is called off."""
        self._event.wait(seconds)
        self.check()
