"""``reenact salvage``: copies all readable parts of a damaged store into a new store."""

from __future__ import annotations

import shlex

import click

from reenact.errors import UsageError
from reenact.facts.ids import is_run_id, tail
from reenact.interfaces.cli.progress import ReadingProgress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.store.back_ends import open_store
from reenact.store.salvaged_store import SalvageResult, salvage
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_file import no_store
from reenact.timetravel.preview import safe

LOST = 4
"""The exit code if a part of the store could not be saved."""


@click.command(
    cls=Command,
    name="salvage",
    short_help="save what a damaged store still holds",
    example="""
    reenact salvage -o saved
    reenact salvage old/.reenact -o sqlite:///saved.db
    """,
)
@click.argument("source", metavar="[STORE]", default="")
@click.option("-o", "--output", metavar="NEW", required=True, help="The new store: a folder, or sqlite:///path.")
@click.pass_context
def command(ctx: click.Context, source: str, output: str) -> None:
    """Copy all that can be read of STORE (default: the store in force) into a new store, and list the losses.

    Runs keep their ids, labels and flags. A run that lost a part is saved without it: show names the missing part, and
    the run replays as far as its records allow. STORE is only read. The new store appears when it is complete. Exit
    code 0: nothing is lost; 4: something is.
    """
    shell = current(ctx)
    with open_store(source) if source else opened(shell) as store, open_store(output) as wanted:
        if not isinstance(store, SqliteStore) or not isinstance(wanted, SqliteStore):
            raise UsageError(
                f"{source or store.url} and {output} are to be stores in files",
                cause="a store is a folder, or sqlite:///path",
                next_command="reenact salvage -o saved",
            )
        path, url, target, own = store.path, store.url, wanted.path, not output.startswith("sqlite:")
    if not path.exists():
        raise no_store(url)
    progress = ReadingProgress()
    try:
        found = salvage(path, target, progress.at, own_directory=own)
    finally:
        progress.end()
    if shell.json:
        for each in found.losses:
            shell.line({"type": "lost", "run": each.run, "event": each.event, "what": each.what})
        shell.line(
            {"type": "salvaged", "store": output, "whole": found.whole, "partly": found.partly, "lost": found.lost}
        )
    else:
        _tell(shell, found, output)
    ctx.exit(LOST if found.losses else 0)


def _tell(shell: Shell, found: SalvageResult, output: str) -> None:
    for each in found.losses:
        name = tail(each.run) if is_run_id(each.run) else safe(each.run)
        shell.data(f"run {name}: {safe(str(each))} is lost")
    counts = f"{len(found.whole)} runs whole, {len(found.partly)} in part, {len(found.lost)} lost"
    shell.data(f"{safe(output)}: {counts}")
    shell.next(f"reenact --store {shlex.quote(output)} ls")
