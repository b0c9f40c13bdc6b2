"""``reenact ls``: runs, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any

import click

from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.facts.expressions import compile_expression
from reenact.facts.ids import tail
from reenact.facts.phrases import counted
from reenact.facts.run import Run
from reenact.interfaces.cli.arguments import Since, pairs
from reenact.interfaces.cli.opening import opened
from reenact.interfaces.cli.outcome import outcome
from reenact.interfaces.cli.shell import Command, Shell, current, paint
from reenact.timetravel import preview
from reenact.timetravel.lineage import Twig, draw, origin
from reenact.timetravel.plain import run_data
from reenact.timetravel.priced import priced_run
from reenact.timetravel.vocabulary import RUN_WORDS, RunScope, run_failed

_WIDTH = 160
_COLUMNS = (("RUN", 8), ("WHEN", 6), ("AGENT", 20), ("OUTCOME", 30), ("EVENTS", -6), ("MODEL", -5), ("TOOL", -4))


@click.command(
    cls=Command,
    name="ls",
    short_help="list runs, newest first",
    example="""
    reenact ls --failed --since 2h
    reenact ls --tree -n 20
    reenact ls --tenant acme --where "calls(search_docs) > 5 and status == 'ok'"
    """,
)
@click.option("--failed", is_flag=True, help="Only runs that failed, ran out of time or broke off.")
@click.option("--agent", metavar="NAME", help="Only runs of this agent.")
@click.option("--user", metavar="ID", help="Only runs for this user.")
@click.option("--tenant", metavar="ID", help="Only runs for this tenant.")
@click.option("--session", metavar="ID", help="Only runs of this session.")
@click.option("--tag", metavar="K=V", multiple=True, help="Only runs with this label; may be repeated.")
@click.option("--since", type=Since(), help="Only runs that began in the last 30s, 15min, 2h, 7d, 4w.")
@click.option("--where", metavar="EXPR", help="Only runs for which an expression is true (its names are below).")
@click.option("-k", "text", metavar="TEXT", help="Only runs with this text in their messages or tool data.")
@click.option("-n", "limit", type=click.IntRange(min=1), metavar="N", help="At most so many runs.")
@click.option("--tree", is_flag=True, help="As a graph: forks, kept replays and child runs below their parents.")
@click.pass_context
def command(ctx: click.Context, /, where: str | None, limit: int | None, tree: bool, **wanted: Any) -> None:
    """List runs, newest first.

    \b
    Names in --where:
      acts agent answer args before(A, B) calls(NAME) cost duration
      error events exit_status failed flag flagged id models order(A, B)
      repeats result session state status tag(NAME) tags tenant tokens
      tokens_in tokens_out tools unanswered user version
    """
    shell = current(ctx)
    filters = _filters(wanted)
    with opened(shell) as store:
        runs = islice(_chosen(store, where, limit, filters), limit)
        twigs = draw(runs) if tree else (Twig(run, 0, "") for run in runs)
        if shell.json:
            for twig in twigs:
                run = twig.run
                data = priced_run(store.open(run)) if run.totals.models else run_data(run)
                shell.line(data | {"depth": twig.depth} if tree else data)
            return
        _show(shell, twigs, tree, bool(filters or where))


def _filters(wanted: dict[str, Any]) -> dict[str, Any]:
    """The store's filters for the options that were given."""
    filters = {name: value for name, value in wanted.items() if value}
    if "tag" in filters:
        filters["tag"] = pairs(filters["tag"])
    if "since" in filters:
        filters["since_us"] = CLOCK.wall_us() - filters.pop("since")
    return filters


def _chosen(store: Store, where: str | None, limit: int | None, filters: dict[str, Any]) -> Iterator[Run]:
    if where is None:
        return store.runs(**filters, **({"limit": limit} if limit else {}))
    expression = compile_expression(where, RUN_WORDS)
    return (run for run in store.runs(**filters) if expression.holds(RunScope(run, partial(store.open, run))))


def _show(shell: Shell, twigs: Iterator[Twig], tree: bool, filtered: bool) -> None:
    first = next(twigs, None)
    if first is None:
        shell.talk("no run fits" if filtered else "no runs yet")
        shell.next("reenact ls" if filtered else "reenact record -- python agent.py")
        return
    shell.lines(_graph(chain((first,), twigs)) if tree else _table(twig.run for twig in chain((first,), twigs)))
    shell.next(f"reenact show {tail(first.run.id)}")


def _graph(twigs: Iterable[Twig]) -> Iterator[str]:
    """Each run in its place, and how it came about."""
    now = CLOCK.wall_us()
    for twig in twigs:
        run = twig.run
        parts = [tail(run.id), origin(run, drawn=twig.depth > 0), run.agent or "-", outcome(run)]
        parts += [counted(run.totals.events, "event"), preview.ago(now - run.started_us)]
        text = "  ".join(preview.safe(part) for part in parts if part)
        line = preview.clip(f"{twig.drawn}* {text}", _WIDTH)
        yield paint(line, fg="red") if run_failed(run) else line


def _table(runs: Iterable[Run]) -> Iterator[str]:
    now = CLOCK.wall_us()
    yield paint(_row(*(name for name, _ in _COLUMNS), "TIME"), bold=True)
    for run in runs:
        totals = run.totals
        row = _row(
            tail(run.id),
            preview.ago(now - run.started_us),
            run.title,
            outcome(run),
            str(totals.events),
            str(totals.models),
            str(totals.tools),
            preview.duration(None if run.ended_us is None else run.ended_us - run.started_us),
        )
        yield paint(row, fg="red") if run_failed(run) else row


def _row(*cells: str) -> str:
    parts = []
    for cell, (_, width) in zip(cells, _COLUMNS, strict=False):
        text = preview.clip(preview.safe(cell), abs(width))
        parts.append(text.rjust(-width) if width < 0 else text.ljust(width))
    return "  ".join([*parts, cells[-1]])
