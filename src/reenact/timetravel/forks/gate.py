"""The order of a fork: the parent's as far as it reaches, and what is live takes the place of what it stands for.

Up to the cut it is a replay's. After it, the parent's order still says which of several answers comes first: a call
that is performed takes the place of the recorded one that it stands for, and the gate waits for it there; what the
recording does not have comes when it is there. Time is virtual: it passes at the world's speed while a call is under
way, and jumps to the next timer otherwise. A timer that is set for longer or for less than it was comes by time. Every
turn gets a number of the fork's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reenact.abc.sources import Clock
from reenact.facts.order import Delivery, Tag, event_tag
from reenact.replaying.order import ReplayGate
from reenact.seams.gate import Gate, Waiter
from reenact.timetravel.forks.timing import LATE_US, Coming, Timing

OWN = "~own"
"""The lane in the tags of the fork's own events: their numbers are not the parent's."""
PATIENCE_US = 60_000_000
"""How long the order waits for live calls that may yet lead to what comes next in it."""


@dataclass(slots=True)
class Flight:
    """A call that is being performed.

    Attributes:
        stands_for: The recorded event in whose place it is delivered.
        virtual_us, real_us: When it set out.
        over: Whether it has come to its end.
        listens: Whether it waits for what a server says by itself: nobody need ever answer it.
        rests: Whether the agent does not read it just now: it brings nothing before that.
        works: Whether it is the agent's own code at work in the world (a tool): it ends by itself, but what it sleeps
            through is the world's time.
    """

    stands_for: int | None
    virtual_us: int
    real_us: int
    over: bool = False
    listens: bool = False
    rests: bool = False
    works: bool = False


def own_tag(event: int, part: int) -> Tag:
    """The tag of a part of one of the fork's own events."""
    return Tag("e", OWN, event, part)


class ForkGate(ReplayGate):
    """Hands deliveries out in the parent's order as far as it reaches.

    Args:
        clock: Our own clock.
        worked_us: For how long this process has worked, in microseconds of its processors.
        lane_seen: Told the path of each lane that a tag names.
        parts: What a ``ReplayGate`` takes.
    """

    def __init__(
        self, clock: Clock, worked_us: Callable[[], int], lane_seen: Callable[[str], object], *parts: Any
    ) -> None:
        super().__init__(*parts)
        self._clock = clock
        self._cpu_us = worked_us
        self._lane_seen = lane_seen
        self._fresh: list[Delivery] = []
        self._given: set[Tag] = set()
        self.numbers: dict[int, int] = {}
        """Numbers in the fork of the parent's events that have been answered from the recording."""
        self.flights: dict[int, Flight] = {}
        """Live transports under way, by their number in the fork."""
        self.places: dict[int, int] = {}
        """Parent's events in whose place the fork's own are delivered, by the number of the own."""
        self.unanswered: dict[Tag, Any] = {}
        """Calls that wait although the recording has no answer for them, by what they wait for, oldest first."""
        self.revive: Callable[[], bool] = lambda: False
        """Has the oldest of them performed that may be; False: none may."""
        self.give_up: Callable[[], bool] = lambda: False
        """Stops the fork at the oldest of them, whose outcome nobody knows; False: none waits."""
        self.cut = False
        self.open_ended = False
        """Whether the cut is the end of the parent's order, if no call comes to it before."""
        self.reached_end: Callable[[], object] = lambda: None
        self.by_time = False
        """Whether a timer that has another deadline than it had comes by time; else all keep the parent's order."""
        self._timing = Timing()
        self._cpu_before_us = worked_us()
        self._real_since_us: int | None = None
        self._ahead_us = 0
        self.count = 0
        self._number_next = 0
        self.unproven = 0

    def goes_real(self) -> None:
        """From now on time passes at the world's speed, whether a call is under way or not."""
        with self.lock:
            self._real_since_us = self._clock.mono_us() - self._now_us

    @property
    def ticking(self) -> bool:
        """Whether time passes by itself."""
        return self._real_since_us is not None or bool(self.flights)

    # --- calls under way ---------------------------------------------------------------------------------------

    def sets_out(self, event: int, stands_for: int | None, *, transport: bool, works: bool = False) -> None:
        """A call of the fork is performed, in the place of a recorded one if it stands for any."""
        with self.lock:
            if stands_for is not None:
                self.places[event] = stands_for
            if transport or works:
                self.flights[event] = Flight(stands_for, self._now_us, self._clock.mono_us(), works=works)

    def listens(self, event: int) -> None:
        """A call of the fork waits for what a live server says by itself: it comes when it comes."""
        with self.lock:
            self.flights[event] = Flight(None, self._now_us, self._clock.mono_us(), listens=True)

    def await_answer(self, tag: Tag, call: Any) -> None:
        """A call waits at ``tag``; one that was cancelled in the parent may wait for what nobody will do here."""
        if call.form == "open":
            self.unanswered[tag] = call

    def rests(self, event: int, rests: bool) -> None:
        """The agent reads the output of a live process, or has stopped to."""
        with self.lock:
            if event in self.flights:
                self.flights[event].rests = rests

    def arrives(self, event: int) -> None:
        """It has come to its end, which is yet to be handed over."""
        with self.lock:
            if event in self.flights:
                self.flights[event].over = True

    def lost(self, event: int) -> None:
        """Nobody waits for it any more."""
        with self.lock:
            self.flights.pop(event, None)

    def _away(self) -> list[Flight]:
        """Flights that have nothing at the gate: the world has yet to answer."""
        here = {tag.number for tag in self.waiting if tag.lane == OWN}
        return [
            flight
            for event, flight in self.flights.items()
            if not (flight.over or flight.listens or flight.rests or flight.works) and event not in here
        ]

    @property
    def asks(self) -> bool:
        """Whether the world is being asked."""
        return self.parting > 0 or not all(flight.works for flight in self.flights.values())

    def _sleeps_in_the_world(self) -> bool:
        """Whether the agent's own code is at work in the world, and somebody waits for a moment to come."""
        works = any(flight.works and not flight.over for flight in self.flights.values())
        return works and any(waiter.deadline_us is not None for waiter in self.waiting.values())

    def _is_not_due(self, waiter: Waiter) -> bool:
        """Whether a timer's moment has not come, by the world's time."""
        return (
            waiter.deadline_us is not None and self._sleeps_in_the_world() and waiter.deadline_us > self._real_now_us()
        )

    def _listening(self) -> bool:
        """Whether a live server may say something by itself."""
        return any(flight.listens for flight in self.flights.values())

    def _real_now_us(self) -> int:
        """The agent's time as it passes while calls are under way."""
        now_us = self._clock.mono_us()
        if self._real_since_us is not None:
            return max(self._now_us, now_us - self._real_since_us)
        return max([self._now_us, *(each.virtual_us + now_us - each.real_us for each in self.flights.values())])

    # --- time --------------------------------------------------------------------------------------------------

    def answers_later(self, event: int, issued_us: int, came_us: int) -> None:
        """A call is made whose answer is recorded: ``event`` of the parent, from when to when."""
        self._timing.asks(event, self._now_us, issued_us, came_us, self._cpu_us() - self._cpu_before_us)

    def offer(
        self,
        tag: Tag,
        wake: Callable[[], None],
        *,
        alive: Callable[[], bool] | None = None,
        deadline_us: int | None = None,
        sleeper: bool = False,
    ) -> Waiter:
        """As any gate does it; when a timer was set is remembered."""
        if deadline_us is not None:
            with self.lock:
                worked_us = self._cpu_us() - self._cpu_before_us
                self._timing.sets(tag, self._now_us, deadline_us - self._now_us, worked_us)
        return super().offer(tag, wake, alive=alive, deadline_us=deadline_us, sleeper=sleeper)

    def _comes(self, waiter: Waiter | None, tag: Tag, head: Delivery) -> Coming | None:
        """When it comes to whoever waits, or is about to wait, for the next place; None for what is there already."""
        if waiter is not None and waiter.deadline_us is not None:
            return self._timing.timer(tag)
        return self._timing.answer(tag.number, head.at_us) if tag.kind == "e" and tag.lane != OWN else None

    def _sooner(self, head: Delivery, comes: Coming | None) -> Waiter | None:
        """Who goes before the next place, where time says so."""
        if comes is None or not (self.cut and self.by_time):
            return None
        return self._timing.sooner(self.waiting.values(), head.tag, comes)

    # --- numbering ---------------------------------------------------------------------------------------------

    def take_fresh(self) -> tuple[Delivery, ...]:
        """Deliveries numbered since the last call. Called by the writer."""
        count = len(self._fresh)
        fresh = tuple(self._fresh[:count])
        del self._fresh[:count]
        return fresh

    def grant(self, tag: Tag, proven: bool) -> int:
        """Give it the fork's next number, and go on in the parent's order where it was there."""
        place = self._place(tag)
        head = self._next
        if self._real_since_us is not None:
            self._now_us = self._real_now_us()
        if tag.lane == OWN and tag.number in self.flights:
            self._now_us = self._real_now_us()
            if self.flights[tag.number].over:
                del self.flights[tag.number]
        number = self._number_next
        if head is not None and head.tag == place:
            if not self.cut:  # what a frozen answer stands for leaves its numbers out
                number = max(number, head.number)
            self._now_us = max(self._now_us, head.at_us)
            self._ahead_us = self._now_us - head.at_us
            self._advance()
        elif place is not None and self._number(place) is not None:
            self._given.add(place)
        self._number_next = number + 1
        self.count += 1
        self.unproven += not proven
        if tag.lane and tag.lane != OWN:
            self._lane_seen(tag.lane)
        self._fresh.append(Delivery(number, self._named(tag), self._now_us, proven))
        self._cpu_before_us = self._cpu_us()
        return number

    def _named(self, tag: Tag) -> Tag:
        """The tag as the fork's own recording has it."""
        if tag.kind != "e":
            return tag
        return event_tag(tag.number if tag.lane == OWN else self.numbers.get(tag.number, tag.number), tag.n)

    def _place(self, tag: Tag) -> Tag | None:
        """Where in the parent's order it stands; None where it has no place there."""
        if tag.lane != OWN:
            return tag
        stands_for = self.places.get(tag.number)
        return event_tag(stands_for, tag.n) if stands_for is not None else None

    # --- choosing ----------------------------------------------------------------------------------------------

    def immediate(self, tag: Tag) -> bool:
        """The only runnable strand goes on at once when the next place is its own."""
        place = self._place(tag)
        if place is not None and self._next is not None and self._next.tag != place:
            self._pass_over()
        head = self._next
        if place is None or head is None or head.tag != place:
            return False
        return not self.waiting or self._sooner(head, self._comes(None, tag, head)) is None

    def alone(self, tag: Tag) -> int | None:
        """As any gate does it."""
        return Gate.alone(self, tag)

    def _pass_over(self) -> None:
        while self._next is not None:
            head = self._next
            if head.tag in self._given:
                self._given.remove(head.tag)
            elif self._at(head.tag) is not None or not self._ignorable(head):
                return
            self._advance()

    def _at(self, place: Tag) -> Waiter | None:
        """Who waits for a place in the parent's order."""
        waiter = self.waiting.get(place)
        if waiter is None and place.kind == "e":
            for tag, other in self.waiting.items():
                if tag.lane == OWN and self._place(tag) == place:
                    return other
        return waiter

    def choose(self, settled: bool = True) -> Waiter | None:
        """The waiter of the next place; of what has no place, whoever is there."""
        if not self.cut:
            if not self.open_ended or self._next is not None:
                return super().choose(settled)
            self.reached_end()
        return self._behind_the_cut(settled)

    def _behind_the_cut(self, settled: bool) -> Waiter | None:
        while True:
            self._pass_over()
            head = self._next
            if head is None:
                return self._after_order()
            if head.tag.kind == "i":
                self.attend(self)  # the watch sends the signal
                return None
            waiter = self._at(head.tag)
            sooner = self._sooner(head, self._comes(waiter, waiter.tag, head)) if waiter is not None else None
            waiter = sooner or waiter
            if waiter is None:
                if not settled and not self._given_up:
                    return None
                found, skip = self._beside(head.tag)
                if not skip:
                    return found
                self._advance()
            elif waiter.alive is not None and not waiter.alive():
                del self.waiting[waiter.tag]
            elif sooner is not None or not self._is_put_off(waiter, head):
                return self._in_time(waiter, placed=sooner is None)
            else:
                self._advance()
                if self._asks_what_was_cut_short():
                    return None

    def _in_time(self, waiter: Waiter, *, placed: bool) -> Waiter | None:
        """Whoever is to go goes; a timer not before its moment by the world's time, where the agent's own code sleeps
        there, or where no order says that the timer comes before a call under way."""
        by_world = waiter.deadline_us is not None and not placed and bool(self._away())
        return self._due() if by_world or self._is_not_due(waiter) else self._jump([waiter])

    def _is_put_off(self, timer: Waiter, head: Delivery) -> bool:
        """Whether a timer has a later deadline than it had: it has no place in the order any more."""
        if timer.deadline_us is None or timer.deadline_us <= head.at_us + self._ahead_us + LATE_US:
            return False
        return self.by_time or bool(self.unanswered)

    def _asks_what_was_cut_short(self) -> bool:
        """Whether a call that was cancelled in the parent, as by a timer that has a later deadline now, is asked, or
        stops the fork."""
        return bool(self.unanswered) and (self.revive() or self.give_up())

    def _beside(self, place: Tag) -> tuple[Waiter | None, bool]:
        """Who may go while nobody waits for the next place, and whether that place is to be passed over."""
        if self._is_awaited(place):
            said = self._without_place() if self._listening() else None  # its answer may wait for what we answer
            return said or self._due(), False
        beyond = self._without_place()
        if beyond is not None:
            return beyond, False
        if (self._away() or self._sleeps_in_the_world()) and not self._out_of_patience():
            return self._due(), False  # what it leads to may be what comes next
        return None, True

    def _is_awaited(self, place: Tag) -> bool:
        """Whether a call under way is to be answered at this place."""
        return place.kind == "e" and any(flight.stands_for == place.number for flight in self._away())

    def _out_of_patience(self) -> bool:
        now_us = self._clock.mono_us()
        under_way = [flight for flight in self.flights.values() if not (flight.listens or flight.works)]
        return bool(under_way) and all(now_us - flight.real_us > PATIENCE_US for flight in under_way)

    def _without_place(self) -> Waiter | None:
        """Somebody who waits for what the parent's order does not have, or has already had."""
        timers = []
        for waiter in self.waiting.values():
            if waiter.tag.lane == "~never":
                continue
            place = self._place(waiter.tag)
            number = self._number(place) if place is not None else None
            if number is not None and self._next is not None and number >= self._next.number:
                continue
            if waiter.deadline_us is None:
                return waiter
            if waiter.sleeper:
                timers.append(waiter)
        return self._due() if self.ticking else self._jump(timers)

    def _after_order(self) -> Waiter | None:
        timers = []
        for waiter in self.waiting.values():
            if waiter.tag.lane == "~never":
                continue
            if waiter.deadline_us is None:
                return waiter
            timers.append(waiter)
        if self.unanswered and not self._away() and self.revive():
            return None
        asked = self._away() or self._listening() or self._sleeps_in_the_world()
        real = asked or self._real_since_us is not None
        return self._due() if real else self._jump(timers)

    def _due(self) -> Waiter | None:
        """While the world answers, time passes at its speed: a timer whose moment has come."""
        now_us = self._real_now_us() if self.ticking else self._now_us
        timers = [w for w in self.waiting.values() if w.deadline_us is not None and w.deadline_us <= now_us]
        return self._jump(timers)

    def stalled(self, waited_us: int) -> None:
        """Nothing runs: the end, unless the world has yet to answer."""
        if self._may_yet_come(waited_us):
            self.pump()
        else:
            super().stalled(waited_us)

    def _may_yet_come(self, waited_us: int) -> bool:
        """Whether the world has yet to bring something."""
        real = self.cut and self._real_since_us is not None and not self._hopes_for_nothing()
        return bool(self._away() or self.parting or real or self._sleeps_in_the_world()) or self._hears(waited_us)

    def _hopes_for_nothing(self) -> bool:
        """Whether everybody waits for what was never handed over: time that passes brings none of it."""
        return bool(self.waiting) and all(tag.lane == "~never" for tag in self.waiting)

    def _hears(self, waited_us: int) -> bool:
        """Whether a live server may yet say what everybody waits for, or a timer comes first."""
        timed = any(waiter.deadline_us is not None for waiter in self.waiting.values())
        return self._listening() and (timed or waited_us < PATIENCE_US)

    def silent(self, waited_us: int) -> None:
        """The same where a strand blocks in something of its own."""
        if not self._may_yet_come(waited_us):
            super().silent(waited_us)
