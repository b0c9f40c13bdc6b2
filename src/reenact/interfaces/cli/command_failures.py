"""The text and the exit code for each kind of failure of a command."""

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
"""The exit code of a fault in reenact itself (``EX_SOFTWARE``), which the documented exit codes do not include."""

INTERRUPTED = 130
BROKEN_PIPE = 141
"""The status that a shell reports for a program that a closed pipe ended."""


class ReaderLeft(Exception):
    """Raised when the reader of our standard output has closed it before the end (``reenact ls | head``)."""


def report(error: BaseException, *, as_json: bool = False, store_url: str | None = None) -> int:
    """Print an error on standard error, and return the exit code.

    With ``REENACT_DEBUG=1`` the traceback is printed, too, except for a wrong command line.

    Args:
        error: The error.
        as_json: Print one JSON line, for a program.
        store_url: The value of ``--store``, which the next command repeats.
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
    """An unexpected exception as an error with cause and next command."""
    return ReenactError(
        f"unexpected {type(error).__name__}: {error}",
        cause="" if debug else "a fault in reenact itself; report what the same command prints with its traceback",
        next_command="" if debug else f"REENACT_DEBUG=1 reenact {shlex.join(sys.argv[1:])}",
    )


def _line(error: BaseException, told: ReenactError, code: int) -> str:
    """An error as one JSON line: its class, the message, the likely cause, the next command, and its data."""
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
    """A wrong command line as an error with a cause and a next command; it proposes the nearest name."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    said, meant = error.format_message().rstrip("."), ""
    if context is not None and isinstance(context.command, click.Group) and "No such command" in said:
        from difflib import get_close_matches  # imported late: few names are misspelled

        near = get_close_matches(said.split("'")[1], context.command.list_commands(context), 1)
        meant = f"; did you mean {near[0]}?" if near else ""
    elif isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches  # imported late: few names are misspelled

        said = error.message.rstrip(".")
        names = {name.lstrip("-"): name for name in error.possibilities or ()}  # names are compared without dashes
        near = get_close_matches(error.option_name.lstrip("-"), names, 1)
        meant = f"; did you mean {names[near[0]]}?" if near else ""
        word = error.option_name.lstrip("-").replace("-", "_")
        if context is not None and any("--where" in each.opts for each in context.command.params):
            from reenact.timetravel.vocabulary import RUN_WORDS  # imported late: few options are misspelled

            if any(word == each.name for each in RUN_WORDS):
                meant = f"; {word} is a name for --where EXPR"
    about = context.command_path.removeprefix("reenact").strip() if context is not None else ""
    return UsageError(
        said[:1].lower() + said[1:] + meant, next_command=f"reenact {about} --help" if about else "reenact --help"
    )


def _hush() -> None:
    """Redirect standard output to nothing, so that the interpreter's last flush raises no error."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError, AttributeError):
        pass
