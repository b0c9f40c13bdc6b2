"""Telling a fault of the recorder from an exception that a signal handler of the program raised inside it.

A program may bound a call by ``signal.alarm`` and a handler that raises. The handler can run while our code runs;
swallowing its exception as a fault of ours would take the program's time-out away.
"""

from __future__ import annotations

import signal
from types import CodeType


def by_signal_handler(error: BaseException) -> bool:
    """Whether ``error`` was raised by one of the program's signal handlers. About 50 µs, for exceptions only."""
    codes = _handlers()
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _handlers() -> set[CodeType]:
    codes = set()
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        code = getattr(getattr(handler, "func", handler), "__code__", None)
        if isinstance(code, CodeType):
            codes.add(code)
    return codes
