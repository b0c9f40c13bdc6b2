"""Writes out a program's buffered output that has not reached a descriptor yet, as at an interpreter's end.

At its end an interpreter closes the files that a program has left open, and the C library writes out what C code has
printed. Neither happens where a process leaves by ``os._exit``. Files are flushed here, not closed, and no finaliser of
the program's own runs.
"""

from __future__ import annotations

import gc
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

__all__ = ["c_library", "files"]

_DESCRIPTORS: Final = "/dev/fd"
_KINDS: Final[tuple[tuple[type, ...], ...]] = ((io.TextIOWrapper,), (io.BufferedWriter, io.BufferedRandom))
"""The objects that buffer data; a text file is flushed through the binary file below it."""


def files() -> None:
    """Write out the interpreter's first standard streams, and every file that was left open.

    A pipe or a socket is left out: a thread of the program may wait in it for ever.

    Cost: a look at each descriptor; where a file is open for writing, at each object that the collector knows.
    """
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(Exception):  # the interpreter could not report it either
            if stream is not None:
                stream.flush()
    if not _left_open():
        return
    kinds = [frozenset(_with_subclasses(each)) for each in _KINDS]
    either = kinds[0] | kinds[1]
    left: list[Any] = [
        each for each in gc.get_objects() if type(each) in either
    ]  # ``isinstance`` may wake a lazy proxy
    for kind in kinds:
        for stream in left:
            with suppress(Exception):
                if type(stream) in kind and not stream.closed and _is_written(stream.fileno()):
                    stream.flush()


def _left_open() -> bool:
    """Whether a file is open for writing."""
    try:
        return any(_is_written(int(each)) for each in os.listdir(_DESCRIPTORS))
    except OSError:
        return True  # unknown: a file may be open


def _is_written(descriptor: int) -> bool:
    """Whether a descriptor is one of a file that is open for writing."""
    import fcntl

    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:  # the descriptor of the listing itself, closed by now
        return False


def _with_subclasses(kinds: Iterable[Any]) -> Iterator[type]:
    for kind in kinds:
        yield kind
        yield from _with_subclasses(kind.__subclasses__())


def c_library() -> Callable[[], object]:
    """The function that flushes the data of C code, at the end of the process.

    Like ``exit``, it waits for no lock: a thread may hold a lock while it reads standard input. That function is no
    part of POSIX: where the C library lacks it, ``fflush`` is used. Looking the function up raises an audit event, so
    that is done before there is a program that could hear it.
    """
    try:
        import ctypes

        library = ctypes.PyDLL(None)  # keeps the interpreter's lock: no thread runs meanwhile
        flush = library.fflush
    except (ImportError, OSError, AttributeError, TypeError):  # an interpreter or a system without it
        return lambda: None
    flush.argtypes = (ctypes.c_void_p,)
    return getattr(library, "fcloseall", lambda: flush(None))
