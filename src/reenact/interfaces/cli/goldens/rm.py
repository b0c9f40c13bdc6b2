"""``reenact golden rm``: remove a golden."""

from __future__ import annotations

from contextlib import suppress

import click

from reenact.errors import ReenactError
from reenact.interfaces.cli.opening import opened
from reenact.interfaces.cli.shell import Command, current
from reenact.testing.goldens.adding import let_runs_go, rm_golden
from reenact.testing.goldens.shelf import open_shelf


@click.command(cls=Command, name="rm", short_help="remove one", example="reenact golden rm refund-loop")
@click.argument("name")
@click.pass_context
def command(ctx: click.Context, name: str) -> None:
    """Remove golden NAME. Its test in tests/test_goldens.py stays: it says that its golden is gone."""
    shell = current(ctx)
    shelf = open_shelf()
    path = rm_golden(shelf, name)
    with suppress(ReenactError), opened(shell) as store:  # where there is no store, nothing is kept for it
        let_runs_go(store, name)
    if shell.json:
        shell.line({"removed": shelf.shown(path)})
    else:
        shell.data(f"removed {shelf.shown(path)}")
    shell.next("reenact golden ls")
