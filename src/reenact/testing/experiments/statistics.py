"""Statistics of repeated runs: a share with its confidence interval, and whether the result is flaky.

The interval is Wilson's: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
Journal of the American Statistical Association 22 (1927), 209-212. Unlike the usual approximation it stays between
0 and 1 and is of use for small numbers and for shares near the ends, which is what repeats of a test are.
"""

from __future__ import annotations

from math import sqrt
from typing import Final

from reenact.facts.lazy_dataclass import dataclass

Z95: Final = 1.959963984540054
"""Standard deviations on either side that hold 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class TrialShare:
    """A share of some trials.

    Attributes:
        hits: The number of hits.
        of: The number of trials.
    """

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """The share as a number; None without trials."""
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share; from 0 to 1 without trials."""
        return wilson(self.hits, self.of)

    def __str__(self) -> str:
        if not self.of:
            return "-"
        low, high = self.interval
        return f"{self.hits}/{self.of} ({100 * low:.0f}-{100 * high:.0f} %)"


def wilson(hits: int, of: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's interval of a share.

    Args:
        hits: The number of hits.
        of: The number of trials.
        z: The confidence, in standard deviations.

    Returns:
        Its lower and upper end, from 0 to 1.
    """
    if not of:
        return 0.0, 1.0
    share, square = hits / of, z * z
    middle = share + square / (2 * of)
    reach = z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    whole = 1 + square / of
    low = 0.0 if hits == 0 else max(0.0, (middle - reach) / whole)
    high = 1.0 if hits == of else min(1.0, (middle + reach) / whole)
    return low, high


def difference(first: TrialShare, second: TrialShare) -> tuple[float, float]:
    """The 95 % confidence interval of how much larger the second share is, from -1 to 1.

    The interval is -1 to 1 where a share has no trials. Otherwise it is Newcombe's, from Wilson's intervals of both: R.
    G. Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17
    (1998), 873-890, method 10.
    """
    if not (first.of and second.of):
        return -1.0, 1.0
    before, after = first.hits / first.of, second.hits / second.of
    (low, high), (low_after, high_after) = first.interval, second.interval
    moved = after - before
    return (
        moved - sqrt((after - low_after) ** 2 + (high - before) ** 2),
        moved + sqrt((high_after - after) ** 2 + (before - low) ** 2),
    )
