"""Association: how much more common something is among some runs than among others, and whether that is chance. Pure.

A triage makes many comparisons at once, so their p-values are corrected by the procedure of Benjamini and Hochberg
(1995): at 5 %, at most one in twenty reported traits is expected to be random. Holm's procedure bounds the chance of
any false report, and would be right for a proof. A triage is a list of leads: there a missed cause costs more than a
false lead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from reenact.facts.lazy_dataclass import dataclass

LEVEL: Final = 0.05
"""Corrected p-value below which an association is reported."""

_Z: Final = 1.959963984540054
_LEAST: Final = 1e-300
_NEGLIGIBLE: Final = 1e-17


@dataclass(frozen=True, slots=True)
class Association:
    """The frequency of a trait among the members of a group, and among healthy runs.

    Attributes:
        among, of: The number of members with the trait, and of all members.
        healthy, healthy_of: The number of healthy runs with the trait, and of all healthy runs.
    """

    among: int
    of: int
    healthy: int
    healthy_of: int

    @property
    def lift(self) -> float:
        """How many times more common the trait is among the members. Half a run is added to each count, so that no
        divisor is zero. Where few runs have the trait, the figure is cautious."""
        return math.exp(self._log_lift)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the lift (Katz et al. 1978, on the logarithm)."""
        width = _Z * math.sqrt(
            max(1 / (self.among + 0.5) - 1 / (self.of + 1) + 1 / (self.healthy + 0.5) - 1 / (self.healthy_of + 1), 0)
        )
        return math.exp(self._log_lift - width), math.exp(self._log_lift + width)

    @property
    def _log_lift(self) -> float:
        ours = (self.among + 0.5) / (self.of + 1)
        return math.log(ours / ((self.healthy + 0.5) / (self.healthy_of + 1)))

    @property
    def p(self) -> float:
        """The chance that at least this many members have the trait, if members were like healthy runs: Fisher's exact
        test, one-sided."""
        return tail(self.among, self.of, self.among + self.healthy, self.of + self.healthy_of)


def tail(hits: int, drawn: int, marked: int, every: int) -> float:
    """The chance of at least this many hits, drawing without replacement.

    Args:
        hits: The number of marked members among the drawn ones.
        drawn: The number drawn.
        marked: The number of marked ones in all.
        every: The number in all.

    Returns:
        A probability; never 0. Costs some 10 µs.
    """
    if hits <= max(0, drawn + marked - every):
        return 1.0
    log = _choose(marked, hits) + _choose(every - marked, drawn - hits) - _choose(every, drawn)
    total = term = 1.0
    for k in range(hits, min(drawn, marked)):
        term *= (marked - k) * (drawn - k) / ((k + 1) * (every - marked - drawn + k + 1))
        total += term
        if term < total * _NEGLIGIBLE:
            break
    return min(1.0, max(math.exp(max(log + math.log(total), math.log(_LEAST))), _LEAST))


def corrected(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number (Benjamini and Hochberg), in the order given.

    Args:
        p_values: One for each comparison that was made.
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at], reverse=True)
    found = [1.0] * len(p_values)
    least = 1.0
    for rank, at in enumerate(order):
        least = min(least, p_values[at] * len(p_values) / (len(p_values) - rank))
        found[at] = least
    return found


def _choose(of: int, some: int) -> float:
    """The logarithm of a binomial coefficient."""
    return math.lgamma(of + 1) - math.lgamma(some + 1) - math.lgamma(of - some + 1)
