"""``reenact tag``: sets labels of a run."""

from __future__ import annotations

import shlex

import click

from reenact.facts.ids import tail
from reenact.interfaces.cli.arguments import pairs, whole_run
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, current
from reenact.timetravel.json_views import run_data
from reenact.timetravel.preview import safe


@click.command(cls=Command, name="tag", short_help="label a run", example="reenact tag 7f3c ticket=r_8821 owner=ann")
@click.argument("ref")
@click.argument("labels", nargs=-1, required=True, metavar="K=V…")
@click.pass_context
def command(ctx: click.Context, ref: str, labels: tuple[str, ...]) -> None:
    """Label REF with K=V. A label that is there already gets the new value."""
    shell = current(ctx)
    wanted = pairs(labels)
    with opened(shell, ref) as store:
        run = store.amend(store.run(whole_run(ref)), tags=wanted)
    if shell.json:
        shell.line(run_data(run))
    else:
        shell.data("  ".join([tail(run.id), *(safe(f"{key}={value}") for key, value in run.tags.items())]))
    key, value = next(iter(wanted.items()))
    shell.next(f"reenact ls --tag {shlex.quote(f'{key}={value}')}")
