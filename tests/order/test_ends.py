"""What asyncio promises still holds in a recorded program: ends of lanes, and awaitables given twice."""

from __future__ import annotations

import asyncio

import reenact
from reenact.seams import lanes
from reenact.seams.lanes import Lane


def _here() -> Lane:
    lane = lanes.current()
    assert lane is not None
    return lane


def test_wait_for_does_not_end_its_callers_lane() -> None:
    async def nothing() -> Lane:
        return _here()

    async def main() -> None:
        with reenact.record(store="memory:"):
            root = _here()
            await asyncio.wait_for(nothing(), 1)
            assert not root.finished()
            with reenact.step("inside"):
                scope = _here()
                await asyncio.wait_for(nothing(), 1)
                assert not scope.finished()
            task = asyncio.create_task(nothing())
            child = await task
            assert child.path != root.path
            assert child.finished()

    asyncio.run(main())


def test_as_completed_takes_an_awaitable_that_is_given_twice_once() -> None:
    async def one() -> int:
        return 1

    async def main() -> list[int]:
        with reenact.record(store="memory:"):
            coroutine = one()
            return [await each for each in asyncio.as_completed([coroutine, coroutine])]

    assert asyncio.run(main()) == [1]
