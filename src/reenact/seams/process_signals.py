"""Signals and timers of a process: what a gate asks of it, and what a gate does in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.order import Tag


def deaf(number: int) -> bool:
    """How a gate without a process of its own sends signals: not at all."""
    return False


def timeless(which: int, seconds: float = 0.0, every: float = 0.0) -> tuple[float, float]:
    """How such a gate sets the process's timers, and looks at them: not at all."""
    return 0.0, 0.0


@dataclass(frozen=True, slots=True)
class ProcessSignals:
    """Sends signals and sets timers of the system (``seams.strands.signals``).

    Attributes:
        ring: Sends a signal to the main thread; False where nothing handles it.
        strike: Sends a signal to the process, as the system does when an alarm is due, whatever handles it; gives
            whether the program does.
        arm: Sets a timer of the system: which, seconds until it is due, and seconds from then on; 0 is never.
        armed: What is left of one, and every how many seconds it comes from then on.
    """

    ring: Callable[[int], bool] = deaf
    strike: Callable[[int], bool] = deaf
    arm: Callable[[int, float, float], object] = timeless
    armed: Callable[[int], tuple[float, float]] = timeless


NO_SIGNALS = ProcessSignals()
"""Those of a gate that belongs to no process."""


class Alarms(Protocol):
    """Keeps the timers that end in a signal, in place of the system, and knows which signals are the world's."""

    def set_alarm(self, which: int, seconds: float, every: float) -> tuple[float, float]:
        """The program sets a timer.

        Args:
            which: ``signal.ITIMER_REAL`` or one of the others.
            seconds: Until it is due; 0: never.
            every: Seconds between its signals from then on; 0: it sends one.

        Returns:
            What was left before, and every how many seconds it came then."""

    def alarm_left(self, which: int) -> tuple[float, float]:
        """The time left of a timer, and every how many seconds it comes from then on."""

    def ring(self) -> None:
        """Send the signal of one that is due while strands run. Called at each look, with the gate locked."""

    def postpones(self, number: int) -> bool:
        """As for ``Gate.postpones``."""

    def hears(self, number: int) -> bool:
        """As for ``Gate.hears``."""

    def handles(self, number: int, *, raised: bool = False) -> None:
        """As for ``Gate.handles``."""

    def signal_turn(self, turn: Tag) -> Tag:
        """As for ``Gate.signal_turn``."""
