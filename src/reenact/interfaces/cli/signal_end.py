"""Ends a command with many child processes on a signal: at once, without leaving a process or a folder."""

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
    """For the length of a block, let a signal that ends us also end all child processes. (It is not forwarded to a
    program, as with one child.) An ignored signal stays ignored."""
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
