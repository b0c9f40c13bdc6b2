"""The end of the main thread: it waits for the remaining threads and jobs, and does not count during that wait.

The interpreter joins them where no hook sees it. If the main thread counted as running, each of their turns would have
to wait for a bound of the gate. The strand that ends last counts the main thread again before it is itself counted out,
so that the count never falls to zero while the main thread is about to run its exit handlers.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
from collections.abc import Callable
from contextlib import suppress

from reenact.seams import lanes
from reenact.seams.gate import Gate

_lefts: list[Callable[[], bool]] = []
"""Functions that say whether the interpreter still waits for threads or jobs of the agent."""
_waiting: list[Gate] = []
"""The gate that does not count the main thread while this thread waits."""
_lock = _thread.allocate_lock()


def watch(left: Callable[[], bool]) -> None:
    """Learn when the main thread has run to its end.

    The last registered function is called first. So our function runs before that of ``concurrent.futures``, which
    joins threads, even if this was imported just now. An interpreter without such calls leaves the main thread counted.

    Args:
        left: Whether the interpreter still waits for a thread or job; called in any thread.
    """
    if left in _lefts:
        return
    _lefts.append(left)
    register = getattr(threading, "_register_atexit", None)
    with suppress(RuntimeError):  # the interpreter ends already
        if register is not None:
            register(_has_run)


def one_has_ended() -> None:
    """A thread or a job has ended and is still counted. The last one lets the main thread go on."""
    _goes_on(unless=_is_left)


def _has_run() -> None:
    lane = lanes.counted()
    if lane is None:
        return
    gate: Gate = lane.gate
    with _lock:
        if _waiting or not _is_left():
            return
        _waiting.append(gate)
    atexit.register(_goes_on)  # an interrupt ends the wait before the threads
    gate.blocked()


def _is_left() -> bool:
    return any(left() for left in _lefts)


def _goes_on(*, unless: Callable[[], bool] = lambda: False) -> None:
    """The main thread runs again, if it has waited."""
    with _lock:
        gate = _waiting.pop() if _waiting and not unless() else None
    if gate is not None:
        gate.started()


def _forked() -> None:
    """In a forked child only the thread that forked is there."""
    global _lock
    _lock = _thread.allocate_lock()
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
