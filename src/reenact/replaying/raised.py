"""What ended a program: an exception that nobody caught, in one line, with the agent's line that it came from."""

from __future__ import annotations

from reenact.facts.exceptions import text_of
from reenact.facts.shapes import type_name
from reenact.seams.origins import raised_at


def raised(error: BaseException, folder: str) -> str:
    """An exception as ``SyntaxError: invalid syntax at agent.py:2``; of a group its first one.

    Args:
        error: The exception.
        folder: Root of the project; files below it are named relative to it.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    place = raised_at(error, folder)
    return f"{_line(error)} at {place}" if place else _line(error)


def _line(error: BaseException) -> str:
    """The last line of its traceback, or the first of several."""
    text = error.msg if isinstance(error, SyntaxError) else text_of(error)
    first = (text or "").strip().partition("\n")[0]
    name = type_name(type(error)).removeprefix("builtins.").removeprefix("__main__.")
    return f"{name}: {first}" if first else name
