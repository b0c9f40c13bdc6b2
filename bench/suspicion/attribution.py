"""How often the decisive step of a failure is among the first three of the ranking, beside guesses and positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bench.suspicion.trajectories import Failed
from reenact.facts.suspicions import suspicions
from reenact.facts.suspicions.ranking import ranked

GUESSES = 3


def top(failure: Failed, most: int = GUESSES) -> list[int]:
    """The first steps of the ranking."""
    return [each.event for each in ranked(failure.course, suspicions(failure.course))[:most]]


def hits(failures: Iterable[Failed], most: int = GUESSES) -> int:
    """Of how many failures the decisive step is among the first ones of the ranking."""
    return sum(each.step in top(each, most) for each in failures)


def by_chance(failures: Sequence[Failed], lengths: Sequence[int]) -> float:
    """The expected share of three guesses among all messages."""
    return sum(min(GUESSES / length, 1.0) for length in lengths) / len(lengths)


def best_positions(failures: Iterable[Failed]) -> tuple[int, ...]:
    """The three positions that hold the decisive step most often; the earliest of those that are equal."""
    counts = Counter(each.step for each in failures)
    positions = sorted(counts, key=lambda each: (-counts[each], each))
    return tuple(sorted(positions[:GUESSES]))


def at_positions(failures: Iterable[Failed], positions: Sequence[int]) -> int:
    """Of how many failures the decisive step stands at one of these positions."""
    return sum(each.step in positions for each in failures)
