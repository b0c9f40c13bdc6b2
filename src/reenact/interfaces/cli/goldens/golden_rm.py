"""``reenact golden rm``: removes a golden."""

from __future__ import annotations

from contextlib import suppress

import click

from reenact.errors import ReenactError
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, current
from reenact.testing.goldens.adding import let_runs_go, rm_golden
from reenact.testing.goldens.golden_dir import open_golden_dir
from reenact.testing.goldens.testfile import remove_test


@click.command(cls=Command, name="rm", short_help="remove one", example="reenact golden rm refund-loop")
@click.argument("name")
@click.pass_context
def command(ctx: click.Context, name: str) -> None:
    """Remove golden NAME and its test in tests/test_goldens.py. A test that was changed since is kept, and named."""
    shell = current(ctx)
    golden_dir = open_golden_dir()
    path = rm_golden(golden_dir, name)
    with suppress(ReenactError), opened(shell) as store:  # without a store, no run is kept for the golden
        let_runs_go(store, name)
    test, gone = remove_test(golden_dir, name)
    if shell.json:
        shell.line({"removed": golden_dir.shown(path), "test": test or None, "test_removed": gone})
    else:
        shell.data(f"removed {golden_dir.shown(path)}" + (f" and {test}" if gone else ""))
        if test and not gone:
            shell.talk(f"reenact: {test} has been changed since it was written and stays: without its golden it fails")
    shell.next("reenact golden ls")
