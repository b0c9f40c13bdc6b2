"""``reenact golden``: the group of commands about goldens, which imports each command when it is invoked."""

from __future__ import annotations

import importlib
from typing import Any

import click

from reenact.interfaces.cli.shell import Command
from reenact.interfaces.cli.signal_end import told_to_end

_COMMANDS = {
    "add": "turn a run into a regression test",
    "ls": "list the goldens of this project",
    "run": "run today's code on them",
    "drift": "which of them today's code has left behind, and why",
    "rm": "remove one",
}


class Goldens(Command, click.Group):
    """The group of commands about goldens."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order in which a user needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported now."""
        if cmd_name not in _COMMANDS:
            return None
        found = importlib.import_module(f"reenact.interfaces.cli.goldens.golden_{cmd_name}").command
        assert isinstance(found, click.Command)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command of the group."""
        with told_to_end():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands, without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


command = Goldens(
    "golden",
    help="Keep runs as regression tests in tests/goldens, and run today's code on them.",
    short_help="turn runs into regression tests",
    example="""
    reenact golden add @failed --as refund-loop --expect 'calls(search_docs) <= 3'
    reenact golden run
    """,
    no_args_is_help=True,
)
