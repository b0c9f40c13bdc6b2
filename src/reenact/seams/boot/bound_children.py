"""Children that end when the process that started them ends, in whatever way. The parent holds a named pipe for this.

The pipe lies in the private directory of a boot. The child opens it, and asks the system to kill the child when no
process holds the pipe any more. So a child is bound to the process that started it; ``PR_SET_PDEATHSIG`` would bind it
to the thread. Nothing is inherited, and no thread of ours waits in the child. This works on Linux; elsewhere a pipe
cannot send that signal.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from reenact.seams.boot.fd_relocation import relocate

__all__ = ["bind", "bound_to_parent", "hold", "let_go", "let_go_of_all"]

_PIPE: Final = "held"
_PR_SET_PDEATHSIG: Final = 1
"""The option of ``prctl(2)`` that sets the signal a process gets when its parent has died."""

_lock = threading.RLock()  # a signal's handler may run while the lock is held
_held: set[int] = set()
_bound = -1


def _not_ours() -> None:
    """Called in a forked process: the children of its parent stay bound to the parent alone."""
    for held in list(_held):
        os.close(held)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_not_ours)


# --- the parent ------------------------------------------------------------------------------------------------------


def hold(place: str) -> int:
    """From now on the child of a boot ends when this process ends, or at ``let_go``.

    Args:
        place: Private directory of the boot.

    Returns:
        The descriptor to close; -1 where the system has no such pipe.
    """
    if sys.platform != "linux":
        return -1
    try:
        os.mkfifo(os.path.join(place, _PIPE), 0o600)
        # Opened to read as well: opening a pipe only to write would wait for the child.
        held = os.open(os.path.join(place, _PIPE), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return -1
    with _lock:
        _held.add(held)
    return held


def let_go(held: int) -> None:
    """End the child, if it still runs."""
    with _lock:
        if held not in _held:
            return
        _held.discard(held)
        os.close(held)


def let_go_of_all() -> None:
    """End every child of ours. Any thread may call it. A wait for a child ends as if the child was killed."""
    with _lock:
        for held in list(_held):
            let_go(held)


# --- the child -------------------------------------------------------------------------------------------------------


def bind(place: str) -> None:
    """Have this process killed when no process holds the pipe of its boot any more. If none holds it already, the
    process ends here.

    Only the calling process is killed: a process that forks and waits has to end its children itself. A second call
    binds the process to another boot. Does nothing where the parent holds no pipe.
    """
    global _bound
    _release()
    if sys.platform != "linux":
        return
    import fcntl

    try:
        pipe = relocate(os.open(os.path.join(place, _PIPE), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return
    _bound = pipe
    with suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
    try:
        gone = os.read(pipe, 1) == b""
    except BlockingIOError:
        return
    if gone:  # before the signal was requested
        os._exit(1)


def _release() -> None:
    """Unbind this process from its boot."""
    global _bound
    if _bound >= 0:
        with suppress(OSError):
            os.close(_bound)
        _bound = -1


def bound_to_parent() -> Callable[[int], None]:
    """The function that a forked child calls with our process id. From then on, the child ends when our thread that
    forked it ends. The function does nothing where the system has no such call.
    """
    if sys.platform != "linux":
        return lambda ours: None
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def bind_to(ours: int) -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != ours:  # the parent has ended in between
            os._exit(1)

    return bind_to
