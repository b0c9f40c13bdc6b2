"""``reenact ls``: lists runs, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from reenact.abc.sources import CLOCK
from reenact.errors import ReenactError, UsageError
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.late import late
from reenact.facts.phrases import counted
from reenact.facts.run import run_failed
from reenact.interfaces.cli.expires import ExpiryDates
from reenact.interfaces.cli.progress import WorkProgress
from reenact.interfaces.cli.run_filters import choosing, chosen, filters_of, nothing_called, ways
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.run_outcome import outcome
from reenact.interfaces.cli.shell import Command, columns, current, paint
from reenact.timetravel import preview
from reenact.timetravel.gist import command_of, question_of
from reenact.timetravel.lineage import Twig, origin

if TYPE_CHECKING:
    from reenact.abc.store import Store
    from reenact.facts.marks import Mark, Periods
    from reenact.facts.run import Run
    from reenact.interfaces.cli.background_expiry import tidy
    from reenact.interfaces.cli.cold_case_lines import tell_alike, tell_reasons
    from reenact.interfaces.cli.shell import Shell
    from reenact.timetravel.json_views import run_data
    from reenact.timetravel.lineage import draw
    from reenact.timetravel.priced_runs import priced_run
    from reenact.triage.cold_cases import ColdCase, cold_case
else:
    tell_alike = late("reenact.interfaces.cli.cold_case_lines", "tell_alike")
    tell_reasons = late("reenact.interfaces.cli.cold_case_lines", "tell_reasons")
    tidy = late("reenact.interfaces.cli.background_expiry", "tidy")
    draw = late("reenact.timetravel.lineage", "draw")
    run_data = late("reenact.timetravel.json_views", "run_data")
    priced_run = late("reenact.timetravel.priced_runs", "priced_run")
    cold_case = late("reenact.triage.cold_cases", "cold_case")
    Periods = late("reenact.facts.marks", "Periods")

_WIDE = 110
"""The least width of a terminal at which the figures are shown, too."""
_WIDEST_PART = 48
"""The most characters of a part of an expression in an explanation."""
_LOOKED_AT = 200
"""The most runs that are read to find out whether any run names its agent."""


@click.command(
    cls=Command,
    name="ls",
    short_help="list runs, newest first",
    example="""
    reenact ls --failed --since 2h
    reenact ls --tree -n 20
    reenact ls --cold --since 7d
    reenact ls --tenant acme --where "calls(search_docs) > 5 and status == 'ok'"
    """,
)
@choosing
@click.option("-n", "limit", type=click.IntRange(min=1), metavar="N", help="Show at most N runs.")
@click.option("--tree", is_flag=True, help="As a graph: forks, kept replays and child runs below their parents.")
@click.option("--cold", is_flag=True, help="Only runs that cannot be replayed, each with the reason and its fix.")
@click.option("--explain", is_flag=True, help="Say first what is found by an index, and what is read of each run.")
@click.pass_context
def command(
    ctx: click.Context, /, where: str | None, limit: int | None, tree: bool, cold: bool, explain: bool, **wanted: Any
) -> None:
    """List runs, newest first.

    --cold makes the kit of each run, which reads its events: in a big store, choose runs with --since or --agent. Below
    the list is a count over time of similar cold cases. The names cold and missing in --where also read events: --where
    "'tool_calls' in missing".

    \b
    Names in --where:
      acts agent answer args before(A, B) calls(NAME) cold cost duration
      error events exit_status failed flag flagged id missing models
      order(A, B) repeats result session state status stderr stdout suspicious
      tag(NAME) tags tenant tokens tokens_in tokens_out tools unanswered user
      version
    """
    shell = current(ctx)
    if cold and tree:
        raise UsageError(
            "cold cases are a list, not a graph",
            cause="--cold and --tree were both given",
            next_command="reenact ls --cold",
        )
    with opened(shell) as store:
        filters = filters_of(wanted, store)
        if explain:
            _explain(shell, ways(store, where, filters))
        if cold:
            _cold(shell, store, islice(_cold_cases(store, chosen(store, where, None, filters, shell.talk)), limit))
            return
        runs = islice(chosen(store, where, limit, filters, shell.talk), limit)
        twigs = draw(runs) if tree else (Twig(run, 0, "") for run in runs)
        if shell.json:
            expiring, periods = ExpiryDates(store), Periods(store.marks())
            for twig in twigs:
                run = twig.run
                data = priced_run(store.open(run)) if run.totals.models else run_data(run)
                data |= {"question": _question(store, run), "period": periods.of(run.started_us)} | expiring.data(run)
                shell.line(data | {"depth": twig.depth} if tree else data)
            return
        if not _show(shell, store, twigs, tree, bool(filters or where)):
            for words in nothing_called(store, where, filters):
                shell.talk(preview.safe(words))
            shell.next("reenact ls" if filters or where else "reenact record -- python agent.py")
    tidy(shell)


def _explain(shell: Shell, found: Iterable[tuple[str, str]]) -> None:
    """Print how each option and each part of the expression finds its runs."""
    told = [*found] or [("all runs", "by an index")]
    widest = min(max(len(asked) for asked, _ in told), _WIDEST_PART)
    for asked, by in told:
        shell.talk(f"reenact: {preview.clip(preview.safe(asked), _WIDEST_PART):{widest}}  {by}")


def _show(shell: Shell, store: Store, twigs: Iterator[Twig], tree: bool, filtered: bool) -> bool:
    """Print the runs. Returns whether there was any run."""
    with WorkProgress("looking through the runs"):
        first = next(twigs, None)
    if first is None:
        shell.talk("no matching runs" if filtered else "no runs yet")
        return False
    shell.lines(
        _graph(chain((first,), twigs)) if tree else _table(store, (twig.run for twig in chain((first,), twigs)))
    )
    shell.next(f"reenact show {tail(first.run.id)}")
    return True


def _cold_cases(store: Store, runs: Iterable[Run]) -> Iterator[ColdCase]:
    """The cold cases among some runs."""
    return filter(None, (cold_case(store, run) for run in runs))


def _cold(shell: Shell, store: Store, cases: Iterator[ColdCase]) -> None:
    if shell.json:
        for case in cases:
            told = {"question": _question(store, case.run), "cold": [each.to_json() for each in case.why]}
            shell.line(run_data(case.run) | told | {"fingerprint": case.fingerprint})
        return
    with WorkProgress("looking for what cannot be replayed"):
        found = list(cases)
    if not found:
        shell.talk("no cold cases: each of these runs can be replayed")
        shell.next("reenact kit")
        return
    rows = _table(store, (case.run for case in found))
    shell.lines((next(rows),))
    for case in found:
        shell.lines((next(rows), *tell_reasons(case)))
    shell.lines(tell_alike(found))
    shell.next(f"reenact kit {tail(found[0].run.id)}")


def _graph(twigs: Iterable[Twig]) -> Iterator[str]:
    """A line for each run, with its place in the graph and its origin."""
    now, width = CLOCK.wall_us(), columns()
    for twig in twigs:
        run = twig.run
        parts = [tail(run.id), origin(run, drawn=twig.depth > 0), "" if run.title == "-" else run.title, outcome(run)]
        parts += [counted(run.totals.events, "event"), preview.ago(now - run.started_us)]
        text = "  ".join(preview.safe(part) for part in parts if part)
        line = preview.clip(f"{twig.drawn}* {text}", width)
        yield paint(line, fg="red") if run_failed(run) else line


def _table(store: Store, runs: Iterator[Run]) -> Iterator[str]:
    """The runs as rows of a table, as wide as the terminal. On a narrow terminal only the most important columns are
    shown."""
    now, width, expiring = CLOCK.wall_us(), columns(), ExpiryDates(store)
    with WorkProgress("looking through the runs"):
        first = list(islice(runs, _LOOKED_AT))
    layout = _layout(width, named=any(run.agent for run in first))
    yield paint(_row(layout, {name: name for name in layout}, width), bold=True)
    marks = list(store.marks())
    for run in chain(first, runs):
        while marks and marks[-1].at_us > run.started_us and not is_imported(run):  # imported runs may be at any place
            yield paint(_line_of(marks.pop(), now, width), dim=True)
        totals = run.totals
        cells = {
            "RUN": tail(run.id),
            "WHEN": preview.ago(now - run.started_us),
            "AGENT": run.agent or "-",
            "STATUS": f"{outcome(run)} ({left})" if (left := expiring.near(run)) else outcome(run),
            "EVENTS": str(totals.events),
            "MODELS": str(totals.models),
            "TOOLS": str(totals.tools),
            "DURATION": preview.duration(run.lasted_us),
            "QUESTION": " ".join(part for part in (run.route, _question(store, run)) if part),
        }
        row = _row(layout, cells, width)
        yield paint(row, fg="red") if run_failed(run) else row


def _line_of(mark: Mark, now: int, width: int) -> str:
    """The line for a mark, which is printed between the runs after the mark and the runs before it."""
    return preview.clip(preview.safe(f"-------- {preview.ago(now - mark.at_us):<6}  {mark.name}"), width)


def _layout(width: int, *, named: bool) -> dict[str, int]:
    """The columns for a width, each with its own width, which is negative for a column of figures."""
    wide = width >= _WIDE
    layout = {"RUN": 8, "WHEN": 6}
    if named:
        layout["AGENT"] = 20 if wide else 12
    layout["STATUS"] = 32 if wide else 16
    if wide:
        layout |= {"EVENTS": -6, "MODELS": -6, "TOOLS": -5}
    return layout | {"DURATION": -8, "QUESTION": 0}


def _row(layout: Mapping[str, int], cells: Mapping[str, str], width: int) -> str:
    parts = []
    for name, room in layout.items():
        text = preview.safe(cells[name])
        if room:
            text = preview.clip(text, abs(room))
            text = text.rjust(-room) if room < 0 else text.ljust(room)
        parts.append(text)
    return preview.clip("  ".join(parts), width).rstrip()


def _question(store: Store, run: Run) -> str:
    """The question that a run was asked; for a fork or a kept replay, the origin of the run comes first."""
    came = "" if run.relation == "request" else origin(run)
    try:
        asked = question_of(store.open(run)) or ("" if run.route else command_of(run))
    except ReenactError:  # the run is damaged: it is listed, too, and `show` explains the damage
        asked = ""
    return f"{came}: {asked}" if came and asked else came or asked
