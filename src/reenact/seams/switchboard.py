"""The switchboard: connects a crossing to the session that listens to the calling lane.

``begin`` is the door for every seam; ``cross`` and ``across`` are the whole crossing for calls that return a value,
in its two colours. A fault of a seam costs a recording, never the agent's call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from reenact.abc.session import Crossing, Live, Rerun, Turn
from reenact.errors import ReplayError
from reenact.facts.call import Call, End, EndKind, Failure, Value
from reenact.seams.async_backends import cancelled
from reenact.seams.colours import OwnWork, Steps, Work, in_coroutine, in_thread, rejoined
from reenact.seams.lanes import Lane, listening
from reenact.seams.turns import NOW

T = TypeVar("T")

__all__ = ["across", "answered", "begin", "cross", "crossed", "guarded", "listening", "telling"]


def begin(lane: Lane, describe: Callable[[], Call]) -> Crossing | None:
    """Ask the lane's session to answer one crossing.

    Args:
        lane: From ``listening()``.
        describe: Makes the ``Call``; a fault in it is the recorder's, not the agent's.

    Returns:
        The crossing; None when the recorder cannot take it (a fault, or the run has ended), and the call must go
        through untouched.

    Raises:
        Halt: The replay has diverged.
    """
    try:
        return lane.session.decide(lane, describe())
    except Exception as error:
        if lane.session.fault(error):
            raise
        return None


def guarded(lane: Lane, make: Callable[[], T]) -> T | None:
    """``make()``; a fault of it costs the recording (None), never the agent's call."""
    try:
        return make()
    except Exception as fault:
        if lane.session.fault(fault):
            raise
        return None


def cross(
    lane: Lane,
    describe: Callable[[], Call],
    perform: Callable[[], T],
    seal: Callable[[T | None, BaseException | None], Value | Failure],
    reveal: Callable[[Value | Failure], T],
) -> T:
    """One synchronous crossing that returns a value.

    Args:
        lane: From ``listening()``.
        describe: Makes the call.
        perform: Does it.
        seal: Turns what came back (value or exception) into an outcome. Its faults are the recorder's.
        reveal: Turns a recorded outcome back into a value, or raises the recorded exception.
    """
    crossing = begin(lane, describe)
    return perform() if crossing is None else in_thread(crossed(lane, crossing, perform, seal, reveal))


async def across(
    lane: Lane,
    describe: Callable[[], Call],
    perform: Callable[[], Awaitable[T]],
    seal: Callable[[T | None, BaseException | None], Value | Failure],
    reveal: Callable[[Value | Failure], T],
    *,
    own: bool = False,
) -> T:
    """``cross`` for coroutines. A cancelled call stays open: the agent itself ended it.

    ``own``: the agent's own code is performed, which decides by itself whether it waits."""
    crossing = begin(lane, describe)
    if crossing is None:
        return await perform()
    return await in_coroutine(crossed(lane, crossing, perform, seal, reveal, cancelled, own=own))


async def answered(
    lane: Lane,
    crossing: Crossing,
    perform: Callable[[], Awaitable[T]],
    seal: Callable[[T | None, BaseException | None], Value | Failure],
    reveal: Callable[[Value | Failure], T],
) -> T:
    """``crossed`` in a coroutine."""
    return await in_coroutine(crossed(lane, crossing, perform, seal, reveal, cancelled))


def crossed(
    lane: Lane,
    crossing: Crossing,
    perform: Callable[[], Any],
    seal: Callable[[T | None, BaseException | None], Value | Failure],
    reveal: Callable[[Value | Failure], T],
    cancels: Callable[[], tuple[type[BaseException], ...]] = tuple,
    *,
    own: bool = False,
) -> Steps[T]:
    """The second half of ``cross`` and ``across``, for a seam that must know its event before the call is performed.

    ``cancels``: returns the exceptions that cancel the caller; none in a thread."""
    if crossing.mode == "frozen":
        try:
            told: Value | Failure | Live = yield crossing.answer()
        except BaseException as error:
            if isinstance(error, (GeneratorExit, *cancels())):
                crossing.dropped()
            raise
        if isinstance(told, (Value, Failure)):
            return reveal(told)
        crossing = told
    if crossing.mode == "live":
        yield crossing.ready()
    work = OwnWork(perform, crossing.enter()) if own else Work(perform, crossing.enter())
    try:
        result: T = yield work
    except BaseException as error:  # Ctrl-C and sys.exit end a tool, in a replay too
        if not isinstance(error, (GeneratorExit, *cancels())):
            yield _handed(lane, crossing, partial(seal, None, error), work)
        elif crossing.mode == "live":
            crossing.dropped(End(EndKind.CANCELLED))
            yield from rejoined(error)
        raise
    yield _handed(lane, crossing, partial(seal, result, None), work)
    return result


def _handed(lane: Lane, crossing: Live | Rerun, sealed: Callable[[], Value | Failure], work: Work) -> Turn[None]:
    """The turn in which a call hands over its result.

    A coroutine that has not waited for anything has let no other task run, and must not do so now: it hands over at
    once."""
    outcome = guarded(lane, sealed)
    if outcome is None:
        return NOW
    if crossing.mode == "live" and not work.rested:
        crossing.at_hand(outcome)
        return NOW
    return crossing.settle(outcome)


def telling(lane: Lane, reveal: Callable[[Value | Failure], T]) -> Callable[[Value | Failure], T]:
    """A ``reveal`` whose failure stops the replay with its own message, even if the agent catches the error."""

    def told(outcome: Value | Failure) -> T:
        try:
            return reveal(outcome)
        except ReplayError as problem:
            lane.session.fault(problem)
            raise

    return told
