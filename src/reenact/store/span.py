"""The rows of a store that belong to one run: their addresses and their lanes."""

from __future__ import annotations

from typing import NamedTuple

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import Run
from reenact.store.schema import LOW, SHIFT


class Owner(NamedTuple):
    """The owner of rows: the number of a run, and the number of its log."""

    number: int
    log: int


@dataclass(frozen=True, slots=True)
class RunRows:
    """The rows of one run.

    Attributes:
        run: Id of the run, for errors.
        owner: The owner of its rows.
        lane: The path of its lane in another run's log; empty for a run with a log of its own.
        first, end: Lowest and highest address of its log.
        sql, values: A SQL condition on the lane ``l`` of a row that is true for the rows of this run, and its values.
            Both are empty for a run with a log of its own.
    """

    run: str
    owner: Owner
    lane: str
    first: int
    end: int
    sql: str
    values: tuple[str, ...]

    def between(self, after: int, before: int | None) -> tuple[int, int]:
        """The addresses below and above the events between two numbers (both excluded)."""
        return self.first + max(after, -1), self.end + 1 if before is None else self.first + min(before, LOW)

    def holds(self, path: str) -> bool:
        """Whether a lane belongs to this run; a child run owns its lane and the lanes below it."""
        own = self.lane
        return not own or path == own or path.startswith((f"{own}/", f"{own}>"))


def span_of(run: Run, owner: Owner) -> RunRows:
    """The rows of a run that belong to ``owner``."""
    first = owner.log << SHIFT
    sql, values = _below(run.lane)
    return RunRows(run.id, owner, run.lane, first, first | LOW, sql, values)


def _below(lane: str) -> tuple[str, tuple[str, ...]]:
    """A SQL condition on the path of a lane: the lane of a run, or a lane below it. Empty for a run with a log of its
    own."""
    if not lane:
        return "", ()
    length = len(lane) + 1
    return (
        f" AND (l.path = ? OR substr(l.path, 1, {length}) IN (?, ?))",
        (lane, f"{lane}/", f"{lane}>"),
    )
