"""The distinction between a fault of the recorder and an exception that a signal handler of the program raised inside
it.

A program may bound a call by ``signal.alarm`` and a handler that raises. The handler can run while our code runs;
if we swallowed its exception as a fault of ours, the program would lose its time-out.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # typeshed knows only what wraps it
import signal
from types import CodeType
from typing import Final

INTERRUPTED: Final = "interrupted_by"
"""The key for the number of a signal whose handler ended a call with an exception below a transport."""


def by_signal_handler(error: BaseException) -> bool:
    """Whether ``error`` was raised by one of the program's signal handlers. About 5 µs."""
    return signal_behind(error) is not None


def let_through(error: BaseException) -> None:
    """Raise ``error`` again if one of the program's signal handlers raised it, because the program must handle it.

    Call this first in every handler of our own errors in the agent's thread. About 5 µs.
    """
    if by_signal_handler(error):
        raise error


def signal_behind(error: BaseException) -> int | None:
    """The signal whose handler raised ``error``; None if no handler did. It takes about 5 µs, because each stream ends
    by an exception that is checked here.
    """
    codes = _handlers()
    trace = error.__traceback__ if codes else None
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return codes[trace.tb_frame.f_code]
        trace = trace.tb_next
    return None


def _handlers() -> dict[CodeType, int]:
    codes = {}
    for number in _NUMBERS:
        found = _signal.getsignal(number)
        if type(found) is int or found is signal.default_int_handler:
            continue  # nearly all; signal.getsignal would make an enumeration member of each number
        handler = signal.getsignal(number)
        code = getattr(getattr(handler, "func", handler), "__code__", None)
        if isinstance(code, CodeType):
            codes[code] = number
    return codes


_NUMBERS: Final[tuple[int, ...]] = tuple(_signal.valid_signals())
