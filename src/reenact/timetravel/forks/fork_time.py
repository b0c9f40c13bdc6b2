"""The time of a fork: virtual time, which passes at the world's speed while a call is under way, and differs from the
parent's once the fork leaves that.

It agrees with the parent's time as long as every delivery comes at its recorded time. Once a timer or a live call comes
at another time, the fork has a time of its own. The code's work and its recorded calls then take as long as they took
in the parent, and clocks that only measure show this time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reenact.abc.sources import Clock
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.order import Delivery, Tag, TimerSpan
from reenact.replaying.recorded_order import RecordedOrder
from reenact.seams.gate import Gate
from reenact.seams.waits import Waiter
from reenact.timetravel.forks.due_moments import LATE_US, DueMoments, is_shorter
from reenact.timetravel.forks.elapsed_time import ElapsedTime
from reenact.timetravel.forks.waiter_lines import WaiterLines, WaiterTable

OWN = "~own"
"""The lane in the tags of the fork's own events: their numbers are not the parent's."""
UNSURE = (
    "a timer is so near to a recorded answer, or to another timer, that their order is uncertain: they keep the "
    "recorded order if both have a place in it"
)
SHORTER = (
    "a timer waits less than it did when it was recorded: it fires at its own moment, and clocks that only measure "
    "show the fork's time from there on"
)
WALL = (
    "the wall clock (time.time, datetime.now) is as recorded, but a timer or a live call took longer or less: "
    "code that waits by the wall clock does not notice"
)
"""The remarks on a fork, each made once."""


@dataclass(slots=True)
class Flight:
    """A call that is being performed.

    Attributes:
        stands_for: The recorded event in whose place it is delivered.
        virtual_us, real_us: The moment at which it began, in virtual and in real time.
        over: Whether it has ended.
        listens: Whether it waits for messages that a server sends by itself; it may never get one.
        rests: Whether the agent does not read it at present: it delivers nothing until the agent reads again.
        works: Whether it is the agent's own code at work in the world (a tool): it ends by itself, but it sleeps in the
            world's time.
    """

    stands_for: int | None
    virtual_us: int
    real_us: int
    over: bool = False
    listens: bool = False
    rests: bool = False
    works: bool = False


class ForkTime:
    """Knows the time in a fork, and the calls that the world has yet to answer.

    Args:
        gate: The gate at which the fork's strands wait.
        order: The parent's order, how far the fork has come in it, and when that was.
        clock: Our own clock.
        worked_us: Gives the working time of this process, in microseconds of its processors.
    """

    def __init__(self, gate: Gate, order: RecordedOrder, clock: Clock, worked_us: Callable[[], int]) -> None:
        self._order = order
        self._gate = gate
        self._gate.waiting = WaiterTable(self._joins)
        self._lines: WaiterLines | None = None
        self.clock = clock
        self.worked_us = worked_us
        self._worked_before_us = worked_us()
        self.flights: dict[int, Flight] = {}
        """Live transports under way, by their number in the fork."""
        self.places: dict[int, int] = {}
        """The parent's events in whose place the fork's own events are delivered, by the number in the fork."""
        self.cut = False
        self.by_time = False
        """Whether a timer with a changed deadline comes by time; else all timers keep the parent's order."""
        self.differs = False
        """Whether anything is different yet: the change has been made, or a call has gone live. While a fork repeats
        its parent, a late delivery was late in the parent too."""
        self.tell: Callable[[str], object] = lambda remark: None
        """Called once with each remark on the order and the times of the fork."""
        self.remarked: set[str] = set()
        self.due = DueMoments()
        self.progress = ElapsedTime(order.again)
        self._real_since_us: int | None = None
        self.set_us = 0
        """When the code set a timer or an alarm last."""

    def goes_real(self) -> None:
        """From now on time passes at the world's speed, whether a call is under way or not."""
        with self._gate.lock:
            self._real_since_us = self.clock.mono_us() - self._order.at_us

    @property
    def is_real(self) -> bool:
        """Whether time always passes at the world's speed: in a resumption, after its cut."""
        return self._real_since_us is not None

    @property
    def ticking(self) -> bool:
        """Whether time passes by itself."""
        return self.is_real or bool(self.flights)

    # --- calls under way ---------------------------------------------------------------------------------------

    def sets_out(self, event: int, stands_for: int | None, *, transport: bool, works: bool = False) -> None:
        """The fork begins to perform a call, in the place of its recorded counterpart, if there is one."""
        with self._gate.lock:
            if stands_for is not None:
                self.places[event] = stands_for
            self.differs = True
            if transport or works:
                self.flights[event] = Flight(stands_for, self.known_us(), self.clock.mono_us(), works=works)

    def listens(self, event: int) -> None:
        """A call of the fork waits for messages that a live server sends by itself, at any time."""
        with self._gate.lock:
            self.differs = True
            self.flights[event] = Flight(None, self.known_us(), self.clock.mono_us(), listens=True)

    def rests(self, event: int, rests: bool) -> None:
        """The agent begins to read the output of a live process, or (``rests``) stops reading it."""
        with self._gate.lock:
            if event in self.flights:
                self.flights[event].rests = rests

    def arrives(self, event: int) -> None:
        """The call has ended in the world; its end has yet to be handed to the agent."""
        with self._gate.lock:
            if event in self.flights:
                self.flights[event].over = True

    def lost(self, event: int) -> None:
        """Note that no strand waits for a call any more."""
        if event in self.flights:  # most are over; so a finaliser, which may run under any lock, seldom takes this one
            with self._gate.lock:
                self.flights.pop(event, None)

    def away(self, waiting: Iterable[Tag]) -> list[Flight]:
        """Flights without a delivery at the gate: the world has yet to answer them."""
        here = {tag.number for tag in waiting if tag.lane == OWN}
        return [
            flight
            for event, flight in self.flights.items()
            if not (flight.over or flight.listens or flight.rests or flight.works) and event not in here
        ]

    @property
    def asks(self) -> bool:
        """Whether a request to the world is under way."""
        return self._gate.parting > 0 or not all(flight.works for flight in self.flights.values())

    def sleeps_in_the_world(self, waiting: Mapping[Tag, Waiter]) -> bool:
        """Whether the agent's own code is at work in the world, and a strand waits for a moment to come."""
        works = any(flight.works and not flight.over for flight in self.flights.values())
        return works and any(waiter.deadline_us is not None for waiter in waiting.values())

    def listening(self) -> bool:
        """Whether a live server may send messages by itself."""
        return any(flight.listens for flight in self.flights.values())

    def real_now_us(self) -> int:
        """The agent's time as it passes while calls are under way."""
        now_us = self.clock.mono_us()
        if self._real_since_us is not None:
            return max(self._order.at_us, now_us - self._real_since_us)
        return max([self._order.at_us, *(each.virtual_us + now_us - each.real_us for each in self.flights.values())])

    # --- time --------------------------------------------------------------------------------------------------

    @property
    def goes_by_time(self) -> bool:
        """Whether deliveries without a place in the parent's order come by time."""
        return self.cut and self.by_time and self.differs

    @property
    def departed(self) -> bool:
        """Whether the fork has left its parent's times: a timer, or a call that went live, took another time."""
        return self.progress.departed

    def departs(self) -> None:
        """Note that the fork leaves its parent's times here."""
        self.progress.departed = True
        self._lines = None  # from now on the moments of parts, and of waiters that can go already, matter

    def remark(self, remark: str) -> None:
        """Make a remark on the fork, once."""
        if remark not in self.remarked:
            self.remarked.add(remark)
            self.tell(remark)

    def known_us(self) -> int:
        """The agent's time now, with the code's work since the last delivery as far as that is known."""
        if self.is_real:
            return self.real_now_us()
        return max(self._order.at_us, self.progress.known_us) if self.goes_by_time else self._order.at_us

    def comes_to(self, issued_us: int, unread_ns: int | None) -> None:
        """The code makes a call that it made at ``issued_us`` of the parent.

        Args:
            issued_us: The moment at which the parent made it.
            unread_ns: The next recorded reading of a clock that only measures, which this lane has not made yet; None:
                nothing.
        """
        with self._gate.lock:
            if not self.goes_by_time:
                return
            if unread_ns is None or unread_ns > issued_us * 1000:
                self._works_until(issued_us * 1000)
            elif not self.departed and self.progress.is_far(issued_us):
                self.departs()  # the lane read the clock more often in the parent

    def sets_at(self, then_ns: int | None) -> int:
        """The code sets a timer or alarm; the parent did at ``then_ns`` (None: never). Returns when, in nanoseconds."""
        with self._gate.lock:
            if self.goes_by_time:
                self._works_until(self._was_set_at(then_ns))
            self.set_us = self.known_us()
            if then_ns is not None and not self.goes_by_time:  # the parent's time is the fork's
                self.set_us = max(self.set_us, then_ns // 1000)
            return self.set_us * 1000

    def would_set_at(self, then_ns: int | None) -> int:
        """When a timer would be set now, in nanoseconds: the result of ``sets_at``, if the parent had set one before
        its next delivery. Notes nothing."""
        with self._gate.lock:
            at_us, head = self.known_us() if self.is_real else self._order.at_us, self._order.head
            if self.goes_by_time:
                return max(at_us, self.progress.moment_us(self._lead_ns(self._was_set_at(then_ns)))) * 1000
            if then_ns is not None and head is not None:
                then_ns = min(then_ns, head.at_us * 1000)
            return max(at_us * 1000, then_ns or 0)

    def _was_set_at(self, then_ns: int | None) -> int | None:
        """The parent's moment for a timer that it set at ``then_ns``; None: it never set that timer."""
        head = self._order.head
        if then_ns is None and head is not None and not (head.proven or self.departed):
            return head.at_us * 1000  # the parent's code was still at work when this delivery came
        return then_ns

    def _busy_ns(self) -> int:
        """The actual working time since the progress was last known."""
        return (self.worked_us() - self._worked_before_us) * 1000

    def _works_until(self, then_ns: int | None) -> None:
        """The code has worked until a moment of the parent. None: the parent was never here, so actual time counts."""
        self.progress.lead_ns = self._lead_ns(then_ns)
        self._worked_before_us = self.worked_us()

    def _lead_ns(self, then_ns: int | None) -> int:
        """How long the code has worked since the last delivery, if it is at that moment of the parent."""
        if then_ns is None:
            return self.progress.lead_ns + self._busy_ns()
        return self.progress.lead_at(then_ns, self._order.head.at_us if self._order.head is not None else None)

    def reads_clock(self, clock: tuple[str, str], then_ns: int, step_ns: int) -> int | None:
        """A clock that only measures is read.

        Args:
            clock: The lane that reads, and the clock.
            then_ns: Its reading at this place, in nanoseconds since the run began.
            step_ns: How far a surplus read goes on; 0 for a recorded read.

        Returns:
            Its reading now; None for the recorded reading.
        """
        if not self.goes_by_time:
            return None
        with self._gate.lock:
            progress, head = self.progress, self._order.head
            if not self.departed and step_ns:  # the code works longer than in the parent
                late = head is not None and then_ns > (head.at_us + LATE_US) * 1000
                if late or self._busy_ns() > LATE_US * 1000:
                    self.departs()
            elif not self.departed and head is not None and progress.is_beyond(clock[0], then_ns, head.at_us):
                self.departs()
            if not self.departed:
                if not step_ns:
                    self._works_until(then_ns)
                progress.as_recorded(then_ns)
                return None
            now_us = self.real_now_us() if self.ticking else self._order.at_us
            if step_ns:  # how long the parent worked here is not known: take the actual duration
                step_ns = max(step_ns, self._busy_ns())
            shown_ns = progress.goes_on(clock, step_ns, now_us) if step_ns else progress.reads(clock, then_ns, now_us)
            self._worked_before_us = self.worked_us()
            return shown_ns

    def is_the_same(self, then: tuple[float, ...], now: tuple[float, ...]) -> bool:
        """Whether an alarm has the same time left as in the parent, in seconds, within the accuracy to which the code's
        progress is known. While nothing is different yet, the progress is the same."""
        if not self.differs and not self.is_real:
            return True
        known_s = LATE_US / 1e6 + (len(then) == 1)  # whole seconds are rounded
        (left_then, *every_then), (left_now, *every_now) = then, now
        return bool(left_then) == bool(left_now) and every_then == every_now and abs(left_then - left_now) < known_s

    def answers_later(self, event: int, issued_us: int, came_us: int) -> None:
        """Note that a call gets the answer of ``event``, issued at ``issued_us`` and answered at ``came_us``."""
        if not self.by_time:
            return
        with self._gate.lock:
            forgotten = self.due.asks(event, self.known_us(), issued_us, came_us)
            if self._lines is not None and not self._lines.events.isdisjoint((event, forgotten)):
                self._lines = None

    def sets(self, tag: Tag, times: TimerSpan) -> None:
        """A timer is set. Locked."""
        if self.due.sets(tag, times) in self._gate.waiting:
            self._lines = None

    def comes(self, waiter: Waiter | None, tag: Tag, at_us: int | None) -> int | None:
        """When a delivery comes that the parent handed out at ``at_us``, and for which a strand waits or is about to
        wait. None for an answer that has come already."""
        if waiter is not None and waiter.deadline_us is not None:
            timer = self.due.timer(tag)
            return timer.due_us if timer is not None else None
        return self.due.answer(tag.number, at_us) if tag.kind == "e" and tag.lane != OWN else None

    # --- waiters -----------------------------------------------------------------------------------------------

    def _joins(self, waiter: Waiter, replaces: bool) -> None:
        """Take in a waiter that begins to wait."""
        if self._lines is None or replaces or self._lines.is_stale:
            self._lines = None
        else:
            self._lines.join(waiter)

    def by_moment(self) -> WaiterLines:
        """The waiters in the order of their moments. In a time of the fork's own, the moment of a waiter that can go
        already is now: its moment in the parent's order may be far away."""
        if self._lines is None:
            self._lines = WaiterLines(self._gate.waiting, self._coming_of, self._is_there)
        return self._lines

    def _coming_of(self, waiter: Waiter) -> int | None:
        return self.comes(waiter, waiter.tag, self.then_us(waiter.tag) if waiter.tag.kind == "e" else None)

    def _is_there(self, waiter: Waiter) -> bool:
        tag = waiter.tag
        return self.departed and tag.lane != "~never" and (tag.kind != "e" or tag.lane == OWN)

    def then_us(self, place: Tag | None) -> int | None:
        """When the parent handed out a delivery; None if it did not, or if the moment was not needed so far."""
        number = self._order.number_of(place) if self.departed and place is not None else None
        return self.progress.moments.of(number)[0] if number is not None else None

    def sooner(self, tag: Tag, comes: int | None, held: tuple[Tag, ...] = ()) -> Waiter | None:
        """The waiter that goes before the next one in the order because its moment is earlier; None without one."""
        if comes is None or not self.goes_by_time:
            return None
        return self.by_moment().sooner(tag, comes, self.known_us(), *held, answers=self.departed)

    def is_unsure(self, tag: Tag, comes: int | None, held: tuple[Tag, ...] = ()) -> bool:
        """Whether it is uncertain that the next delivery of the order comes first, and no remark says so yet."""
        if comes is None or not self.goes_by_time or UNSURE in self.remarked:
            return False
        timer = self.due.timer(tag) is not None
        return self.by_moment().is_unsure(tag, comes, self.known_us(), *held, timer=timer)

    def passes(self, tag: Tag, place: Tag | None) -> TimerSpan | None:
        """Have the time pass until a delivery. (Its place may be the next one, an earlier one or a later one.)

        Returns:
            The moments at which a timer was set and is due; None for any other delivery."""
        flight = self.flights.get(tag.number) if tag.lane == OWN else None
        if flight is not None or self.is_real:
            self._order.at_us = self.real_now_us()
        if flight is not None and flight.over:
            del self.flights[tag.number]
        timer = self.due.over(tag)
        self.progress.delivered(self._passed(tag, place, timer, flight), self._order.at_us)
        if self.by_time:  # else not measured, because the query costs more than all the rest
            self._worked_before_us = self.worked_us()
        return timer

    def _passed(self, tag: Tag, place: Tag | None, timer: TimerSpan | None, flight: Flight | None) -> int | None:
        """Move the fork's time on to a delivery. Returns when the parent had the delivery; None if it had none."""
        order, head = self._order, self._order.head
        head = head if head is not None and head.tag == place else None
        if self.goes_by_time and not self.departed and self._takes_another_time(head, timer, flight):
            self.departs()
        if not self.departed:
            if head is not None:
                order.at_us = max(order.at_us, head.at_us)
            return head.at_us if head is not None else None
        number = head.number if head is not None else order.number_of(place) if place is not None else None
        at_us, after_us = self.progress.moments.of(number) if number is not None else (None, 0)
        coming = self.comes(None, tag, at_us)
        worked_us = after_us if timer is None and coming is None and flight is None else 0
        comes_us = coming if coming is not None else 0
        then = self.progress.moments.times.get(number) if number is not None else None
        if timer is not None and at_us is not None and then is not None and not is_shorter(timer, then):
            comes_us = timer.due_us + max(0, at_us - then.due_us)  # as late as in the parent
        order.at_us = max(order.at_us + worked_us, self.progress.known_us, comes_us)
        return at_us

    def _takes_another_time(self, head: Delivery | None, timer: TimerSpan | None, flight: Flight | None) -> bool:
        """Whether a delivery comes at another time than in the parent: a timer with another wait, or a live call."""
        if head is None:
            return timer is not None or (flight is not None and self._order.at_us - flight.virtual_us > LATE_US)
        if self._order.at_us - head.at_us > LATE_US:
            return True
        if timer is not None and head.times is not None and is_shorter(timer, head.times):
            self.remark(SHORTER)
            return True
        return flight is not None and head.at_us - self._order.at_us > LATE_US
