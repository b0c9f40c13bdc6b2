"""A command of many processes that is told to end: at once, with nothing left of them or of their folders."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from reenact.seams.boot import bound, folders

_TOLD = ("SIGTERM", "SIGHUP")


@contextmanager
def told_to_end() -> Iterator[None]:
    """For the length of a block a signal that tells us to end is not passed on to one program, as where we run but
    one: it ends all of them and us. A signal that is ignored stays ignored."""
    before = []
    for name in _TOLD:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before.append(number)
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> None:
    bound.let_go_of_all()
    folders.remove_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
