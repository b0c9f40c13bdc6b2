"""How a command with many child processes ends on a signal: at once, and no process or folder is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from reenact.seams.boot import bound_children, folders

_TOLD = ("SIGTERM", "SIGHUP")


@contextmanager
def told_to_end() -> Iterator[None]:
    """For the length of a block, a signal that ends us ends all child processes too; it is not forwarded to one
    program. An ignored signal stays ignored."""
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
    bound_children.let_go_of_all()
    folders.remove_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
