"""Rounds, medians and ratios: the arithmetic of a fair comparison. Pure.

Figures of different rounds are never compared with each other: a machine drifts. Every round runs every case once, in
an order of its own; a ratio is taken inside a round, and what is shown is the median over the rounds.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Metrics = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure, in a process of its own.

    Attributes:
        name: Name of the measuring function (``bench.cases``).
        size: How many calls it makes; 0 where that means nothing.
        most: Largest number of rounds it takes part in, for slow ones.
    """

    name: str
    size: int = 0
    most: int = 1000

    @property
    def key(self) -> str:
        """How results are filed: ``name`` or ``name[size]``."""
        return f"{self.name}[{self.size}]" if self.size else self.name


def schedule(cases: Sequence[Case], rounds: int, seed: int) -> Iterator[tuple[int, Case]]:
    """Every case once a round, each round in another order; the same seed gives the same schedule."""
    chance = random.Random(seed)
    for number in range(rounds):
        order = [case for case in cases if number < case.most]
        chance.shuffle(order)
        for case in order:
            yield number, case


def fits(done: int, took_s: float, limit_s: float) -> bool:
    """Whether one more round is likely to end within the limit, by how long those before it took; the first always."""
    return done == 0 or took_s * (done + 1) / done <= limit_s


@dataclass(frozen=True, slots=True)
class Figure:
    """Where a number stands: a metric of a case."""

    case: str
    metric: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a figure of ours, what it is measured against, and the goal.

    Attributes:
        title: What was done.
        ours: Our figure.
        unit: Its unit.
        goal: The number to reach.
        kind: ``most``: the figure itself is at most ``goal``; ``times``: it is at most ``goal`` times ``against`` (a
            limit); ``faster``: ``against`` (a neighbour) is at least ``goal`` times it; ``shown``: no goal.
        against: The other figure, for ``times`` and ``faster``.
    """

    title: str
    ours: Figure
    unit: str
    kind: Literal["most", "times", "faster", "shown"] = "shown"
    goal: float = 0.0
    against: Figure | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A row with its numbers: medians over the rounds, the median of the ratios, and whether the goal is reached.

    ``met`` is None where there is no goal or nothing to compare; ``missing`` then says why.
    """

    row: Row
    ours: float | None
    other: float | None
    ratio: float | None
    spread: float
    met: bool | None
    missing: str = ""


def values(results: Mapping[tuple[int, str], Metrics], figure: Figure) -> dict[int, float]:
    """A figure in each round that has it."""
    return {
        number: metrics[figure.metric]
        for (number, case), metrics in results.items()
        if case == figure.case and figure.metric in metrics
    }


def paired(ours: Mapping[int, float], other: Mapping[int, float], *, ours_on_top: bool) -> list[float]:
    """Ratios, each inside one round; rounds that lack a side, or where one is not above 0, are out."""
    ratios = []
    for number, mine in sorted(ours.items()):
        theirs = other.get(number)
        top, bottom = (mine, theirs) if ours_on_top else (theirs, mine)
        if top is not None and bottom is not None and top > 0 and bottom > 0:
            ratios.append(top / bottom)
    return ratios


def spread(numbers: Iterable[float]) -> float:
    """Half of the distance between the extremes, over the median; 0 for less than two numbers."""
    found = list(numbers)
    middle = median(found) if found else 0.0
    return (max(found) - min(found)) / 2 / abs(middle) if len(found) > 1 and middle else 0.0


def judge(row: Row, results: Mapping[tuple[int, str], Metrics], missing: Mapping[str, str]) -> Line:
    """Put the numbers of a row together and compare them with its goal."""
    ours = values(results, row.ours)
    other = values(results, row.against) if row.against else {}
    theirs = median(other.values()) if other else None
    if not ours:
        return Line(row, None, theirs, None, 0.0, None, missing.get(row.ours.case, "was not measured"))
    middle = median(ours.values())
    ratios = paired(ours, other, ours_on_top=row.kind != "faster")
    ratio = median(ratios) if ratios else None
    why = ""
    met: bool | None = None
    if row.kind == "most":
        met = middle <= row.goal
    elif row.kind != "shown" and ratio is None and row.against:
        why = missing.get(row.against.case, "lost in the noise" if other else "was not measured")
    elif ratio is not None and row.kind != "shown":
        met = ratio <= row.goal if row.kind == "times" else ratio >= row.goal
    return Line(row, middle, theirs, ratio, spread(ours.values()), met, why)
