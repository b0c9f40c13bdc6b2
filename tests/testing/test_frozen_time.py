"""Frozen time and seeded chance reach what they say they reach, end with their block, and collide with nothing."""

from __future__ import annotations

import asyncio
import datetime
import os
import queue
import random
import sched
import secrets
import threading
import time
import uuid
from concurrent import futures
from datetime import UTC
from typing import Any

import pytest

import reenact
from reenact.errors import UsageError
from reenact.store.memory_store import MemoryStore
from reenact.testing import frozen_clock, seeded_entropy

NIGHT = "2026-03-28T23:59:59.900+00:00"
NIGHT_US = 1_774_742_399_900_000


def moments() -> list[Any]:
    """Every way to read the wall clock."""
    return [
        time.time_ns() // 1000,
        round(time.time() * 1e6),
        round(datetime.datetime.now(UTC).timestamp() * 1e6),
        round(datetime.datetime.now().timestamp() * 1e6),
        int(time.strftime("%Y", time.gmtime())) and round(time.time() * 1e6),
    ]


def test_every_clock_stands_and_moves_when_told() -> None:
    with frozen_clock(NIGHT) as clock:
        assert set(moments()) == {NIGHT_US}
        assert datetime.date.today().year == 2026 and time.gmtime().tm_mday == 28
        before = time.monotonic(), time.perf_counter_ns(), time.process_time()
        assert before == (time.monotonic(), time.perf_counter_ns(), time.process_time())
        clock.advance(200_000)
        assert time.gmtime().tm_mday == 29 and set(moments()) == {NIGHT_US + 200_000}
        assert time.monotonic() - before[0] == pytest.approx(0.2)
    assert abs(time.time() - NIGHT_US / 1e6) > 1 and time.monotonic() != before[0]


@pytest.mark.parametrize("at", [datetime.datetime(2026, 3, 28, 23, 59, 59, 900_000), NIGHT_US / 1e6, NIGHT])
def test_a_moment_is_said_in_three_ways(at: Any) -> None:
    with frozen_clock(at):
        assert moments()[0] == NIGHT_US


@pytest.mark.parametrize("at", ["yesterday", None, float("inf")])
def test_what_is_no_moment_is_refused(at: Any) -> None:
    with pytest.raises(UsageError, match="is no moment"):
        with frozen_clock(at):
            pass


def test_code_that_waits_for_a_deadline_ends_with_steps() -> None:
    with frozen_clock(NIGHT, step=0.5):
        deadline, reads = time.monotonic() + 10, 0
        while time.monotonic() < deadline:
            reads += 1
    assert reads == 19


def test_it_decorates_a_function() -> None:
    @frozen_clock(0)
    def year() -> int:
        return datetime.datetime.now(UTC).year

    assert year() == year() == 1970


def draws() -> list[Any]:
    """Every way to draw."""
    own = random.Random()
    return [
        random.random(), random.randint(1, 10**9), random.choice(range(10**6)), os.urandom(8), secrets.token_hex(8),
        uuid.uuid4(), uuid.uuid1().version, own.random(), random.SystemRandom().random(), random.gauss(0, 1),
    ]  # fmt: skip


def test_chance_comes_from_the_seed() -> None:
    seen = []
    for seed in (7, 7, 8, "text"):
        with seeded_entropy(seed):
            seen.append(draws())
    assert seen[0] == seen[1] and seen[0] != seen[2] != seen[3]
    assert all(one != other or one == 1 for one, other in zip(seen[0], seen[2], strict=True)), "each of them is drawn"


def test_code_that_seeds_by_itself_gets_what_it_always_gets() -> None:
    random.seed(42)
    always = [random.random(), random.getrandbits(16)]
    with seeded_entropy(7):
        random.seed(42)
        assert [random.random(), random.getrandbits(16)] == always


def test_the_shared_generator_goes_on_as_if_nothing_had_been() -> None:
    random.seed(1)
    expected = [random.random() for _ in range(4)]
    random.seed(1)
    first = [random.random(), random.random()]
    with seeded_entropy(7):
        random.random()
    assert [*first, random.random(), random.random()] == expected


def test_time_and_chance_stand_together_in_either_order() -> None:
    def both() -> tuple[Any, ...]:
        return (*moments(), *draws())

    with frozen_clock(NIGHT), seeded_entropy(7):
        one = both()
    with seeded_entropy(7), frozen_clock(NIGHT):
        other = both()
    assert one == other
    with frozen_clock(NIGHT):
        with frozen_clock(0):
            assert time.time() == 0
        assert moments()[0] == NIGHT_US, "the inner block has ended, the outer one has not"


def test_threads_and_tasks_are_reached() -> None:
    seen: list[Any] = []

    async def task() -> None:
        await asyncio.sleep(0.001)  # real time passes, and no clock moves
        seen.append((moments()[0], uuid.uuid4()))

    async def tasks() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(task())

    with frozen_clock(NIGHT), seeded_entropy(7):
        thread = threading.Thread(target=lambda: seen.append((moments()[0], uuid.uuid4())))
        thread.start()
        thread.join()
        asyncio.run(tasks())
    assert [moment for moment, _ in seen] == [NIGHT_US] * 4 and len({drawn for _, drawn in seen}) == 4
    with seeded_entropy(7):
        assert uuid.uuid4() == seen[0][1]


def test_waiting_still_ends() -> None:
    with frozen_clock(NIGHT):
        assert not threading.Event().wait(0.01)
        with pytest.raises(queue.Empty):
            queue.Queue[int]().get(timeout=0.01)
        condition = threading.Condition()
        with condition:
            assert not condition.wait_for(lambda: False, timeout=0.01)
        assert futures.wait([futures.Future[int]()], timeout=0.01).not_done
        ran: list[str] = []
        scheduler = sched.scheduler()
        scheduler.enter(0.01, 1, ran.append, ("later",))
        scheduler.run()
        assert ran == ["later"]
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(asyncio.Event().wait(), 0.01))
        time.sleep(0.001)
        assert moments()[0] == NIGHT_US


def test_recordings_and_other_threads_are_not_disturbed() -> None:
    with reenact.record(store=MemoryStore()):
        with pytest.raises(UsageError, match="a recording or a replay listens here"):
            with frozen_clock(NIGHT):
                pass
    entered, leave, refused = threading.Event(), threading.Event(), []

    def elsewhere() -> None:
        entered.wait(10)
        try:
            with frozen_clock(0):
                pass
        except UsageError as error:
            refused.append(error)
        leave.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    with frozen_clock(NIGHT):
        entered.set()
        assert leave.wait(10)
    thread.join()
    assert len(refused) == 1 and "another thread has stopped the clock" in refused[0].cause


def test_a_run_is_recorded_inside_as_anywhere() -> None:
    @reenact.tool(effect="read")
    def now() -> str:
        return datetime.datetime.now(UTC).isoformat()

    store = MemoryStore()
    with frozen_clock(NIGHT), seeded_entropy(1):
        with reenact.record(store=store) as run:
            now()
        assert moments()[0] == NIGHT_US
    assert store.run(run.id).totals.tools == 1


def test_marked_functions_go_through_untouched() -> None:
    @reenact.tool
    def act(what: str) -> str:
        return what.upper()

    with frozen_clock(NIGHT), reenact.step("plan", {"a": 1}) as state:
        assert act("x") == "X" and state in ({"a": 1}, None)
        reenact.note("seen", 1)
        assert reenact.current_run() is None


def test_an_exception_ends_it_too() -> None:
    for _ in range(2):
        with pytest.raises(KeyError):
            with frozen_clock(NIGHT), seeded_entropy(1):
                raise KeyError
    assert abs(time.time() - NIGHT_US / 1e6) > 1


def test_numpys_default_generator_is_reached() -> None:
    numpy = pytest.importorskip("numpy")
    seen = []
    for _ in range(2):
        with seeded_entropy(3):
            seen.append(float(numpy.random.default_rng().random()))
    assert seen[0] == seen[1]
