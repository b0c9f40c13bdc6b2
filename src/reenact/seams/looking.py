"""Looking at a descriptor by a copy of it: all that is seen is of one file, whoever closes the number meanwhile.

Another thread may close a number and open something else under it between two questions of ours. What the first one
saw must not be put down to what the second one finds.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def looked_at(number: int) -> Iterator[int]:
    """A copy of a descriptor, for the length of the block.

    Raises:
        OSError: There is no such descriptor, or no room for a copy.
    """
    copy = os.dup(number)
    try:
        yield copy
    finally:
        os.close(copy)


@contextmanager
def socket_at(copy: int) -> Iterator[socket.socket | None]:
    """The socket of a copy; None where it is none. The copy stays open."""
    if not stat.S_ISSOCK(os.fstat(copy).st_mode):
        yield None
        return
    found = socket.socket(fileno=copy)
    try:
        yield found
    finally:
        found.detach()
