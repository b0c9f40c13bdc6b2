"""Asynchronous generators that are dropped before their end: the strand that closes them, the order, and the messages.

A loop keeps its generators in a set and closes the remaining ones in the order of that set, which depends on their
addresses. So the output of their cleanup differs from run to run. A recorded program closes them in the order in which
they were begun. This order could also occur without a recording, and a replay can repeat it.

The garbage collector, which runs at any time, finds the generators that are dropped. The strand that closes a generator
is therefore a child of the strand that began it, and is numbered at that beginning.

Generators of a transport exist only while recording. They are closed below the transport: this takes no ordinals and no
turns, and a replay repeats the loop's messages about it.
"""

from __future__ import annotations

import asyncio.base_events
import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import AsyncGeneratorType
from typing import Any

from reenact.seams import lanes
from reenact.seams.lanes import Lane, inside
from reenact.seams.patching import replace

_Base = asyncio.base_events.BaseEventLoop


async def _none() -> Any:
    yield


_CLOSING = type(_none().aclose())
"""The type that ``aclose`` and ``athrow`` of an asynchronous generator return: the work of its closer."""


def install() -> None:
    """Hook the calls by which loops learn of generators and of the errors of closing them."""
    replace(_Base, "_asyncgen_firstiter_hook", beginning)
    replace(_Base, "_asyncgen_finalizer_hook", dropping)
    replace(_Base, "call_exception_handler", _complaining)


class LoopGenerators(weakref.WeakSet[Any]):
    """The generators of a loop, walked in the order in which they were begun.

    The closer is found by the generator's address, because a weak reference is gone before the loop hears of the drop.

    Args:
        agens: The generators that the loop knows already.

    Attributes:
        closers: The lane of the strand that closes a dropped generator.
        dropped: The generators that are dropped, and whose closing has not begun.
    """

    def __init__(self, agens: Iterable[Any] = ()) -> None:
        super().__init__()
        self.closers: dict[int, Lane] = {}
        self.dropped: set[int] = set()
        self._at: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = 0
        for agen in agens:
            self.add(agen)

    def add(self, item: Any) -> None:
        """Put a generator after all others."""
        self._count += 1
        self._at.setdefault(item, self._count)
        super().add(item)

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__(), key=self._at.__getitem__))

    def closed_in(self, agen: Any, lane: Lane) -> None:
        """A generator is closed in ``lane``. Generators that have ended are forgotten now and then."""
        closers = self.closers
        if len(closers) > _MANY + 2 * (len(self) + len(self.dropped)):
            alive = self.dropped | {id(each) for each in self}
            for known in [each for each in closers if each not in alive]:
                del closers[known]
        closers[id(agen)] = lane


_MANY = 64
"""The least number of closers that are kept."""


def _begun(loop: Any) -> LoopGenerators | None:
    agens = getattr(loop, "_asyncgens", None)
    return agens if isinstance(agens, LoopGenerators) else None


def beginning(original: Callable[..., Any]) -> Callable[..., Any]:
    """A generator is iterated for the first time."""

    def _asyncgen_firstiter_hook(self: Any, agen: Any) -> Any:
        lane = lanes.current()
        if lane is not None:
            begun = _begun(self)
            if begun is None:
                begun = self._asyncgens = LoopGenerators(self._asyncgens)
            if lane.owned:
                begun.closed_in(agen, lane if lane.below else lane.child(f"{agen.__qualname__}.aclose"))
        return original(self, agen)

    return _asyncgen_firstiter_hook


def dropping(original: Callable[..., Any]) -> Callable[..., Any]:
    """A generator was dropped. The strand that collects garbage tells the loop, and has no other part in it."""

    def _asyncgen_finalizer_hook(self: Any, agen: Any) -> Any:
        begun = _begun(self)
        if begun is None or id(agen) not in begun.closers:
            return original(self, agen)
        begun.dropped.add(id(agen))
        with inside(None):
            return original(self, agen)

    return _asyncgen_finalizer_hook


def closer_of(loop: Any, work: Any) -> Lane | None:
    """The lane of a task that closes a generator; None for any other task.

    Args:
        loop: The loop of the task.
        work: The coroutine of the task.
    """
    if type(work) is not _CLOSING:
        return None
    begun = _begun(loop)
    agen = next((each for each in gc.get_referents(work) if type(each) is AsyncGeneratorType), None)
    if begun is None or agen is None:
        return None
    begun.dropped.discard(id(agen))
    return begun.closers.get(id(agen))


def _complaining(original: Callable[..., Any]) -> Callable[..., Any]:
    """The loop's message on an error; for a generator of a transport, it counts as the transport's."""

    def call_exception_handler(self: Any, context: dict[str, Any]) -> Any:
        begun = _begun(self)
        lane = begun.closers.get(id(context.get("asyncgen"))) if begun is not None else None
        if lane is None or not lane.below:
            return original(self, context)
        with inside(lane):
            return original(self, context)

    return call_exception_handler
