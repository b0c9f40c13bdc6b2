"""The end of a program: its uncaught exception and its exit are reported to us first, and then happen as always."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore a further Ctrl-C after the program has ended: it must not cost the end of a recording or a report."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not in the main thread: signals go elsewhere
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
