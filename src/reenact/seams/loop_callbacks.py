"""Puts callbacks into a loop below every hook, and ends the tasks of a run that is halted.

A callback that a hook sees takes a turn at the gate; these callbacks come from the gate itself.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol

from reenact.errors import Halt
from reenact.seams.async_backends import AsyncBackend

STOP_AGAIN_S = 0.05
CLOSING_S = 10.0
"""How long a halt waits for connections that are being closed. By then, a server that does not end has been killed."""

_asyncio: Any = None
_Base: Any = ()
"""The base class of asyncio's loops. Nothing is an instance of it before the program has imported asyncio."""
_unhooked: Any = None


def keep_originals(asyncio: ModuleType) -> None:
    """Keep the methods of asyncio's loops as they are before any hook."""
    global _asyncio, _Base, _unhooked
    _asyncio, _Base = asyncio, asyncio.base_events.BaseEventLoop
    names = ("call_at", "call_soon", "call_soon_threadsafe", "time")
    _unhooked = SimpleNamespace(**{name: getattr(_Base, name) for name in names})


class HaltedGate(Protocol):
    """The part of a halted gate that is used here."""

    @property
    def halted(self) -> Halt | None:
        """The exception that every strand gets."""

    @property
    def parting(self) -> int:
        """Connections that are being closed in the world."""


def stop_tasks(loop: object, gate: HaltedGate, since: float | None = None) -> None:
    """Raise the halt in every task of a halted gate that waits for something else; in the loop's own thread.

    Repeated as long as the loop runs: a task that catches it may again wait for a delivery that never comes. No task is
    stopped while a connection is being closed (``Gate.parts``): a task stopped there would leave a server behind. The
    loop's messages on callbacks that fail now are dropped: the halt causes them, and it is reported by itself.

    Args:
        loop: The loop.
        gate: The gate.
        since: When this was first done, by the loop's clock; None: now.
    """
    if isinstance(loop, _asyncio.AbstractEventLoop):
        loop.set_exception_handler(lambda _loop, _context: None)
    since = _unhooked.time(loop) if since is None and isinstance(loop, _Base) else since
    closes = gate.parting > 0 and since is not None and _unhooked.time(loop) < since + CLOSING_S
    for task in () if closes else _asyncio.all_tasks(loop):
        cell = getattr(task, "_reenact_cell", None)
        waits_for = getattr(task, "_fut_waiter", None)
        if cell is None or cell.lane is None or cell.lane.gate is not gate or waits_for is None:
            continue
        if not isinstance(waits_for, _asyncio.Task) and not waits_for.done():
            waits_for.set_exception(gate.halted)
    if isinstance(loop, _Base) and not loop.is_closed():
        _unhooked.call_at(loop, _unhooked.time(loop) + STOP_AGAIN_S, stop_tasks, loop, gate, since)


def post(loop: Any, callback: Callable[[], Any], *, here: bool) -> None:
    """The loop's own ``call_soon`` (``here``: from its thread) or ``call_soon_threadsafe``, below every hook."""
    try:
        if isinstance(loop, AsyncBackend):
            loop.post(callback)
        elif isinstance(loop, _Base):
            (_unhooked.call_soon if here else _unhooked.call_soon_threadsafe)(loop, callback)
        else:  # a loop written in C: its hooked subclass keeps the originals in its base
            foreign: Any = type(loop).__mro__[1]
            (foreign.call_soon if here else foreign.call_soon_threadsafe)(loop, callback)
    except RuntimeError:  # the loop was closed in between: no task is left to receive it
        pass
