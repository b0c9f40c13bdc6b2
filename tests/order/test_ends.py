"""A lane has ended when its own task has, not when a task that only lends it a hand has."""

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
