"""Signals that are sent to us while a program runs in our place, and that are meant for the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

_FORWARDED: Final = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGWINCH", "SIGCONT")
_OF_THE_TERMINAL: Final = ("SIGINT", "SIGQUIT")


class SignalForwarder:
    """Passes signals on while the program runs. Signals that our caller handles are left to the caller.

    A signal between the program's end and ours does nothing: ``timeout`` signals its whole group, so a signal that has
    ended the program may still reach us.

    A signal that this process was started to ignore (by ``nohup``, or in the background of a script) is ignored by the
    program too, which inherits that. But the program may still set a handler for it. So the signal is passed on as soon
    as the program runs.
    """

    def __init__(self) -> None:
        self._later: list[tuple[int, Callable[[int, FrameType | None], None]]] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> SignalForwarder:
        for names, handler in ((_FORWARDED, self._pass_on), (_OF_THE_TERMINAL, self._pass_on_if_sent)):
            for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
                before = signal.getsignal(number)
                if before is signal.SIG_IGN:
                    self._later.append((number, handler))
                elif before in (signal.SIG_DFL, signal.default_int_handler):
                    self._take(number, handler)  # else it stays our caller's, such as a time limit
        return self

    def _take(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        try:
            self._before.append((number, signal.signal(number, handler)))
        except (ValueError, OSError):  # only the main thread can handle signals
            return

    def to(self, process: subprocess.Popen[bytes]) -> None:
        """Set the process that signals are passed to. Earlier signals are passed on now."""
        self._process = process
        for number, handler in self._later:
            self._take(number, handler)
        for number in self._early:
            process.send_signal(number)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)

    def _pass_on_if_sent(self, number: int, frame: FrameType | None) -> None:
        if self._process is None or not _in_front_of_a_terminal():
            self._pass_on(number, frame)

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)


def _in_front_of_a_terminal() -> bool:
    """Whether a terminal sends its signals to our process group, and so to the program."""
    if sys.platform == "win32":
        return True
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
