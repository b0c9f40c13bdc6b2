"""Signals that came in the middle of our own code: their handlers run as soon as this code is left, or waits.

The interpreter traces the main thread from the signal until then, so the handler runs before the next instruction of
the agent, where it would have run without us. A handler that ran later could raise behind the ``try`` that is there for
it, or after the program has taken its alarm back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

_LIBRARY: Final = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
"""The beginnings of the names of the standard library's files."""


class PostponedSignals:
    """Holds the handlers of postponed signals, and has them run. Used in the main thread alone.

    Args:
        is_ours: Whether a frame runs our own code, in the middle of which no handler may run.
    """

    def __init__(self, is_ours: Callable[[FrameType], bool]) -> None:
        self._is_ours = is_ours
        self._held: dict[int, Callable[[FrameType], object]] = {}
        self._frame: FrameType | None = None
        self._before: tuple[Any, Any, bool] = None, None, False

    def postpone(self, number: int, run: Callable[[FrameType], object], frame: FrameType) -> None:
        """Have the handler of a signal run in the first frame that is not ours: ``run`` is called with that frame.

        ``frame`` is the interrupted one. As in the system, a signal that waits already does not wait twice."""
        if not self._held:
            self._listen(frame)
        self._held[number] = run

    def _listen(self, interrupted: FrameType | None) -> None:
        """Trace the frames that are entered from now on, and the frame to which our code returns."""
        while interrupted is not None and self._serves_us(interrupted):
            interrupted = interrupted.f_back
        self._frame, tracer = interrupted, sys.gettrace()
        if interrupted is None:
            self._before = tracer, None, False
        else:
            self._before = tracer, interrupted.f_trace, interrupted.f_trace_opcodes
            interrupted.f_trace, interrupted.f_trace_opcodes = self._at, True
        sys.settrace(self._at)

    def _at(self, frame: FrameType, event: str, arg: object) -> None:
        """Called by the interpreter in each new frame, and at each instruction of the frame to which our code returns.

        Raises:
            BaseException: The handler raised it. It appears in ``frame``, as when a signal comes there."""
        while self._held and not self._serves_us(frame):  # until there are none: the next instruction may block
            self._run(self._stop(), frame)

    def _serves_us(self, frame: FrameType) -> bool:
        """Whether a frame is ours, or one of the standard library that works for a frame of ours."""
        caller: FrameType | None = frame
        while caller is not None and not self._is_ours(caller) and caller.f_code.co_filename.startswith(_LIBRARY):
            caller = caller.f_back
        return caller is not None and self._is_ours(caller)

    def _stop(self) -> dict[int, Callable[[FrameType], object]]:
        """End the tracing, and give the handlers that were held."""
        tracer, local, opcodes = self._before
        sys.settrace(tracer)
        if self._frame is not None:
            self._frame.f_trace, self._frame.f_trace_opcodes = local, opcodes
            self._frame = None
        held, self._held = self._held, {}
        return held

    def _run(self, held: dict[int, Callable[[FrameType], object]], frame: FrameType) -> None:
        """Run all handlers, also where one raises."""
        try:
            held.pop(next(iter(held)))(frame)
        except BaseException:
            if self._held:  # the interpreter ends the tracing with an exception
                held.update(self._stop())
            raise
        finally:
            if held:
                self._run(held, frame)
