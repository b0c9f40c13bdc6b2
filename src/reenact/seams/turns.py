"""Turns: what a seam waits for before it hands something to the agent, in both colours."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any

from reenact.facts.order import Tag
from reenact.seams.gate import Gate

_get_running_loop = asyncio._get_running_loop


class Now:
    """A turn that has already come."""

    __slots__ = ()

    def wait(self) -> None:
        """Returns at once."""

    def __await__(self) -> Generator[Any, Any, None]:
        return
        yield


NOW = Now()


class GateTurn(ABC):
    """A turn at the gate; when it has come, ``then(number)`` gives what the turn hands over.

    Args:
        gate: Where to wait.
        tag: Whose turn it is.
        owned: Whether the gate counts the calling unit (a thread that nobody saw start is counted only here).
    """

    __slots__ = ("gate", "owned", "tag")

    def __init__(self, gate: Gate, tag: Tag, owned: bool) -> None:
        self.gate = gate
        self.tag = tag
        self.owned = owned

    @abstractmethod
    def then(self, number: int | None) -> Any:
        """What the turn hands over; ``number`` is that of the delivery."""

    def wait(self) -> Any:
        """Wait in a thread."""
        if self.owned:
            return self.then(self.gate.take(self.tag))
        self.gate.started()
        try:
            return self.then(self.gate.take(self.tag))
        finally:
            self.gate.blocked()

    def __await__(self) -> Generator[Any, Any, Any]:
        number = yield from self.gate.take_async(self.tag)
        return self.then(number)


def parent_path(path: str) -> tuple[str, bool]:
    """The path a lane hangs on (empty for a root), and whether the lane is a scope."""
    at = max(path.rfind("/"), path.rfind(">"))
    return ("", False) if at < 0 else (path[:at], path[at] == ">")
