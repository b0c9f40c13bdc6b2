"""The loops that a gate counts: each is one strand, which rests while its loop is idle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import AbstractContextManager
from typing import Any, Protocol

from reenact.seams import lanes
from reenact.seams.loop_callbacks import post


class CountingGate(Protocol):
    """The part of a gate that the loops need."""

    running: int

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Guards the count."""

    @property
    def waiting(self) -> Sized:
        """The waiters at the gate."""

    @property
    def attend(self) -> Callable[[Any], None]:
        """Tells the watch that a delivery waits at the gate while strands run."""

    def pump(self) -> bool:
        """Release one delivery if one may go. The caller holds the lock."""


class CountedLoops:
    """Keeps, for each loop, whether it is idle, and moves the gate's count as that changes.

    Args:
        gate: The gate, with its count and its lock.

    Attributes:
        posted: Callbacks of this run posted to loops that show no view of their queue.
        pokes: Make loops without a view of their queue look whether it is empty.
    """

    __slots__ = ("_entering", "_gate", "_idle", "pokes", "posted")

    def __init__(self, gate: CountingGate) -> None:
        self._gate = gate
        self._idle: dict[object, bool] = {}
        self._entering: object = None
        self.posted = 0
        self.pokes: list[Callable[[], None]] = []

    def __contains__(self, loop: object) -> bool:
        return loop in self._idle

    def __iter__(self) -> Iterator[Any]:
        """The loops that are counted at this moment."""
        return iter(list(self._idle))

    def is_idle(self, loop: object) -> bool:
        """Whether a loop is counted, and rests."""
        return self._idle.get(loop, False)

    def forget(self, loop: object) -> None:
        """A loop is no longer counted here, nor is its thread."""
        self._idle.pop(loop, None)

    def into(self, loop: object, go: Callable[[], Any]) -> Callable[[], None]:
        """A ``wake`` that runs ``go`` in ``loop``; the gate's count of the receiver becomes that of the loop."""
        gate = self._gate

        def wake() -> None:
            waits = False
            if self._idle.get(loop):
                self._idle[loop] = False
                waits = self._entering is not loop
            else:
                gate.running -= 1
            self.posted += 1
            # While the loop waits, a signal handler runs in the loop's own thread. It has to wake the loop as another
            # thread would, or the loop goes on waiting.
            post(loop, go, here=not waits and lanes.running_loop() is loop)

        return wake

    def join(self, loop: object) -> bool:
        """The calling, counted strand becomes the thread of ``loop``; False when it already was."""
        with self._gate.lock:
            if loop in self._idle:
                return False
            self._idle[loop] = False
            return True

    def leave(self, loop: object) -> None:
        """The loop returns to its caller, which is counted from now on."""
        with self._gate.lock:
            if self._idle.pop(loop, False):
                self._gate.running += 1

    def rest(self, loop: object) -> bool:
        """The loop has nothing to run. Returns whether the loop stays idle; False if a callback was just posted."""
        gate = self._gate
        with gate.lock:
            if loop not in self._idle or self._idle[loop]:
                return True
            self._idle[loop] = True
            gate.running -= 1
            if gate.running <= 0:
                self._entering = loop
                try:
                    gate.pump()
                finally:
                    self._entering = None
            elif gate.waiting:
                gate.attend(gate)
            return self._idle.get(loop, True)

    def resume(self, loop: object) -> None:
        """The loop runs again."""
        with self._gate.lock:
            if self._idle.get(loop):
                self._idle[loop] = False
                self._gate.running += 1
