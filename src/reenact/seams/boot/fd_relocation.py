"""Moves our descriptors to numbers that programs do not reach, so that the program's own descriptors have their usual
numbers."""

from __future__ import annotations

import os
from typing import Final

_BEYOND: Final = 512


def relocate(descriptor: int) -> int:
    """The same open file under a high number, not inherited by other programs; the number that it had is free again. If
    the system has no such number, the descriptor stays unchanged."""
    import fcntl

    try:
        number = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _BEYOND)
    except OSError:
        return descriptor
    os.close(descriptor)
    return number
