"""Rounds: finds a pattern that appears several times in a row, in a sequence of comparable items."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

LONGEST_PATTERN: Final = 6
FEWEST_ROUNDS: Final = 3


def rounds_at(signatures: Sequence[Hashable], at: int) -> tuple[int, int]:
    """The pattern that starts at ``at`` and covers the most.

    Args:
        signatures: The sequence.
        at: The start of the pattern.

    Returns:
        Its length, at most six, and the number of its repetitions, at least three; (1, 1) for none.
    """
    best = (1, 1)
    for length in range(1, LONGEST_PATTERN + 1):
        matched = at + length
        while matched < len(signatures) and signatures[matched] == signatures[matched - length]:
            matched += 1
        times = (matched - at) // length
        if times >= FEWEST_ROUNDS and times * length > best[0] * best[1]:
            best = (length, times)
    return best
