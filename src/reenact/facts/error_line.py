"""An exception in one line: the last line of its traceback, which is shown as the end of a run."""

from __future__ import annotations

import traceback

_LONGEST = 2000


def error_line(error: BaseException) -> str:
    """The type and text of an exception on one line, without the notes that were added where it was caught."""
    told = traceback.TracebackException(type(error), error, None, lookup_lines=False, compact=True)
    told.__notes__ = None
    lines = list(told.format_exception_only())
    if isinstance(error, SyntaxError):  # the lines before this one show the code
        lines = lines[-1:]
    line = " ".join(part.strip() for part in "".join(lines).splitlines() if part.strip())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def last_line(error: BaseException) -> str:
    """The last line of an exception's traceback, which may be a note. Recordings before 0.1 kept this line."""
    return traceback.format_exception_only(type(error), error)[-1].strip()
