"""Rates with their 95 % intervals after Wilson, and the counts that they come of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

_Z = 1.959964


@dataclass
class Tally:
    """How many runs each rule marked.

    Attributes:
        runs: How many runs were looked at.
        marked: By rule, in how many of them it marked an event.
    """

    runs: int = 0
    marked: Counter[str] = field(default_factory=Counter)

    def add(self, rules: Iterable[str]) -> None:
        """Count one run, with the names of the rules that mark an event of it."""
        self.runs += 1
        self.marked.update(set(rules))


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a rate after Wilson; 0 to 1 where nothing was counted."""
    if not of:
        return 0.0, 1.0
    rate, square = hits / of, _Z**2
    middle = rate + square / (2 * of)
    spread = _Z * math.sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    low, high = ((middle + sign * spread) / (1 + square / of) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def rate(hits: int, of: int) -> str:
    """A rate as text: ``3/14 = 0.21 (0.08 to 0.48)``; a dash where nothing was counted."""
    if not of:
        return "-"
    low, high = wilson(hits, of)
    return f"{hits}/{of} = {hits / of:.2f} ({low:.2f} to {high:.2f})"
