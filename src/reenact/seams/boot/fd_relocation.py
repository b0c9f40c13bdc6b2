"""Descriptors of ours behind numbers that programs do not come to: what they open has the numbers that it had."""

from __future__ import annotations

import os
from typing import Final

_BEYOND: Final = 512


def relocate(descriptor: int) -> int:
    """The same open file under a high number, not inherited by other programs; the number that it had is free again.
    Where the system has no such number, it stays what it is."""
    import fcntl

    try:
        number = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _BEYOND)
    except OSError:
        return descriptor
    os.close(descriptor)
    return number
