"""Owners of signal handlers: the lane that set a handler, and the agent's call that it interrupts from outside.

A call that is answered as a whole has its answer in a replay, and its body does not run. A handler that was set inside
the call belongs to it, and so do the handler's effects. A handler that was set outside the call is the agent's own: its
effects on the agent happen in a replay too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from reenact.seams import lanes
from reenact.seams.lanes import Lane

_OF_A_CALL = ">"
"""The mark in paths of lanes inside a call, which may be over when the handler is set again."""
_MOST = 8
"""The most handlers of one signal whose owners are remembered."""


class InterruptedCall(NamedTuple):
    """A call that a handler has interrupted, and in which the handler was not set.

    Attributes:
        lane: The lane that made the call, and that the handler runs in.
        event: The number of the call.
    """

    lane: Lane
    event: int


class HandlerOwners:
    """The owner of each handler: the path of the lane that set it.

    A handler that is set again keeps its former owner."""

    def __init__(self) -> None:
        self._known: dict[int, list[tuple[Any, str]]] = {}

    def of(self, number: int, handler: Any, path: str) -> str:
        """The owner of a handler.

        Args:
            number: The number of the signal.
            handler: The handler.
            path: The path of the lane that sets the handler; empty where no session listens.
        """
        known = self._known.setdefault(number, [])
        for place, (before, owner) in enumerate(known):
            if before == handler and (_OF_A_CALL not in owner or is_within(path, owner)):
                known.append(known.pop(place))  # so that a call that sets dozens does not push it out
                return owner
        known.append((handler, path))
        del known[:-_MOST]
        return path


def interrupted(lane: Lane | None, owner: str) -> InterruptedCall | None:
    """The outermost call around a lane that is answered as a whole and does not contain the owner of a handler; None
    where there is none.

    Args:
        lane: The lane of the main thread.
        owner: The path of the lane that has set the handler.
    """
    found = None
    while lane is not None and lane.owned:
        around = lane.origin
        if around is None or is_within(owner, lane.path):
            break
        if not lane.below and lane.quiet and lane.parent is not None and lane.parent != around.parent:
            found = InterruptedCall(around, lane.parent)
        lane = around
    return found


def is_within(path: str, around: str) -> bool:
    """Whether the lane ``path`` is the lane ``around``, or lies in it."""
    return path == around or path.startswith((f"{around}/", f"{around}>"))


def run_in(lane: Lane, handler: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
    """Run a handler in a lane of its own: its calls, reads and output are the agent's, and not the call's."""

    def handle(number: int, frame: Any) -> None:
        with lanes.inside(lane):
            handler(number, frame)

    return handle
