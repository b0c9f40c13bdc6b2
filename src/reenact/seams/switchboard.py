"""The switchboard: connects a crossing to the session that listens to the calling lane.

``begin`` is the door for every seam; ``cross`` and ``across`` are the whole crossing for calls that return a value,
in its two colours. A fault of a seam costs a recording, never the agent's call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from reenact.abc.session import Crossing, Live, Rerun
from reenact.errors import ReplayError
from reenact.facts.call import Call, End, EndKind, Failure, Value
from reenact.seams.async_backends import cancelled
from reenact.seams.lanes import Lane, listening
from reenact.seams.suspension import Suspension
from reenact.seams.turns import rejoin_cancelled

T = TypeVar("T")

__all__ = ["across", "answered", "begin", "cross", "crossed", "listening", "telling"]


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
    return perform() if crossing is None else crossed(lane, crossing, perform, seal, reveal)


def crossed(
    lane: Lane,
    crossing: Crossing,
    perform: Callable[[], T],
    seal: Callable[[T | None, BaseException | None], Value | Failure],
    reveal: Callable[[Value | Failure], T],
) -> T:
    """The second half of ``cross``, for a seam that must know its event before the call is performed."""
    if crossing.mode == "frozen":
        told = crossing.answer().wait()
        if isinstance(told, (Value, Failure)):
            return reveal(told)
        crossing = told
    if crossing.mode == "live":
        crossing.ready().wait()
    try:
        with crossing.enter():
            result = perform()
    except GeneratorExit:
        if crossing.mode == "live":
            crossing.dropped(End(EndKind.CANCELLED))
        raise
    except BaseException as error:  # Ctrl-C and sys.exit inside a tool are how it ended, and end it so again
        outcome = _sealed(lane, seal, None, error)
        if outcome is not None:
            crossing.settle(outcome).wait()
        raise
    outcome = _sealed(lane, seal, result, None)
    if outcome is not None:
        crossing.settle(outcome).wait()
    return result


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

    ``own``: what is performed is the agent's own code, which decides by itself whether it waits for anything."""
    crossing = begin(lane, describe)
    if crossing is None:
        return await perform()
    return await answered(lane, crossing, perform, seal, reveal, own=own)


async def answered(
    lane: Lane,
    crossing: Crossing,
    perform: Callable[[], Awaitable[T]],
    seal: Callable[[T | None, BaseException | None], Value | Failure],
    reveal: Callable[[Value | Failure], T],
    *,
    own: bool = False,
) -> T:
    """``crossed`` for coroutines."""
    if crossing.mode == "frozen":
        try:
            told = await crossing.answer()
        except BaseException as error:
            if isinstance(error, (GeneratorExit, *cancelled())):
                crossing.dropped()
            raise
        if isinstance(told, (Value, Failure)):
            return reveal(told)
        crossing = told
    if crossing.mode == "live":
        await crossing.ready()
    body: Suspension | None = None
    try:
        with crossing.enter():
            made = perform()
            if own:
                made = body = Suspension(made)
            result: T = await made
    except BaseException as error:
        if isinstance(error, (GeneratorExit, *cancelled())):
            if crossing.mode == "live":
                crossing.dropped(End(EndKind.CANCELLED))
                await rejoin_cancelled(error)
            raise
        await _handed(lane, crossing, seal, None, error, body)
        raise
    await _handed(lane, crossing, seal, result, None, body)
    return result


async def _handed(
    lane: Lane,
    crossing: Live | Rerun,
    seal: Callable[[T | None, BaseException | None], Value | Failure],
    result: T | None,
    error: BaseException | None,
    body: Suspension | None,
) -> None:
    """Note the result of a coroutine. A coroutine that has not waited for anything has let no other one run, and must
    not do so now: its result is at hand."""
    sealed = _sealed(lane, seal, result, error)
    if sealed is None:
        return
    if crossing.mode == "live" and body is not None and not body.rested:
        crossing.at_hand(sealed)
    else:
        await crossing.settle(sealed)


def telling(lane: Lane, reveal: Callable[[Value | Failure], T]) -> Callable[[Value | Failure], T]:
    """A ``reveal`` whose failure stops the replay with its own message, even if the agent catches the error."""

    def told(outcome: Value | Failure) -> T:
        try:
            return reveal(outcome)
        except ReplayError as problem:
            lane.session.fault(problem)
            raise

    return told


def _sealed(
    lane: Lane,
    seal: Callable[[T | None, BaseException | None], Value | Failure],
    result: T | None,
    error: BaseException | None,
) -> Value | Failure | None:
    try:
        return seal(result, error)
    except Exception as fault:
        if lane.session.fault(fault):
            raise
        return None
