"""Raises inside the recorder: at the n-th call of any of its functions, in whichever thread makes it.

``sys.settrace`` sees the beginning of each Python function; an exception that a trace function raises comes up in the
function that is beginning. Threads that the recorder starts itself below ``threading`` are made to be traced too.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import reenact

HOME = os.path.dirname(os.path.abspath(reenact.__file__)) + os.sep


class Injection:
    """One fault to come.

    Args:
        at: Raise at this call, counted from 1; 0 only counts.
        error: Makes the exception.
        chosen: Which functions count.

    Attributes:
        count: Calls so far.
        place: Where it was raised; empty while it was not.
    """

    def __init__(self, at: int, error: Callable[[], Exception], chosen: Callable[[CodeType], bool]) -> None:
        self.at = at
        self.count = 0
        self.place = ""
        self._error = error
        self._chosen = chosen
        self._known: dict[CodeType, bool] = {}
        self._lock = _thread.allocate_lock()

    def trace(self, frame: FrameType, what: str, _: Any) -> None:
        """See one function begin."""
        code = frame.f_code
        known = self._known.get(code)
        if known is None:
            known = self._known[code] = code.co_filename.startswith(HOME) and self._chosen(code)
        if not known or self.place:
            return
        with self._lock:
            self.count += 1
            if self.count != self.at:
                return
            back = frame.f_back
            self.place = f"{_named(code)} from {_named(back.f_code) if back else 'nowhere'}"
        raise self._error()


def _named(code: CodeType) -> str:
    return f"{code.co_filename.removeprefix(HOME)}:{code.co_qualname}"


@contextmanager
def injected(injection: Injection) -> Iterator[Injection]:
    """Trace every thread, those too that begin meanwhile."""
    start = _thread.start_new_thread

    def start_traced(function: Callable[..., Any], args: tuple[Any, ...], *rest: Any) -> int:
        def traced(*values: Any, **names: Any) -> None:
            sys.settrace(injection.trace)
            function(*values, **names)

        return start(traced, args, *rest)

    _thread.start_new_thread = start_traced
    threading.settrace(injection.trace)
    sys.settrace(injection.trace)
    try:
        yield injection
    finally:
        sys.settrace(None)
        threading.settrace(None)
        _thread.start_new_thread = start
