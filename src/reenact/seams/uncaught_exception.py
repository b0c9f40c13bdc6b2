"""The end of a program: its last exception and its exit are told to us first, and happen as ever."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import Any


def watch_uncaught(tell: Callable[[BaseException], object]) -> None:
    """Have ``tell`` called with uncaught exceptions from now on; earlier hooks are called after it."""
    before = sys.excepthook

    def excepthook(kind: Any, error: BaseException, trace: Any) -> None:
        tell(error)
        before(kind, error, trace)

    sys.excepthook = excepthook


def before_exit(finish: Callable[[], object]) -> Callable[[int], object]:
    """Call ``finish`` when the program has ended, also before ``os._exit``, which skips every handler. Returns the
    original ``os._exit``."""
    leave = os._exit

    def _exit(status: int) -> None:
        finish()
        leave(status)

    os._exit = _exit  # type: ignore[assignment]
    atexit.register(finish)
    return leave
