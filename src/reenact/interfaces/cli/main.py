"""The command ``reenact``: a group that imports a command's module only when that command is invoked."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from reenact.errors import UsageError
from reenact.interfaces.cli.command_failures import ReaderLeft, report
from reenact.interfaces.cli.command_table import BY_NAME, COMMANDS, CommandEntry
from reenact.interfaces.cli.shell import Command, Shell, common_options

_ABOUT = """Record one run of any Python agent byte for byte, and replay it offline and exactly.

A run is named by a prefix of its id (7f3c), @ (the last), @~2 (two before), @failed (the last that failed). An event
is RUN:12 or RUN:search_docs#2, a field RUN:12.response.body, a stretch RUN:4..9.

Exit codes: 0 same or fine, 1 different, 2 usage, 3 not replayable, 4 store damaged, 5 contact with the world
refused."""

_GARBAGE = 50_000
"""The number of allocations between two garbage collections in a command. The import of modules makes many objects, and
early collections would cost a tenth of the start."""

_FIRST_STEPS = (
    "reenact record -- python agent.py",
    "reenact show @",
    "reenact replay @",
)


class LazyGroup(click.Group):
    """A command group that knows its commands from a table, and imports the module of a command when it is invoked."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table, in order."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; for a planned command, a placeholder that says that it is not available yet."""
        entry = BY_NAME.get(cmd_name)
        if entry is None:
            return None
        if not entry.available:
            return planned(entry)
        loaded = importlib.import_module(entry.module).command
        assert isinstance(loaded, click.Command)
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the available commands from the table, by section."""
        shown = [entry for entry in COMMANDS if entry.available]
        width = max(len(entry.name) for entry in shown)
        for section in dict.fromkeys(entry.section for entry in shown):
            rows = [(entry.name.ljust(width), entry.summary) for entry in shown if entry.section == section]
            with formatter.section(section):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first steps."""
        with formatter.section("First steps"):
            for text in _FIRST_STEPS:
                formatter.write(f"  {text}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A reader that closes our output early is not reported as click's failure (exit code 1)."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise ReaderLeft from None
        return result

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run one command line and exit with its code. A traceback is printed only with REENACT_DEBUG=1."""
        extra.pop("standalone_mode", None)
        extra.setdefault("prog_name", "reenact")
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # our parent process has closed the stream
                setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the life of the process
        shell = Shell()
        try:
            code = super().main(args, standalone_mode=False, obj=shell, **extra)
        except (Exception, KeyboardInterrupt) as error:
            code = report(
                error,
                as_json=shell.json or "--json" in (sys.argv[1:] if args is None else args),
                store_url=shell.store_url,
            )
        sys.exit(code if isinstance(code, int) else 0)


def planned(entry: CommandEntry) -> click.Command:
    """The placeholder for a planned command, which says that this version does not have the command."""

    def refuse(words: tuple[str, ...]) -> None:
        raise UsageError(
            f"`reenact {entry.name}` is not available yet in this version",
            cause=f"this version has {', '.join(entry.name for entry in COMMANDS if entry.available)}",
            next_command="reenact --help",
        )

    return Command(
        entry.name,
        callback=refuse,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        help=f"Not available yet. Planned: {entry.about}",
        short_help=entry.summary,
        context_settings={"ignore_unknown_options": True},
        options_metavar="…",
        example="reenact --help",
    )


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version  # late: it costs 20 of the 80 ms for --help

        click.echo(f"reenact {version('reenact')}")
        ctx.exit()


cli = LazyGroup(
    "reenact",
    help=_ABOUT,
    params=[
        *common_options(),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Show the version.",
        ),
    ],
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> NoReturn:
    """Run the command line of this process."""
    gc.set_threshold(_GARBAGE)
    try:
        cli.main()
    finally:
        gc.freeze()  # spares the last garbage collection, which takes as long as `--help`
