"""``reenact experiment``: runs every row of a dataset on every candidate, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.expressions import Expression, compile_expression
from reenact.facts.marks import Mark, find_mark
from reenact.facts.run import Run, Status
from reenact.interfaces.cli.arguments import Since
from reenact.interfaces.cli.cells import candidates_of, cells_folder, run_cells
from reenact.interfaces.cli.goldens.golden_add import program_of
from reenact.interfaces.cli.run_filters import filters_of, scope_of
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current, paint
from reenact.replaying.replay_launch import project_of
from reenact.testing.expectations.expectation import Expectation, expect
from reenact.testing.experiments.candidates import Candidate
from reenact.testing.experiments.cell import CellResult
from reenact.testing.experiments.cell_run import CellPlace
from reenact.testing.experiments.cell_tally import CellTally, tallies
from reenact.testing.experiments.cluster import SCHEME, on_ray
from reenact.testing.experiments.code_digest import project_digest
from reenact.testing.experiments.dataset import Row, golden_rows, stored_rows
from reenact.testing.experiments.experiment_batch import Experiment, Runner, here
from reenact.testing.experiments.periods import Halves
from reenact.testing.experiments.result_table import row_lines, rows_of, total_lines
from reenact.testing.experiments.threshold import ThresholdScope, explained, threshold
from reenact.testing.goldens.golden_dir import open_golden_dir
from reenact.timetravel.narrowed_query import NarrowedQuery
from reenact.timetravel.vocabulary import STORED_WORDS

_CHOOSING = ("where", "session", "since", "before")
"""The options that choose stored runs."""
_WORST = {"stale": 3, "broken": 4, "refused": 5}


@click.command(
    cls=Command,
    name="experiment",
    short_help="every row on every candidate",
    example="""
    reenact experiment 'checkout/*' --candidate now: --candidate short:prompt=@short.txt --repeat 5
    reenact experiment --where "calls(search_docs) > 5" --expect 'calls(search_docs) <= 3' --candidate fix:rev=fix
    reenact experiment --candidate new:model=gpt-5.4-mini --repeat 20 --threshold 'surely(new) >= 0.8'
    """,
)
@click.argument("dataset", nargs=-1)
@click.option("--where", metavar="EXPR", help="Stored runs for which it is true, in place of goldens.")
@click.option("--session", metavar="S", help="All stored runs of a session, in order, in place of goldens.")
@click.option("--since", type=Since(), help="Only stored runs of the last 2h, 7d, or after a mark.")
@click.option("--before", type=Since(), help="Only stored runs that began longer ago than 2h, 7d, or before a mark.")
@click.option("--mark", metavar="MARK", default="", help="Compare the rows recorded before a mark with those since.")
@click.option(
    "--candidate",
    "candidates",
    metavar="NAME:K=V,…",
    multiple=True,
    required=True,
    help="A candidate: its name and its changes.",
)
@click.option("--expect", "expect_", metavar="EXPR", multiple=True, help="Also require this of every row.")
@click.option("--repeat", type=click.IntRange(1, 100_000), default=1, metavar="N", help="Run each N times.")
@click.option("--threshold", "threshold_", metavar="EXPR", help="What must hold of the candidates; else exit status 1.")
@click.option("-j", "--workers", type=click.IntRange(1, 256), metavar="N", help="Run N in parallel.")
@click.option("--on", "on", metavar="ray://…", help="A Ray cluster: ray://HOST:PORT, ray://auto or ray://local.")
@click.option("--cmd", metavar="CMD", help="Of imported runs: the command line of the agent that they answer.")
@click.option("--entry", metavar="MODULE:FUNCTION", default="", help="Of imported runs: the function to call.")
@click.option("--fresh", is_flag=True, help="Ignore cached results and run everything again.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    dataset: tuple[str, ...],
    candidates: tuple[str, ...],
    expect_: tuple[str, ...],
    threshold_: str | None,
    **how: Any,
) -> None:
    """Run today's code on every row, once for each candidate and repeat; tools are answered from the recording.

    DATASET is a list of goldens (names or patterns; default: all of them), or stored runs with --where, --session,
    --since or --before. With --mark there are also separate sums for the rows before a mark (reenact mark) and since. A
    candidate changes model, prompt, rev, temperature (or another parameter; param.X for any) or flag.X; NAME: alone
    changes nothing. A model is asked again where the candidate changes its request. live=missing sends the model calls
    that have no recorded answer, live=model sends all of them; answers=@FILE scripts answers instead. A call without an
    answer makes its cell stale.

    \b
    Names in --threshold (each takes a candidate):
      cost duration flaky passed stale surely tokens

    For imported runs, --cmd or --entry names the agent, which gets the imported answers of models and tools. Nothing
    goes live, and a candidate changes only rev.

    Finished cells are kept in .reenact/experiments and not run again, so an interrupted experiment goes on. Exit codes:
    with --threshold 0 or 1; without it 0, or 3, 4 or 5 when a cell was stale, broken or refused.
    """
    shell = current(ctx)
    expectations = [expect(text) for text in expect_]
    mark = _mark(shell, how["mark"])
    project, rows = _dataset(shell, dataset, how, expectations)
    tried = candidates_of(candidates, Path(project))
    names = [candidate.name for candidate in tried]
    condition = None if threshold_ is None else threshold(threshold_, names)
    place = CellPlace(project, str(cells_folder(shell, project)), project_digest(Path(project)))
    experiment = Experiment(place, rows, tried, how["repeat"], how["workers"] or 0, how["fresh"])
    cells = run_cells(shell, experiment, _runner(shell, how["on"]))
    every = tallies(cells, names)
    _tell(shell, cells, rows, tried)
    if mark is not None:
        _tell_halves(shell, Halves(cells, rows, names, mark))
    ctx.exit(_concluded(shell, condition, every))


def _mark(shell: Shell, named: str) -> Mark | None:
    """The mark across which rows are compared; None if no mark was named."""
    if not named:
        return None
    with opened(shell) as store:
        return find_mark(store.marks(), named)


def _tell_halves(shell: Shell, halves: Halves) -> None:
    if not shell.json:
        shell.lines(halves.lines())
        return
    for each in halves.data():
        shell.line(each)


def _dataset(
    shell: Shell, names: Sequence[str], how: Mapping[str, Any], expectations: Sequence[Expectation]
) -> tuple[str, list[Row]]:
    """The root of the project, and the rows of the dataset."""
    chosen = {name: how[name] for name in _CHOOSING if how[name] is not None}
    if not chosen:
        golden_dir = open_golden_dir()
        found = golden_dir.matching(names)
        if not found:
            raise _nothing(
                "there are no goldens yet", "reenact golden add @failed --as first --expect \"status == 'ok'\""
            )
        return str(golden_dir.root), golden_rows(golden_dir, found, expectations)
    if names:
        raise UsageError(
            "both goldens and stored runs are named",
            cause="a dataset is either goldens or stored runs",
            next_command="reenact experiment --help",
        )
    with opened(shell) as store:
        rows = stored_rows(
            store, _runs(store, how["where"], filters_of(chosen, store)), expectations, **program_of(how)
        )
        if not rows:
            raise _nothing("no matching runs", "reenact ls")
        return project_of(), rows


def _runs(store: Store, where: str | None, filters: Mapping[str, Any]) -> Iterator[Run]:
    """Recorded runs, oldest first; runs that were made from other runs (forks, kept replays, child runs) are no
    rows."""
    asked = {name: value for name, value in filters.items() if name != "where"}
    narrowing = None if where is None else NarrowedQuery(compile_expression(where, STORED_WORDS))
    if narrowing is not None:
        asked = narrowing.among(asked)
    found = [run for run in store.runs(**asked) if not run.relation and run.status is not Status.RECORDING]
    for run in sorted(found, key=lambda run: run.id):
        if narrowing is None or narrowing.holds(scope_of(store, run)):
            yield run


def _nothing(what: str, next_command: str) -> UsageError:
    return UsageError(what, cause="an experiment needs a dataset of one row at least", next_command=next_command)


def _runner(shell: Shell, on: str | None) -> Runner:
    """The runner for the cells: on this machine, or on a cluster."""
    if on is None:
        waits = partial(shell.talk, "reenact: waiting for an agent that an earlier experiment has left running")
        return partial(here, waits=waits)
    if not on.startswith(SCHEME) or on == SCHEME:
        raise UsageError(
            f"--on {on} names no cluster",
            cause="it is ray://HOST:PORT, ray://auto (the one on this machine) or ray://local (one for this alone)",
            next_command="reenact experiment --help",
        )
    return partial(on_ray, on)


def _tell(shell: Shell, cells: Sequence[CellResult], rows: Sequence[Row], tried: Sequence[Candidate]) -> None:
    names = [candidate.name for candidate in tried]
    if shell.json:
        for cell in cells:
            shell.line({"type": "cell"} | cell.to_json())
        for row, every in rows_of(cells, rows, names):
            for tally in every:
                shell.line({"type": "row", "row": row.name, "recorded": dict(row.recorded)} | tally.to_json())
        for candidate, tally in zip(tried, tallies(cells, names), strict=True):
            shell.line({"type": "candidate", "about": candidate.about} | tally.to_json())
        return
    shell.lines(_lines(cells, rows, names))


def _lines(cells: Sequence[CellResult], rows: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    for row, every in rows_of(cells, rows, names):
        first, *rest = row_lines(row, every)
        yield paint(first, bold=True)
        yield from rest
    yield ""
    yield from total_lines(tallies(cells, names))


def _concluded(shell: Shell, condition: Expression | None, every: Sequence[CellTally]) -> int:
    """The exit status: the result of the threshold if there is one, else a status for the cells that could not be
    run."""
    if condition is not None:
        holds = condition.holds(ThresholdScope(every))
        said = "holds" if holds else "does not hold" if holds is False else "cannot be judged"
        if shell.json:
            shell.line({"type": "threshold", "text": condition.text, "holds": holds})
        shell.talk(f"reenact: the threshold {said}: {condition.text}  ({explained(condition, every)})")
        return 0 if holds else 1
    shell.next("reenact experiment --help")
    return max((_WORST.get(cell.status, 0) for tally in every for cell in tally.cells), default=0)
