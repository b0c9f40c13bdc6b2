"""The contract for the order at a gate: first come, first served, or as in a recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from reenact.facts.order import Tag, TimerSpan
from reenact.seams.lanes import Lane
from reenact.seams.waits import Waiter


class Standstill(NamedTuple):
    """The knowledge of a gate when it asks for the next delivery.

    Attributes:
        waiting: The deliveries that wait, in order of arrival.
        settled: Whether every strand waits, or blocks unseen. False when the watch asks although a strand runs.
        blocked_us: How long a strand has blocked unseen; -1: none does.
        held: Turns of waits in which a handler of a signal runs (``SignalTurns.held``).
    """

    waiting: Mapping[Tag, Waiter]
    settled: bool = True
    blocked_us: int = -1
    held: tuple[Tag, ...] = ()


class PendingChange(NamedTuple):
    """A change that has to be made before a delivery can be chosen. The gate makes the change, and asks again.

    Attributes:
        does: Makes the change. Gives true where the gate is not to ask again at once.
        args: Its arguments.
    """

    does: Callable[..., object]
    args: tuple[Any, ...] = ()


class Schedule(Protocol):
    """The order of one run. The gate calls its methods with the gate locked, unless they say otherwise."""

    follows: bool
    """Whether the order is that of a recording."""

    def grant(self, tag: Tag, proven: bool, due_us: int | None = None) -> int:
        """Give the next number to ``tag``.

        For a timer that waits at the gate, the time jumps to its due time ``due_us``."""

    def alone(self, tag: Tag) -> int | None:
        """The number of the delivery for the only runnable strand; None when that strand must wait."""

    def choose(self, at: Standstill) -> Waiter | PendingChange | None:
        """The waiter whose turn it is, or a change that comes first; None if no waiter may go. Changes nothing."""

    def now_us(self) -> int:
        """Microseconds since the run began, as the agent's timers see it. The lock is not held."""

    def timer_set(self, tag: Tag, times: TimerSpan) -> None:
        """The agent has set a timer, which will ask for the turn ``tag``. The lock is not held."""

    def alarm_set(self, set_us: int, wait_us: int, every_us: int) -> None:
        """An alarm was set at ``set_us``: its signal comes in ``wait_us`` (0: never), then ``every_us``.

        The lock is not held."""

    def impatient(self) -> bool:
        """Whether a delivery may go at once although other strands run: holds have not helped. Counts deliveries."""

    def overdue(self, waited_us: int, worked_us: int) -> bool:
        """Whether a delivery that has waited this long may go although other strands run (see ``seams.watch``).

        The program used the processor for ``worked_us`` of that time. If it may, later holds are shorter."""

    def stalled(self, waited_us: int) -> None:
        """No strand runs, and no delivery has been released for this long (see ``seams.watch``)."""

    def silent(self, waited_us: int) -> None:
        """A strand blocks where no hook sees it, and no delivery could be released for this long."""

    def takes(self, tag: Tag, rested: bool) -> bool:
        """Whether a coroutine that comes back from the world takes a turn, because it waited there.

        The lock is not held."""

    def awaits_signal(self) -> bool:
        """Whether the next delivery is a signal."""

    def signalled(self, turn: Tag, uncounted: bool, runs: bool) -> bool:
        """A signal has reached the main thread that the world did not send. Returns whether its handler runs now, as
        ``Gate.signalled`` describes. The lock is not held."""

    def meets(self, lane: Lane) -> None:
        """A lane is about to go on from where it is. The lock is not held."""

    def send_due_signal(self, waited_us: int) -> bool:
        """Send the signal that is the next delivery, if its time has come.

        Returns whether nothing else is to be done."""
