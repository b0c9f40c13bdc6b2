"""The two colours of a crossing: one generator yields its turns, and a driver waits for them in a thread or in a
coroutine.

A crossing that a library has in both colours is written once, as ``Steps``. It yields turns, and ``Work`` where the
library itself acts. The result comes back as the value of the ``yield``; an exception is raised there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, TypeVar

from reenact.abc.session import Turn
from reenact.seams.suspension import Suspension
from reenact.seams.turns import ANYWHERE, rejoin_cancelled

T = TypeVar("T")
Steps = Generator[Turn[Any], Any, T]


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

    def __init__(self, work: Callable[[], Any], scope: AbstractContextManager[Any] = ANYWHERE) -> None:
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

    __slots__ = ("course", "rested")

    def __await__(self) -> Generator[Any, Any, Any]:
        self.rested = True
        with self.scope:
            self.course = body = Suspension(self.work())
            try:
                return (yield from body)
            finally:
                self.rested = body.rested


class RejoinTurn:
    """A coroutine that comes back with nothing in hand may take a turn before the agent's code goes on; a thread goes
    on at once.

    Args:
        rejoin: Takes the turn (``seams.turns``).
    """

    __slots__ = ("rejoin",)

    def __init__(self, rejoin: Callable[[], Awaitable[None]]) -> None:
        self.rejoin = rejoin

    def wait(self) -> None:
        """Nothing cancels a thread."""

    def __await__(self) -> Generator[Any, Any, None]:
        return self.rejoin().__await__()


def rejoined(error: BaseException) -> Steps[None]:
    """The turn of a coroutine that ``error`` cancels; none where a handler of a signal raised in the steps' driver."""
    if not isinstance(error, GeneratorExit):
        yield RejoinTurn(partial(rejoin_cancelled, error))


CLOSED: Final = object()
"""The result of an item when its consumer has closed the generator: the steps close what they use, and return."""


class ItemTurn:
    """Something that a generator yields to its consumer. The result is what the consumer sends, or ``CLOSED``.

    Args:
        value: The item.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def wait(self) -> Any:
        """Raise an error: only a generator has a consumer."""
        raise TypeError("an item is not waited for")

    __await__ = wait


def generating(steps: Callable[..., Steps[Any]]) -> Callable[..., Generator[Any, Any, Any]]:
    """A generator function that runs the steps of each call, and yields their items."""

    def called(*args: Any, **options: Any) -> Generator[Any, Any, Any]:
        running, left = steps(*args, **options), None
        try:
            turn = next(running)
            while True:
                try:
                    told = (yield turn.value) if turn.__class__ is ItemTurn else turn.wait()
                except BaseException as error:
                    if turn.__class__ is ItemTurn and isinstance(error, GeneratorExit):
                        left, turn = error, running.send(CLOSED)
                    else:
                        turn = running.throw(error)
                else:
                    turn = running.send(told)
        except StopIteration as end:
            result = end.value
        if left is not None:
            raise left
        return result

    return called


def generating_async(steps: Callable[..., Steps[Any]]) -> Callable[..., AsyncGenerator[Any, Any]]:
    """``generating`` for asynchronous generators."""

    async def called(*args: Any, **options: Any) -> AsyncGenerator[Any, Any]:
        running, left = steps(*args, **options), None
        try:
            turn = next(running)
            while True:
                try:
                    told = (yield turn.value) if turn.__class__ is ItemTurn else await turn
                except BaseException as error:
                    if turn.__class__ is ItemTurn and isinstance(error, GeneratorExit):
                        left, turn = error, running.send(CLOSED)
                    else:
                        turn = running.throw(error)
                else:
                    turn = running.send(told)
        except StopIteration:
            pass
        if left is not None:
            raise left

    return called
