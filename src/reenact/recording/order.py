"""The order of a recording: first come, first served, and a bound on every wait.

A delivery is held until nothing else can run, so that its place can be had again. A busy wait must not hang and a
busy server must not slow: a hold ends after ``hold_ms`` and is noted as unproven; where holds do not help they get
shorter, and a run has a budget for all of them together. Time in which the program computes (it imports an SDK, it
reads certificates) is charged at a lower rate: whoever is held then would have had to share the processor anyhow.
"""

from __future__ import annotations

from collections.abc import Callable

from reenact.abc.sources import Clock
from reenact.facts.order import Delivery, Tag
from reenact.seams.gate import Gate, Waiter

BUDGET_US = 500_000
"""What all unproven holds of one run may cost together."""
WORK_RATE = 20
"""A hold may last so many times longer while the program computes: 400 ms for the usual 20."""
RETRY_EVERY = 64
"""After holds have stopped helping, one delivery in so many is held again, to see whether they do now."""


class RecordingGate(Gate):
    """Numbers deliveries in order of arrival.

    Args:
        clock: Our own clock.
        origin_us: Its reading when the run began.
        order: ``exact`` holds deliveries, ``arrival`` numbers them at once.
        hold_us: Longest hold of one delivery.
        lane_seen: Told the path of each lane that a tag names.
        fault: Told of every failure of ours; by default nobody is.
    """

    def __init__(
        self,
        clock: Clock,
        origin_us: int,
        order: str,
        hold_us: int,
        lane_seen: Callable[[str], object],
        fault: Callable[[Exception], object] = repr,
    ) -> None:
        super().__init__()
        self._clock = clock
        self._origin_us = origin_us
        self._holds = order == "exact"
        self._longest_us = hold_us
        self._hold_us = hold_us
        self._budget_us = BUDGET_US
        self._lane_seen = lane_seen
        self._fault = fault
        self._fresh: list[Delivery] = []
        self._since_retry = 0
        self.count = 0
        self.unproven = 0

    def now_us(self) -> int:
        """Microseconds since the run began."""
        return self._clock.mono_us() - self._origin_us

    def grant(self, tag: Tag, proven: bool) -> int:
        """Number it. Never raises: the strand that waits would wait for ever."""
        number = self.count
        self.count = number + 1
        if not proven:
            self.unproven += 1
        elif 0 < self._hold_us < self._longest_us:
            self._hold_us = min(self._longest_us, self._hold_us * 2)
        try:
            if tag.lane:
                self._lane_seen(tag.lane)
            self._fresh.append(Delivery(number, tag, self._clock.mono_us() - self._origin_us, proven))
        except Exception as error:
            if self._fault(error) is True:
                raise
        return number

    def immediate(self, tag: Tag) -> bool:
        """A lone strand never waits."""
        return not self.waiting or not self._holds

    def choose(self, settled: bool) -> Waiter | None:
        """First come, first served."""
        if self.held:
            return next((waiter for tag, waiter in self.waiting.items() if tag not in self.held), None)
        return next(iter(self.waiting.values()), None)

    def impatient(self) -> bool:
        """Whether holds have stopped helping (or were never asked for); now and then one is tried again."""
        if not self._holds:
            return True
        if self._hold_us > 0 and self._budget_us > 0:
            return False
        self._since_retry = (self._since_retry + 1) % RETRY_EVERY
        if self._since_retry == 0 and self._budget_us > 0:
            self._hold_us = 1_000
            return False
        return True

    def overdue(self, waited_us: int, worked_us: int) -> bool:
        """Whether the hold has lasted long enough. Each overrun halves the next hold and is charged to the run."""
        if waited_us - worked_us + worked_us // WORK_RATE < self._hold_us:
            return False
        self._budget_us -= waited_us
        self._hold_us = self._hold_us // 2 if self._hold_us > 1_000 else 0
        return True

    def take_fresh(self) -> tuple[Delivery, ...]:
        """Deliveries numbered since the last call. Called by the writer."""
        count = len(self._fresh)
        fresh = tuple(self._fresh[:count])
        del self._fresh[:count]
        return fresh
