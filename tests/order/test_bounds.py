"""Proves the gate's bounds: what never rests neither hangs nor slows a recording, and its replay ends and says so.

Slowness is counted, not timed: every hold that ended without proof is added up and must stay within the run's budget.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import reenact
from reenact.recording.arrival_schedule import ArrivalSchedule
from reenact.recording.holds import budget_us
from reenact.replaying import recorded_schedule
from reenact.seams.schedules import Standstill

from .driver import Recorded, World, assert_exact, record, replay

DEFAULT = reenact.Policy()


@pytest.fixture
def overruns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Microseconds of each hold that ended because something never stopped running."""
    holds: list[int] = []
    decide = ArrivalSchedule.overdue

    def overdue(self: ArrivalSchedule, waited_us: int, worked_us: int) -> bool:
        over = decide(self, waited_us, worked_us)
        if over:
            holds.append(waited_us)
        return over

    monkeypatch.setattr(ArrivalSchedule, "overdue", overdue)
    return holds


def assert_bounded(recorded: Recorded, holds: list[int]) -> None:
    """All unproven holds together cost no more than the budget (the last one may begin just within it)."""
    run = recorded.run
    assert run.status == "ok" and run.ended_us is not None
    assert sum(holds) - max(holds, default=0) <= budget_us(run.ended_us - run.started_us)


def assert_replay_ends(recorded: Recorded, program: Callable[[World], Any]) -> None:
    """The replay gives the same results; where the order was not proven, it says so."""
    replayed = replay(recorded, program)
    result = replayed.replay
    assert (result.output, result.live_calls, replayed.performed) == (recorded.output, 0, 0)
    assert result.verdict in ("exact", "same")
    if recorded.run.totals.unproven:
        assert result.verdict == "same"
        assert "order not proven at" in result.report.last_line


def test_a_task_that_spins(overruns: list[int]) -> None:
    def program(world: World) -> object:
        async def spins(done: asyncio.Event) -> None:
            while not done.is_set():
                await asyncio.sleep(0)

        async def main() -> object:
            done = asyncio.Event()
            spinner = asyncio.create_task(spins(done))
            answers = [await world.aask(f"{n}", delay=0.001) for n in range(60)]
            done.set()
            await spinner
            return answers

        return asyncio.run(main())

    recorded = record(program, policy=DEFAULT)
    assert recorded.run.totals.unproven > 0
    assert_bounded(recorded, overruns)
    assert_replay_ends(recorded, program)


def test_a_hundred_busy_tasks(overruns: list[int]) -> None:
    def program(world: World) -> object:
        async def busy(done: asyncio.Event) -> None:
            while not done.is_set():
                await asyncio.sleep(0)

        async def main() -> object:
            done = asyncio.Event()
            tasks = [asyncio.create_task(busy(done)) for _ in range(100)]
            answers = await asyncio.gather(*(world.aask(f"{n}") for n in range(40)))
            done.set()
            await asyncio.gather(*tasks)
            return sorted(answers)

        return asyncio.run(main())

    recorded = record(program, policy=DEFAULT)
    assert_bounded(recorded, overruns)
    assert_replay_ends(recorded, program)


def test_a_thread_that_waits_by_looking(overruns: list[int]) -> None:
    def program(world: World) -> object:
        answers: list[int] = []

        def asks() -> None:
            for n in range(30):
                answers.append(world.ask(f"{n}"))

        thread = threading.Thread(target=asks)
        thread.start()
        while len(answers) < 30:
            pass
        thread.join()
        return answers

    recorded = record(program, policy=DEFAULT)
    assert_bounded(recorded, overruns)
    assert_replay_ends(recorded, program)


def test_threads_that_compute(overruns: list[int]) -> None:
    def program(world: World) -> object:
        def works(name: int, out: list[str]) -> None:
            data = b"x" * 100_000
            for n in range(6):
                for _ in range(20):
                    data = hashlib.sha256(data).digest() * 3000
                out.append(f"{name}: {world.ask(f'{name}/{n}')}")

        outs: list[list[str]] = [[] for _ in range(4)]
        threads = [threading.Thread(target=works, args=(n, outs[n])) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return outs

    recorded = record(program, policy=DEFAULT)
    assert_bounded(recorded, overruns)
    assert_replay_ends(recorded, program)


def test_holds_that_do_not_help_get_shorter_and_stop(overruns: list[int]) -> None:
    def program(world: World) -> object:
        async def spins(done: asyncio.Event) -> None:
            while not done.is_set():
                await asyncio.sleep(0)

        async def main() -> None:
            done = asyncio.Event()
            spinner = asyncio.create_task(spins(done))
            for n in range(300):
                await world.aask(f"{n}", delay=0.0)
            done.set()
            await spinner

        return asyncio.run(main())

    recorded = record(program, policy=reenact.Policy(hold_ms=8))
    assert recorded.run.totals.unproven > 200
    assert len(overruns) < 30, "of hundreds of deliveries only a few are held"
    assert_bounded(recorded, overruns)


@pytest.mark.parametrize("order", ["arrival", "off"])
def test_orders_that_hold_nothing(order: str, overruns: list[int]) -> None:
    def program(world: World) -> object:
        async def spins(done: asyncio.Event) -> None:
            while not done.is_set():
                await asyncio.sleep(0)

        async def main() -> object:
            done = asyncio.Event()
            spinner = asyncio.create_task(spins(done))
            answers = await asyncio.gather(*(world.aask(f"{n}") for n in range(10)))
            done.set()
            await spinner
            return answers

        return asyncio.run(main())

    recorded = record(program, policy=reenact.Policy(order=order))
    assert overruns == []
    replayed = replay(recorded, program)
    assert (replayed.replay.output, replayed.performed) == (recorded.output, 0)
    assert replayed.replay.verdict == "same"
    assert "order not" in replayed.replay.report.last_line


def test_a_lone_strand_is_never_held(overruns: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is alone goes on at once: nothing is ever put at the gate."""
    offered: list[object] = []
    choose = ArrivalSchedule.choose

    def chosen(self: ArrivalSchedule, at: Standstill) -> object:
        offered.extend(self.gate.waiting)
        return choose(self, at)

    monkeypatch.setattr(ArrivalSchedule, "choose", chosen)

    def program(world: World) -> object:
        return [world.ask(f"{n}") for n in range(20)]

    recorded = record(program, policy=DEFAULT)
    assert (offered, overruns, recorded.run.totals.unproven) == ([], [], 0)
    assert recorded.run.totals.deliveries == 20
    assert_exact(recorded, replay(recorded, program))


def test_a_replay_of_a_busy_wait_that_nothing_ends_stops() -> None:
    """The code now looks for something that never comes, while a recorded answer is due: a bound ends the wait."""

    def program(world: World, wanted: int) -> object:
        answers: list[int] = []

        def asks() -> None:
            for n in range(3):
                answers.append(world.ask(f"{n}"))

        thread = threading.Thread(target=asks, daemon=True)
        thread.start()
        began = time.perf_counter_ns()
        while len(answers) < wanted and began:
            time.sleep(0.001)
            if len(answers) == 3:
                world.ask("is there more?")
        thread.join()
        return answers

    recorded = record(lambda world: program(world, 3))
    with pytest.raises(reenact.Divergence):
        replay(recorded, lambda world: program(world, 4))


def test_sleeps_between_recorded_answers_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on sleeps that are not recorded holds between two recorded deliveries, not for the whole run."""
    for bound in ("PERIODIC", "HOPES"):
        monkeypatch.setattr(recorded_schedule, bound, 20)

    def program(world: World, sleeps: int) -> object:
        answers = []
        for n in range(10):
            answers.append(world.ask(f"{n}"))
            for _ in range(sleeps):
                time.sleep(0.001)
        return answers

    recorded = record(lambda world: program(world, 0))
    replayed = replay(recorded, lambda world: program(world, 6))
    assert (replayed.replay.output, replayed.replay.verdict) == (recorded.output, "same")


NEVER: dict[str, Callable[[], Any]] = {
    "a future": lambda: asyncio.run(_forever()),
    "an event": lambda: threading.Event().wait(),
    "a condition": lambda: _wait_on_condition(),
    "a queue": lambda: __import__("queue").Queue().get(),
    "a thread that waits": lambda: _join_a_waiting_thread(),
}


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


def _wait_on_condition() -> None:
    condition = threading.Condition()
    with condition:
        condition.wait()


def _join_a_waiting_thread() -> None:
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    thread.join()


@pytest.mark.parametrize("wait", list(NEVER.values()), ids=list(NEVER))
@pytest.mark.parametrize("due", [False, True], ids=["at the end", "before a recorded answer"])
def test_a_replay_never_hangs(wait: Callable[[], Any], due: bool) -> None:
    """Whatever the changed code waits for that never comes, the replay ends with a named divergence."""

    def program(world: World, waits: bool) -> object:
        answer = world.ask("first")
        if waits:
            wait()
        return answer + world.ask("second") if due else answer

    recorded = record(lambda world: program(world, waits=False))
    with pytest.raises(reenact.Divergence) as caught:
        replay(recorded, lambda world: program(world, waits=True))
    assert caught.value.reason in ("end", "missing")


def test_strands_that_outlive_their_run_go_on() -> None:
    """When a recorded block ends, tasks and threads it started are let go: their timers and turns still come."""
    store = reenact.open_store("memory:outlive")

    async def main() -> tuple[int, str]:
        ticks: list[int] = []
        event = asyncio.Event()
        beats = threading.Semaphore(0)
        stop = threading.Event()

        async def ticker() -> None:
            while True:
                await asyncio.sleep(0.001)
                ticks.append(1)

        async def waiter() -> str:
            await asyncio.wait_for(event.wait(), 30)
            return "woken"

        def thread() -> None:
            while not stop.is_set():
                time.sleep(0.001)
                beats.release()

        async with reenact.record(store=store):
            ticking, waiting = asyncio.create_task(ticker()), asyncio.create_task(waiter())
            threading.Thread(target=thread, daemon=True).start()
            await asyncio.sleep(0.01)
        async with asyncio.timeout(30):
            seen = len(ticks)
            while len(ticks) < seen + 5:
                await asyncio.sleep(0.001)
            for _ in range(5):
                await asyncio.to_thread(beats.acquire)
            event.set()
            woken = await waiting
        stop.set()
        ticking.cancel()
        return len(ticks) - seen, woken

    ticked, woken = asyncio.run(main())
    assert (ticked >= 5, woken) == (True, "woken")
