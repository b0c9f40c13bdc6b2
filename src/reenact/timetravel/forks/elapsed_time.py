"""How time passes in a fork that has left its parent's times: the code's own work takes as long as it took in the
parent, and a wait takes as long as it takes now.

A recorded moment comes after a recorded delivery, and the code was at work between the two. So a recorded reading of a
clock says how long the code had worked since that delivery. It never says how long the code had waited. Moments here
are nanoseconds since the run began; the moments of deliveries are kept in microseconds.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from reenact.facts.order import Delivery, TimerSpan
from reenact.timetravel.forks.due_moments import LATE_US


class Moments:
    """The moments of the parent's deliveries, in its order.

    Args:
        order: All of its deliveries; up to 24 bytes are kept for each.
    """

    def __init__(self, order: Iterator[Delivery]) -> None:
        self._numbers = array("q")
        self._at_us = array("q")
        self._waits_us: dict[str, array[int]] = {}
        self.times: dict[int, TimerSpan] = {}
        """When the timer of a delivery was set and due, by the delivery's number."""
        for delivery in order:
            if delivery.times is not None:
                self.times[delivery.number] = delivery.times
            self._numbers.append(delivery.number)
            self._at_us.append(delivery.at_us)
            if delivery.tag.kind in "tw":
                self._waits_us.setdefault(delivery.tag.lane, array("q")).append(delivery.at_us)

    def since(self, then_ns: int) -> int:
        """The moment of the last delivery at or before ``then_ns``."""
        place = bisect_right(self._at_us, then_ns // 1000)
        return self._at_us[place - 1] * 1000 if place else 0

    def waits(self, lane: str, from_us: int, until_us: int) -> bool:
        """Whether a wait of a lane, for a timer or for a wake-up, ended between two moments."""
        ends_us = self._waits_us.get(lane, ())
        return bisect_left(ends_us, from_us) < bisect_right(ends_us, until_us)

    def of(self, number: int) -> tuple[int, int]:
        """When a delivery came, and how long after the delivery before it, both in microseconds."""
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
        """When the parent had the fork's last delivery; None: the parent did not have it."""
        self.lead_ns = 0
        """How long the code is known to have worked since that delivery."""
        self._from_us = 0
        self._shown_ns = 0
        self._last: dict[tuple[str, str], tuple[int, int]] = {}

    @property
    def lead_us(self) -> int:
        """``lead_ns`` in microseconds, rounded up, so that no reading is later."""
        return _rounded_up(self.lead_ns)

    @property
    def reached_us(self) -> int | None:
        """The moment of the parent to which the code has come; None where it is not known."""
        return self.then_us + self.lead_us if self.then_us is not None else None

    @property
    def moments(self) -> Moments:
        """The moments of the parent's deliveries. To find them, the parent's whole order is read once."""
        if self._moments is None:
            self._moments = Moments(self._again())
        return self._moments

    def is_beyond(self, lane: str, then_ns: int, next_us: int) -> bool:
        """Whether a lane has left out a wait: it reads a clock that it read in the parent only after that wait.

        Args:
            lane: Its path.
            then_ns: The clock's reading.
            next_us: The moment of the parent's next delivery.
        """
        then_us = then_ns // 1000
        return self.is_far(then_us) and then_us >= next_us and self.moments.waits(lane, next_us, then_us)

    def is_far(self, then_us: int) -> bool:
        """Whether a moment of the parent is much later than the moment to which the code is known to have come."""
        return self.reached_us is not None and then_us - self.reached_us > LATE_US

    @property
    def known_us(self) -> int:
        """The fork's time, as far as the code is known to have come."""
        return self.moment_us(self.lead_ns)

    def moment_us(self, lead_ns: int) -> int:
        """The fork's time if the code has worked for ``lead_ns`` since the last delivery."""
        return self._from_us + _rounded_up(lead_ns)

    def delivered(self, then_us: int | None, now_us: int) -> None:
        """A delivery has been handed out at ``now_us``; the parent had it at ``then_us``."""
        self.then_us = then_us
        self._from_us = now_us
        self.lead_ns = 0

    def lead_at(self, then_ns: int, next_us: int | None) -> int:
        """``lead_ns`` if the code does now what it did at a moment of the parent. The parent's next delivery was at
        ``next_us``."""
        if self.departed:
            since_ns = self.moments.since(then_ns)
        elif self.then_us is None or not self.then_us * 1000 <= then_ns <= (next_us or then_ns) * 1000:
            return self.lead_ns  # the code is at another place than at that moment
        else:
            since_ns = self.then_us * 1000
        return max(self.lead_ns, then_ns - since_ns)

    def as_recorded(self, then_ns: int) -> None:
        """A clock has shown its recorded reading."""
        self._shown_ns = max(self._shown_ns, then_ns)

    def reads(self, clock: tuple[str, str], then_ns: int, now_us: int) -> int:
        """The reading of a clock where the parent read ``then_ns``.

        Args:
            clock: The lane that reads, and the clock.
            then_ns: The recorded reading.
            now_us: The fork's time; the reading is not earlier.
        """
        since_ns = self.moments.since(then_ns)
        last_ns, shown_ns = self._last.get(clock, (0, 0))
        worked_ns = then_ns - (max(since_ns, last_ns) if last_ns <= then_ns else since_ns)
        return self._shows(clock, then_ns, max(now_us * 1000 + then_ns - since_ns, shown_ns + worked_ns))

    def goes_on(self, clock: tuple[str, str], step_ns: int, now_us: int) -> int:
        """The reading of a clock that is read more often than in the parent: it goes on by ``step_ns``."""
        last_ns, shown_ns = self._last.get(clock, (0, self._shown_ns))
        return self._shows(clock, last_ns, max(now_us * 1000, shown_ns + step_ns))

    def _shows(self, clock: tuple[str, str], then_ns: int, moment_ns: int) -> int:
        """Note a reading and return it. Clocks always increase, and the code has come as far as they show."""
        self._shown_ns = max(self._shown_ns + 1, moment_ns)
        self._last[clock] = (then_ns, self._shown_ns)
        self.lead_ns = max(self.lead_ns, self._shown_ns - self._from_us * 1000)
        return self._shown_ns


def _rounded_up(ns: int) -> int:
    return -(-ns // 1000)
