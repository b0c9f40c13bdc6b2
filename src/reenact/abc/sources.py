"""The sources of our own time and randomness, bound before any seam is installed.

Only this module touches the real clock and the real entropy, so that our own timestamps never read the agent's
frozen clock and our own ids never take from the agent's recorded randomness.
"""

from __future__ import annotations

import os
import time
from typing import Protocol


class Clock(Protocol):
    """A source of time."""

    def wall_us(self) -> int:
        """Microseconds since the epoch."""
        ...

    def mono_us(self) -> int:
        """Microseconds of a clock that never goes back."""
        ...


class Entropy(Protocol):
    """A source of unpredictable bytes."""

    def bytes(self, count: int) -> bytes:
        """``count`` unpredictable bytes."""
        ...


class SystemClock:
    """The real clock.

    The wall clock is read once and carried forward by the monotonic one: libraries that freeze time replace the
    wall clock's functions in C, so even an older reference to these functions would read the frozen time.
    """

    __slots__ = ("_mono", "_offset")

    def __init__(self) -> None:
        self._mono = time.monotonic_ns
        self._offset = time.time_ns() - time.monotonic_ns()

    def wall_us(self) -> int:
        """Microseconds since the epoch."""
        return (self._mono() + self._offset) // 1000

    def mono_us(self) -> int:
        """Microseconds of the system's monotonic clock."""
        return self._mono() // 1000


class SystemEntropy:
    """The real entropy of the operating system."""

    __slots__ = ("_urandom",)

    def __init__(self) -> None:
        self._urandom = os.urandom

    def bytes(self, count: int) -> bytes:
        """``count`` bytes from the operating system."""
        return self._urandom(count)


CLOCK = SystemClock()
ENTROPY = SystemEntropy()
