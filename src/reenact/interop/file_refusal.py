"""Refusing a file of another tool: always with the place in it and the reason, before anything is written."""

from __future__ import annotations

from reenact.errors import InteropError

HELP = "reenact import --help"


def refused(what: str, cause: str, *, where: str = "", next_command: str = HELP) -> InteropError:
    """The error that says why a file is not read.

    Args:
        what: The finding.
        cause: The likely cause.
        where: Place in the file, for people (``exchange 3``, ``line 7``); empty for the file as a whole.
        next_command: One command that helps.
    """
    shown = "".join(letter if letter.isprintable() else "?" for letter in what)  # quotes the file
    return InteropError(f"{where}: {shown}" if where else shown, cause=cause, next_command=next_command, where=where)
