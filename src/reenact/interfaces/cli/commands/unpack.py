"""``reenact unpack``: copies a packed run into the store."""

from __future__ import annotations

from pathlib import Path

import click

from reenact.facts.ids import tail
from reenact.interfaces.cli.progress import WorkProgress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, current
from reenact.timetravel.bundling.unpacking import unpack
from reenact.timetravel.json_views import run_data
from reenact.timetravel.preview import safe


@click.command(
    cls=Command,
    name="unpack",
    short_help="a packed run into the store",
    example="reenact unpack incident.reenact",
)
@click.argument("file", metavar="FILE")
@click.pass_context
def command(ctx: click.Context, file: str) -> None:
    """Copy the run of FILE, and the runs that belong to it, into the store, under their recorded ids.

    Unpacking a file twice adds nothing. A run from another machine is executed only if its code lies inside this
    project, or with --cmd or --entry. Only the store is written.
    """
    shell = current(ctx)
    with opened(shell) as store, WorkProgress(f"unpacking {safe(file)}"):
        found = unpack(Path(file), store)
    if shell.json:
        shell.line(run_data(found.run) | {"fresh": list(found.fresh), "runs": list(found.runs)})
        return
    how = "" if found.fresh else ", was here already"
    more = f" and {len(found.runs) - 1} that belong to it" if len(found.runs) > 1 else ""
    shell.data(f"run {tail(found.run.id)}{more}{how}")
    shell.next(f"reenact replay {tail(found.run.id)}")
