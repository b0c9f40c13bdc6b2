"""The order of a recording: first come, first served, and a bound on every wait.

A delivery is held until nothing else can run, so that a replay can reproduce its place. A hold that lasts too long ends
(``recording.holds``), and the delivery is noted as unproven.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from reenact.abc.sources import Clock
from reenact.facts.order import ALARM_SIGNAL, Delivery, Tag, TimerSpan
from reenact.recording.holds import CEILING_US, Holds
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.schedules import Standstill
from reenact.seams.waits import Waiter

_REMEMBERED = 16_384
"""The most timers under way whose start is remembered."""


class NumberingSchedule(Protocol):
    """The schedule of a gate that numbers its deliveries, so that they can be recorded."""

    gate: Gate
    count: int
    unproven: int
    fresh: list[Delivery]
    """Deliveries with a number that the writer has not taken yet."""

    def now_us(self) -> int:
        """Microseconds since the run began."""


class ArrivalSchedule:
    """Numbers deliveries in order of arrival.

    Args:
        clock: Our own clock.
        origin_us: The time of the clock when the run began.
        order: ``exact`` holds deliveries, ``arrival`` numbers them at once.
        hold_us: Longest hold of one delivery.
        lane_seen: Called with the path of each lane that a tag names.
        fault: Called with every failure of ours; nothing by default.
    """

    follows = False

    def __init__(
        self,
        clock: Clock,
        origin_us: int,
        order: str,
        hold_us: int,
        lane_seen: Callable[[str], object],
        fault: Callable[[Exception], object] = repr,
    ) -> None:
        self.gate = Gate(self)
        self.gate.ceiling_us = CEILING_US
        self._clock = clock
        self._origin_us = origin_us
        self._exact = order == "exact"
        self.holds = Holds(hold_us, hold_us)
        self._lane_seen = lane_seen
        self._fault = fault
        self.fresh: list[Delivery] = []
        self._timers: dict[Tag, TimerSpan] = {}
        self._alarm: TimerSpan | None = None
        self._alarm_every_us = 0
        self.count = 0
        self.unproven = 0

    def now_us(self) -> int:
        """Microseconds since the run began."""
        return self._clock.mono_us() - self._origin_us

    def timer_set(self, tag: Tag, times: TimerSpan) -> None:
        """Remember a timer until it fires. A cancelled timer is not reported, so the oldest timer is dropped when there
        are too many."""
        try:
            if len(self._timers) >= _REMEMBERED:
                self._timers.pop(next(iter(self._timers)), None)
            self._timers[tag] = times
        except Exception as error:  # another thread sets a timer too: the time of this one is lost
            if self._fault(error) is True:
                raise

    def alarm_set(self, set_us: int, wait_us: int, every_us: int) -> None:
        """Remember an alarm until its signal has come."""
        self._alarm = TimerSpan(set_us, set_us + wait_us) if wait_us else None
        self._alarm_every_us = every_us

    def _rang(self, now_us: int) -> TimerSpan | None:
        """When the alarm that sent a signal was set; None if the alarm is not due yet: the signal came from
        elsewhere."""
        alarm = self._alarm
        if alarm is None or now_us < alarm.due_us:
            return None
        self._alarm = TimerSpan(alarm.due_us, alarm.due_us + self._alarm_every_us) if self._alarm_every_us else None
        return alarm

    def grant(self, tag: Tag, proven: bool, due_us: int | None = None) -> int:
        """Number a delivery. Never raises, because the waiting strand would then wait for ever."""
        number = self.count
        self.count = number + 1
        self.unproven += not proven
        try:
            if proven and self.holds.hold_us < self.holds.longest_us:
                self.holds = self.holds.helped()
            if tag.lane:
                self._lane_seen(tag.lane)
            now_us = self._clock.mono_us() - self._origin_us
            times = self._timers.pop(tag, None) if tag.kind == "t" else None
            if tag.kind == "i" and tag.number == ALARM_SIGNAL:
                times = self._rang(now_us)
            self.fresh.append(Delivery(number, tag, now_us, proven, times))
        except Exception as error:
            if self._fault(error) is True:
                raise
        return number

    def alone(self, tag: Tag) -> int | None:
        """The number of a lone strand's delivery, which never waits; None while other strands wait."""
        return None if self.gate.waiting and self._exact else self.grant(tag, True)

    def choose(self, at: Standstill) -> Waiter | None:
        """First come, first served."""
        return next((waiter for tag, waiter in at.waiting.items() if tag not in at.held), None)

    def impatient(self) -> bool:
        """Whether holds have stopped helping (or are off). Now and then a hold is tried again."""
        if not self._exact:
            return True
        try:
            now_us = self.now_us()
            holds = self.holds = self.holds.next(now_us)
            return not holds.hold_us or not holds.can_pay(now_us)
        except Exception as error:
            if self._fault(error) is True:
                raise
            return True

    def overdue(self, waited_us: int, worked_us: int) -> bool:
        """Whether the hold has lasted long enough."""
        try:
            if self.holds.lasts(waited_us, worked_us):
                return False
            spared_us = self.gate.held_for.spared_us
            self.holds = self.holds.in_vain(waited_us + spared_us)  # the program has waited through the spared time too
        except Exception as error:
            if self._fault(error) is True:
                raise
        return True

    def stalled(self, waited_us: int) -> None:
        """Do nothing: the world has yet to answer."""

    silent = stalled

    def takes(self, tag: Tag, rested: bool) -> bool:
        """Whether the strand has waited for the world."""
        return rested

    def awaits_signal(self) -> bool:
        """False: in a recording, signals come from the world."""
        return False

    def signalled(self, turn: Tag, uncounted: bool, runs: bool) -> bool:
        """False: in a recording, each signal comes from the world."""
        return False

    def meets(self, lane: Lane) -> None:
        """Do nothing: a recording knows no signal for this place."""

    def send_due_signal(self, waited_us: int) -> bool:
        """False: a recording sends no signals."""
        return False
