"""``reenact stats``: adds up runs, bytes, tokens and cost, by agent, tenant, day or class."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from reenact.facts.call import Json
from reenact.facts.marks import Periods
from reenact.facts.phrases import counted
from reenact.interfaces.cli.charts import bars_for, days_between, sparkline
from reenact.interfaces.cli.progress import WorkProgress
from reenact.interfaces.cli.run_filters import choosing, chosen, filters_of
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, columns, current, paint
from reenact.testing.experiments.statistics import TrialShare, difference
from reenact.timetravel.cost import prices
from reenact.timetravel.preview import amount, clip, safe, size
from reenact.timetravel.spending import KEYS, Account, Sum, account_of

_NAMED = 5
"""The most models without a price that are named."""
_NEXT = {"day": "reenact stats --by class", "class": "reenact gc --dry-run", "mark": "reenact ls --since @"}
MARK = "mark"
"""The value of ``--by`` for the periods between two marks."""
_FIGURES = ("RUNS", "FAILED", "MODELS", "TOKENS IN", "TOKENS OUT", "COST $", "BYTES")


@click.command(
    cls=Command,
    name="stats",
    short_help="runs, bytes, tokens and cost, by what you choose",
    example="""
    reenact stats
    reenact stats --by agent --by class --since 7d
    reenact stats --by day --agent refunds --json
    reenact stats --by mark --agent refunds
    """,
)
@click.option(
    "--by",
    "names",
    type=click.Choice([*KEYS, MARK]),
    multiple=True,
    help="What to add up by; may be repeated. Default: agent.",
)
@choosing
@click.pass_context
def command(ctx: click.Context, /, names: tuple[str, ...], where: str | None, **wanted: Any) -> None:
    """Add up runs, bytes, tokens and cost, by agent, tenant, day, class, user, session, status or route, or between the
    marks that reenact mark has set. --by mark also says whether the share of failed runs has changed since the last
    mark.

    Each call is counted once: a run inside another one counts its own calls, and a fork only its live calls. Bytes are
    those of the store's file, about. Prices need the extra reenact[cost]; calls without a price are counted and named,
    and add nothing to the cost.

    The names in --where are those of reenact ls.
    """
    shell = current(ctx)
    names = tuple(dict.fromkeys(names)) or ("agent",)
    with opened(shell) as store:
        runs = list(chosen(store, where, None, filters_of(wanted, store), shell.talk))
        periods = Periods(store.marks() if MARK in names else ())
        with WorkProgress(f"adding up {counted(len(runs), 'run')}"):
            priced = prices() if any(run.totals.models for run in runs) else None
            account = account_of(store, runs, priced)
    groups = account.by(names, {**KEYS, MARK: lambda run: periods.of(run.started_us)})
    order = _order(names[0], groups, periods)
    total = Sum()
    for each in groups.values():
        total.plus(each)
    if shell.json:
        for key in order:
            shell.line({"type": "group"} | dict(zip(names, key, strict=True)) | _data(groups[key]))
        shell.line({"type": "total"} | _data(total) | {"unpriced_models": dict(total.unpriced.most_common())})
        return
    if not runs:
        shell.talk("no matching runs" if wanted or where else "no runs yet")
        shell.next("reenact ls")
        return
    shell.lines(_table(names, order, groups, total))
    for line in (*_chart(account), *_moved(account, periods)):
        shell.data(line)
    _without_price(shell, total, known=priced is not None)
    if total.thinned:
        shell.talk(f"reenact: {total.thinned} of {counted(total.runs, 'run')} thinned to the events, without bodies")
    shell.next(_NEXT.get(names[0], "reenact stats --by day"))


def _order(by: str, groups: Mapping[tuple[str, ...], Sum], periods: Periods) -> list[tuple[str, ...]]:
    """The groups in the order of display: days, and periods between marks, by time with the latest first; other groups
    by ``_rank``."""
    ranked = sorted(groups, key=lambda key: _rank(key, groups[key]))
    if by == MARK:
        return sorted(ranked, key=lambda key: -periods.names.index(key[0]))
    return sorted(groups, reverse=True) if by == "day" else ranked


def _moved(account: Account, periods: Periods) -> Iterator[str]:
    """Whether the share of failed runs has changed since the last mark, compared with the period before this mark."""
    if len(periods.names) < 2:
        return
    groups = account.by([MARK], {MARK: lambda run: periods.of(run.started_us)})
    before, since = (groups.get((name,), Sum()) for name in periods.names[-2:])
    if not (before.runs and since.runs):
        return
    shares = TrialShare(before.failed, before.runs), TrialShare(since.failed, since.runs)
    low, high = difference(*shares)
    how = "more runs fail" if low > 0 else "fewer runs fail" if high < 0 else "no difference is shown in failed runs"
    yield (
        f"{periods.names[-1]}: {how}, {shares[1]} after {shares[0]}; difference {100 * low:+.0f} to {100 * high:+.0f}"
        " points (95 %)"
    )


def _rank(key: tuple[str, ...], of: Sum) -> tuple[Any, ...]:
    """The key that sorts groups: the highest cost first, then the largest group."""
    return (-of.cost, -of.tokens_in - of.tokens_out, -of.runs, key)


def _data(of: Sum) -> dict[str, Json]:
    return {
        "runs": of.runs,
        "failed": of.failed,
        "thinned": of.thinned,
        "models": of.models,
        "tokens_in": of.tokens_in,
        "tokens_out": of.tokens_out,
        "bytes": of.size,
        "cost": float(of.cost) if of.whole else None,
        "cost_known": float(of.cost),
        "unpriced": sum(of.unpriced.values()),
    }


def _table(
    names: Sequence[str], order: Sequence[tuple[str, ...]], groups: dict[tuple[str, ...], Sum], total: Sum
) -> Iterator[str]:
    rows = [[safe(part or "-") for part in key] + _cells(groups[key]) for key in order]
    rows.append(["total", *[""] * (len(names) - 1), *_cells(total)])
    head = [*(name.upper() for name in names), *_FIGURES]
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    over = sum(widths) + 2 * len(widths) - 2 - columns()
    if over > 0:
        widths[0] = max(widths[0] - over, 8)
    for row in [head, *rows]:
        cells = [
            clip(text, width).ljust(width) if n < len(names) else text.rjust(width)
            for n, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip()
        yield paint(line, bold=True) if row is head or row is rows[-1] else line


def _cells(of: Sum) -> list[str]:
    return [
        str(of.runs), str(of.failed), str(of.models), str(of.tokens_in), str(of.tokens_out), _money(of), size(of.size),
    ]  # fmt: skip


def _money(of: Sum) -> str:
    """The known cost, with a plus if there are calls without a price."""
    if of.whole:
        return amount(of.cost) if of.models or of.cost else "-"
    return f"{amount(of.cost)} + ?" if of.cost else "?"


def _without_price(shell: Shell, total: Sum, *, known: bool) -> None:
    """Tell the user which calls have no price, so that the sum is not taken for the whole cost."""
    if total.whole:
        return
    calls = counted(sum(total.unpriced.values()), "model call")
    if not known:
        shell.talk(f'reenact: {calls} without a price: no price list is installed (pip install "reenact[cost]")')
        return
    named = ", ".join(f"{safe(name)} ({count})" for name, count in total.unpriced.most_common(_NAMED))
    more = len(total.unpriced) - _NAMED
    shell.talk(
        f"reenact: {calls} without a price, for which nothing is added: {named}{f', {more} more' if more > 0 else ''}"
    )


def _chart(account: Account) -> Iterator[str]:
    """The runs and tokens of each day, as bars; nothing where standard output is no terminal."""
    if not sys.stdout.isatty():
        return
    by_day = {key[0]: found for key, found in account.by(["day"]).items()}
    days = days_between(min(by_day), max(by_day), columns() - 40)
    if len(days) < 2:
        return
    bars = bars_for(getattr(sys.stdout, "encoding", None))
    figures = {
        "runs": Counter({day: of.runs for day, of in by_day.items()}),
        "tokens": Counter({day: of.tokens_in + of.tokens_out for day, of in by_day.items()}),
    }
    for name, values in figures.items():
        if any(values.values()):
            yield f"{name:>6} a day  {sparkline([values[day] for day in days], bars)}  {days[0]} to {days[-1]}"
