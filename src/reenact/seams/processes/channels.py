"""The targets of descriptors in the agent's hands: a pipe of a process, or the master side of a pseudo-terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from reenact.facts.call import Effect, Value
from reenact.seams import descriptors
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace
from reenact.seams.processes.process_calls import ask, further, written
from reenact.seams.switchboard import begin

T = TypeVar("T")


def _begun() -> None:
    """Begin nothing: the process exists already."""


class ProcessChannel:
    """Reads, writes and waits by descriptor, each a call of its own: *nothing yet* and *input/output error* included.

    Args:
        program: The program that it leads to.
        event: The event it began with.
        what: Which of its streams.
        begin: Starts the process, if it has yet to be started, before any operation.
    """

    __slots__ = ("_begin", "event", "program", "what")

    def __init__(self, program: str, event: int, what: str, begin: Callable[[], None] = _begun) -> None:
        self.program = program
        self.event = event
        self.what = what
        self._begin = begin

    def _begun(self, perform: Callable[[], T]) -> T:
        self._begin()
        return perform()

    def read(self, lane: Lane, perform: Callable[[], bytes]) -> bytes:
        """One ``os.read``."""
        return ask(lane, lambda: further(self.program, f"{self.what} read", self.event), lambda: self._begun(perform))

    def write(self, lane: Lane, data: bytes, perform: Callable[[], int]) -> int:
        """One ``os.write``."""
        asked = written(data)
        return ask(
            lane,
            lambda: further(self.program, self.what, self.event, Effect.WRITE, asked),
            lambda: self._begun(perform),
        )

    def ready(self, lane: Lane, perform: Callable[[], Any]) -> Any:
        """One wait."""
        return ask(lane, lambda: further(self.program, "ready", self.event), lambda: self._begun(perform))


def install() -> None:
    """Hook ``os.openpty``, and so ``pty.openpty``."""
    if hasattr(os, "openpty"):
        replace(os, "openpty", _opening)


def _opening(original: Any) -> Any:
    def openpty() -> tuple[int, int]:
        lane = listening()
        master, slave = original()
        crossing = begin(lane, lambda: further("pty", "open", -1)) if lane is not None else None
        if crossing is not None and crossing.mode != "rerun":
            if crossing.mode == "live":
                crossing.settle(Value(b"null")).wait()
            else:
                crossing.outcome().wait()
            descriptors.know(master, ProcessChannel("pty", crossing.event, "terminal"))
        return master, slave

    return openpty
