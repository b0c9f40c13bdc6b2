"""Which line of the agent's code an exception came from."""

from __future__ import annotations

import os
import traceback

from reenact.facts.exceptions import text_of
from reenact.facts.shapes import type_name
from reenact.seams.project_paths import below, installed

_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def raised_at(error: BaseException | None, folder: str) -> str:
    """``agent.py:39``, relative to ``folder`` if below it; for a group, of its first exception; empty without one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    place = "" if error is None else agents_line(error)
    path, _, number = place.rpartition(":")
    return f"{below(os.path.realpath(path), os.path.realpath(folder)) or path}:{number}" if place else ""


def agents_line(error: BaseException) -> str:
    """``file:line`` of the agent's code that an exception came from: the line with a syntax error, or the innermost
    line that was running. Empty where no line of the agent's was running."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename}:{error.lineno}"
    found = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if os.path.isabs(path) and not path.startswith(_OURS) and not installed(path):
            found = f"{path}:{number}"
    return found


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
