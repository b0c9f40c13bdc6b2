"""The wrapper around a decorated function, of the function's own sort (sync or async).

Without a session each wrapper costs one look at a module variable and one forwarded call. A wrapper is a function of
the same sort as the wrapped one (coroutine function, generator function …), because frameworks check that.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from reenact.facts.call import Failure, Value
from reenact.seams import lanes
from reenact.seams.colours import Steps, generating, generating_async, in_thread
from reenact.seams.functions import Seam, SeamCall
from reenact.seams.generators import ItemPlayer, ItemRecorder, played, taped, through
from reenact.seams.lanes import listening
from reenact.seams.switchboard import across, begin, crossed

F = TypeVar("F", bound=Callable[..., Any])


def decorate(function: F, make: Callable[[Callable[..., Any]], Seam]) -> F:
    """Wrap a function (or the function inside a ``staticmethod`` or ``classmethod``) as a seam.

    Args:
        function: The decorated function.
        make: Describes the bare function.

    Returns:
        A function of the same sort, signature and documentation.
    """
    wrapper: Any
    if isinstance(function, (staticmethod, classmethod)):
        wrapper = type(function)(wrap(make(function.__func__)))
    else:
        wrapper = wrap(make(function))
    return wrapper  # type: ignore[no-any-return]


def wrap(seam: Seam) -> Callable[..., Any]:
    """A function that crosses the seam if a session listens, and else calls the original."""
    function = seam.function
    if inspect.isasyncgenfunction(function):
        wrapper = generating_async(_stream(seam))
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(seam)
    elif inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        wrapper = _coroutine(seam)
    else:
        wrapper = _plain(seam)
    return functools.wraps(function)(wrapper)


def _plain(seam: Seam) -> Callable[..., Any]:
    function = seam.function

    def called(*args: Any, **kwargs: Any) -> Any:
        if not lanes._sessions:
            return function(*args, **kwargs)
        lane = listening()
        if lane is None:
            return function(*args, **kwargs)
        call = SeamCall(seam, lane, args, kwargs)
        crossing = begin(lane, call.describe)
        if crossing is None:
            return function(*args, **kwargs)
        if crossing.mode == "frozen":  # as ``crossed`` does, but faster: every replayed call comes here
            told = crossing.answer().wait()
            if isinstance(told, (Value, Failure)):
                return call.reveal(told)
            crossing = told  # the call had no end in the recording, and is performed now
        return in_thread(crossed(lane, crossing, call.perform, call.seal, call.reveal))

    return called


def _coroutine(seam: Seam) -> Callable[..., Any]:
    function = seam.function

    async def called(*args: Any, **kwargs: Any) -> Any:
        if not lanes._sessions:
            return await function(*args, **kwargs)
        lane = listening()
        if lane is None:
            return await function(*args, **kwargs)
        call = SeamCall(seam, lane, args, kwargs)
        return await across(lane, call.describe, call.perform_async, call.seal, call.reveal, own=True)

    return called


def _generator(seam: Seam) -> Callable[..., Any]:
    function, crossing = seam.function, generating(_stream(seam))

    def called(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from (function if listening() is None else crossing)(*args, **kwargs))

    return called


def _stream(seam: Seam) -> Callable[..., Steps[Any]]:
    """The crossing of a generator, which begins when its first item is asked for."""

    def steps(*args: Any, **kwargs: Any) -> Steps[Any]:
        lane = listening()
        call = None if lane is None else SeamCall(seam, lane, args, kwargs)
        crossing = None if lane is None or call is None else begin(lane, call.describe)
        if lane is None or call is None or crossing is None:
            return (yield from through(seam.function(*args, **kwargs)))
        if crossing.mode == "frozen":
            return (yield from played(ItemPlayer(call, crossing)))
        return (yield from taped(ItemRecorder(lane, crossing, call), seam.function(*args, **kwargs)))

    return steps
