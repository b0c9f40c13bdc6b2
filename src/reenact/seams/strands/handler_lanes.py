"""Handler lanes: each run of a signal handler has a lane of its own, whichever lane it interrupts.

Without it, the handler's reads, random values and calls would be among those of the interrupted lane, at a place that a
replay reaches a little earlier or later.
"""

from __future__ import annotations

import functools
import signal

from reenact.facts.order import Tag, interruption
from reenact.seams.lanes import Lane, steps_of

UNKNOWN = -1
"""Stands for how much a lane has read and printed, where the number is unknown."""


def agents_lane(lane: Lane | None) -> Lane | None:
    """The interrupted lane, or the lane that called an interrupted transport; None where no session listens."""
    while lane is not None and lane.below:
        lane = lane.origin
    return lane if lane is not None and lane.owned else None


def exchange(lane: Lane | None) -> int | None:
    """The number of the exchange that a lane is performing, or below which it is; None where there is none."""
    while lane is not None and lane.call is None and lane.below:
        lane = lane.origin
    return None if lane is None else lane.call


def place_in(lane: Lane | None) -> tuple[int, int]:
    """The position of a lane: the number of its calls, and of its reads and printed pieces since the last call."""
    return (0, UNKNOWN) if lane is None else (lane.position, steps_of(lane))


def own_lane(turn: Tag | None, interrupted: Lane | None) -> Lane | None:
    """The lane of a run of a handler.

    Args:
        turn: The turn of the signal, as the recording has it.
        interrupted: The lane of the main thread; in a replay it may be another lane than in the recording.

    Returns:
        None where the handler runs in the interrupted lane: the signal came in a call, or the recording is older than
        lanes of handlers.
    """
    came = None if turn is None else interruption(turn)
    if turn is None or came is None or not turn.lane or interrupted is None:
        return None
    path = f"{turn.lane}/{signal_name(turn.number)}#{came.run}"
    return Lane(path, interrupted.session, interrupted.gate, parent=interrupted.parent, origin=interrupted)


@functools.cache
def signal_name(number: int) -> str:
    """The name of a signal, or its number where this system has no such signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
