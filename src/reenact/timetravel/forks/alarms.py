"""Alarms of a fork: the timers that the agent has set with ``alarm`` and ``setitimer``, and when their signals come.

An alarm of real time is due in the fork's time, like any other timer. Then a real signal is sent, so that the agent's
handler interrupts the code. Timers of the processor's time are the system's own after the cut. Before the cut the
recorded signals are sent at their places, and only the pending alarms are noted.
"""

from __future__ import annotations

import math
import signal
from typing import Final

from reenact.facts.call import EndKind, Failure, Stream
from reenact.facts.event import Event
from reenact.facts.interruptions import INTERRUPTED
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.order import ALARM_SIGNAL, Delivery, Tag, TimerSpan, call_around
from reenact.replaying.recorded_order import RecordedOrder
from reenact.replaying.recorded_schedule import ENDLESS, STUCK_US
from reenact.seams.gate import Gate
from reenact.seams.process_signals import SignalTurns
from reenact.seams.waits import Waiter
from reenact.timetravel.forks.due_moments import LATE_US
from reenact.timetravel.forks.fork_time import OWN, ForkTime

ALARM: Final = "~alarm"
"""The lane in the tag of a pending alarm."""
_IN_VAIN: Final = 100
"""After this many signals in a row without another delivery, a repeating timer is no reason to wait any longer."""
_REAL: Final = getattr(signal, "ITIMER_REAL", 0)
_OF_WORK: Final = {
    getattr(signal, "ITIMER_VIRTUAL", 1): getattr(signal, "SIGVTALRM", 26),
    getattr(signal, "ITIMER_PROF", 2): getattr(signal, "SIGPROF", 27),
}
"""The signals of timers that count the processor's time."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A timer that ends in a signal.

    Attributes:
        due_us: Its moment, in the fork's time; for an alarm of processor time, in this process's working time.
        every_us: The interval of further signals; 0 for none.
        waits_us: The wait for which it was set.
    """

    due_us: int
    every_us: int
    waits_us: int

    @property
    def times(self) -> TimerSpan:
        """The time when the alarm was set, and the time when it is due."""
        return TimerSpan(self.due_us - self.waits_us, self.due_us)

    def left(self, now_us: int) -> tuple[float, float]:
        """The remaining time and the interval, in seconds; the time is more than zero, because the alarm is pending."""
        return max(1, self.due_us - now_us) / 1e6, self.every_us / 1e6

    def is_over(self, now_us: int) -> bool:
        """Whether the alarm was due so long ago that its signal has already gone to another waiter, or to none."""
        return now_us - self.due_us > LATE_US

    def next(self, now_us: int) -> Alarm | None:
        """The alarm that is pending after the signal of this one; None where none is pending."""
        if not self.every_us:
            return None
        missed = max(0, now_us - self.due_us) // self.every_us
        return replace(self, due_us=self.due_us + (missed + 1) * self.every_us, waits_us=self.every_us)


def own_signal(turn: Tag) -> Tag:
    """The turn of a signal that the parent does not have."""
    return turn._replace(lane=OWN + turn.lane)


def is_own_signal(tag: Tag) -> bool:
    """Whether a turn is that of a signal which the parent does not have."""
    return tag.kind == "i" and tag.lane.startswith(OWN)


def ended_by_signal(event: Event) -> int | None:
    """The signal whose handler ended a transport with an exception; None without one."""
    outcome = event.outcome
    end = outcome.end if isinstance(outcome, Stream) else None
    if not isinstance(outcome, Failure) and (end is None or end.kind is not EndKind.ERROR):
        return None  # decided without reading the event's notes
    number = event.attributes.get(INTERRUPTED)
    return number if isinstance(number, int) else None


def ended_by_alarm(event: Event) -> bool:
    """Whether an alarm's signal ended a call."""
    return ended_by_signal(event) == ALARM_SIGNAL


class ForkAlarms(SignalTurns):
    """Knows which alarms are pending in a fork, and has their signals sent when they are due.

    Args:
        gate: The gate at which the fork's strands wait.
        order: The parent's order, and how far the fork has come in it.
        time: The fork's time.
    """

    def __init__(self, gate: Gate, order: RecordedOrder, time: ForkTime) -> None:
        super().__init__(follows=True)
        self._order = order
        self._time = time
        self._gate = gate
        self._gate.signals = self.alarms = self
        self._alarm: Alarm | None = None
        self.waiter: Waiter | None = None
        self._of_work: dict[int, Alarm] = {}
        self.signals_set: set[int] = set()
        """The signals for which the agent has set a timer. The parent's signals of these sorts came from timers too."""
        self.struck_us: int | None = None
        """The time of the sent signal whose handler has not run yet."""
        self.arrived = False
        """Whether the handler of that signal runs already, below a transport."""
        self._rang: dict[int, Delivery] | None = None
        self.rung: TimerSpan | None = None
        """When the alarm was set whose signal came last, or was sent last."""
        self._rings = 0
        self.in_vain = 0

    # --- what the agent sets -----------------------------------------------------------------------------------

    def set_alarm(self, which: int, seconds: float, every: float) -> tuple[float, float]:
        """Set an alarm, which is due in the fork's time; after the cut the system runs alarms of processor time."""
        with self._gate.lock:
            left = self.alarm_left(which)
            wait_us, every_us = math.ceil(seconds * 1e6), math.ceil(every * 1e6)
            if wait_us:
                self.signals_set.add(_OF_WORK.get(which, ALARM_SIGNAL))
            if which == _REAL:
                self._alarm = Alarm(self._moment_us() + wait_us, every_us, wait_us) if wait_us else None
                self._waits_for_it()
            elif self._time.cut:
                self.process.arm(which, seconds, every)
            elif wait_us:
                self._of_work[which] = Alarm(self._time.worked_us() + wait_us, every_us, wait_us)
            else:
                self._of_work.pop(which, None)
            return left

    def alarm_left(self, which: int) -> tuple[float, float]:
        """The remaining time and the interval of the pending alarm, in seconds, by the time in which it is due."""
        with self._gate.lock:
            if which == _REAL:
                return self._alarm.left(self._moment_us()) if self._alarm is not None else (0.0, 0.0)
            if self._time.cut:
                return self.process.armed(which)
            pending = self._of_work.get(which)
            return pending.left(self._time.worked_us()) if pending is not None else (0.0, 0.0)

    def arms(self) -> None:
        """Note that the cut has come: from now on pending alarms go off by themselves."""
        with self._gate.lock:
            for which, pending in self._of_work.items():
                self.process.arm(which, *pending.left(self._time.worked_us()))
            if self._alarm is not None and self._alarm.is_over(self._moment_us()):
                self._alarm = self._alarm.next(self._moment_us())
            self._waits_for_it()

    def _moment_us(self) -> int:
        """The moment at which the code sets an alarm; the code has just read it."""
        return self._time.real_now_us() if self._time.ticking else max(self._time.known_us(), self._time.set_us)

    def _waits_for_it(self) -> None:
        """After the cut, put the pending alarm among the gate's waiters. Locked."""
        if self.waiter is not None:
            self._gate.waiting.pop(self.waiter.tag, None)
            self._time.due.over(self.waiter.tag)
            self.waiter = None
        alarm = self._alarm
        if alarm is None or not self._time.cut or self._gate.closed or self._gate.halted is not None:
            return
        self._rings += 1
        tag = Tag("t", ALARM, ALARM_SIGNAL, self._rings)
        self.waiter = waiter = Waiter(tag, lambda: self._goes_off(waiter), None, alarm.due_us)
        self._time.sets(tag, alarm.times)
        self._gate.waiting[tag] = waiter
        self._gate.attend(self._gate)

    # --- signals of the agent's alarms ---------------------------------------------------------------------------

    def _goes_off(self, waiter: Waiter) -> None:
        """An alarm is due: send its signal. (This wakes no strand: the strand that runs the handler counts itself.)"""
        self._gate.running -= 1
        if waiter.halt is not None or self._gate.halted is not None or self._gate.closed or waiter is not self.waiter:
            return
        if self._alarm is not None:
            self.rung = self._alarm.times
            self._alarm = self._alarm.next(max(self._order.at_us, self._alarm.due_us))
        self._waits_for_it()
        self.in_vain += 1
        self.arrived = False
        self.struck_us = self._time.clock.mono_us() if self.process.to_process(ALARM_SIGNAL) else None

    def has_come(self, tag: Tag, times: TimerSpan | None) -> None:
        """Find the alarm that is pending after a signal was handed out (with ``times``: an alarm's signal). Locked."""
        number = tag.number
        if is_own_signal(tag):
            self.struck_us = None if number == ALARM_SIGNAL else self.struck_us
            return
        if number == ALARM_SIGNAL:
            if times is not None:
                self._alarm_has_come()
            return
        for which, its in _OF_WORK.items():
            if its == number and which in self._of_work and not self._time.cut:
                pending = self._of_work.pop(which).next(self._time.worked_us())
                if pending is not None:
                    self._of_work[which] = pending

    def _alarm_has_come(self) -> None:
        if self._alarm is not None:
            self.rung = self._alarm.times
            self._alarm = self._alarm.next(self._order.at_us)
            self._waits_for_it()

    def send_due_alarm(self) -> None:
        """Send the signal of a due alarm, without waiting for strands that run."""
        waiter = self.waiter
        if waiter is not None and self._gate.waiting.get(waiter.tag) is waiter and self._is_due(waiter):
            del self._gate.waiting[waiter.tag]
            self._gate.release(waiter, proven=False)

    def _is_due(self, waiter: Waiter) -> bool:
        """Whether the alarm's moment has come, by the world's time or by that of code that works past the recording."""
        if self._gate.running <= 0 or self.is_struck() or not (self._time.ticking or self._order.head is None):
            return False
        works_us = 0 if self._time.ticking else self._gate.held_for.waited_us  # the world's time holds the work already
        return self._moment_us() + works_us >= (waiter.deadline_us or 0)

    def is_yet_to_come(self) -> bool:
        """Whether the world's time passes, and the pending alarm is not due by it yet."""
        due_us = self.waiter.deadline_us if self.waiter is not None else None
        return self._time.ticking and due_us is not None and due_us > self._time.real_now_us()

    def is_struck(self) -> bool:
        """Whether the handler of a sent signal has yet to run. A strand that blocks the signal does not count."""
        since_us = self.struck_us if not self.arrived else None
        return since_us is not None and self._time.clock.mono_us() - since_us <= STUCK_US

    def forgets(self) -> None:
        """The handler has not run: stop waiting for the signal that was sent."""
        self.struck_us = None

    def handles(self, number: int, *, raised: bool = False) -> None:
        """The handler of a sent signal runs below a transport, or has raised there: the order need not wait for it."""
        with self._gate.lock:
            if self._struck(number):
                self.arrived = True
                self.struck_us = None if raised else self.struck_us

    def within_reach(self, timers: list[Waiter], blocked_us: int) -> list[Waiter]:
        """The timers to which time may jump. While a strand blocks unseen, the world's time passes for an alarm."""
        if blocked_us < 0 or self._time.ticking:
            return timers
        reach_us = self._order.at_us + blocked_us
        return [each for each in timers if each is not self.waiter or (each.deadline_us or 0) <= reach_us]

    def rings_in_vain(self) -> bool:
        """Whether no alarm is pending, or only a repeating one whose many last signals led to no other delivery."""
        most = _IN_VAIN if self._time.is_real else ENDLESS
        return self.waiter is None or (self.in_vain > most and self._alarm is not None and self._alarm.every_us > 0)

    # --- calls that an alarm cut short -------------------------------------------------------------------------

    def rang_in(self, event: int) -> Delivery | None:
        """The signal of the alarm that rang first in a call of the parent which is answered as a whole; None: none did,
        or the agent has set none here."""
        if ALARM_SIGNAL not in self.signals_set:
            return None
        if self._rang is None:
            rang: dict[int, Delivery] = {}
            for delivery in self._order.again():
                around = call_around(delivery.tag)
                if around is not None and delivery.tag.number == ALARM_SIGNAL:
                    rang.setdefault(around, delivery)
            self._rang = rang
        return self._rang.get(event)

    def rings_otherwise(self, event: Event) -> bool:
        """Whether an alarm of the agent rang in a recorded call, and would not ring in the call if it is made now.

        While the fork has its parent's times, an alarm with the same wait rings in the call again, however late the
        recorded one was: the time from its setting to the call is the same."""
        with self._gate.lock:
            rang = self.rang_in(event.number)
            came_us = event.ended_us if ended_by_alarm(event) else rang.at_us if rang is not None else None
            if came_us is None or ALARM_SIGNAL not in self.signals_set:
                return False
            if self._alarm is None:
                return True
            then = rang.times if rang is not None else None
            if then is not None and not self._time.departed:
                otherwise_us = self._alarm.waits_us - (then.due_us - then.set_us)
            else:
                due_us = then.due_us if then is not None else came_us
                otherwise_us = self._alarm.due_us - self._moment_us() - (due_us - event.issued_us)
            return abs(otherwise_us) > LATE_US

    def has_rung(self) -> None:
        """An alarm's handler has ended a call with an exception: the alarm has come."""
        with self._gate.lock:
            self._alarm_has_come()

    # --- signals that the parent does not have -----------------------------------------------------------------

    def postpones(self, number: int) -> bool:
        """Whether to put off a signal in our own code: after the cut, if the order does not send it next anyway."""
        head = self._order.head
        return self._time.cut and (self.struck_us is not None or head is None or head.tag[::2] != ("i", number))

    def hears(self, number: int) -> bool:
        """Whether a signal that comes now has no place in the parent's order."""
        with self._gate.lock:
            if not self._time.cut or self._gate.closed:
                return False
            return self._struck(number) or not self.come_later(number)

    def _struck(self, number: int) -> bool:
        return number == ALARM_SIGNAL and self.struck_us is not None

    def come_later(self, number: int) -> bool:
        """Whether signals with this number are still to come in the parent's order, after the cut. Locked."""
        first, real = self._order.head, self._time.is_real
        if first is None or (number in self.signals_set and (number == ALARM_SIGNAL or real)):
            return first is not None and first.tag[::2] == ("i", number) and self.is_the_alarms(first)
        later = (each.tag for each in self._order.later())
        return any(tag[::2] == ("i", number) and not self.is_asked_again(call_around(tag)) for tag in later)

    def is_an_alarms(self, number: int, kind: str = "i") -> bool:
        """Whether the agent's alarms send this signal."""
        return kind == "i" and number == ALARM_SIGNAL and number in self.signals_set

    def is_the_alarms(self, head: Delivery) -> bool:
        """Whether the signal in the parent's order is the one that the pending alarm sends."""
        return head.tag.number == ALARM_SIGNAL and self.waiter is not None and not self._time.is_real

    def is_asked_again(self, event: int | None) -> bool:
        """Whether a call of the parent has been made again in the world. A signal in the middle of the recorded call is
        not one in the middle of the new call."""
        return event is not None and event in self._time.places.values()

    def turn(self, turn: Tag) -> Tag:
        """The turn of a signal: after the cut the fork's own, because the interrupted call has the fork's number."""
        return own_signal(turn) if self._time.cut else turn
