"""An exception in one line: how a traceback of it ends, which is how a run is said to have ended."""

from __future__ import annotations

import traceback


def error_line(error: BaseException) -> str:
    """The last line of its traceback."""
    return traceback.format_exception_only(type(error), error)[-1].strip()
