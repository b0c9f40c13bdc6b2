"""The order of a fork: the parent's order as far as it reaches. A live call takes the place of its recorded
counterpart.

Up to the cut the order is that of a replay. After the cut, the parent's order still says which of several answers comes
first, and the gate waits for a live call at the place that the call takes. A delivery that the recording does not have
comes when it is ready. Time is virtual: it passes at the world's speed while a call is under way, and jumps to the next
timer when none is. A timer whose wait is longer or shorter than recorded fires by time, and from then on the fork has
a time of its own. Every turn gets a number of the fork's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reenact.abc.sources import Clock
from reenact.facts.order import ALARM_SIGNAL, Delivery, Tag, TimerSpan, call_around, event_tag, signal_tag
from reenact.replaying.recorded_schedule import UNPROVEN_US, RecordedSchedule
from reenact.seams.lanes import Lane
from reenact.seams.schedules import PendingChange, Standstill
from reenact.seams.waits import Waiter
from reenact.timetravel.forks.alarms import ALARM, ForkAlarms, is_own_signal
from reenact.timetravel.forks.due_moments import LATE_US
from reenact.timetravel.forks.fork_time import OWN, UNSURE, ForkTime

PATIENCE_US = 60_000_000
"""How long the order waits for live calls that may still lead to its next delivery."""

LEFT_OUT = "a signal that came while a call was at work is left out: the call is made again"
"""The remark on a signal whose call is made again."""
NOT_AGAIN = "a signal that came where the run broke off is not sent again"
"""The remark on the signal of an interruption, in a resumption: the user who interrupted the run resumes it now."""


def own_tag(event: int, part: int) -> Tag:
    """The tag of a part of one of the fork's own events."""
    return Tag("e", OWN, event, part)


class ForkSchedule(RecordedSchedule):
    """Hands deliveries out in the parent's order as far as it reaches.

    Args:
        lane_seen: Called with the path of each lane that a tag names.
        clock, worked_us: Arguments of the ``ForkTime``.
        parts: The arguments of a ``RecordedSchedule``.
    """

    lets_ahead = False

    def __init__(
        self, lane_seen: Callable[[str], object], clock: Clock, worked_us: Callable[[], int], *parts: Any
    ) -> None:
        super().__init__(*parts)
        self.time = ForkTime(self.gate, self.order, clock, worked_us)
        self.alarms = ForkAlarms(self.gate, self.order, self.time)
        self._lane_seen = lane_seen
        self.fresh: list[Delivery] = []
        self.numbers: dict[int, int] = {}
        """Numbers in the fork of the parent's events that have been answered from the recording."""
        self.unanswered: dict[Tag, Any] = {}
        """Calls that wait although the recording has no answer for them, by their tags, oldest first."""
        self.revive: Callable[[], bool] = lambda: False
        """Lets the oldest waiting call that may be performed go on; False if none may."""
        self.revivable: Callable[[], bool] = lambda: False
        """Whether any waiting call may be performed."""
        self.give_up: Callable[[], bool] = lambda: False
        """Stops the fork at the oldest waiting call, whose outcome is unknown; False if no call waits."""
        self.open_ended = False
        """Whether the cut comes at the latest at the end of the parent's order."""
        self.reached_end: Callable[[], object] = lambda: None
        self._ahead_us = 0
        self.count = 0
        self._number_next = 0
        self.unproven = 0

    def note_unanswered(self, tag: Tag, call: Any) -> None:
        """Note a call that waits at ``tag``, if its recorded counterpart was cancelled: its answer may never come."""
        if call.form == "open":
            self.unanswered[tag] = call

    @property
    def cut(self) -> bool:
        """Whether the fork has come to its cut."""
        return self.time.cut

    def now_us(self) -> int:
        """The time that all clocks show: that of the last delivery, and in a resumption the world's."""
        return self.time.real_now_us() if self.time.is_real else self.order.at_us

    def timer_set(self, tag: Tag, times: TimerSpan) -> None:
        """Note that a timer was set, which is due by the fork's time."""
        with self.gate.lock:
            self.time.sets(tag, times)

    # --- numbering ---------------------------------------------------------------------------------------------

    def grant(self, tag: Tag, proven: bool, due_us: int | None = None) -> int:
        """Give a delivery the fork's next number, and go on in the parent's order if the parent has it too."""
        self.order.at_us = max(self.order.at_us, due_us or 0)
        place, head = self._place(tag), self.order.head
        times, whose = self.time.passes(tag, place), None
        if tag.lane == ALARM:  # the alarm's signal gets a number, the alarm itself none
            return -1
        number = self._number_next
        if head is not None and head.tag == place:
            if not self.cut:  # calls inside a frozen answer leave their numbers unused
                number = max(number, head.number)
            self._ahead_us = self.order.at_us - head.at_us
            whose = head.times
            times = times if self.time.departed else whose
            self._advance()
        elif place is not None and head is not None and (self.order.number_of(place) or 0) > head.number:
            self.order.passes(place)
        self._number_next = number + 1
        self.count += 1
        self.unproven += not proven
        named = self._named(tag)
        if named.lane:
            self._lane_seen(named.lane)
        if tag.kind == "i":
            self.alarms.has_come(tag, whose)
            if times is None and tag.number == ALARM_SIGNAL:
                times, self.alarms.rung = self.alarms.rung, None
        else:
            self.alarms.in_vain = 0
        self.fresh.append(Delivery(number, named, self.order.at_us, proven, times))
        return number

    def _named(self, tag: Tag) -> Tag:
        """The tag as the fork's own recording has it."""
        if is_own_signal(tag):
            return tag._replace(lane=tag.lane.removeprefix(OWN))
        around = call_around(tag)
        if around is not None:
            return signal_tag(tag.lane, tag.number, self.numbers.get(around, around))
        if tag.kind != "e":
            return tag
        return event_tag(tag.number if tag.lane == OWN else self.numbers.get(tag.number, tag.number), tag.n)

    def _place(self, tag: Tag) -> Tag | None:
        """The place of a delivery in the parent's order; None without one."""
        if tag.lane == ALARM or is_own_signal(tag):
            return None
        if tag.lane != OWN:
            return tag
        stands_for = self.time.places.get(tag.number)
        return event_tag(stands_for, tag.n) if stands_for is not None else None

    def _is_of(self, tag: Tag, event: int) -> bool:
        return tag.lane != OWN and super()._is_of(tag, event)

    # --- choosing ----------------------------------------------------------------------------------------------

    def alone(self, tag: Tag) -> int | None:
        """The only runnable strand goes on at once if the next place is its own."""
        place = self._place(tag)
        if place is not None and self.order.head is not None and self.order.head.tag != place:
            self._pass_over()
        head = self.order.head
        if self.alarms.is_struck() or place is None or head is None or head.tag != place:
            return None
        if self.gate.waiting:
            comes = self.time.comes(None, tag, head.at_us)
            if self.time.sooner(tag, comes) is not None:
                return None
            if self.time.is_unsure(tag, comes):
                self.time.remark(UNSURE)
        return self.grant(tag, True)

    def _stands_in(self, name: Tag, due: Tag) -> None:
        times = self.time.due.over(name)
        if times is not None:
            self.time.sets(due, times)
        super()._stands_in(name, due)

    def _waiter_for(self, place: Tag, waiting: Mapping[Tag, Waiter]) -> Waiter | None:
        waiter = super()._waiter_for(place, waiting)
        if waiter is None and place.kind == "e":
            return next((own for tag, own in waiting.items() if tag.lane == OWN and self._place(tag) == place), None)
        return waiter

    def choose(self, at: Standstill) -> Waiter | PendingChange | None:
        """The waiter of the next place; without a place, any waiter that is there."""
        if not self.cut:
            ends = self.open_ended and self.order.head is None
            return PendingChange(self.reached_end) if ends else super().choose(at)
        own = next((waiter for tag, waiter in at.waiting.items() if is_own_signal(tag)), None)
        if own is not None or self.alarms.is_struck():
            return own
        if self.alarms.struck_us is not None and not self.alarms.arrived:
            return PendingChange(self.alarms.forgets)
        return self._beside_a_handler(at) if at.held else self._behind_the_cut(at)

    def _beside_a_handler(self, at: Standstill) -> Waiter | PendingChange | None:
        """Let another waiter go while a handler runs in a wait, which does not end until the handler has returned."""
        head, others = self.order.head, {tag: each for tag, each in at.waiting.items() if tag not in at.held}
        beside = at._replace(waiting=others)
        if head is None or all(self._place(tag) != head.tag for tag in at.held if tag in at.waiting):
            return self._behind_the_cut(beside)
        free = (each for each in others.values() if each.deadline_us is None and each.tag.lane != "~never")
        return self._without_place(head, beside) or next(free, None)

    def _behind_the_cut(self, at: Standstill) -> Waiter | PendingChange | None:
        head = self.order.head
        if head is None:
            return self._after_order(at)
        waiter = self._waiter_for(head.tag, at.waiting)
        if waiter is None and self._ignorable(head):
            return PendingChange(self._advance)
        if head.tag.kind == "i":
            left_out = self._is_left_out(head, at.settled)
            return PendingChange(self._leaves, (head,)) if left_out else self._signal_is_next(head, at)
        return self._without_waiter(head, at) if waiter is None else self._with_waiter(waiter, head, at)

    def _without_waiter(self, head: Delivery, at: Standstill) -> Waiter | PendingChange | None:
        """The waiter that goes while no waiter has the next place, or the change that passes over that place; None
        while a waiter for it may still come."""
        if not at.settled and not self._given_up:
            return None
        name = self.stand_in(head.tag, at.waiting)
        if name is not None:
            return PendingChange(self._stands_in, (name, head.tag))
        asked = [flight.stands_for for flight in self.time.away(at.waiting)]
        if head.tag.kind == "e" and head.tag.number in asked:  # the answer may depend on one that we hold
            said = self._without_place(head, at) if self.time.listening() else None
            return said or self._due(at)
        beyond = self._without_place(head, at)
        if beyond is not None:
            return beyond
        if (asked or self.time.sleeps_in_the_world(at.waiting)) and not self._out_of_patience():
            return self._due(at)  # an answer of the world may lead to the next delivery
        return PendingChange(self._leaves, (head,))

    def _with_waiter(self, waiter: Waiter, head: Delivery, at: Standstill) -> Waiter | PendingChange | None:
        """The waiter of the next place, unless another waiter is due before it, or its place is lost."""
        comes = self.time.comes(waiter, waiter.tag, head.at_us)
        before = self.time.sooner(waiter.tag, comes, at.held)
        if before is not None:
            return self._in_time(before, at, placed=False)
        if waiter.alive is not None and not waiter.alive():
            return waiter  # a dead waiter takes no number
        if self._is_put_off(waiter, head):
            return PendingChange(self._leaves_put_off, (head,))
        if self.time.is_unsure(waiter.tag, comes, at.held):
            return PendingChange(self.time.remark, (UNSURE,))
        return self._in_time(waiter, at, placed=True)

    def _leaves_put_off(self, head: Delivery) -> bool:
        """Go on without a timer that comes later now; the call that it cut short is made again."""
        self._leaves(head)
        return bool(self.unanswered) and (self.revive() or self.give_up())

    def _is_left_out(self, head: Delivery, settled: bool = True) -> bool:
        """Whether the signal at the next place of the parent's order is left out: its call is made again, its alarm is
        not pending or has another time, or a resumption goes on in real time, where the world sends its own signals."""
        again = self.time.is_real or self.alarms.is_asked_again(call_around(head.tag))
        if again or not self.alarms.is_an_alarms(head.tag.number):
            return again
        return settled if self.alarms.waiter is None else self._is_put_off(self.alarms.waiter, head)

    def _signal_is_next(self, head: Delivery, at: Standstill) -> Waiter | PendingChange | None:
        """The watch sends the signal that the parent's order has next, unless a waiter goes before its alarm."""
        alarm = self.alarms.waiter if self.alarms.is_the_alarms(head) else None
        if alarm is None:
            return None
        comes = self.time.comes(alarm, alarm.tag, None)
        before = self.time.sooner(alarm.tag, comes, at.held)
        if before is not None:
            return self._in_time(before, at, placed=False)
        if self.time.is_unsure(alarm.tag, comes, at.held):
            return PendingChange(self.time.remark, (UNSURE,))
        if not self.alarms.is_yet_to_come():
            return None
        own = (each for tag, each in at.waiting.items() if tag.lane == OWN)  # own answers do not wait for the alarm
        return next(own, None) or self._due(at)

    def send_due_signal(self, waited_us: int) -> bool:
        """Whether the watch sends a signal, as in a replay; after the cut only a signal at its place."""
        head = self.order.head
        if self.cut and head is not None and head.tag.kind == "i":
            ahead = self.alarms.is_the_alarms(head) and self.alarms.is_yet_to_come()
            if ahead or self.alarms.is_struck() or self._is_left_out(head):
                return False
        return super().send_due_signal(waited_us)

    def _leaves(self, head: Delivery) -> None:
        """Go on without the next place of the order. If that is a timer, the code waits differently now."""
        alarm = self.alarms.is_an_alarms(head.tag.number, head.tag.kind)
        if (head.tag.kind == "t" or alarm) and self.time.goes_by_time:
            self.time.departs()
        if head.tag.kind == "i" and head.tag.number not in self.alarms.signals_set and self.time.is_real:
            self.time.remark(NOT_AGAIN)
        elif head.tag.kind == "i" and not alarm and not self.time.is_real:
            self.time.remark(LEFT_OUT)
        self._advance()

    def _yields(self, waiter: Waiter, at: Standstill) -> Waiter | None:
        """The waiter to wake: ``waiter``, which has lost its place in the order, or another one that is due sooner."""
        comes = self.time.comes(waiter, waiter.tag, self.time.then_us(waiter.tag)) if self.time.departed else None
        before = self._first_before(waiter.tag, comes, at) if comes is not None else None
        return waiter if before is None else self._in_time(before, at, placed=False)

    def _first_before(self, tag: Tag, comes_us: int, at: Standstill) -> Waiter | None:
        return self.time.by_moment().first(tag, comes_us, self.time.known_us(), *at.held)

    def _timer_goes(self, timers: list[Waiter], at: Standstill) -> Waiter | PendingChange | None:
        """The waiter to wake: the first of ``timers``, which have no place in the order, or one that is due sooner."""
        timer = min(timers, key=lambda each: each.deadline_us or 0, default=None)
        comes = self.time.comes(timer, timer.tag, None) if timer is not None and self.time.goes_by_time else None
        if timer is None or comes is None:
            return self._first(timers, at)
        lines, known_us = self.time.by_moment(), self.time.known_us()
        if UNSURE not in self.time.remarked and lines.is_near(timer.tag, comes, known_us, *at.held):
            return PendingChange(self.time.remark, (UNSURE,))
        return self._first([self._first_before(timer.tag, comes, at) or timer], at)

    def _in_time(self, waiter: Waiter, at: Standstill, *, placed: bool) -> Waiter | None:
        """Let the waiter go. A timer waits for its moment in the world's time if the agent's own code sleeps there, or
        if no order puts the timer before a call under way."""
        due_us, waiting = waiter.deadline_us, at.waiting
        by_world = due_us is not None and not placed and bool(self.time.away(waiting))
        asleep = due_us is not None and self.time.sleeps_in_the_world(waiting) and due_us > self.time.real_now_us()
        return self._due(at) if by_world or asleep else self._first([waiter], at)

    def _is_put_off(self, timer: Waiter, head: Delivery) -> bool:
        """Whether a timer has a later deadline than in the parent: then it has no place in the order any more."""
        if timer.deadline_us is None or timer.deadline_us <= head.at_us + self._ahead_us + LATE_US:
            return False
        return self.time.by_time or bool(self.unanswered)

    def _out_of_patience(self) -> bool:
        now_us = self.time.clock.mono_us()
        under_way = [flight for flight in self.time.flights.values() if not (flight.listens or flight.works)]
        return bool(under_way) and all(now_us - flight.real_us > PATIENCE_US for flight in under_way)

    def _without_place(self, head: Delivery, at: Standstill) -> Waiter | PendingChange | None:
        """A waiter for a delivery that the parent's order does not have, or has already passed."""
        others = self._without_number(head, at)
        free = next((each for each in others if each.deadline_us is None), None)
        if free is not None:
            return self._yields(free, at)
        return self._due(at) if self.time.ticking else self._timer_goes([w for w in others if w.sleeper], at)

    def _after_order(self, at: Standstill) -> Waiter | PendingChange | None:
        vain = self.alarms.waiter if self.alarms.rings_in_vain() else None
        others = [each for tag, each in at.waiting.items() if tag.lane != "~never" and each is not vain]
        free = next((each for each in others if each.deadline_us is None), None)
        if free is not None:
            return self._yields(free, at)
        if self.unanswered and not self.time.away(at.waiting) and self.revivable():
            return PendingChange(self.revive)
        asked = self.time.away(at.waiting) or self.time.listening() or self.time.sleeps_in_the_world(at.waiting)
        real = asked or self.time.is_real
        return self._due(at) if real else self._timer_goes(others, at)

    def _due(self, at: Standstill) -> Waiter | None:
        """A timer whose moment has come. While the world answers, time passes at the world's speed."""
        now_us = self.time.real_now_us() if self.time.ticking else self.order.at_us
        timers = [w for w in at.waiting.values() if w.deadline_us is not None and w.deadline_us <= now_us]
        return self._first(timers, at)

    def stalled(self, waited_us: int) -> None:
        """End the fork because no strand runs, unless the world has yet to answer."""
        if self._may_yet_come(waited_us):
            self.gate.pump()
        else:
            super().stalled(waited_us)

    def _may_yet_come(self, waited_us: int) -> bool:
        """Whether a delivery may still come from the world."""
        real = self.cut and self.time.is_real and not self._hopes_for_nothing()
        rings = self.alarms.struck_us is not None or not self.alarms.rings_in_vain()
        waiting = self.gate.waiting
        asked = bool(self.time.away(waiting) or self.gate.parting) or self.time.sleeps_in_the_world(waiting)
        timers = any(waiter.deadline_us is not None for waiter in self.gate.waiting.values())
        return asked or real or rings or (self.time.listening() and (timers or waited_us < PATIENCE_US))

    def _hopes_for_nothing(self) -> bool:
        """Whether every strand waits for a delivery that was never handed over: no passing of time brings it."""
        hopeless = ("~never", ALARM) if self.alarms.rings_in_vain() else ("~never",)
        return bool(self.gate.waiting) and all(tag.lane in hopeless for tag in self.gate.waiting)

    def _first(self, timers: list[Waiter], at: Standstill) -> Waiter | None:
        return super()._first(self.alarms.within_reach(timers, at.blocked_us), at)

    def signals_later(self, number: int) -> bool:
        """Whether a recorded signal of that number will still come; after the cut, one without a place cannot."""
        with self.gate.lock:
            return self.alarms.come_later(number) if self.cut else super().signals_later(number)

    def meets(self, lane: Lane) -> None:
        """Send the signal that is recorded at the lane's place. After the cut signals come by their own time."""
        if not self.cut:
            super().meets(lane)

    def overdue(self, waited_us: int, worked_us: int) -> bool:
        """Whether a delivery may go while a strand still runs, as in a replay; a handler does not wait long for it."""
        if any(map(is_own_signal, self.gate.waiting)) and waited_us > UNPROVEN_US:
            return True
        return super().overdue(waited_us, worked_us)

    def silent(self, waited_us: int) -> None:
        """End the fork because a strand blocks unseen, unless the world has yet to answer."""
        if not self._may_yet_come(waited_us):
            super().silent(waited_us)
