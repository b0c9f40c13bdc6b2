"""Looks at a socket through a copy, so that all answers are about one socket, even if its descriptor is closed in
between.

Another thread may close a number, and open another file under it, between two of our questions, whose answers would
then be mixed up. Only sockets are copied: when any descriptor of a file is closed, the process loses all its locks on
that file (``fcntl(2)``), and SQLite has such locks.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def socket_at(number: int) -> Iterator[socket.socket | None]:
    """A copy of the socket under a number, for the length of the block; None where the number is no socket's.

    Raises:
        OSError: There is no such descriptor, or no room for a copy.
    """
    copy = _copied(number)
    if copy < 0:
        yield None
        return
    found = socket.socket(fileno=copy)
    try:
        yield found
    finally:
        os.close(found.detach())


def _copied(number: int) -> int:
    """A copy of the socket under a number; -1 where there is none."""
    if not stat.S_ISSOCK(os.fstat(number).st_mode):
        return -1
    copy = os.dup(number)
    # Between the two calls the number may have become that of a file: its copy stays open, for the sake of the locks.
    return copy if stat.S_ISSOCK(os.fstat(copy).st_mode) else -1
