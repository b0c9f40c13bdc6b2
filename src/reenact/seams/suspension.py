"""How a coroutine has rested: other tasks can only have run while it rested."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any


class Suspension:
    """Awaits another awaitable, and notes whether the coroutine has suspended meanwhile.

    Args:
        awaitable: The other awaitable. Values that it yields, is sent and is thrown pass through unchanged.

    Attributes:
        rested: Whether the coroutine has suspended at least once.
        turns: The number of turns of its loop that it let pass.
        waited: Whether it has waited for more than a turn of its loop.
        thrown: The number of errors thrown into it: cancellations.
    """

    __slots__ = ("_inner", "rested", "thrown", "turns", "waited")

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        self._inner: Any = awaitable.__await__()
        self.rested = False
        self.turns = 0
        self.waited = False
        self.thrown = 0

    def _rests(self, waited_for: Any) -> Any:
        self.rested = True
        self.turns += 1
        self.waited = self.waited or waited_for is not None
        return waited_for

    def __await__(self) -> Suspension:
        return self

    def __iter__(self) -> Suspension:
        return self

    def __next__(self) -> Any:
        return self._rests(next(self._inner))

    def send(self, value: Any) -> Any:
        """Go on with the value from the loop."""
        return self._rests(self._inner.send(value))

    def throw(self, *error: Any) -> Any:
        """Go on with the loop's exception: a cancellation."""
        self.thrown += 1
        return self._rests(self._inner.throw(*error))

    def close(self) -> None:
        """Close the awaitable, which is no longer awaited."""
        self._inner.close()
