"""The end of a program: its uncaught exception and its exit are reported to us first, and then happen as always."""

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
    """Call ``finish`` at the program's end, also before ``os._exit``. Returns the original ``os._exit``."""
    leave = os._exit

    def _exit(status: int) -> None:
        finish()
        leave(status)

    os._exit = _exit  # type: ignore[assignment]
    atexit.register(finish)
    return leave
