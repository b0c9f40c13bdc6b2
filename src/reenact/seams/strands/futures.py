"""Tasks and futures whose hash is their identity in the run, so that a set of them has the same order in its replay.

The order of a set of tasks is the order of their hashes, and by default these are memory addresses: ``TaskGroup``
cancels in that order, ``asyncio.wait`` and ``concurrent.futures.wait`` return in it, ``gather(*tasks)`` numbers its
results by it. The program could have had any of these orders by itself, but only the order of identities can be
repeated. Tasks made by a task factory of the agent's own keep their addresses.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import Any

from reenact.facts.order import identity
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace


def install() -> None:
    """Give the loop's wrapper of a thread pool's future the identity of that future."""
    replace(asyncio.futures, "wrap_future", _wrapping)
    asyncio.wrap_future = asyncio.futures.wrap_future


class Task(asyncio.Task[Any]):
    """A task that hashes by the path of its lane. Its class has the same name as asyncio's."""

    __module__ = "_asyncio"

    def __init__(self, coro: Any, identity: int, **options: Any) -> None:
        self._reenact_identity = identity  # before the loop's own bookkeeping asks for the hash
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._reenact_identity


class Future(asyncio.Future[Any]):
    """The loop's view of a thread's future, with the same hash."""

    __module__ = "_asyncio"

    def __init__(self, identity: int, **options: Any) -> None:
        self._reenact_identity = identity
        super().__init__(**options)

    def __hash__(self) -> int:
        return self._reenact_identity


def make_task(original: Callable[..., Any], loop: Any, coro: Any, lane: Lane, options: dict[str, Any]) -> Any:
    """A task as ``loop.create_task`` makes it, with the identity of ``lane`` unless the agent makes its own tasks."""
    factory = loop.get_task_factory()
    if factory is None and not options.get("eager_start") and not loop.is_closed():
        return Task(coro, identity(lane.path), loop=loop, **options)
    gate: Gate = lane.gate
    gate.nested += 1
    try:
        if factory is getattr(asyncio, "eager_task_factory", 0):
            return Task(coro, identity(lane.path), loop=loop, **{**options, "eager_start": True})
        return original(loop, coro, **options)
    finally:
        gate.nested -= 1


def _wrapping(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrap_future(future: Any, *, loop: Any = None) -> Any:
        known = getattr(future, "_reenact_identity", None)
        if known is None or not isinstance(future, concurrent.futures.Future):
            return original(future, loop=loop)
        wrapped = Future(known, loop=loop if loop is not None else asyncio.events.get_event_loop())
        asyncio.futures._chain_future(future, wrapped)  # type: ignore[attr-defined]
        return wrapped

    return wrap_future
