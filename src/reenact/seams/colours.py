"""The two colours of a crossing: one generator yields its turns, and a driver waits for them in a thread or in a
coroutine.

A crossing that a library has in both colours is written once, as ``Steps``. It yields turns, and ``Work`` where the
library itself acts. The result comes back as the value of the ``yield``; an exception is raised there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from reenact.abc.session import Turn
from reenact.seams.suspension import Suspension
from reenact.seams.turns import rejoin_cancelled

T = TypeVar("T")
Steps = Generator[Turn[Any], Any, T]
_ANYWHERE = nullcontext()


def in_thread(steps: Steps[T]) -> T:
    """Run the steps, and block the calling thread where they wait."""
    try:
        turn = next(steps)
        while True:
            try:
                told = turn.wait()
            except BaseException as error:
                turn = steps.throw(error)
            else:
                turn = steps.send(told)
    except StopIteration as end:
        result: T = end.value
        return result


async def in_coroutine(steps: Steps[T]) -> T:
    """Run the steps, and await what they wait for."""
    try:
        turn = next(steps)
        while True:
            try:
                told = await turn
            except BaseException as error:
                turn = steps.throw(error)
            else:
                turn = steps.send(told)
    except StopIteration as end:
        result: T = end.value
        return result


def coloured(like: Callable[..., Any], steps: Callable[..., Steps[Any]]) -> Callable[..., Any]:
    """A function that runs the steps of each call, in the colour of the function ``like``."""

    async def awaited(*args: Any, **options: Any) -> Any:
        return await in_coroutine(steps(*args, **options))

    def called(*args: Any, **options: Any) -> Any:
        return in_thread(steps(*args, **options))

    return awaited if iscoroutinefunction(like) else called


class Work:
    """Something that the library does: a function is called in a thread, and a coroutine function in a coroutine.

    Args:
        work: Does it; without arguments.
        scope: The scope in which the work is done.
    """

    __slots__ = ("scope", "work")
    rested = True
    """Whether other code of the agent may have run meanwhile."""

    def __init__(self, work: Callable[[], Any], scope: AbstractContextManager[Any] = _ANYWHERE) -> None:
        self.work = work
        self.scope = scope

    def wait(self) -> Any:
        """Do the work in the calling thread."""
        with self.scope:
            return self.work()

    def __await__(self) -> Generator[Any, Any, Any]:
        with self.scope:
            return (yield from self.work().__await__())


class OwnWork(Work):
    """A coroutine of the agent's own, which decides by itself whether it waits for anything."""

    __slots__ = ("rested",)

    def __await__(self) -> Generator[Any, Any, Any]:
        self.rested = True
        with self.scope:
            body = Suspension(self.work())
            try:
                return (yield from body)
            finally:
                self.rested = body.rested


class RejoinTurn:
    """A cancelled coroutine takes a turn before the agent's code goes on; a thread goes on at once."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def wait(self) -> None:
        """Nothing cancels a thread."""

    def __await__(self) -> Generator[Any, Any, None]:
        return rejoin_cancelled(self.error).__await__()
