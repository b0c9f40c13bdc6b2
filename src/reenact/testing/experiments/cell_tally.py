"""Tally: the sums of several cells: one row on one candidate, or all cells of one candidate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from reenact.facts.lazy_dataclass import dataclass
from reenact.testing.experiments.cell import CellResult
from reenact.testing.experiments.statistics import TrialShare

_NOT_RUN = ("stale", "refused", "broken")


@dataclass(frozen=True, slots=True)
class CellTally:
    """Some cells of one candidate.

    Attributes:
        candidate: The name of the candidate.
        cells: The cells, in the order of rows and repeats.
    """

    candidate: str
    cells: tuple[CellResult, ...]

    @property
    def judged(self) -> bool:
        """Whether any of the cells has expectations."""
        return any(cell.status in ("passed", "failed") for cell in self.cells)

    @property
    def passed(self) -> TrialShare:
        """The share of cells that passed. A cell that could not be run has not passed; cells without expectations do
        not count."""
        counted = [cell for cell in self.cells if cell.status != "ran"]
        return TrialShare(sum(cell.status == "passed" for cell in counted), len(counted))

    @property
    def stale(self) -> TrialShare:
        """The share of cells that could not be run: a call had no answer or may not be made, or a model call failed."""
        return TrialShare(sum(cell.status in _NOT_RUN for cell in self.cells), len(self.cells))

    @property
    def flaky(self) -> TrialShare:
        """The share of rows whose repeats differ in their results."""
        rows = [len({cell.verdict for cell in cells}) for _, cells in self._rows()]
        return TrialShare(sum(verdicts > 1 for verdicts in rows), len(rows))

    @property
    def tokens(self) -> int | None:
        """All tokens; None where those of one cell were not counted."""
        counts = [cell.tokens for cell in self.cells if cell.tokens is not None]
        return sum(counts) if len(counts) == len(self.cells) else None

    @property
    def cost(self) -> float | None:
        """The cost of all cells, in US dollars; None where one is unknown."""
        costs = [cell.cost for cell in self.cells if cell.cost is not None]
        return sum(costs) if len(costs) == len(self.cells) else None

    @property
    def duration_us(self) -> int:
        """The average duration of the agent's runs."""
        return sum(cell.duration_us for cell in self.cells) // max(len(self.cells), 1)

    @property
    def opinions(self) -> dict[str, int]:
        """The number of judges' opinions on its cells; empty without a judge."""
        counts: Counter[str] = Counter()
        for cell in self.cells:
            counts.update(cell.opinions)
        return dict(counts)

    @property
    def outputs(self) -> list[tuple[str, int]]:
        """The final answers of the agent, as text, with their counts; the most frequent first."""
        return Counter(
            cell.output if isinstance(cell.output, str) else json.dumps(cell.output, ensure_ascii=False, default=str)
            for cell in self.cells
            if cell.output is not None
        ).most_common()

    def common(self, name: str) -> list[tuple[str, int]]:
        """The texts of an attribute of the cells (``message``, ``first``, ``note``) with counts, without empty ones."""
        return Counter(text for text in map(attrgetter(name), self.cells) if text).most_common()

    @property
    def changed(self) -> list[tuple[str, int]]:
        """The tool calls that differ from the recorded ones, each with the number of cells that have this
        difference."""
        return Counter(text for cell in self.cells for text in dict.fromkeys(cell.changed)).most_common()

    def _rows(self) -> Iterable[tuple[str, Iterable[CellResult]]]:
        return groupby(self.cells, key=attrgetter("row"))

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON-able data."""
        statuses: Counter[str] = Counter(cell.status for cell in self.cells)
        return {
            "candidate": self.candidate,
            "cells": len(self.cells),
            **{status: statuses[status] for status in ("passed", "failed", "ran", *_NOT_RUN)},
            "share": self.passed.value,
            "interval": list(self.passed.interval) if self.passed.of else None,
            "flaky": self.flaky.value,
            "flaky_interval": list(self.flaky.interval),
            "tokens": self.tokens,
            "cost": self.cost,
            "duration_us": self.duration_us,
            "opinions": self.opinions,
        }


def tallies(cells: Sequence[CellResult], candidates: Sequence[str]) -> list[CellTally]:
    """One tally for each candidate, of all its cells."""
    return [CellTally(name, tuple(cell for cell in cells if cell.candidate == name)) for name in candidates]
