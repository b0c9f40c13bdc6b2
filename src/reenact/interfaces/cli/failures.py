"""How a command ends: what is said about each kind of failure, and the exit code it means."""

from __future__ import annotations

import os
import shlex
import sys
import traceback

import click

from reenact.errors import ReenactError

INTERNAL = 70
"""Exit code of a fault of our own (``EX_SOFTWARE``): none of the contract's codes claims to know better."""

INTERRUPTED = 130
BROKEN_PIPE = 141
"""What a shell reports for a program that a closed pipe ended."""


class ReaderLeft(Exception):
    """Whoever read our standard output closed it before the end (``reenact ls | head``)."""


def report(error: BaseException) -> int:
    """Say what went wrong on standard error, and give the exit code.

    ``REENACT_DEBUG=1`` adds the traceback to everything but a wrong command line.
    """
    debug = os.environ.get("REENACT_DEBUG", "") not in ("", "0")
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        click.echo("reenact: interrupted", err=True)
        return INTERRUPTED
    if isinstance(error, (ReaderLeft, BrokenPipeError)):
        _hush()
        return BROKEN_PIPE
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, ReenactError):
        click.echo(f"reenact: {error}", err=True)
        return error.exit_code
    click.echo(f"reenact: unexpected {type(error).__name__}: {error}", err=True)
    if not debug:
        click.echo(
            "  likely cause: a fault in reenact itself; report what the same command prints with its traceback",
            err=True,
        )
        click.echo(f"  next: REENACT_DEBUG=1 reenact {shlex.join(sys.argv[1:])}", err=True)
    return INTERNAL


def _hush() -> None:
    """Point standard output at nothing, so that the interpreter's last flush does not complain either."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError, AttributeError):
        pass
