"""The order of a replay: the recorded one, handed out at quiescence.

No delivery is released because time has passed. The gate knows when no strand can run without a delivery, and then
hands out the next recorded one. If no strand awaits a recorded answer then, its call was not made. Timers are virtual:
a timer fires when its number comes up. A timer that did not fire in the recording never fires.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile

from reenact.facts.order import Delivery, Interruption, Tag, TimerSpan, call_around, interruption
from reenact.replaying.blocked_strands import BlockedStrands
from reenact.replaying.recorded_order import RecordedOrder
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane, steps_of
from reenact.seams.schedules import PendingChange, Standstill
from reenact.seams.waits import Waiter

UNPROVEN_US = 20_000
"""How long an awaited delivery that was let go without proof waits for quiescence."""
SPIN_US = 2_000_000
"""How long any awaited delivery waits while others never stop running (a spinning wait)."""
WORK_RATE = 4
"""An awaited delivery waits this many times longer while others compute: the machine may only be slow."""
GIVE_UP_US = 30_000_000
"""How much longer than four times the recorded run others may run while no awaited delivery can come."""
QUIET_US = 3_000_000
"""The time, beyond twice the recorded run's, for which a program may wait for a thing that no gate delivers."""
SIGNAL_US = 2_000
"""How long a strand has waited before a recorded signal is sent to it: by then it really waits."""
ENDLESS = 5_000
"""The turns beyond the recording after which a program counts as waiting for ever."""
PERIODIC = 2_000
"""After this many sleeps without a recorded delivery, a periodic sleeper counts as one that brings none."""
HOPES = 1_000
"""The number of time-outs beyond the recording that are waited for before a call counts as not made."""
STUCK_US = 500_000
"""How long nothing at all may happen before the replay is declared to be at its end."""


class RecordedSchedule:
    """Hands deliveries out in recorded order.

    Args:
        again: Gives an iterator over the recorded deliveries, from the first one.
        ignorable: Whether a recorded delivery belongs to the inside of a frozen call.
        missing: Called with a recorded answer that no strand awaits; it may halt the gate.
        stopped: Called when nothing can go on.
    """

    follows = True
    lets_ahead = True
    """Whether a time-out whose place is not proven may go one place earlier."""

    def __init__(
        self,
        again: Callable[[], Iterator[Delivery]],
        ignorable: Callable[[Delivery], bool],
        missing: Callable[[Delivery], None],
        stopped: Callable[[], None],
    ) -> None:
        self.gate = Gate(self)
        self.order = RecordedOrder(again)
        self._ignorable = ignorable
        self._missing = missing
        self._stopped = stopped
        self.give_up_us = GIVE_UP_US
        self.quiet_us = QUIET_US
        self._given_up = False
        self.loose: set[int] = set()
        """Events that were matched out of their place: their deliveries need not wait for earlier ones."""
        self.plumbing: set[int] = set()
        """Events that hand telemetry over: nothing waits for their deliveries, and none of them is in doubt."""
        self.is_missed: Callable[[Delivery], bool] = lambda head: True
        """Whether a recorded answer that no strand awaits means that a call was not made."""
        self.doubts: list[int] = []
        self.surplus = 0
        self.granted: list[Delivery] = []
        self.keeping = False
        self.stand_in: Callable[[Tag, Iterable[Tag]], Tag | None] = lambda due, waiting: None
        """Gives the turn of a renamed strand that takes the place of a turn that no strand awaits."""
        self.under_way: set[int] = set()
        """The number of live calls of a replay that the world has yet to answer: until then no timer fires."""
        self.blocked_strands: BlockedStrands | None = None
        """The waiter for a strand that blocks where no hook sees it; None if there is none."""
        self.cut_short = False
        """Whether the recorded program died: after its last delivery nothing has happened, and no timer fires."""
        self._guessed = False
        self._beyond = 0
        self._seed: int | None = None

    def shuffle(self, seed: int) -> None:
        """Hand answers out in a random order instead, to find out whether the agent depends on it."""
        self.order.head, self._seed = None, seed

    def now_us(self) -> int:
        """Recorded time of the last delivery, or of the timers that fired beyond it."""
        return self.order.at_us

    def timer_set(self, tag: Tag, times: TimerSpan) -> None:
        """Do nothing: a timer fires when its number comes."""

    def alarm_set(self, set_us: int, wait_us: int, every_us: int) -> None:
        """Do nothing: the signals of an alarm are recorded."""

    def impatient(self) -> bool:
        """False: in a replay a held delivery waits for its number."""
        return False

    def grant(self, tag: Tag, proven: bool, due_us: int | None = None) -> int:
        """The recorded number; -1 for a delivery that the recording does not have."""
        head = self.order.head
        if due_us is not None:  # when a timer fires, the clock shows that its deadline has passed
            self.order.at_us = max(self.order.at_us, due_us)
        if self.keeping:
            times = head.times if head is not None and head.tag == tag else None
            self.granted.append(Delivery(len(self.granted), tag, self.order.at_us, proven, times))
        if head is None or head.tag != tag:
            return self._out_of_turn(tag, head)
        self._beyond = 0
        self.order.at_us = max(self.order.at_us, head.at_us)
        if not (proven and head.proven) and not self._is_plumbing(tag):
            self.doubts.append(head.number)
        self._advance()
        return head.number

    def _is_plumbing(self, tag: Tag) -> bool:
        return tag.kind == "e" and tag.number in self.plumbing

    def _out_of_turn(self, tag: Tag, head: Delivery | None) -> int:
        """The number of a delivery that is not the next one; -1 if the recording does not have it, or it was handed out
        already. A delivery that comes early, like an answer that was matched out of order, is passed over when its own
        number comes."""
        number = self.order.number_of(tag) if head is not None else None
        if head is None or number is None or number < head.number:
            if self._is_plumbing(tag):
                return -1
            self.surplus += 1
            self._beyond += 1
            if self._beyond > ENDLESS and tag.kind == "t" and self.gate.halted is None:
                self._stopped()
            return -1
        self.order.passes(tag)
        if tag.kind != "e":
            self.doubts.append(number)
        return number

    def _advance(self) -> None:
        """Go on to the next number."""
        self.order.advance()
        if self.awaits_signal():
            self.gate.attend(self.gate)

    def alone(self, tag: Tag) -> int | None:
        """The only runnable strand goes on at once when the next number is its own."""
        order = self.order
        head, following = order.head, order.after
        if head is None or head.tag != tag or self.keeping or not head.proven or order.early:
            if head is not None and head.tag != tag:
                self._pass_over()
            due = order.head is not None and order.head.tag == tag and self._hasty(self.gate.waiting) is None
            return self.grant(tag, True) if due else None
        if following is not None and not following.proven and self._hasty(self.gate.waiting) is not None:
            return None
        self._beyond = 0
        order.at_us = max(order.at_us, head.at_us)
        order.head, order.after = following, next(order.rest, None)
        if following is not None and following.tag.kind == "i":
            self.gate.attend(self.gate)
        return head.number

    def _pass_over(self) -> None:
        """Skip the deliveries of calls inside a frozen answer."""
        order, waiting = self.order, self.gate.waiting
        while (head := order.head) is not None and not self._waiter_for(head.tag, waiting) and self._ignorable(head):
            self._advance()

    def _waiter_for(self, place: Tag, waiting: Mapping[Tag, Waiter]) -> Waiter | None:
        """The waiter for a place in the order."""
        return waiting.get(place)

    def choose(self, at: Standstill) -> Waiter | PendingChange | None:
        """The waiter of the next number, or first an unrecorded waiter that may go."""
        head = self.order.head
        if head is None:
            return self._after_recording(at)
        waiter = self._waiter_for(head.tag, at.waiting)
        if waiter is None and self._ignorable(head):
            return PendingChange(self._advance)
        if head.tag.kind == "i":
            return None  # the watch sends the signal, from a thread that is not interrupted
        return self._in_place_of(head, at) if waiter is None else self._in_turn(waiter, head, at)

    def _in_turn(self, waiter: Waiter, head: Delivery, at: Standstill) -> Waiter | PendingChange | None:
        """The waiter of the next number, unless a blocked strand still has to make a call that was recorded before
        it."""
        if waiter.alive is not None and not waiter.alive():
            return waiter  # a waiter that has gone takes no number
        blocked = self.blocked_strands if at.blocked_us >= 0 else None
        if blocked is not None and (late := blocked.late(head, at.waiting)):
            return blocked.waits(late, head, at.blocked_us)
        return self._hasty(at.waiting) or waiter

    def _in_place_of(self, head: Delivery, at: Standstill) -> Waiter | PendingChange | None:
        """The waiter or change that is due when no strand waits for the next number; None while one may come."""
        if not at.settled and not self._given_up:
            return None
        name = self.stand_in(head.tag, at.waiting)
        if name is not None:
            return PendingChange(self._stands_in, (name, head.tag))
        other = self._out_of_place(at) or (self._beyond_recording(head, at) if self._beyond < PERIODIC else None)
        blocked = self.blocked_strands if at.blocked_us >= 0 else None
        away = blocked.away(head, at.waiting, at.blocked_us, self.order.at_us) if blocked is not None else None
        if blocked is not None and away and other is None:
            return blocked.waits(away, head, at.blocked_us)
        return other or self._leading_to(head, at) or PendingChange(self._unawaited, (head,))

    def _stands_in(self, name: Tag, due: Tag) -> None:
        """Give the waiter of the next delivery the recorded name, because it waits under another name."""
        waiter = self.gate.waiting.pop(name)
        waiter.tag = due
        self.gate.waiting[due] = waiter

    def _unawaited(self, head: Delivery) -> None:
        """Go on to the delivery after the next one, which has no waiter and will have none."""
        if head.tag.kind == "e":
            self._missing(head)
            if self.gate.halted is not None:
                return
        else:
            self.doubts.append(head.number)
        if self.order.head is head:
            self._advance()

    def _hasty(self, waiting: Mapping[Tag, Waiter]) -> Waiter | None:
        """The waiter for a time-out that now goes before a delivery, and came after it in the recording.

        In the recording the time-out was let go while the strand that got the delivery was at work. That strand had not
        yet ended the wait, because this would have withdrawn the time-out. If its work takes less time in the replay,
        the strand would end the wait first: a queue would hold one item more, and the batch would be different. The
        wait for the time-out has already begun, so only these two deliveries change places."""
        after = self.order.after
        if after is None or after.proven or after.tag.kind != "t" or not self.lets_ahead:
            return None
        waiter = waiting.get(after.tag)
        goes = waiter is not None and not waiter.sleeper and (waiter.alive is None or waiter.alive())
        return waiter if goes else None

    def _leading_to(self, head: Delivery, at: Standstill) -> Waiter | None:
        """A waiter that may go before a call is declared missing: its strand waits for no answer, and may still make
        the call.

        The waiter comes out of its turn if its strand did more, or less, than in the recording: another request did
        work that is done once, or a thread was let go without proof. A time-out that the recording does not have is the
        last resort."""
        if head.tag.kind != "e" or not self.is_missed(head):
            return None
        others = [each for each in at.waiting.values() if each.tag.kind != "e" and each.tag.lane != "~never"]
        ready = [each for each in others if each.deadline_us is None]
        if ready and self._beyond <= ENDLESS:  # two strands that wake each other would go on for ever
            return min(ready, key=lambda each: self.order.number_of(each.tag) or 0)
        return self._first(others, at) if self._beyond <= HOPES else None

    def _out_of_place(self, at: Standstill) -> Waiter | None:
        """The first waiter for an answer that was matched out of its place, or that is plumbing."""
        early = [t for t in at.waiting if t.kind == "e" and (t.number in self.loose or t.number in self.plumbing)]
        first = min(early, key=lambda tag: self.order.number_of(tag) or 0, default=None)
        return at.waiting[first] if first is not None else None

    def _beyond_recording(self, head: Delivery, at: Standstill) -> Waiter | None:
        """A waiter that no later number will release, because the recorded program did not wait there."""
        others = self._without_number(head, at)
        free = next((waiter for waiter in others if waiter.deadline_us is None), None)
        return free or self._first([waiter for waiter in others if waiter.sleeper], at)

    def _without_number(self, head: Delivery, at: Standstill) -> list[Waiter]:
        """The waiters for deliveries that the recording does not have, or has already handed out."""

        def is_ahead(tag: Tag) -> bool:
            place = self._place(tag)
            number = self.order.number_of(place) if place is not None else None
            return number is not None and number >= head.number

        return [each for tag, each in at.waiting.items() if tag.lane != "~never" and not is_ahead(tag)]

    def _place(self, tag: Tag) -> Tag | None:
        return tag

    def _after_recording(self, at: Standstill) -> Waiter | None:
        waiting = [waiter for waiter in at.waiting.values() if waiter.tag.lane != "~never"]
        answers = [waiter for waiter in waiting if waiter.deadline_us is None]
        if answers:
            return (
                answers[0] if self._seed is None else random.Random(f"{self._seed} {self.gate.passes}").choice(answers)
            )
        return None if self.cut_short or self.under_way else self._first(waiting, at)

    def _first(self, timers: list[Waiter], at: Standstill) -> Waiter | None:
        """The earliest of some virtual timers; time jumps to it."""
        return min(timers, key=lambda waiter: waiter.deadline_us or 0, default=None)

    def takes(self, tag: Tag, rested: bool) -> bool:
        """Whether a strand takes a turn. A replay sends no request, so no strand waits for the world; a strand that
        waited in the recording takes the turn."""
        with self.gate.lock:
            return rested or self.order.number_of(tag) is not None

    def overdue(self, waited_us: int, worked_us: int) -> bool:
        """Whether an awaited delivery may go although something never stops running."""
        charged_us = waited_us - worked_us + worked_us // WORK_RATE
        if self.order.head is None or self.order.head.tag not in self.gate.waiting:
            self._given_up = waited_us > self.give_up_us
            return charged_us > SPIN_US
        return charged_us > SPIN_US if self.order.head.proven else waited_us > UNPROVEN_US

    def signalled(self, turn: Tag, uncounted: bool, runs: bool) -> bool:
        """The recorded signal at its place; another signal is dropped if the recording has the same one later."""
        if self.gate.lock._is_owned():  # type: ignore[attr-defined]  # in the middle of what the lock guards: sent again
            return False
        with self.gate.lock:
            head = self.order.head
            if head is not None and head.tag.kind == "i" and head.tag.number == turn.number:
                self.gate.passes += 1
                self.gate.signals.handles_now(head.tag)
                self.gate.signals.unnoticed = not runs
                self.gate.signals.contained = self._awaits_call(head.tag)
                self.grant(head.tag, not self._guessed)
                self._guessed = False
                self.gate.running += runs
                return True
            handled = not self.signals_later(turn.number)
            self.gate.signals.contained = None
            if handled:
                self.gate.signals.handles_now(turn)
            self.gate.running += runs and handled
            return handled

    def unproven_so_far(self) -> list[int]:
        """Numbers of the recorded deliveries, up to the next one, whose order is not proven."""
        with self.gate.lock:
            head = self.order.head
            so_far = takewhile(lambda each: head is None or each.number <= head.number, self.order.again())
            return [each.number for each in so_far if not each.proven]

    def signals_later(self, number: int) -> bool:
        """Whether a recorded signal of that number is yet to come."""
        with self.gate.lock:
            return any(each.tag[::2] == ("i", number) for each in self.order.later())

    def awaits_signal(self) -> bool:
        """Whether the next delivery is a signal."""
        return self.order.head is not None and self.order.head.tag.kind == "i"

    def send_due_signal(self, waited_us: int) -> bool:
        """Send the next recorded signal when everything waits. While a strand computes, the signal is sent as long
        after the last delivery as in the recording."""
        head, waits = self.order.head, self.gate.running <= 0
        if head is None or head.tag.kind != "i" or self.gate.halted is not None:
            return False
        if not waits and self._awaits_call(head.tag) is False:  # the interrupted call is not made yet
            if self.gate.waiting and waited_us > self.give_up_us:
                self.doubts.append(head.number)
                self._advance()
            return False
        due_us = SIGNAL_US if waits else max(UNPROVEN_US, head.at_us - self.order.at_us)
        if waited_us < due_us or (not waits and waited_us < due_us + SPIN_US and self._has_yet_to_come(head.tag)):
            return waits
        process = self.gate.signals.process
        if waited_us > due_us + STUCK_US or not process.to_main_thread(head.tag.number):  # no handler, or it never runs
            self.doubts.append(head.number)
            self._advance()
            if waits:
                self.gate.pump()
        else:
            self._guessed = not waits
        return True

    def meets(self, lane: Lane) -> None:
        """Send the signal that is recorded where a lane is now, if it has not come yet. The lane is about to go on, by
        a call, a look at a clock, or a printed text. The signal's place inside a computation is not known more exactly.

        Called in the thread that goes on, which holds no lock."""
        head = self.order.head
        came = interruption(head.tag) if head is not None else None
        if head is None or came is None or head.tag.lane != lane.path or not self._is_at(came, lane):
            return
        self._guessed = True
        self.gate.signals.process.to_main_thread(head.tag.number)

    def _is_at(self, came: Interruption, lane: Lane) -> bool:
        return (came.position, came.steps) == (lane.position, steps_of(lane))

    def _has_yet_to_come(self, tag: Tag) -> bool:
        """Whether the lane that a signal interrupted is still before the signal's recorded place, as far as known."""
        came, lane = interruption(tag), self.gate.lane_at(tag.lane)
        if came is None or lane is None or came.steps < 0:
            return False
        return (lane.position, steps_of(lane)) < (came.position, came.steps)

    def _awaits_call(self, tag: Tag) -> bool | None:
        """Whether a strand awaits the answer of the call in which a signal came; None where it came in no call."""
        event = call_around(tag)
        return None if event is None else any(self._is_of(waiting, event) for waiting in self.gate.waiting)

    def _is_of(self, tag: Tag, event: int) -> bool:
        """Whether a turn hands over part of a recorded event."""
        return tag.kind == "e" and tag.number == event

    def stalled(self, waited_us: int) -> None:
        """End the replay after a while in which nothing runs and nothing comes."""
        if self.gate.signals.unnoticed:  # the handler has returned, and its strand waits again
            self.gate.signals.unnoticed = False
            self.gate.pump()
            return
        if waited_us > STUCK_US and self.gate.halted is None and not self.under_way:
            self._stopped()

    def silent(self, waited_us: int) -> None:
        """End the replay after too long a time in which a strand blocks in a wait of its own and all others wait for
        ever."""
        patience_us = self.give_up_us if self.gate.waiting else self.quiet_us
        if waited_us > patience_us and self.gate.halted is None and not self.under_way:
            self._stopped()
