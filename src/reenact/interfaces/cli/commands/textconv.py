"""``reenact textconv``: prints a bundle as text, for ``git diff``."""

from __future__ import annotations

from pathlib import Path

import click

from reenact.errors import ReenactError
from reenact.interfaces.cli.shell import Command, current
from reenact.store.bundles.text import text_of


@click.command(
    cls=Command,
    name="textconv",
    short_help="a packed run as text, for git diff",
    example="""
    reenact textconv incident.reenact
    git config diff.reenact.textconv "reenact textconv --git"
    """,
)
@click.argument("file", metavar="FILE")
@click.option("--git", is_flag=True, help="Print errors as text and exit 0, so that git can finish its diff.")
@click.pass_context
def command(ctx: click.Context, file: str, git: bool) -> None:
    """Print the bundle FILE as text: its content call by call, without times and other data that only a replay needs.

    With the line `*.reenact diff=reenact` in .gitattributes, which `reenact init` writes, and the git setting below,
    git diff and git log -p show what changed in a bundle.
    """
    shell = current(ctx)
    try:
        shell.lines(text_of(Path(file)))
    except ReenactError as error:
        if not git:
            raise
        shell.data(f"refused: {error.message}")
