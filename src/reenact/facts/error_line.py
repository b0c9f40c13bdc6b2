"""An exception in one line: the last line of its traceback, which is shown as the end of a run."""

from __future__ import annotations

import traceback

_LONGEST = 2000


def error_line(error: BaseException) -> str:
    """Its type and its text on one line, without the notes that its catchers have added."""
    told = traceback.TracebackException(type(error), error, None, lookup_lines=False, compact=True)
    told.__notes__ = None
    lines = list(told.format_exception_only())
    if isinstance(error, SyntaxError):  # the lines before show the code
        lines = lines[-1:]
    line = " ".join(part.strip() for part in "".join(lines).splitlines() if part.strip())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def last_line(error: BaseException) -> str:
    """The last line of its traceback, a note of it or not: how recordings before 0.1 kept it."""
    return traceback.format_exception_only(type(error), error)[-1].strip()
