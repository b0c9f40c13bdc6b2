"""The facts about the death of a process: the last event, and the place at a signal or a fault of ours.

They are in the private directory of its boot. The number of the last event is in shared memory, so that it outlives
every death of the process; the system's fatal signals write a traceback by ``faulthandler``.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import signal
import struct
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from reenact.facts.lazy_dataclass import dataclass
from reenact.seams.boot.plain_file import read_plain

__all__ = ["NOTHING", "Death", "DeathWatch", "broke", "name_of_signal", "read_death"]

_REACHED: Final = "reached"
_FATAL: Final = "fatal"
_BROKE: Final = "broke"
_NUMBER: Final = struct.Struct("<q")
_HIGH: Final = 200
"""Descriptors from this number on are ours; the program may rely on all lower ones."""

_LINES: Final = 12
"""How many of the last lines of a traceback are reported."""


@dataclass(frozen=True, slots=True)
class Death:
    """How far a process came, and where it died.

    Attributes:
        event: Number of the last event that it reached; None where it reached none.
        trace: The last lines of a traceback; empty where nothing could write one, as for ``SIGKILL``.
        fault: Whether a fault of ours ended it.
    """

    event: int | None = None
    trace: tuple[str, ...] = ()
    fault: bool = False


NOTHING: Final = Death()


class DeathWatch:
    """Keeps the number of this process's last event, and a traceback of a fatal signal, until it is closed.

    Args:
        place: Private directory of its boot.
    """

    def __init__(self, place: Path) -> None:
        self._fatal = -1
        self._memory: mmap.mmap | None = None
        self.reached: Callable[[int], object] = _nowhere
        """Called with the number of each event that is reached; takes about 0.2 µs."""
        try:
            self._memory = _shared(place / _REACHED)
            self.reached = partial(_reached, self._memory)
            if not faulthandler.is_enabled():  # if the program has turned it on, it belongs to the program
                self._fatal = _high(os.open(place / _FATAL, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
                faulthandler.enable(self._fatal)
        except (OSError, ValueError):  # the disk is full, or no descriptor is free: fewer facts are kept
            pass

    def close(self) -> None:
        """Keep no more facts: the process goes on without us."""
        self.reached = _nowhere
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        if self._fatal >= 0:
            faulthandler.disable()
            os.close(self._fatal)
            self._fatal = -1


def _nowhere(number: int) -> None:
    """Keep no number."""


def _reached(memory: mmap.mmap, number: int) -> None:
    try:
        _NUMBER.pack_into(memory, 0, number + 1)  # 0 means no event
    except ValueError:  # the memory is closed: a strand has outlived the run
        return


def _shared(path: Path) -> mmap.mmap:
    """Memory that the process which waits for this one can read, in a file."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.truncate(descriptor, _NUMBER.size)
        return mmap.mmap(descriptor, _NUMBER.size)
    finally:
        os.close(descriptor)


def _high(descriptor: int) -> int:
    try:
        from fcntl import F_DUPFD_CLOEXEC, fcntl
    except ImportError:  # a system without ``fcntl``
        return descriptor
    try:
        moved = fcntl(descriptor, F_DUPFD_CLOEXEC, _HIGH)
    except OSError:  # the limit of descriptors is lower
        return descriptor
    os.close(descriptor)
    return moved


def broke(place: Path, error: BaseException) -> None:
    """A fault of ours ends the process: leave its traceback."""
    try:
        (place / _BROKE).write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="replace")
    except OSError:
        return


def read_death(place: Path) -> Death:
    """The facts that a process has left in the private directory of its boot."""
    event = None
    try:
        event = _NUMBER.unpack(read_plain(place / _REACHED))[0] - 1
    except (OSError, struct.error):
        pass
    fault, fatal = _read(place / _BROKE), _read(place / _FATAL)
    return Death(event if event is not None and event >= 0 else None, _last_lines(fault or fatal), bool(fault))


def _read(path: Path) -> str:
    try:
        return read_plain(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _last_lines(text: str) -> tuple[str, ...]:
    """The lines that say where the program was. In a thread's stack the first line is the innermost."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    current = next((at for at, line in enumerate(lines) if line.startswith("Current thread")), None)
    if current is not None:  # faulthandler: the innermost call first, the other threads before and after it
        stack = lines[current:]
        end = next((at for at, line in enumerate(stack) if at and not line.startswith(" ")), len(stack))
        return (*lines[:1], *stack[:end][:_LINES])
    return tuple(lines[-_LINES:])


def name_of_signal(number: int) -> str:
    """``SIGSEGV``, or its number where the signal has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
