"""Signals and timers of a process: the gate's questions, the gate's own actions, and the state of the handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.order import Interruption, Tag, interruption, signal_tag


def timeless(which: int, seconds: float = 0.0, every: float = 0.0) -> tuple[float, float]:
    """Stands for setting and reading timers at a gate without a process of its own: does nothing."""
    return 0.0, 0.0


@dataclass(frozen=True, slots=True)
class ProcessSignals:
    """Sends signals and sets timers of the system (``seams.strands.signals``).

    Attributes:
        to_main_thread: Sends a signal to the main thread; False where nothing handles it.
        to_process: Sends a signal to the process, as the system does when an alarm is due. Returns whether the program
            handles it.
        arm: Sets a timer of the system. Its arguments: which timer, the seconds until it is due, and its interval; 0 is
            never.
        armed: The remaining time of an alarm, and its interval afterwards, in seconds.
    """

    to_main_thread: Callable[[int], bool] = lambda number: False
    to_process: Callable[[int], bool] = lambda number: False
    arm: Callable[[int, float, float], object] = timeless
    armed: Callable[[int], tuple[float, float]] = timeless


class Alarms(Protocol):
    """Keeps the timers that end in a signal, in place of the system."""

    def set_alarm(self, which: int, seconds: float, every: float) -> tuple[float, float]:
        """The program sets a timer.

        Args:
            which: ``signal.ITIMER_REAL`` or one of the others.
            seconds: The seconds until the timer is due; 0: never.
            every: The seconds between further signals; 0: only one signal.

        Returns:
            The time that was left of the former timer, and its interval, in seconds."""

    def alarm_left(self, which: int) -> tuple[float, float]:
        """The time left of a timer, and its interval after that, in seconds."""


class SignalTurns:
    """The state of the signals of a process at its gate.

    Args:
        follows: Whether signals are sent in their recorded places.

    Attributes:
        process: Sends the signals of the process, and sets its timers.
        alarms: Keeps the timers that the program sets and that end in a signal; None: the system does.
        held: The turns of the main thread's waits in which a signal handler runs. A wait goes on when the handler has
            returned.
        contained: Whether the answer of the call in which the last signal came is awaited. The exception of the
            handler is in that answer, or ended inside the call. None where the signal came in no call.
        handled: How many signals have reached a handler outside of calls that are answered as a whole.
        handling: The turn of the last signal, as the recording has it.
        raising: The counted signal handlers that have raised in a wait which has not noticed yet.
        unnoticed: Whether the return of the last handler of a signal goes unnoticed, because it was not counted.
    """

    def __init__(self, follows: bool) -> None:
        self._follows = follows
        self.process = ProcessSignals()
        self.alarms: Alarms | None = None
        self.held: tuple[Tag, ...] = ()
        self.contained: bool | None = None
        self.handled = 0
        self.handling: Tag | None = None
        self.raising = 0
        self.unnoticed = False

    def at(self, number: int, path: str, within: int | None, place: tuple[int, int]) -> Tag:
        """The turn of a signal that comes now, as the recording will have it.

        Args:
            number: The number of the signal.
            path: The interrupted lane; empty where there is none.
            within: The call that the signal interrupts and that is answered as a whole; None where there is none.
            place: How many calls the lane has issued, and what it has read and printed since."""
        if within is not None:
            return signal_tag(path, number, within)
        return Tag("i", path, number, Interruption(self.handled + 1, *place).packed())

    def turn(self, turn: Tag) -> Tag:
        """The turn of a signal that comes now, as the gate has it."""
        return turn

    def handles_now(self, turn: Tag) -> None:
        """A handler is about to run, or to wait for this turn."""
        self.handling = turn
        came = interruption(turn)
        if came is not None:
            self.handled = came.run

    def postpones(self, number: int) -> bool:
        """Whether a signal in the middle of our own code is sent again. Called in signal handlers: takes no lock."""
        return not self._follows

    def hears(self, number: int) -> bool:
        """Whether a signal that comes now is from the world, and not a recorded signal that the replay sends."""
        return not self._follows

    def handles(self, number: int, *, raised: bool = False) -> None:
        """The handler of a signal from the world is about to run below a transport, or has raised there."""

    def send_due_alarm(self) -> None:
        """Send the signal of an alarm that is due while strands run. Called at each look, with the gate locked."""
