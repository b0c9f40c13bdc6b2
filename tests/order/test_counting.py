"""The gate's count of runnable strands is what it was when everything a program started has ended."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import sys
import threading
from collections.abc import Iterator

import pytest

import reenact
from reenact.seams import lanes

from .driver import World, record_and_replay


def _running() -> int:
    lane = lanes.current()
    assert lane is not None
    return int(lane.gate.running)


def test_jobs_that_never_begin_are_counted_no_more() -> None:
    hold = threading.Event()
    with reenact.record(store="memory:counting"):
        pool = concurrent.futures.ThreadPoolExecutor(1)
        first = pool.submit(hold.wait, 5)
        others = [pool.submit(int) for _ in range(3)]
        assert others[0].cancel()
        hold.set()
        assert first.result()
        pool.shutdown(wait=True, cancel_futures=True)
        assert _running() == 1


@pytest.fixture
def nervous() -> Iterator[None]:
    """Threads that change places at every occasion."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("nervous")
def test_jobs_of_a_pool_that_breaks_are_counted_no_more() -> None:
    def broken() -> None:
        raise RuntimeError("no worker")

    with reenact.record(store="memory:counting"):
        for _ in range(100):  # it breaks before, between and after the submissions
            pool = concurrent.futures.ThreadPoolExecutor(1, initializer=broken)
            futures = []
            with contextlib.suppress(concurrent.futures.BrokenExecutor):
                futures.extend(pool.submit(int) for _ in range(3))
            concurrent.futures.wait(futures)
            pool.shutdown(wait=True)
            assert _running() == 1


def test_a_call_may_have_moved_to_another_task_once_its_own_has_ended() -> None:
    """Rung 3 of the ladder: the recorded lane has ended, so the answer cannot be wanted there any more."""

    def program(world: World) -> object:
        async def early(ask: bool) -> object:
            return await world.aask("the only one") if ask else None

        async def late(ask: bool) -> object:
            return await world.aask("the only one") if ask else None

        async def main(swapped: bool) -> object:
            first = await asyncio.create_task(early(not swapped))
            second = await asyncio.create_task(late(swapped))
            return first or second

        return asyncio.run(main(getattr(world, "swapped", False)))

    record_and_replay(program, rounds=2)
