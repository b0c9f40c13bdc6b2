"""Async backends: libraries that run coroutines and are no loop of asyncio.

A loop of asyncio is found by asking asyncio for it. Any other library says, at each step of its tasks, that it runs the
calling strand (``lanes.Cell.backend``). Then turns are awaited and wake-ups posted by that library's means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from reenact.facts.order import Tag

G = TypeVar("G")


class AsyncBackend(ABC, Generic[G]):
    """One run of a library that carries coroutines; a gate (``G``) counts it as it counts a loop."""

    @abstractmethod
    def take(self, gate: G, tag: Tag) -> Generator[Any, Any, int]:
        """``Gate.take`` for the task that is executing: ``yield from`` it inside ``__await__``.

        Raises:
            Halt: The replay stopped while waiting.
        """

    @abstractmethod
    def rest(self, listen: Callable[[Callable[[], None]], bool]) -> Generator[Any, Any, None]:
        """Suspend the task that is executing until it is called back, from any thread.

        Args:
            listen: Takes a function to call, and returns whether it will be called at all.
        """

    @abstractmethod
    def post(self, go: Callable[[], Any]) -> None:
        """Run ``go`` in the backend's own thread, soon; from any thread. Nothing happens once it has ended."""

    @abstractmethod
    def stop(self, gate: G) -> None:
        """Raise the halt of ``gate`` in each of its tasks that wait; in the backend's own thread."""

    @abstractmethod
    def unwatch(self, gate: G) -> None:
        """Stop counting for ``gate``, whose session has ended."""


_cancelled: tuple[type[BaseException], ...] = ()


def cancelled() -> tuple[type[BaseException], ...]:
    """The exceptions of a cancelled task, in each library that the program has loaded: for an ``except`` clause."""
    return _cancelled


def cancels_by(error: type[BaseException]) -> None:
    """A library tells its tasks by ``error`` that they are cancelled."""
    global _cancelled
    if error not in _cancelled:
        _cancelled = (*_cancelled, error)
