"""Turns: what a seam waits for before it hands something to the agent, in both colours."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import nullcontext
from typing import Any

from reenact.facts.order import Tag
from reenact.seams import lanes
from reenact.seams.carriers import cancelled
from reenact.seams.gate import Gate


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
        try:
            number = yield from self.gate.take_async(self.tag)
        except cancelled() as error:
            yield from rejoin_cancelled(error).__await__()
            raise
        return self.then(number)


async def rejoin(*, rested: bool = True) -> None:
    """Take a turn for a coroutine that comes back from the world with nothing in hand: it has closed a connection.

    How many turns of the loop a live transport takes for that is nobody's business, and a recorded one takes none: the
    agent's code goes on at a place in the order that both can have.

    Args:
        rested: Whether the world was waited for. Where it was not, nobody else has run, and a recording does not let
            them; a replay takes the turn if it was taken then."""
    lane = lanes.counted()
    if lane is None or not lanes.is_carried():
        return
    tag = lane.tag("j")
    if not lane.gate.takes(tag, rested):
        return
    with _shielded():
        await _Taking(lane.gate, tag)


async def rejoin_cancelled(error: BaseException) -> None:
    """``rejoin`` for a coroutine that was cancelled, whether it waited for the world or for its turn.

    Whoever cancels it again meanwhile has been heard already. Does nothing for any other ``error``."""
    if not isinstance(error, cancelled()):
        return
    try:
        await rejoin()
    except cancelled():
        pass


class _Taking:
    """A bare turn, which may be cancelled without more ado."""

    __slots__ = ("gate", "tag")

    def __init__(self, gate: Gate, tag: Tag) -> None:
        self.gate = gate
        self.tag = tag

    def __await__(self) -> Generator[Any, Any, int]:
        return self.gate.take_async(self.tag)


def _shielded() -> Any:
    """A cancelled scope of anyio cancels whatever is awaited in it, again and again. Turns of other carriers are
    shielded by themselves."""
    anyio = sys.modules.get("anyio") if lanes.carrier() is None else None
    return anyio.CancelScope(shield=True) if anyio is not None else nullcontext()


def parent_path(path: str) -> tuple[str, bool]:
    """The path a lane hangs on (empty for a root), and whether the lane is a scope."""
    at = max(path.rfind("/"), path.rfind(">"))
    return ("", False) if at < 0 else (path[:at], path[at] == ">")


def strand(path: str) -> str:
    """The path of the strand that a lane belongs to: a scope lies in the strand that has opened it."""
    start = path.rfind("/") + 1
    return path[:start] + path[start:].partition(">")[0]
