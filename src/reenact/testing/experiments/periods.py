"""Before and after a mark: the results of each candidate on the rows from before it, and on those since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reenact.facts.marks import Mark, Periods
from reenact.testing.experiments.cell import CellResult
from reenact.testing.experiments.cell_tally import CellTally, tallies
from reenact.testing.experiments.dataset import BEGAN, Row
from reenact.testing.experiments.result_table import total_lines
from reenact.testing.experiments.statistics import difference
from reenact.timetravel.preview import safe


class Halves:
    """The cells of an experiment in two halves: those of rows recorded before a mark, and those of rows recorded since.

    Args:
        cells: All cells.
        rows: All rows.
        candidates: Names of the candidates.
        mark: The mark.
    """

    def __init__(self, cells: Sequence[CellResult], rows: Sequence[Row], candidates: Sequence[str], mark: Mark) -> None:
        periods = Periods((mark,))
        where = {row.name: periods.of(int(row.recorded.get(BEGAN) or 0)) for row in rows}
        self._rows = {name: sum(found == name for found in where.values()) for name in periods.names}
        self._tallies: dict[str, list[CellTally]] = {
            name: tallies([cell for cell in cells if where.get(cell.row) == name], candidates) for name in periods.names
        }

    def data(self) -> Iterator[dict[str, Any]]:
        """Each half of each candidate, as JSON-able data."""
        for name, every in self._tallies.items():
            for tally in every:
                yield {"type": "period", "period": name, "rows": self._rows[name]} | tally.to_json()

    def lines(self) -> Iterator[str]:
        """Both tables of totals, then how much each candidate differs between them."""
        for name, every in self._tallies.items():
            yield ""
            yield safe(f"rows recorded {name}: {self._rows[name]}")
            yield from total_lines(every) if self._rows[name] else ()
        for before, since in zip(*self._tallies.values(), strict=True):
            if before.passed.of and since.passed.of:
                low, high = difference(before.passed, since.passed)
                shown = "" if low > 0 or high < 0 else ": no difference is shown"
                yield safe(
                    f"{since.candidate}  passed {since.passed} after {before.passed}; difference {100 * low:+.0f} to"
                    f" {100 * high:+.0f} points (95 %){shown}"
                )
