"""``reenact flag``: notes a person's verdict on a run."""

from __future__ import annotations

import click

from reenact.facts.ids import tail
from reenact.interfaces.cli.arguments import whole_run
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, current
from reenact.timetravel.json_views import run_data


@click.command(
    cls=Command,
    name="flag",
    short_help="mark a run with a person's verdict",
    example='reenact flag 7f3c "gave a customer somebody else\'s order"',
)
@click.argument("ref")
@click.argument("text", required=False, default="")
@click.pass_context
def command(ctx: click.Context, ref: str, text: str) -> None:
    """Flag REF with a verdict; TEXT says it in words. Flagged runs are kept longer."""
    shell = current(ctx)
    with opened(shell, ref) as store:
        run = store.amend(store.run(whole_run(ref)), flag=text)
    if shell.json:
        shell.line(run_data(run))
    else:
        shell.data(f"{tail(run.id)} flagged" + (f": {text}" if text else ""))
    shell.next(f"reenact show {tail(run.id)}")
