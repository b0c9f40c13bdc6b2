"""How often the decisive step of a failure is among the first three of the ranking, beside guesses and positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bench.suspicion.halves import halves
from bench.suspicion.rates import rate
from bench.suspicion.trajectories import GROUPS, Failed, who_and_when
from reenact.facts.suspicions import suspicions
from reenact.facts.suspicions.ranking import ranked

GUESSES = 3


def top(failure: Failed, most: int = GUESSES) -> list[int]:
    """The first steps of the ranking."""
    return [each.event for each in ranked(failure.course, suspicions(failure.course))[:most]]


def hits(failures: Iterable[Failed], most: int = GUESSES) -> int:
    """Of how many failures the decisive step is among the first ones of the ranking."""
    return sum(each.step in top(each, most) for each in failures)


def by_chance(failures: Sequence[Failed]) -> float:
    """The expected share of three guesses among all messages."""
    return sum(min(GUESSES / each.messages, 1.0) for each in failures) / len(failures)


def best_positions(failures: Iterable[Failed]) -> tuple[int, ...]:
    """The three positions that hold the decisive step most often; the earliest of those that are equal."""
    counts = Counter(each.step for each in failures)
    positions = sorted(counts, key=lambda each: (-counts[each], each))
    return tuple(sorted(positions[:GUESSES]))


def at_positions(failures: Iterable[Failed], positions: Sequence[int]) -> int:
    """Of how many failures the decisive step stands at one of these positions."""
    return sum(each.step in positions for each in failures)


def report() -> str:
    """Both sets and both halves as a table of Markdown; the half that was built on flatters the ranking.

    Raises:
        Absent: The trajectories are not here.
    """
    lines = [
        "| set | half | ranking, first three | ranking, first | best three positions of the other half | "
        "positions 0, 1, 2 | three guesses |",
        "|---|---|---|---|---|---|---|",
    ]
    for group in GROUPS:
        everything = {each.name: each for each in who_and_when(group)}
        build, test = ([everything[name] for name in half] for half in halves(group, everything))
        for name, half, other in (("built on", build, test), ("tested on", test, build)):
            positions = best_positions(other)
            cells = (
                rate(hits(half), len(half)),
                rate(hits(half, 1), len(half)),
                f"{rate(at_positions(half, positions), len(half))}, at {', '.join(map(str, positions))}",
                rate(at_positions(half, (0, 1, 2)), len(half)),
                f"{by_chance(half):.2f}",
            )
            lines.append(f"| {group} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)
