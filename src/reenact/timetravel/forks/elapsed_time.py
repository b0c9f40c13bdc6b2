"""How time elapses in a fork that has left its parent's times: what the code did takes as long as it took, and what it
waited for as long as it waits now.

A recorded moment lies behind a recorded delivery, and from one to the other the code was at work. So a reading of a
clock says how far the code had come since then, whatever comes before it in the fork, and never how long others were
waited for. Moments here are nanoseconds since the run began; those of deliveries are kept in microseconds.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from reenact.facts.order import Delivery, TimerSpan
from reenact.timetravel.forks.due_moments import LATE_US


class Moments:
    """When the parent's deliveries were, in its order.

    Args:
        order: All of them; up to 24 bytes are kept of each.
    """

    def __init__(self, order: Iterator[Delivery]) -> None:
        self._numbers = array("q")
        self._at_us = array("q")
        self._waits_us: dict[str, array[int]] = {}
        self.timed: dict[int, TimerSpan] = {}
        """When the timer of a delivery was set, and for when."""
        for delivery in order:
            if delivery.timed is not None:
                self.timed[delivery.number] = delivery.timed
            self._numbers.append(delivery.number)
            self._at_us.append(delivery.at_us)
            if delivery.tag.kind in "tw":
                self._waits_us.setdefault(delivery.tag.lane, array("q")).append(delivery.at_us)

    def since(self, then_ns: int) -> int:
        """The moment of the last delivery that is not behind a moment."""
        place = bisect_right(self._at_us, then_ns // 1000)
        return self._at_us[place - 1] * 1000 if place else 0

    def waits(self, lane: str, from_us: int, until_us: int) -> bool:
        """Whether a lane had waited for a timer, or to be woken, that came between two moments."""
        ends_us = self._waits_us.get(lane, ())
        return bisect_left(ends_us, from_us) < bisect_right(ends_us, until_us)

    def of(self, number: int) -> tuple[int, int]:
        """When a delivery was, and how long after the one before it, both in microseconds."""
        place = bisect_left(self._numbers, number)
        at_us = self._at_us[place]
        return at_us, at_us - self._at_us[place - 1] if place else at_us


class ElapsedTime:
    """How far the code has come since the fork's last delivery.

    Args:
        again: Gives a fresh reading of the parent's order.
    """

    def __init__(self, again: Callable[[], Iterator[Delivery]]) -> None:
        self._again = again
        self._moments: Moments | None = None
        self.departed = False
        """Whether the fork has left its parent's times."""
        self.then_us: int | None = 0
        """When the fork's last delivery was in the parent; None: it is not known there."""
        self.lead_ns = 0
        """For how long the code is known to have worked since."""
        self._from_us = 0
        self._shown_ns = 0
        self._last: dict[tuple[str, str], tuple[int, int]] = {}

    @property
    def lead_us(self) -> int:
        """The same in microseconds, so that no reading lies behind it."""
        return -(-self.lead_ns // 1000)

    @property
    def reached_us(self) -> int | None:
        """How far the code has come in the parent, where that is known."""
        return self.then_us + self.lead_us if self.then_us is not None else None

    @property
    def moments(self) -> Moments:
        """When the parent's deliveries were; its whole order is read for that, once."""
        if self._moments is None:
            self._moments = Moments(self._again())
        return self._moments

    def is_beyond(self, lane: str, then_ns: int, next_us: int) -> bool:
        """Whether a lane reads what a clock showed behind a wait that it has left out: it is at a place in its code to
        which it came later.

        Args:
            lane: Its path.
            then_ns: The clock's reading.
            next_us: When the parent's next delivery was.
        """
        then_us = then_ns // 1000
        return self.is_far(then_us) and then_us >= next_us and self.moments.waits(lane, next_us, then_us)

    def is_far(self, then_us: int) -> bool:
        """Whether a moment of the parent is much later than what the code is known to have come to."""
        return self.reached_us is not None and then_us - self.reached_us > LATE_US

    @property
    def known_us(self) -> int:
        """The fork's time, as far as the code is known to have come."""
        return self._from_us + self.lead_us

    def delivered(self, then_us: int | None, now_us: int) -> None:
        """A delivery has been handed out at ``now_us``, that of ``then_us`` in the parent."""
        self.then_us = then_us
        self._from_us = now_us
        self.lead_ns = 0

    def comes_to(self, then_ns: int, next_us: int | None) -> None:
        """The code does what it did at a moment of the parent, whose next delivery was at ``next_us``."""
        if self.departed:
            since_ns = self.moments.since(then_ns)
        elif self.then_us is None or not self.then_us * 1000 <= then_ns <= (next_us or then_ns) * 1000:
            return  # it is not where it was then
        else:
            since_ns = self.then_us * 1000
        self.lead_ns = max(self.lead_ns, then_ns - since_ns)

    def as_recorded(self, then_ns: int) -> None:
        """A clock has shown what it showed in the parent."""
        self._shown_ns = max(self._shown_ns, then_ns)

    def reads(self, clock: tuple[str, str], then_ns: int, now_us: int) -> int:
        """A clock's reading at the place where it showed ``then_ns``.

        Args:
            clock: The lane that reads, and the clock.
            then_ns: The recorded reading.
            now_us: The fork's time, at the least.
        """
        since_ns = self.moments.since(then_ns)
        last_ns, shown_ns = self._last.get(clock, (0, 0))
        worked_ns = then_ns - (max(since_ns, last_ns) if last_ns <= then_ns else since_ns)
        return self._shows(clock, then_ns, max(now_us * 1000 + then_ns - since_ns, shown_ns + worked_ns))

    def goes_on(self, clock: tuple[str, str], step_ns: int, now_us: int) -> int:
        """The reading of a clock that is read more often than it was: it goes on by ``step_ns``."""
        last_ns, shown_ns = self._last.get(clock, (0, self._shown_ns))
        return self._shows(clock, last_ns, max(now_us * 1000, shown_ns + step_ns))

    def _shows(self, clock: tuple[str, str], then_ns: int, moment_ns: int) -> int:
        """No clock goes back, or stands still, for any reader; and the code is as far as it has been shown."""
        self._shown_ns = max(self._shown_ns + 1, moment_ns)
        self._last[clock] = (then_ns, self._shown_ns)
        self.lead_ns = max(self.lead_ns, self._shown_ns - self._from_us * 1000)
        return self._shown_ns
