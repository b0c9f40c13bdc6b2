"""The order of a replay: the recorded one, handed out at quiescence.

Nothing is released because time has passed: the gate knows when no strand can run without a delivery, and then
gives out the next recorded one. A recorded answer that nobody awaits then is a call that was not made. Timers are
virtual: they fire when their number comes up, and one that never fired never fires.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from operator import itemgetter

from reenact.facts.order import Delivery, Interruption, Tag, call_around, interruption
from reenact.replaying.blocked_strands import BlockedStrands
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane, steps_of
from reenact.seams.waits import Waiter

UNPROVEN_US = 20_000
"""How long an awaited delivery that was let go without proof waits for quiescence."""
SPIN_US = 2_000_000
"""How long any awaited delivery waits while others never stop running (a spinning wait)."""
WORK_RATE = 4
"""So much longer it waits while they compute: a replay has no answer to wait for, but a slow machine."""
GIVE_UP_US = 30_000_000
"""How much longer than four times the recorded run others may run, while nothing that is awaited can come."""
QUIET_US = 3_000_000
"""How much longer than twice the recorded run a program may wait for what no gate can give it."""
SIGNAL_US = 2_000
"""How long a strand has waited before a recorded signal is sent to it: by then it really waits."""
ENDLESS = 5_000
"""So many turns beyond the recording are a program that waits for what will never come."""
PERIODIC = 2_000
"""After so many, in which nothing recorded has come, a periodic sleeper brings no delivery that is awaited."""
HOPES = 1_000
"""So many time-outs that the recording does not have are waited for before a call is said not to be made."""
STUCK_US = 500_000
"""How long nothing at all may happen before the replay is declared to be at its end."""


class ReplayGate(Gate):
    """Hands deliveries out in recorded order.

    Args:
        order: The recorded deliveries, from the first on; read a page at a time.
        again: Gives a fresh reading of the whole order, for the slow path.
        ignorable: Whether a recorded delivery belongs to something that a frozen answer stands for.
        missing: Told of a recorded answer that nobody awaits; it may halt the gate.
        stopped: Told that nothing can go on.
    """

    virtual = True
    lets_ahead = True
    """Whether a time-out whose place is not proven may go one place earlier."""

    def __init__(
        self,
        order: Iterator[Delivery],
        again: Callable[[], Iterator[Delivery]],
        ignorable: Callable[[Delivery], bool],
        missing: Callable[[Delivery], None],
        stopped: Callable[[], None],
    ) -> None:
        super().__init__()
        self._order = order
        self._again = again
        self._ignorable = ignorable
        self._missing = missing
        self._stopped = stopped
        self._early: set[Tag] = set()
        self._next = self._read()
        self._after = self._read()
        self._numbers: dict[Tag, int] | None = None
        self._now_us = 0
        self.give_up_us = GIVE_UP_US
        self.quiet_us = QUIET_US
        self._given_up = False
        self.loose: set[int] = set()
        """Events found out of their place: their deliveries need not wait for those that stand before them."""
        self.plumbing: set[int] = set()
        """Events that hand telemetry over: nothing waits for their deliveries, and none of them is in doubt."""
        self.is_missed: Callable[[Delivery], bool] = lambda head: True
        """Whether a recorded answer that no strand awaits tells of a call that was not made."""
        self.doubts: list[int] = []
        self.surplus = 0
        self.granted: list[Delivery] = []
        self.keeping = False
        self.stand_in: Callable[[Tag, Iterable[Tag]], Tag | None] = lambda due, waiting: None
        """The turn that is waited for in place of one that no strand awaits, by a strand of another name."""
        self.under_way: set[int] = set()
        """Calls that the world has yet to answer, in a replay that may ask it: until then no timer fires."""
        self.blocked_strands: BlockedStrands | None = None
        """Who is waited for while a strand blocks where no hook sees it; None: nobody."""
        self.cut_short = False
        """The recorded program died: behind its last delivery nothing has happened, and no timer fires."""
        self._signalled = False
        self._guessed = False
        self._beyond = 0
        self._pick: Callable[[list[Waiter]], Waiter] = itemgetter(0)

    def shuffle(self, seed: int) -> None:
        """Hand answers out in a random order instead, to find out whether the agent depends on it."""
        self._next, self._pick = None, random.Random(seed).choice

    def now_us(self) -> int:
        """Recorded time of the last delivery, or of the timers that fired beyond it."""
        return self._now_us

    def grant(self, tag: Tag, proven: bool) -> int:
        """Its recorded number; -1 for what the recording does not have."""
        head = self._next
        if self.keeping:
            timed = head.timed if head is not None and head.tag == tag else None
            self.granted.append(Delivery(len(self.granted), tag, self._now_us, proven, timed))
        if head is None or head.tag != tag:
            return self._out_of_turn(tag, head)
        self._beyond = 0
        self._now_us = max(self._now_us, head.at_us)
        if not (proven and head.proven) and not self._is_plumbing(tag):
            self.doubts.append(head.number)
        self._advance()
        return head.number

    def _is_plumbing(self, tag: Tag) -> bool:
        return tag.kind == "e" and tag.number in self.plumbing

    def _out_of_turn(self, tag: Tag, head: Delivery | None) -> int:
        """The number of a delivery that is not the next one; -1 where the recording does not have it, or no longer.
        What goes before its place, as an answer found out of it does, is passed over when its own number comes."""
        number = self._number(tag) if head is not None else None
        if head is None or number is None or number < head.number:
            if self._is_plumbing(tag):
                return -1
            self.surplus += 1
            self._beyond += 1
            if self._beyond > ENDLESS and tag.kind == "t" and self.halted is None:
                self._stopped()
            return -1
        self._early.add(tag)
        if self._after is not None and self._after.tag in self._early:
            self._early.remove(self._after.tag)
            self._after = self._read()
        if tag.kind != "e":
            self.doubts.append(number)
        return number

    def _read(self) -> Delivery | None:
        """The next delivery of the recording that has not been given out early."""
        found = next(self._order, None)
        while self._early and found is not None and found.tag in self._early:
            self._early.remove(found.tag)
            found = next(self._order, None)
        return found

    def _advance(self) -> None:
        """Go on to the next number."""
        self._next, self._after = self._after, self._read()
        if self.awaits_signal():
            self.attend(self)

    def immediate(self, tag: Tag) -> bool:
        """The only runnable strand goes on at once when the next number is its own."""
        if self._next is not None and self._next.tag != tag:
            self._pass_over()
        return self._next is not None and self._next.tag == tag and self._hasty() is None

    def alone(self, tag: Tag) -> int | None:
        """``immediate`` and ``grant`` in one step, for a turn that is the next one."""
        head, following = self._next, self._after
        if head is None or head.tag != tag or self.keeping or not head.proven or self._early:
            return super().alone(tag)
        if following is not None and not following.proven and self._hasty() is not None:
            return None
        self.passes += 1
        self._now_us = max(self._now_us, head.at_us)
        self._next, self._after = following, next(self._order, None)
        if following is not None and following.tag.kind == "i":
            self.attend(self)
        return head.number

    def _pass_over(self) -> None:
        """Leave behind what a frozen answer stands for."""
        while self._next is not None and self._next.tag not in self.waiting and self._ignorable(self._next):
            self._advance()

    def choose(self, settled: bool = True) -> Waiter | None:
        """The waiter of the next number. ``settled``: nothing runs, so whatever is not here will not come."""
        while self._next is not None:
            self._pass_over()
            head = self._next
            if head is None:
                break
            if head.tag.kind == "i":
                self.attend(self)  # the watch sends it, from a thread that is not interrupted
                return None
            waiter = self.waiting.get(head.tag)
            if waiter is not None:
                if waiter.alive is None or waiter.alive():
                    # a timer that fires sees its own deadline passed
                    return None if self._is_too_early(head) else self._jump([self._hasty() or waiter])
                del self.waiting[head.tag]
            if not settled and not self._given_up:
                return None
            if self._stands_in(head):
                continue
            other = self._out_of_place() or (self._beyond_recording() if self._beyond < PERIODIC else None)
            if other is not None or self._may_come(head):
                return other
            other = self._leading_to(head)
            if other is None:
                self._unawaited(head)
            if other is not None or self.halted is not None:
                return other
        return self._after_recording()

    def _stands_in(self, head: Delivery) -> bool:
        """Whether the next delivery is waited for under another name: from now on it is waited for under its own."""
        tag = self.stand_in(head.tag, self.waiting)
        if tag is None:
            return False
        waiter = self.waiting.pop(tag)
        waiter.tag = head.tag
        self.waiting[head.tag] = waiter
        return True

    def _unawaited(self, head: Delivery) -> None:
        """Nobody waits for the next delivery, and nobody will: go on to the one after it."""
        if head.tag.kind == "e":
            self._missing(head)
            if self.halted is not None:
                return
        else:
            self.doubts.append(head.number)
        if self._next is head:
            self._advance()

    def _hasty(self) -> Waiter | None:
        """A time-out that goes before the delivery it came behind.

        It was let go while the strand that had this delivery was at work, and that strand had not ended the wait by
        then, for that withdraws the time-out. Where the work takes less time than it took, it would: a queue would
        hold one item more, and the batch would be another one. Its wait has begun already, so nothing is turned round
        but that."""
        after = self._after
        if after is None or after.proven or after.tag.kind != "t" or not self.lets_ahead:
            return None
        waiter = self.waiting.get(after.tag)
        return (
            waiter if waiter is not None and not waiter.sleeper and (waiter.alive is None or waiter.alive()) else None
        )

    def _leading_to(self, head: Delivery) -> Waiter | None:
        """Who may go before a call is said not to be made: a strand that waits for no answer and may yet make it.

        It comes out of its turn where it did more than then, or less: work that is done once was done by another
        request, a thread was let go without proof. A time-out that the recording does not have is the last resort."""
        if head.tag.kind != "e" or not self.is_missed(head):
            return None
        others = [each for each in self.waiting.values() if each.tag.kind != "e" and each.tag.lane != "~never"]
        ready = [each for each in others if each.deadline_us is None]
        if ready and self._beyond <= ENDLESS:  # two that wake each other would go on for ever
            return min(ready, key=lambda each: self._number(each.tag) or 0)
        return self._jump(others) if self._beyond <= HOPES else None

    def _may_come(self, head: Delivery) -> bool:
        """Whether a strand that blocks where no hook sees it may yet come to this delivery."""
        blocked, waited_us = self.blocked_strands, self.blocked_us
        return blocked is not None and waited_us >= 0 and blocked.may_come(head, self.waiting, waited_us, self._now_us)

    def _is_too_early(self, head: Delivery) -> bool:
        """Whether such a strand has yet to ask what it had asked by then."""
        blocked, waited_us = self.blocked_strands, self.blocked_us
        return blocked is not None and waited_us >= 0 and blocked.is_late(head, self.waiting, waited_us)

    def _out_of_place(self) -> Waiter | None:
        """The first waiter for an answer that the matcher found out of its place, or that is plumbing."""
        loose = [tag for tag in self.waiting if self._may_be_early(tag)] if self.loose or self.plumbing else []
        first = min(loose, key=lambda tag: self._number(tag) or 0, default=None)
        return self.waiting[first] if first is not None else None

    def _may_be_early(self, tag: Tag) -> bool:
        return tag.kind == "e" and (tag.number in self.loose or tag.number in self.plumbing)

    def _number(self, tag: Tag) -> int | None:
        if self._numbers is None:
            self._numbers = {delivery.tag: delivery.number for delivery in self._again()}
        return self._numbers.get(tag)

    def _beyond_recording(self) -> Waiter | None:
        """A waiter that no number to come will release: something the recorded program did not have."""
        assert self._next is not None
        sleepers = []
        for waiter in self.waiting.values():
            if waiter.tag.lane == "~never":
                continue
            number = self._number(waiter.tag)
            if number is not None and number >= self._next.number:
                continue
            if waiter.deadline_us is None:
                return waiter
            if waiter.sleeper:
                sleepers.append(waiter)
        return self._jump(sleepers)

    def _after_recording(self) -> Waiter | None:
        waiting = [waiter for waiter in self.waiting.values() if waiter.tag.lane != "~never"]
        answers = [waiter for waiter in waiting if waiter.deadline_us is None]
        if answers:
            return self._pick(answers)
        return None if self.cut_short or self.under_way else self._jump(waiting)

    def _jump(self, timers: list[Waiter]) -> Waiter | None:
        """The earliest of some virtual timers; time jumps to it."""
        first = min(timers, key=lambda waiter: waiter.deadline_us or 0, default=None)
        if first is not None and first.deadline_us is not None:
            self._now_us = max(self._now_us, first.deadline_us)
        return first

    def takes(self, tag: Tag, rested: bool) -> bool:
        """Nothing is sent in a replay, so nobody waits for that: whoever did in the recording takes the turn."""
        with self.lock:
            return rested or self._number(tag) is not None

    def overdue(self, waited_us: int, worked_us: int) -> bool:
        """Whether an awaited delivery may go although something never stops running."""
        charged_us = waited_us - worked_us + worked_us // WORK_RATE
        if self._next is None or self._next.tag not in self.waiting:
            self._given_up = waited_us > self.give_up_us
            return charged_us > SPIN_US
        return charged_us > SPIN_US if self._next.proven else waited_us > UNPROVEN_US

    def signalled(self, turn: Tag, uncounted: bool, runs: bool = False) -> bool:
        """The recorded signal, in its place; another is nobody's when the recording has one like it later."""
        if self.lock._is_owned():  # type: ignore[attr-defined]  # in the middle of what the lock guards: sent again
            return False
        with self.lock:
            head = self._next
            if head is not None and head.tag.kind == "i" and head.tag.number == turn.number:
                self.passes += 1
                self.handles_now(head.tag)
                self._signalled = not runs
                self.contained = self._awaits_call(head.tag)
                self.grant(head.tag, not self._guessed)
                self._guessed = False
                self.running += runs
                return True
            handled = not self.signals_later(turn.number)
            self.contained = None
            if handled:
                self.handles_now(turn)
            self.running += runs and handled
            return handled

    def unproven_so_far(self) -> list[int]:
        """Numbers of the recorded deliveries, up to the next one, whose order is not proven."""
        with self.lock:
            last = self._next.number if self._next is not None else sys.maxsize
            return [
                each.number for each in takewhile(lambda each: each.number <= last, self._again()) if not each.proven
            ]

    def signals_later(self, number: int) -> bool:
        """Whether a recorded signal of that number is yet to come."""
        with self.lock:
            first = self._next.number if self._next is not None else sys.maxsize
            tags = (each.tag for each in self._again() if each.number >= first) if self._next is not None else ()
            return any(tag.kind == "i" and tag.number == number for tag in tags)

    def awaits_signal(self) -> bool:
        """Whether the next delivery is a signal."""
        return self._next is not None and self._next.tag.kind == "i"

    def signal_due(self, waited_us: int) -> bool:
        """Send it when everybody waits; while somebody computes, as long after the last delivery as it came then."""
        head, waits = self._next, self.running <= 0
        if head is None or head.tag.kind != "i" or self.halted is not None:
            return False
        if not waits and self._awaits_call(head.tag) is False:  # that call has not been made yet, if it ever is
            if self.waiting and waited_us > self.give_up_us:
                self.doubts.append(head.number)
                self._advance()
            return False
        due_us = SIGNAL_US if waits else max(UNPROVEN_US, head.at_us - self._now_us)
        if waited_us < due_us or (not waits and waited_us < due_us + SPIN_US and self._has_yet_to_come(head.tag)):
            return waits
        if waited_us > due_us + STUCK_US or not self.process.ring(head.tag.number):  # no handler now, or it never runs
            self.doubts.append(head.number)
            self._advance()
            if waits:
                self.pump()
        else:
            self._guessed = not waits
        return True

    def meets(self, lane: Lane) -> None:
        """A lane is about to go on from where it is, by a call, a look at a clock, a printed text. A signal that is
        recorded there comes now, unless it has come: nearer than that its place in a computation is not known.

        Called in the thread that goes on, which holds no lock."""
        head = self._next
        came = interruption(head.tag) if head is not None else None
        if head is None or came is None or head.tag.lane != lane.path or not self._is_at(came, lane):
            return
        self._guessed = True
        self.process.ring(head.tag.number)

    def _is_at(self, came: Interruption, lane: Lane) -> bool:
        return (came.position, came.steps) == (lane.position, steps_of(lane))

    def _has_yet_to_come(self, tag: Tag) -> bool:
        """Whether the lane that a signal interrupted has yet to come to where it was then, as far as is known."""
        came, lane = interruption(tag), self.lane_at(tag.lane)
        if came is None or lane is None or came.steps < 0:
            return False
        return (lane.position, steps_of(lane)) < (came.position, came.steps)

    def _awaits_call(self, tag: Tag) -> bool | None:
        """Whether somebody awaits the answer of the call that a signal came in; None where it came in none."""
        event = call_around(tag)
        return None if event is None else any(self._is_of(waiting, event) for waiting in self.waiting)

    def _is_of(self, tag: Tag, event: int) -> bool:
        """Whether a turn hands over part of a recorded event."""
        return tag.kind == "e" and tag.number == event

    def stalled(self, waited_us: int) -> None:
        """Nothing runs and nothing has come for a while: this is the end."""
        if self._signalled:  # the handler has returned, and its strand waits again
            self._signalled = False
            self.pump()
            return
        if waited_us > STUCK_US and self.halted is None and not self.under_way:
            self._stopped()

    def silent(self, waited_us: int) -> None:
        """A strand blocks in something of its own, and everything else waits for what does not come: the end, once that
        has lasted longer than anything of its own may."""
        patience_us = self.give_up_us if self.waiting else self.quiet_us
        if waited_us > patience_us and self.halted is None and not self.under_way:
            self._stopped()
