"""A child that ends when the process that started it does, however that ends, where the system can do that."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
"""Of ``prctl(2)``: the signal that a process gets when its parent has died."""


def bound_to_parent() -> Callable[[int], None]:
    """What a child calls, with our process id, so that it is ended when we are; what does nothing where the system
    cannot do that."""
    if sys.platform != "linux":
        return lambda ours: None
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def bind(ours: int) -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != ours:  # it has ended in between
            os._exit(1)

    return bind
