"""How a command ends: what is said about each kind of failure, and the exit code it means."""

from __future__ import annotations

import json
import os
import shlex
import sys
import traceback

import click

from reenact.errors import ReenactError, UsageError
from reenact.interfaces.cli.shell import folded_error, in_store

INTERNAL = 70
"""Exit code of a fault of our own (``EX_SOFTWARE``): none of the contract's codes claims to know better."""

INTERRUPTED = 130
BROKEN_PIPE = 141
"""What a shell reports for a program that a closed pipe ended."""


class ReaderLeft(Exception):
    """The reader of our standard output closed it before the end (``reenact ls | head``)."""


def report(error: BaseException, *, as_json: bool = False, store_url: str | None = None) -> int:
    """Say what went wrong on standard error, and give the exit code.

    ``REENACT_DEBUG=1`` adds the traceback to everything but a wrong command line.

    Args:
        error: What came up.
        as_json: A program reads: one JSON line.
        store_url: What ``--store`` has named; the next command names it too.
    """
    debug = os.environ.get("REENACT_DEBUG", "") not in ("", "0")
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    if isinstance(error, click.ClickException):
        error = _usage(error)
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        click.echo("reenact: interrupted", err=True)
        return INTERRUPTED
    if isinstance(error, (ReaderLeft, BrokenPipeError)):
        _hush()
        return BROKEN_PIPE
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, ReenactError):
        told, code = error, error.exit_code
        told.next_command = in_store(told.next_command, store_url)
    else:
        told, code = _unexpected(error, debug), INTERNAL
    text = f"reenact: {told}"
    click.echo(_line(error, told, code) if as_json else folded_error(text) if sys.stderr.isatty() else text, err=True)
    return code


def _unexpected(error: BaseException, debug: bool) -> ReenactError:
    """A fault of our own in the words of every other error."""
    return ReenactError(
        f"unexpected {type(error).__name__}: {error}",
        cause="" if debug else "a fault in reenact itself; report what the same command prints with its traceback",
        next_command="" if debug else f"REENACT_DEBUG=1 reenact {shlex.join(sys.argv[1:])}",
    )


def _line(error: BaseException, told: ReenactError, code: int) -> str:
    """An error as one JSON line: its class, what happened, the likely cause, what to run next, the data behind it."""
    return json.dumps(
        {
            "type": "error",
            "error": type(error).__name__,
            "message": told.message,
            "cause": told.cause,
            "next": told.next_command,
            "exit_code": code,
            "facts": told.facts,
        },
        default=str,
        separators=(",", ":"),
    )


def _usage(error: click.ClickException) -> UsageError:
    """A wrong command line in the words of every other error: what is wrong, what was perhaps meant, where help is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    said, meant = error.format_message().rstrip("."), ""
    if context is not None and isinstance(context.command, click.Group) and "No such command" in said:
        from difflib import get_close_matches  # late: few names are misspelled

        near = get_close_matches(said.split("'")[1], context.command.list_commands(context), 1)
        meant = f"; did you mean {near[0]}?" if near else ""
    elif isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches  # late: few names are misspelled

        said = error.message.rstrip(".")
        names = {name.lstrip("-"): name for name in error.possibilities or ()}  # dashes alone make no two names alike
        near = get_close_matches(error.option_name.lstrip("-"), names, 1)
        meant = f"; did you mean {names[near[0]]}?" if near else ""
        word = error.option_name.lstrip("-").replace("-", "_")
        if context is not None and any("--where" in each.opts for each in context.command.params):
            from reenact.timetravel.vocabulary import RUN_WORDS  # late: few options are misspelled

            if any(word == each.name for each in RUN_WORDS):
                meant = f"; {word} is a name for --where EXPR"
    about = context.command_path.removeprefix("reenact").strip() if context is not None else ""
    return UsageError(
        said[:1].lower() + said[1:] + meant, next_command=f"reenact {about} --help" if about else "reenact --help"
    )


def _hush() -> None:
    """Point standard output at nothing, so that the interpreter's last flush does not complain either."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError, AttributeError):
        pass
