"""Turns: a seam waits for its turn before it hands something to the agent, in both colours."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from types import coroutine
from typing import Any

from reenact.abc.session import Turn
from reenact.facts import texts
from reenact.facts.order import Tag, TimerSpan
from reenact.seams import lanes
from reenact.seams.ambient import answer
from reenact.seams.async_backends import cancelled
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.suspension import Suspension
from reenact.seams.waits import Wait

RESTED = "flags/rested"
"""The ambient source that tells how a coroutine rested while a connection to the world was closed: how many turns of
its loop it passed over, how many cancellations reached it, and 1 where it ended by them. It is ``-`` where the
coroutine waited for more than that.
"""
_WAITED = "-"

SET = "set"
"""The ambient source of the moments at which the agent sets timers. These moments show how far the code had come."""


def timer_due(lane: Lane, tag: Tag, wait_us: int) -> int | None:
    """The agent sets a timer, which will ask for the turn ``tag``; gives its due time.

    None: the world's clock decides."""
    set_us = moment_us(lane)
    lane.gate.schedule.timer_set(tag, TimerSpan(set_us, set_us + wait_us))
    return set_us + wait_us if lane.gate.schedule.follows else None


def moment_us(lane: Lane) -> int:
    """The time for code that sets a timer or an alarm, if it is known."""
    gate: Gate = lane.gate
    now_us = gate.schedule.now_us()
    return now_us if gate.halted is not None else max(now_us, answer(lane, SET, now_us * 1000) // 1000)


class SuddenTurn:
    """A turn that does not wait at the gate: it has come already, its order was not recorded, or it raises.

    Args:
        act: Gives what the turn hands over.
    """

    __slots__ = ("act",)

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def wait(self) -> Any:
        """The delivered value."""
        return self.act()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self.act()
        yield  # is never reached: makes this a generator


NOW = SuddenTurn(lambda: None)
"""A turn that has already come, and hands over nothing."""


class MappedTurn:
    """A turn that hands over what is made of another turn's result.

    Args:
        turn: The other turn.
        make: Makes the result.
    """

    __slots__ = ("make", "turn")

    def __init__(self, turn: Turn[Any], make: Callable[[Any], Any]) -> None:
        self.turn = turn
        self.make = make

    def wait(self) -> Any:
        """Wait in a thread."""
        return self.make(self.turn.wait())

    def __await__(self) -> Generator[Any, Any, Any]:
        return self.make((yield from self.turn.__await__()))


ANYWHERE = nullcontext()
"""The scope of a wait without one."""


class GateTurn(ABC):
    """A turn at the gate. When it has come, ``then(number)`` returns the turn's result. A coroutine waits in ``scope``.

    Args:
        gate: The gate at which to wait.
        tag: The identity of the turn.
        owned: Whether the gate counts the calling unit (a thread whose start no hook saw is counted only here).
    """

    __slots__ = ("gate", "owned", "scope", "tag")

    def __init__(self, gate: Gate, tag: Tag, owned: bool) -> None:
        self.scope: AbstractContextManager[None] = ANYWHERE
        self.gate = gate
        self.tag = tag
        self.owned = owned

    @abstractmethod
    def then(self, number: int | None) -> Any:
        """The thing that the turn hands over; ``number`` is the number of the delivery."""

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
        return self.then((yield from rejoining(self.gate.take_async(self.tag), self.scope)))


async def rejoin(*, rested: bool = True) -> None:
    """Take a turn for a coroutine that comes back from the world with nothing in hand: it has closed a connection.

    A live transport takes an arbitrary number of the loop's turns for that, and a recorded one takes none. So the
    agent's code goes on at a place in the order that both can reach.

    Args:
        rested: Whether the coroutine waited for the world. If it did not, no other task has run, and a recording takes
            no turn; a replay takes the turn if the recording took it."""
    lane = lanes.counted()
    if lane is None or not lanes.is_carried():
        return
    tag = lane.tag("j")
    if not lane.gate.schedule.takes(tag, rested):
        return
    with _shielded():
        await _bare_turn(lane.gate, tag)


def rejoining(wait: Wait, scope: AbstractContextManager[None] = ANYWHERE) -> Wait:
    """Wait in a coroutine, in a scope. If it is cancelled meanwhile, it takes another turn before it goes on."""
    try:
        with scope:
            return (yield from wait)
    except cancelled() as error:
        yield from rejoin_cancelled(error).__await__()
        raise


async def rejoin_cancelled(error: BaseException) -> None:
    """``rejoin`` for a cancelled coroutine, whether it waited for the world or for its turn.

    A second cancellation meanwhile has no effect. Does nothing for any other ``error``."""
    if not isinstance(error, cancelled()):
        return
    try:
        await rejoin()
    except cancelled():
        pass


async def closed(closing: Suspension, cancelled_by: BaseException | None = None) -> None:
    """Come back to the agent's code when something of the world has been closed, or its closing was cancelled.

    Closing rarely waits for the world: it passes over some turns of the loop and no more. Their number is noted, so
    that a replay passes over as many, and no strand is held. If a turn were taken each time, the strand that closes the
    resources of a dropped generator would not be done when the loop ends. So a turn is taken only if the closing waited
    for the world.

    Args:
        closing: The course of the closing.
        cancelled_by: The cancellation that ended the closing; the caller raises it again."""
    lane = lanes.counted()
    if lane is None or not lanes.is_carried():
        return
    if not lane.gate.schedule.follows:
        how = f"{closing.turns} {closing.thrown} {int(cancelled_by is not None)}"
        answer(lane, RESTED, texts.TEXT + (_WAITED if closing.waited else how).encode())
        if not closing.waited:
            lane.tag("j")
            return
    if cancelled_by is not None:
        await rejoin_cancelled(cancelled_by)
    elif closing.rested:
        await rejoin()
    else:
        await closed_again()


async def closed_again() -> None:
    """``closed`` in a replay, where there was nothing to close."""
    lane = lanes.counted()
    if lane is None or not lanes.is_carried():
        return
    rested = texts.text_of(answer(lane, RESTED, texts.UNKNOWN))
    if rested in ("", _WAITED):
        await rejoin(rested=bool(rested))
    else:
        lane.tag("j")
        await _passing_turns(*map(int, rested.split()))


@coroutine
def _passing_turns(turns: int, thrown: int, raised: int) -> Generator[None, Any, None]:
    """Pass over a number of turns of the loop, and react to cancellations as the closed resource did.

    Args:
        turns: The number of turns.
        thrown: The number of cancellations that had reached the resource's closing.
        raised: Whether the closing had ended by them."""
    last: BaseException | None = None
    for _ in range(turns):
        try:
            yield
        except cancelled() as error:
            if not thrown:
                raise
            last = error
    if raised and last is not None:
        raise last


@coroutine
def _bare_turn(gate: Gate, tag: Tag) -> Wait:
    """A turn that hands over nothing; a cancellation simply ends the wait for it."""
    return (yield from gate.take_async(tag))


def _shielded() -> Any:
    """A shield for a wait, because a cancelled scope of anyio cancels all waits in it again and again.

    Turns of other backends are shielded already."""
    anyio = sys.modules.get("anyio") if lanes.backend() is None else None
    return anyio.CancelScope(shield=True) if anyio is not None else ANYWHERE
