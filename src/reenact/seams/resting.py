"""Whether a coroutine has rested: only then can another task have run meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any


class Resting:
    """Awaits another awaitable, and notes whether anything was waited for on the way.

    Args:
        awaitable: What is awaited. Whatever it yields, is sent and is thrown passes through as it is.

    Attributes:
        rested: Whether it has given its thread away at least once.
    """

    __slots__ = ("_inner", "rested")

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        self._inner: Any = awaitable.__await__()
        self.rested = False

    def __await__(self) -> Resting:
        return self

    def __iter__(self) -> Resting:
        return self

    def __next__(self) -> Any:
        waited_for = next(self._inner)
        self.rested = True
        return waited_for

    def send(self, value: Any) -> Any:
        """Go on with what the loop gives."""
        waited_for = self._inner.send(value)
        self.rested = True
        return waited_for

    def throw(self, *error: Any) -> Any:
        """Go on with what the loop raises: a cancellation."""
        waited_for = self._inner.throw(*error)
        self.rested = True
        return waited_for

    def close(self) -> None:
        """Nobody awaits it any more."""
        self._inner.close()
