"""How long a recording holds deliveries: each hold has a bound, and all of them have a budget that grows with the run.

A busy wait must not hang, and a busy server must not get slow. A hold that ends without proof uses up the budget and
makes the next one shorter. Where holds no longer help, most are left out, until one gives proof again. Time in which
the program computes (it imports an SDK, it reads certificates) counts less, because the held strand would otherwise
share the processor with it.
"""

from __future__ import annotations

from typing import NamedTuple

BUDGET_US = 500_000
"""The budget for all unproven holds of a run, at its beginning."""
GROWTH = 20
"""The budget grows by one part in this many of the time since the run began."""
CEILING_US = 1_000_000
"""The longest time for which the clock of one hold may stand still while ready strands do not get the processor."""
WORK_RATE = 20
"""A hold may last this many times longer while the program computes: 400 ms for the usual 20."""
RETRY_EVERY = 64
"""After holds have stopped helping, one delivery in this many is held again, to see whether holds help now."""
SHORTEST_US = 1_000
"""A shorter hold is left out."""


def budget_us(now_us: int) -> int:
    """The budget of unproven holds at this time after the beginning of the run."""
    return BUDGET_US + now_us // GROWTH


class Holds(NamedTuple):
    """The length of the next hold, and the cost of the holds before it.

    Attributes:
        longest_us: The longest time of a hold.
        hold_us: The longest time of the next hold; 0: it is left out.
        spent_us: The cost of the holds that ended without proof.
        left_out: The number of holds left out since the last hold.
    """

    longest_us: int
    hold_us: int
    spent_us: int = 0
    left_out: int = 0

    def can_pay(self, now_us: int) -> bool:
        """Whether the budget has anything left at this time after the beginning of the run."""
        return self.spent_us < budget_us(now_us)

    def lasts(self, waited_us: int, worked_us: int) -> bool:
        """Whether a hold that has lasted ``waited_us`` goes on. The program has worked for ``worked_us`` of this
        time."""
        return waited_us - worked_us + worked_us // WORK_RATE < self.hold_us

    def in_vain(self, waited_us: int) -> Holds:
        """The holds after a hold that ended without proof, ``waited_us`` after it began (including time when its clock
        stood still)."""
        shorter = self.hold_us // 2 if self.hold_us > SHORTEST_US else 0
        return self._replace(hold_us=shorter, spent_us=self.spent_us + waited_us)

    def helped(self) -> Holds:
        """The holds after a delivery that went with proof: nothing runs without end, so holds may last longer again."""
        if self.hold_us == self.longest_us:
            return self
        return self._replace(hold_us=min(self.longest_us, max(self.longest_us // 4, self.hold_us * 2)))

    def next(self, now_us: int) -> Holds:
        """The holds for a delivery that comes while others run. It is held if ``hold_us`` is not 0 and the budget can
        pay for it. Now and then a delivery is held although holds have not helped."""
        if self.hold_us or not self.can_pay(now_us):
            return self
        if self.left_out + 1 < RETRY_EVERY:
            return self._replace(left_out=self.left_out + 1)
        return self._replace(left_out=0, hold_us=min(SHORTEST_US, self.longest_us))
