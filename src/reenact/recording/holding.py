"""How long a recording holds deliveries: each hold for a while, all together within a budget that grows with the run.

A busy wait must not hang and a busy server must not slow. A hold that ends without proof makes the next one shorter and
is paid for; where holds do not help any more they are left out, but for one in so many, until a delivery goes with
proof again. Time in which the program computes (it imports an SDK, it reads certificates) counts less: a strand that
is held then would have had to share the processor anyhow.
"""

from __future__ import annotations

from typing import NamedTuple

BUDGET_US = 500_000
"""What all unproven holds of one run may cost together, at its beginning."""
GROWTH = 20
"""One part in so many of the time since the run began comes to that."""
CEILING_US = 1_000_000
"""How long the clock of one hold stands still at most, while strands could run and do not get to."""
WORK_RATE = 20
"""A hold may last so many times longer while the program computes: 400 ms for the usual 20."""
RETRY_EVERY = 64
"""After holds have stopped helping, one delivery in so many is held again, to see whether they do now."""
SHORTEST_US = 1_000
"""A hold that would be shorter is none."""


def budget_us(now_us: int) -> int:
    """What unproven holds may have cost so long after the run began."""
    return BUDGET_US + now_us // GROWTH


class Holds(NamedTuple):
    """How long the next delivery is held, and what the holds before it have cost.

    Attributes:
        longest_us: How long a hold may last.
        hold_us: How long the next one may last; 0: it is left out.
        spent_us: What holds that ended without proof have cost.
        left_out: How many have been left out since the last one that was not.
    """

    longest_us: int
    hold_us: int
    spent_us: int = 0
    left_out: int = 0

    def can_pay(self, now_us: int) -> bool:
        """Whether the budget has anything left so long after the run began."""
        return self.spent_us < budget_us(now_us)

    def lasts(self, waited_us: int, worked_us: int) -> bool:
        """Whether a hold that has lasted so long goes on. ``worked_us`` of it the program has worked."""
        return waited_us - worked_us + worked_us // WORK_RATE < self.hold_us

    def in_vain(self, waited_us: int) -> Holds:
        """A hold has ended without proof, ``waited_us`` after it began, its clock standing still or not."""
        shorter = self.hold_us // 2 if self.hold_us > SHORTEST_US else 0
        return self._replace(hold_us=shorter, spent_us=self.spent_us + waited_us)

    def helped(self) -> Holds:
        """A delivery went with proof: nothing runs without end, so holds may last longer again."""
        if self.hold_us == self.longest_us:
            return self
        return self._replace(hold_us=min(self.longest_us, max(self.longest_us // 4, self.hold_us * 2)))

    def next(self, now_us: int) -> Holds:
        """A delivery comes while others run: it is held if ``hold_us`` is not 0 and the budget can pay for it. Now and
        then one is held although holds have not helped."""
        if self.hold_us or not self.can_pay(now_us):
            return self
        if self.left_out + 1 < RETRY_EVERY:
            return self._replace(left_out=self.left_out + 1)
        return self._replace(left_out=0, hold_us=min(SHORTEST_US, self.longest_us))
