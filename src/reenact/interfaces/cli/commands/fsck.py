"""``reenact fsck``: reads and checks everything in the store."""

from __future__ import annotations

import click

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.ids import is_run_id, tail
from reenact.interfaces.cli.progress import ReadingProgress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import Break, CheckResult, TouchedRun, check_store
from reenact.store.store_file import no_store
from reenact.timetravel.preview import safe

DAMAGED = 4
"""The exit code for a damaged store."""

_EVENTS = 6


@click.command(
    cls=Command,
    name="fsck",
    short_help="re-hash everything, name each break",
    example="""
    reenact fsck
    reenact --store old/.reenact fsck --json
    """,
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Read everything in the store, check it, and name each break with the runs and events it touches.

    fsck hashes every payload, compares rows with their check sums, follows references, queries the text index, and has
    SQLite check its own file. Nothing is written; agents may record meanwhile. Exit code 0: nothing is damaged; 4:
    something is.
    """
    shell = current(ctx)
    with opened(shell) as store:
        if not isinstance(store, SqliteStore):
            raise UsageError(
                f"{store.url} is no store in a file",
                cause="fsck checks stores; a bundle is checked whenever it is read",
                next_command="reenact fsck",
            )
        path, url = store.path, store.url
    if not path.exists():
        raise no_store(url)
    progress = ReadingProgress()
    try:
        found = check_store(path, progress.at)
    finally:
        progress.end()
    if shell.json:
        for each in found.breaks:
            shell.line(_data(each))
        shell.line({"type": "checked", "store": url, **_counts(found)})
    else:
        _tell(shell, url, found)
    ctx.exit(DAMAGED if found.breaks else 0)


def _counts(found: CheckResult) -> dict[str, Json]:
    return {
        "format": found.written,
        "runs": found.runs,
        "rows": found.rows,
        "breaks": len(found.breaks),
        "touched": len(touched_runs(found)),
    }


def touched_runs(found: CheckResult) -> list[str]:
    """The runs that the breaks touch, in order."""
    return sorted({each.run for broken in found.breaks for each in broken.touched})


def _data(broken: Break) -> dict[str, Json]:
    return {
        "type": "break",
        "what": broken.what,
        "name": broken.name,
        "problem": broken.problem,
        "touched": [{"run": each.run, "events": list(each.events)} for each in broken.touched],
    }


def _tell(shell: Shell, url: str, found: CheckResult) -> None:
    for broken in found.breaks:
        words = " ".join(part for part in (broken.what, broken.name, broken.problem) if part)
        touched = "; ".join(map(_said, broken.touched))
        shell.data(safe(words) + (f": {touched}" if touched else ""))
    if not found.breaks:
        shell.data(f"{safe(url)} is sound: {found.runs} runs, {found.rows} rows, format {found.written}")
        shell.next("reenact ls")
        return
    runs = touched_runs(found)
    count = f"{len(found.breaks)} break{'s' if len(found.breaks) > 1 else ''}"
    shell.data(f"{safe(url)} is damaged: {count}, {len(runs)} of {found.runs} runs touched")
    shell.next("reenact salvage -o saved")


def _said(touched: TouchedRun) -> str:
    """A touched run and its events, in the form of a reference."""
    name = tail(touched.run) if is_run_id(touched.run) else safe(touched.run)
    if not touched.events:
        return f"run {name}"
    listed = ", ".join(f"#{number}" for number in touched.events[:_EVENTS])
    more = len(touched.events) - _EVENTS
    return f"run {name} {listed}" + (f" and {more} more" if more > 0 else "")
