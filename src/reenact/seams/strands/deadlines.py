"""Deadlines of asyncio: a deadline that passes before it is entered is a timer like any other.

``asyncio.timeout(delay)`` reads the loop's clock when it is made and again when it is entered. If a busy machine takes
the processor away in between, the deadline may have passed: asyncio then sets no timer, and cancels the task at its
first chance. A replay's clock stands still in between, so the replay would set a timer, and no delivery of the
recording would fire it. So a recording sets a timer too, as the agent would have seen it if its process had not been
delayed there.

If code of the agent runs in between, the agent itself has let the deadline pass, and no timer is set. anyio's scopes
(``move_on_after``) decide in the same way and are not hooked: if a scope's deadline has passed like this, a replay
reports that its order is not proven.
"""

from __future__ import annotations

import asyncio.timeouts
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from reenact.seams import lanes
from reenact.seams.patching import replace

__all__ = ["install"]

_MADE: Final = "_reenact_made"
_TIMEOUTS: Final = asyncio.timeouts.__name__


def install() -> None:
    """Hook the class that waits for a deadline."""
    replace(asyncio.timeouts.Timeout, "__init__", _making)
    replace(asyncio.timeouts.Timeout, "reschedule", _setting)


def _making(original: Callable[..., Any]) -> Callable[..., Any]:
    """The constructor of a timeout.

    It notes the place of the call if the timeout has a delay and the strand is counted."""

    def init(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        if lanes.counted() is None:
            return
        maker = sys._getframe(1)
        if maker.f_code.co_name == "timeout" and maker.f_globals.get("__name__") == _TIMEOUTS:
            delay = maker.f_locals.get("delay")
            if delay is not None and delay > 0:
                setattr(self, _MADE, _place(maker.f_back))

    return init


def _setting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Sets the timer of a deadline that is entered where it was made, even if it has passed already."""

    def reschedule(self: Any, when: float | None) -> None:
        made = vars(self).pop(_MADE, None)
        entering = sys._getframe(1)
        at_once = made is not None and entering.f_code.co_name == "__aenter__" and made == _place(entering.f_back)
        if when is None or not at_once:
            original(self, when)
            return
        self._when = when
        self._timeout_handler = asyncio.get_running_loop().call_at(when, self._on_timeout)

    return reschedule


def _place(frame: FrameType | None) -> tuple[int, int]:
    """The place of a frame: its function's call, and the line that is running."""
    return (id(frame), frame.f_lineno or 0) if frame is not None else (0, 0)
