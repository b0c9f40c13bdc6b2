"""What is put into a loop below every hook: a callback, and the halt that ends the tasks of a run.

A callback that a hook saw would take a turn at the gate; these come from the gate itself.
"""

from __future__ import annotations

import asyncio
import asyncio.base_events
from collections.abc import Callable
from typing import Any, Protocol

from reenact.errors import Halt
from reenact.seams.async_backends import AsyncBackend

_base_call_at = asyncio.base_events.BaseEventLoop.call_at
_base_time = asyncio.base_events.BaseEventLoop.time
_base_call_soon = asyncio.base_events.BaseEventLoop.call_soon
_base_call_soon_threadsafe = asyncio.base_events.BaseEventLoop.call_soon_threadsafe

STOP_AGAIN_S = 0.05
CLOSING_S = 10.0
"""How long a halt waits for connections that are being closed: a server that does not end has been killed by then."""


class Stopped(Protocol):
    """What is asked of a gate that has been halted."""

    @property
    def halted(self) -> Halt | None:
        """What every strand gets."""

    @property
    def parting(self) -> int:
        """Connections that are being closed in the world."""


def stop_tasks(loop: Any, gate: Stopped, since: float | None = None) -> None:
    """Raise the halt in every task of a halted gate that waits for something else; in the loop's own thread.

    Again and again, as long as the loop runs: a task that catches it may wait for the next thing that never comes. Not
    while a connection is being closed (``Gate.parts``): who was stopped there would leave a server behind. What the
    loop has to say of callbacks that fail now comes of the halt, and the halt is told by itself.

    Args:
        loop: The loop.
        gate: The gate.
        since: When this was first done, by the loop's clock; None: now.
    """
    if isinstance(loop, asyncio.AbstractEventLoop):
        loop.set_exception_handler(lambda _loop, _context: None)
    since = _base_time(loop) if since is None and isinstance(loop, asyncio.base_events.BaseEventLoop) else since
    closes = gate.parting > 0 and since is not None and _base_time(loop) < since + CLOSING_S
    for task in () if closes else asyncio.all_tasks(loop):
        cell = getattr(task, "_reenact_cell", None)
        waits_for = getattr(task, "_fut_waiter", None)
        if cell is None or cell.lane is None or cell.lane.gate is not gate or waits_for is None:
            continue
        if not isinstance(waits_for, asyncio.Task) and not waits_for.done():
            waits_for.set_exception(gate.halted)
    if isinstance(loop, asyncio.base_events.BaseEventLoop) and not loop.is_closed():
        _base_call_at(loop, _base_time(loop) + STOP_AGAIN_S, stop_tasks, loop, gate, since)


def post(loop: Any, callback: Callable[[], Any], *, here: bool) -> None:
    """The loop's own ``call_soon`` (``here``: from its thread) or ``call_soon_threadsafe``, below every hook."""
    try:
        if isinstance(loop, AsyncBackend):
            loop.post(callback)
        elif isinstance(loop, asyncio.base_events.BaseEventLoop):
            (_base_call_soon if here else _base_call_soon_threadsafe)(loop, callback)
        else:  # a loop written in C: its hooked subclass keeps the originals in its base
            foreign: Any = type(loop).__mro__[1]
            (foreign.call_soon if here else foreign.call_soon_threadsafe)(loop, callback)
    except RuntimeError:  # the loop was closed meanwhile: nobody is left to receive it
        pass
