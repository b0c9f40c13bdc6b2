"""A crossing that is written once runs in a thread and in a coroutine, to the same end."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from reenact.seams.colours import (
    CLOSED,
    ItemTurn,
    OwnWork,
    Steps,
    Work,
    coloured,
    generating,
    generating_async,
    in_coroutine,
    in_thread,
    rejoined,
)
from reenact.seams.turns import NOW

RUNS: dict[str, Callable[[Steps[Any]], Any]] = {
    "thread": in_thread,
    "coroutine": lambda steps: asyncio.run(in_coroutine(steps)),
}


class Scope:
    """A scope that tells whether it is entered."""

    entered = False

    def __enter__(self) -> None:
        self.entered = True

    def __exit__(self, *_: object) -> None:
        self.entered = False


@pytest.fixture(params=RUNS)
def colour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def doing(colour: str, work: Callable[[], Any], scope: Any = None) -> Work:
    """Work in a colour."""

    async def awaited() -> Any:
        await asyncio.sleep(0)
        return work()

    chosen = work if colour == "thread" else awaited
    return Work(chosen) if scope is None else Work(chosen, scope)


def test_what_work_gives_comes_back_from_the_yield(colour: str) -> None:
    scope = Scope()

    def steps() -> Steps[list[Any]]:
        inside = yield doing(colour, lambda: scope.entered, scope)
        nothing = yield NOW
        return [inside, nothing, scope.entered]

    assert RUNS[colour](steps()) == [True, None, False]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), StopAsyncIteration()])
def test_what_work_raises_is_raised_at_the_yield_and_may_be_answered(colour: str, error: BaseException) -> None:
    def fail() -> None:
        raise error

    def steps() -> Steps[Any]:
        try:
            yield doing(colour, fail)
        except type(error) as raised:
            yield NOW
            return raised

    assert RUNS[colour](steps()) is error


def test_an_iterator_that_ends_is_told_so_at_the_yield() -> None:
    def steps() -> Steps[str]:
        try:
            yield Work(lambda: next(iter(())))
        except StopIteration:
            return "the end"
        return "more"

    assert in_thread(steps()) == "the end"


def test_what_is_not_answered_reaches_the_caller(colour: str) -> None:
    def fail() -> None:
        raise LookupError("nothing")

    def steps() -> Steps[None]:
        try:
            yield doing(colour, fail)
        except LookupError as error:
            raise RuntimeError("given up") from error

    with pytest.raises(RuntimeError, match="given up") as caught:
        RUNS[colour](steps())
    assert isinstance(caught.value.__cause__, LookupError)


def test_an_error_that_passes_through_is_held_by_no_cycle(colour: str) -> None:
    class Held:
        """Something that a frame holds."""

    def fail(held: Held) -> None:
        raise LookupError(held)

    def steps(held: Held) -> Steps[None]:
        yield doing(colour, lambda: fail(held))

    gc.collect()
    gc.disable()
    try:
        held = Held()
        watched = weakref.ref(held)
        try:
            in_thread(steps(held)) if colour == "thread" else drive(in_coroutine(steps(held)))
        except LookupError:
            pass
        del held
        assert watched() is None
    finally:
        gc.enable()


def drive(coroutine: Any) -> None:
    """Run a coroutine without a loop, which would hold its errors itself."""
    while True:
        coroutine.send(None)


def test_a_cancellation_is_raised_at_the_yield_and_goes_on(colour: str) -> None:
    seen: list[str] = []

    def steps() -> Steps[None]:
        try:
            yield Work(lambda: asyncio.sleep(60))
        except asyncio.CancelledError as error:
            seen.append("cancelled")
            yield from rejoined(error)
            raise

    async def main() -> None:
        task = asyncio.ensure_future(in_coroutine(steps()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled"]


def test_steps_that_are_closed_between_two_turns_end_at_once() -> None:
    """As a handler of a signal leaves them that raises in their driver: they are dropped, and must not yield again."""

    def steps() -> Steps[None]:
        try:
            yield NOW
        except BaseException as error:
            yield from rejoined(error)
            raise

    begun = steps()
    next(begun)
    begun.close()


@pytest.mark.parametrize(("turns", "rested"), [(0, False), (1, True)])
def test_work_of_the_agent_tells_whether_it_gave_its_thread_away(turns: int, rested: bool) -> None:
    async def body() -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    async def main() -> bool:
        work = OwnWork(body)
        await work
        return work.rested

    assert asyncio.run(main()) is rested


def test_a_function_gets_the_colour_of_the_one_that_it_stands_for() -> None:
    def steps(value: int) -> Steps[int]:
        yield NOW
        return value + 1

    def plain() -> None: ...

    async def awaited() -> None: ...

    assert coloured(plain, steps)(1) == 2
    assert asyncio.run(coloured(awaited, steps)(value=1)) == 2


class Consumer:
    """Drives a generator of either colour by hand."""

    def __init__(self, colour: str, steps: Callable[..., Steps[Any]]) -> None:
        self.body: Any = generating(steps)() if colour == "thread" else generating_async(steps)()
        self._asynchronous = colour != "thread"

    def do(self, name: str, *args: object) -> Any:
        if not self._asynchronous:
            return getattr(self.body, name)(*args)
        waits = getattr(self.body, f"a{name}")(*args).__await__()
        try:
            while True:
                next(waits)
        except StopIteration as end:
            return end.value


def test_a_generator_waits_for_turns_between_its_items(colour: str) -> None:
    def steps() -> Steps[None]:
        told = yield doing(colour, lambda: "begun")
        while told != "enough":
            try:
                told = yield ItemTurn(told)
            except LookupError:
                told = yield doing(colour, lambda: "thrown")

    consumer = Consumer(colour, steps)
    assert consumer.do("send", None) == "begun"
    assert consumer.do("send", "more") == "more"
    assert consumer.do("throw", LookupError()) == "thrown"
    with pytest.raises((StopIteration, StopAsyncIteration)):
        consumer.do("send", "enough")


def test_a_closed_generator_still_waits_for_turns_however_deep_its_steps_are(colour: str) -> None:
    seen: list[Any] = []

    def within() -> Steps[str]:
        sent = yield ItemTurn(1)
        seen.append((yield doing(colour, lambda: sent is CLOSED)))
        return "closed"

    def steps() -> Steps[None]:
        seen.append((yield from within()))

    consumer = Consumer(colour, steps)
    assert consumer.do("send", None) == 1
    consumer.do("close")
    assert seen == [True, "closed"]


def test_what_a_closed_generator_raises_reaches_its_consumer(colour: str) -> None:
    def steps() -> Steps[None]:
        if (yield ItemTurn(1)) is CLOSED:
            raise LookupError("not closed")

    consumer = Consumer(colour, steps)
    consumer.do("send", None)
    with pytest.raises(LookupError, match="not closed"):
        consumer.do("close")
