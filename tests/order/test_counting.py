"""The gate's count of runnable strands is what it was when everything a program started has ended."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import reenact
from reenact.seams import lanes
from reenact.seams.strands import signals

from .driver import World, record_and_replay

CHECKOUT = Path(__file__).resolve().parents[2]


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


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there are no signals to speak of")
@pytest.mark.parametrize("raises", [True, False])
def test_a_handler_of_a_signal_is_counted_while_it_runs(raises: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in a wait that is not counted; what it raises ends that wait, which is counted again, once."""
    counted = []

    def handler(number: int, frame: object) -> None:
        counted.append(_running())
        over.set()
        if raises:
            raise TimeoutError

    def ring() -> None:
        time.sleep(0.02)  # a signal that comes just before the interpreter waits is seen when it has waited
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        over.wait(5)

    with reenact.record(store="memory:counting"):
        lane = lanes.current()
        assert lane is not None
        monkeypatch.setattr(signals, "_gate", lane.gate)
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            for _ in range(5):
                over = threading.Event()
                thread = threading.Thread(target=ring)
                with contextlib.suppress(TimeoutError):
                    thread.start()
                    thread.join()
                thread.join()
                assert _running() == 1
        finally:
            signal.signal(signal.SIGUSR1, before)
    assert len(counted) == 5 and min(counted) >= 1, counted


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms to speak of")
@pytest.mark.parametrize("others", [0, 2])
def test_alarms_that_raise_by_the_hundred_leave_the_count_exact(others: int, sweep: bool) -> None:
    argv = [sys.executable, "-m", "tests.order.alarm_storm", str(20_000 if sweep else 700), str(others)]
    ran = subprocess.run(
        argv, cwd=CHECKOUT, capture_output=True, text=True, timeout=110 * (30 if sweep else 1), check=False
    )
    assert ran.returncode == 0 and ran.stdout.endswith(" alarms\n"), ran


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
            futures: list[concurrent.futures.Future[int]] = []
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
