"""``reenact gc``: removes expired runs, and gives their space back to the file system."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from reenact.abc.project_settings import load_settings
from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.errors import ReenactError, UsageError
from reenact.facts.day_limit import RunSize, over_limit
from reenact.facts.ids import tail
from reenact.facts.kit import ReplayUse
from reenact.facts.phrases import counted
from reenact.facts.run import Run
from reenact.facts.thinned_runs import why_thinned
from reenact.interfaces.cli.progress import Progress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.store.housekeeping import ExpiredRun, spent_us
from reenact.store.sqlite_store import SqliteStore
from reenact.timetravel.preview import duration, safe, size
from reenact.triage.kit_of_run import kit_of

_NICE = 10
_AT_ONCE = 1000
"""The most runs that the background process removes at a time."""
_PAUSE = 0.005
_MB = 1_000_000
_FEW = 12
"""The most reasons that are listed."""
_LISTED = 40
"""The most runs that are listed one by one."""


@click.command(
    cls=Command,
    name="gc",
    short_help="remove expired runs and give their space back",
    example="""
    reenact gc --dry-run
    reenact gc
    """,
)
@click.option("--dry-run", is_flag=True, help="Say what would go, how many bytes and how long, and remove nothing.")
@click.option("--background", is_flag=True, hidden=True, help="Silently, giving way to others.")
@click.pass_context
def command(ctx: click.Context, dry_run: bool, background: bool) -> None:
    """Remove runs that have expired, and give their space back to the file system.

    Runs that ended well are kept 7 days, failed runs and runs that cannot be replayed 30 days, flagged runs 90 days,
    runs of tests 1 day; the setting keep changes this by class and by agent. Runs with the label keep=always stay for
    good, and so do runs from which a golden was made. A run that another one needs stays as long as that one.

    Programs may record and read meanwhile. If gc is killed, the next gc continues.
    """
    shell = current(ctx)
    terms = _terms()
    with opened(shell) as store:
        kept = _sqlite(store)
        if background:
            _quietly(kept, terms)
            return
        now = CLOCK.wall_us()
        going = kept.housekeeping().due(terms, now, lambda run: is_cold(kept, run))
        if dry_run:
            _plan(shell, going)
            _tell_thinned(shell, _above_limit(kept, going), "would be")
            return
        _remove(shell, kept, going, now)
        thinned = [each for each in _above_limit(kept, []) if _thin(kept, each)]
        _tell_thinned(shell, thinned, "were")


def _quietly(store: SqliteStore, terms: Mapping[str, str]) -> None:
    """Remove expired runs in the background. One process at a time does this, with pauses, and removes a limited number
    of runs."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    lock = store.alone()
    if lock is None:
        return
    try:
        now = CLOCK.wall_us()
        for each in store.housekeeping().due(terms, now, lambda run: is_cold(store, run))[:_AT_ONCE]:
            since = CLOCK.mono_us()
            store.expire(each, now)
            time.sleep((CLOCK.mono_us() - since) / 1_000_000)  # leaves writers at least half of the time
        for run in _above_limit(store, [])[:_AT_ONCE]:
            _thin(store, run)
            time.sleep(_PAUSE)
        for _ in store.give_back(rewrite=False):
            time.sleep(_PAUSE)
    finally:
        lock.release()


def _above_limit(store: SqliteStore, going: list[ExpiredRun]) -> list[RunSize]:
    """The runs to be thinned because the runs of their day exceed ``day_mb``. The runs in ``going``, which are removed
    anyway, do not count."""
    limit = _day_mb() * _MB
    if not limit:
        return []
    usage, gone = store.usage(), {name for each in going for name in each.rows}
    places, sizes = usage.places(), usage.sizes()
    whole = [(run, places.get(run.id)) for run in store.runs() if run.id not in gone and not run.lane]
    return over_limit([RunSize(run, sizes.get(place.log, 0)) for run, place in whole if place is not None], int(limit))


def _thin(store: SqliteStore, kept: RunSize) -> bool:
    return store.thin(kept.run.id, f"day_mb = {_day_mb():g}")


def _day_mb() -> float:
    value = load_settings()["day_mb"].value
    assert isinstance(value, int | float)
    return float(value)


def _tell_thinned(shell: Shell, thinned: list[RunSize], verb: str) -> None:
    """Print the number of runs that were thinned; nothing if no run was."""
    taken = sum(each.size for each in thinned)
    if shell.json:
        for each in thinned:
            shell.line({"type": "thinned", "run": each.run.id, "bytes": each.size})
    elif thinned:
        shell.data(
            f"{counted(len(thinned), 'run')} that ended well {verb} thinned to their events, {size(taken)} in all: "
            f"day_mb = {_day_mb():g}"
        )


def _terms() -> Mapping[str, str]:
    value = load_settings()["keep"].value
    assert isinstance(value, Mapping)
    return value


def is_cold(store: Store, run: Run) -> bool:
    """Whether a run cannot be replayed at all. A run whose kit cannot be made counts as cold. A thinned run does not,
    because its loss was intended."""
    if why_thinned(run):
        return False
    try:
        return kit_of(store, run).verdict is ReplayUse.COLD
    except ReenactError:
        return True


def _sqlite(store: Store) -> SqliteStore:
    if isinstance(store, SqliteStore):
        return store
    raise UsageError(
        f"runs do not expire in {store.url}",
        cause="a bundle is one file, and what is in memory goes with its process",
        next_command="reenact --store .reenact gc --dry-run",
    )


def _plan(shell: Shell, going: list[ExpiredRun]) -> None:
    spent, runs = spent_us(going), sum(len(each.rows) for each in going)
    total = sum(each.size for each in going)
    if shell.json:
        for each in going:
            shell.line(_data(each))
        shell.line({"type": "total", "runs": runs, "bytes": total, "seconds": spent / 1_000_000})
        return
    if not going:
        _nothing(shell)
        return
    shell.data(f"would remove {counted(runs, 'run')}, {size(total)}, in about {duration(spent)}")
    if len(going) <= _LISTED:
        for each in going:
            inside = f" ({len(each.rows) - 1} inside it)" if len(each.rows) > 1 else ""
            shell.data(f"  {tail(each.run.id)}  {safe(each.run.agent) or '-'}{inside}: {safe(each.expiry.why)}")
    else:
        _reasons(shell, going)
        shell.data("  reenact --json gc --dry-run lists each of them")
    shell.next("reenact gc")


def _reasons(shell: Shell, going: list[ExpiredRun]) -> None:
    reasons = Counter(each.expiry.why for each in going for _ in each.rows)
    for why, count in reasons.most_common(_FEW):
        shell.data(f"  {count:>6}  {safe(why)}")
    if len(reasons) > _FEW:
        shell.data(f"  {sum(reasons.values()) - sum(n for _, n in reasons.most_common(_FEW)):>6}  for other reasons")


def _nothing(shell: Shell) -> None:
    shell.data("nothing has expired")
    shell.next("reenact config")


def _data(going: ExpiredRun) -> dict[str, Any]:
    return {
        "type": "run",
        "run": going.run.id,
        "runs": list(going.rows),
        "expired_us": going.expiry.at_us,
        "why": going.expiry.why,
        "bytes": going.size,
    }


def _remove(shell: Shell, store: SqliteStore, going: list[ExpiredRun], now_us: int) -> None:
    before, since = store.path.stat().st_size, CLOCK.mono_us()
    progress = Progress(len(going), "left as they are")
    gone: list[ExpiredRun] = []
    for each in going:
        if store.expire(each, now_us):
            gone.append(each)
        progress.one(bad=len(gone) == 0 or gone[-1] is not each)
    progress.end()
    left = 0
    for left in store.give_back():  # noqa: B007 - the last one is what is left
        pass
    spent, back = CLOCK.mono_us() - since, before - store.path.stat().st_size
    runs = sum(len(each.rows) for each in gone)
    if shell.json:
        for each in gone:
            shell.line(_data(each))
        total = {"type": "total", "runs": runs, "given_back": back, "pages_left": left, "seconds": spent / 1_000_000}
        shell.line(total)
        return
    if not gone and back <= 0:
        _nothing(shell)
        return
    shell.data(f"removed {counted(runs, 'run')}; the file is {size(max(back, 0))} smaller; {duration(spent)}")
    _reasons(shell, gone)
    if len(gone) < len(going):
        names = ", ".join(tail(each.run.id) for each in going if each not in gone)
        shell.talk(f"reenact: left as they are, because something has changed: {names}")
    if left:
        shell.talk("reenact: the rest goes back when nothing is recorded and the file is under 1 GB: reenact gc")
    shell.next("reenact ls")
