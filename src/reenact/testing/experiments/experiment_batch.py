"""Running all cells of an experiment, several at a time, each in a process of its own; kept results are used again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.testing.experiments.cache import Cells
from reenact.testing.experiments.candidates import Candidate
from reenact.testing.experiments.cell import CellResult
from reenact.testing.experiments.cell_run import CellPlace, run_cell
from reenact.testing.experiments.dataset import Row


@dataclass(frozen=True, slots=True)
class CellOrder:
    """The order for one cell.

    Attributes:
        row, candidate, repeat: The numbers that identify it.
    """

    row: Row
    candidate: Candidate
    repeat: int


@dataclass(frozen=True, slots=True)
class Experiment:
    """The definition of an experiment.

    Attributes:
        place: The place of its cells.
        rows: The dataset, in order.
        candidates: The candidates that are tried on each row.
        repeat: The number of runs of each row on each candidate.
        workers: The number of agents in parallel; 0 for one on each processor that this process may use.
        fresh: Whether to run cells again that are kept.
    """

    place: CellPlace
    rows: Sequence[Row]
    candidates: Sequence[Candidate]
    repeat: int = 1
    workers: int = 0
    fresh: bool = False

    def asked(self) -> Iterator[CellOrder]:
        """Every cell, row by row: a row on each candidate, and there each repeat."""
        for row in self.rows:
            for candidate in self.candidates:
                yield from (CellOrder(row, candidate, repeat) for repeat in range(1, self.repeat + 1))

    def kept(self) -> list[CellResult | None]:
        """The kept result of every cell, in their order; None for a cell without one."""
        cells = Cells(Path(self.place.folder))
        found = (cells.find(self.place.identity(each.row, each.candidate, each.repeat)) for each in self.asked())
        return [None] * sum(1 for _ in self.asked()) if self.fresh else list(found)


Runner = Callable[[Experiment, Iterable[tuple[int, CellOrder]]], Iterator[tuple[int, CellResult]]]
"""Runs numbered cells, and gives each result with its number, when it is known."""


def run_experiment(
    experiment: Experiment, run: Runner, *, done: Callable[[CellResult], object] = lambda cell: None
) -> list[CellResult]:
    """Get every cell of an experiment.

    Args:
        experiment: The experiment.
        run: Runs the cells that are not kept: ``here``, or on a cluster.
        done: Called with each new result when it is known.

    Returns:
        Every cell, in order. An interrupted experiment continues at the next call.
    """
    found = experiment.kept()
    open_ = [(at, each) for at, each in enumerate(experiment.asked()) if found[at] is None]
    for at, cell in run(experiment, open_) if open_ else ():
        found[at] = cell
        done(cell)
    return [_named(cell, each) for cell, each in zip(found, experiment.asked(), strict=True) if cell is not None]


def here(
    experiment: Experiment, open_: Iterable[tuple[int, CellOrder]], waits: Callable[[], object] = lambda: None
) -> Iterator[tuple[int, CellResult]]:
    """Run cells on this machine, several at a time, each in a process of its own.

    Args:
        experiment: The experiment.
        open_: The cells that are not done yet, with their numbers.
        waits: Called when we wait for another process that runs a cell.
    """
    place, fresh = experiment.place, experiment.fresh
    pool = ThreadPoolExecutor(experiment.workers or processors())
    try:
        waiting: dict[Future[CellResult], int] = {
            pool.submit(run_cell, place, each.row, each.candidate, each.repeat, fresh=fresh, waits=waits): at
            for at, each in open_
        }
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _named(cell: CellResult, asked: CellOrder) -> CellResult:
    """A kept cell under today's names. Names are no part of a cell's identity, so a kept cell may have other names."""
    return replace(cell, row=asked.row.name, candidate=asked.candidate.name, repeat=asked.repeat)


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
