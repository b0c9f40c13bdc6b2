"""Proves that programs on trio (nurseries, deadlines, channels, threads, anyio) replay in the order they ran in."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import anyio
import pytest
import trio
import trio.testing

import reenact
from tests.programs import read_program

from .driver import Program, Recorded, World, record, record_and_replay, replay

Main = Callable[[World], Coroutine[Any, Any, Any]]


@pytest.fixture(autouse=True)
def no_idle_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """trio keeps its worker threads for ten seconds; here they end with the test."""
    cache = importlib.import_module("trio._core._thread_cache")
    monkeypatch.setattr(cache, "IDLE_TIMEOUT", 0.05)
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("Trio thread"):
            thread.join(10)


def assert_named(recorded: Recorded, program: Program, what: str = "nothing inside trio.run()") -> None:
    """What was not recorded is said, and not replayed."""
    assert recorded.run.degraded
    replayed = replay(recorded, program)
    assert (replayed.replay.verdict, replayed.performed) == ("different", 0)
    assert any(what in difference.text for difference in replayed.replay.report.differences)


def on_trio(main: Main, **options: Any) -> Program:
    """A program that is ``main`` on trio."""

    def program(world: World) -> Any:
        world.sleep = trio.sleep
        return trio.run(main, world, **options)

    return program


def test_a_nursery_of_equal_questions() -> None:
    async def one(world: World, n: int) -> None:
        world.did(n, await world.aask("the same question"))
        await trio.sleep(world.pause())
        world.did(n, await world.aask(f"{len(world.said)}"))

    async def main(world: World) -> None:
        async with trio.open_nursery() as nursery:
            for n in range(6):
                nursery.start_soon(one, world, n)

    record_and_replay(on_trio(main))


def test_nurseries_in_nurseries_and_tasks_that_say_when_they_are_ready() -> None:
    async def leaf(world: World, name: str, *, task_status: Any = trio.TASK_STATUS_IGNORED) -> None:
        world.did(name, "ready", await world.aask("ready?"))
        task_status.started(name)
        world.did(name, await world.aask("the same question", write=True))

    async def branch(world: World, name: str) -> None:
        async with trio.open_nursery() as nursery:
            for n in range(3):
                world.did(await nursery.start(leaf, world, f"{name}{n}"))

    async def main(world: World) -> None:
        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(branch, world, name)

    record_and_replay(on_trio(main))


def test_deadlines_race_with_answers() -> None:
    async def hurry(world: World, n: int) -> None:
        with trio.move_on_after(world.pause(0.002 * n + 0.0005)) as scope:
            world.did(n, await world.aask("slow?"))
        world.did(n, scope.cancelled_caught)
        try:
            with trio.fail_after(world.pause(0.003)):
                world.did(n, await world.aask("slow?"))
        except trio.TooSlowError:
            world.did(n, "too slow")

    async def main(world: World) -> None:
        async with trio.open_nursery() as nursery:
            for n in range(5):
                nursery.start_soon(hurry, world, n)

    record_and_replay(on_trio(main))


def test_a_deadline_that_is_moved() -> None:
    async def main(world: World) -> Any:
        with trio.move_on_after(0.001) as scope:
            scope.deadline += 3600
            world.did(await world.aask("slow", delay=0.01))
            scope.deadline = trio.current_time() + 0.001
            await trio.sleep_forever()
        with trio.move_on_after(3600) as scope:
            scope.deadline = -float("inf")
            await trio.sleep_forever()
        return scope.cancelled_caught

    record_and_replay(on_trio(main), rounds=2)


def test_channels_hand_each_item_to_the_same_consumer() -> None:
    async def produce(world: World, channel: Any, name: str) -> None:
        async with channel:
            for _ in range(3):
                await channel.send((name, await world.aask("next")))

    async def consume(world: World, channel: Any, name: str) -> None:
        async with channel:
            async for item in channel:
                world.did(name, item, await world.aask("use"))

    async def main(world: World) -> None:
        send, receive = trio.open_memory_channel[Any](1)
        async with trio.open_nursery() as nursery, send, receive:
            for name in "ab":
                nursery.start_soon(produce, world, send.clone(), name)
                nursery.start_soon(consume, world, receive.clone(), name.upper())

    record_and_replay(on_trio(main))


def test_who_is_woken_and_cancelled_first() -> None:
    """trio keeps both in sets of tasks, and by itself runs what is ready in an order of chance."""

    async def wait(world: World, event: trio.Event, n: int) -> None:
        with trio.CancelScope():
            await event.wait()
            world.did("woken", n)
        try:
            with trio.CancelScope():
                await trio.sleep_forever()
        finally:
            world.did("gone", n)

    async def main(world: World) -> None:
        event = trio.Event()
        async with trio.open_nursery() as nursery:
            for n in range(9):
                nursery.start_soon(wait, world, event, n)
            await world.aask("go?")
            event.set()
            await world.aask("stop?")
            nursery.cancel_scope.cancel()

    record_and_replay(on_trio(main))


def test_threads_that_ask_and_call_back() -> None:
    def work(world: World, n: int) -> int:
        answer = world.ask("from a thread")
        world.did("thread", n, answer, threading.current_thread().name.partition(" ")[0])
        world.did("back", n, trio.from_thread.run(world.aask, "from a task"))
        trio.from_thread.run_sync(world.did, "sync", n)
        return world.ask("from a thread")

    async def one(world: World, n: int, limiter: trio.CapacityLimiter) -> None:
        world.did(n, await trio.to_thread.run_sync(work, world, n, limiter=limiter))

    async def main(world: World) -> None:
        limiter = trio.CapacityLimiter(3)
        async with trio.open_nursery() as nursery:
            for n in range(6):
                nursery.start_soon(one, world, n, limiter)

    record_and_replay(on_trio(main))


def test_a_thread_that_is_cancelled_for_nothing_and_one_that_is_abandoned() -> None:
    async def main(world: World) -> Any:
        with trio.move_on_after(0.0005) as scope:
            kept = await trio.to_thread.run_sync(lambda: world.ask("slow", delay=0.004))
            world.did(kept, scope.cancel_called)
            await trio.lowlevel.checkpoint()
        done = threading.Event()

        def slow() -> None:
            world.ask("slow", delay=0.004)
            done.set()

        with trio.move_on_after(0.0005) as scope:
            await trio.to_thread.run_sync(slow, abandon_on_cancel=True)
        await trio.to_thread.run_sync(done.wait)
        return scope.cancelled_caught, await world.aask("last")

    record_and_replay(on_trio(main))


def test_a_foreign_thread_with_a_token() -> None:
    async def main(world: World) -> None:
        token = trio.lowlevel.current_trio_token()
        heard = trio.Event()

        def work() -> None:
            world.did("asked", trio.from_thread.run(world.aask, "for a thread", trio_token=token))
            token.run_sync_soon(heard.set)
            world.did("went on", world.ask("alone"))

        thread = threading.Thread(target=work)
        thread.start()
        world.did(await world.aask("meanwhile"))
        await heard.wait()
        world.did(await world.aask("heard"))
        await trio.to_thread.run_sync(thread.join)

    record_and_replay(on_trio(main))


def test_callbacks_of_a_thread_that_goes_on() -> None:
    """The thread and what it posts could run at once: which is seen first is the gate's doing."""

    async def main(world: World) -> None:
        token = trio.lowlevel.current_trio_token()

        def work() -> None:
            for n in range(4):
                token.run_sync_soon(world.did, "callback", n)
                sum(range(int(world.chance.random() * 300_000)))
                world.did("thread", n)
            world.ask("done?")

        await trio.to_thread.run_sync(work)

    record_and_replay(on_trio(main))


def test_a_result_is_not_lost_to_a_cancellation_that_comes_while_it_waits_for_its_turn() -> None:
    """Unrecorded, there is no wait at which the scope could cancel: recorded, there must be none either."""

    async def main(world: World) -> Any:
        async def busy() -> None:
            for _ in range(5):
                await trio.lowlevel.checkpoint()

        with trio.CancelScope() as scope:

            @reenact.tool
            async def act() -> int:
                scope.cancel()
                return 7

            async with trio.open_nursery() as nursery:
                nursery.start_soon(busy)
                world.did(await act())
        return scope.cancel_called

    recorded = record(on_trio(main))
    assert (recorded.said, recorded.output) == ([(7,)], True)


def test_anyio_on_trio() -> None:
    async def one(world: World, n: int) -> None:
        with anyio.move_on_after(world.pause(0.003)):
            world.did(n, await world.aask("the same question"))
        world.did("thread", n, await anyio.to_thread.run_sync(world.ask, "from a thread"))
        world.did("back", n, await anyio.to_thread.run_sync(partial(anyio.from_thread.run, world.aask, "from a task")))

    async def main(world: World) -> None:
        async with anyio.create_task_group() as group:
            for n in range(4):
                group.start_soon(one, world, n)

    def program(world: World) -> None:
        world.sleep = trio.sleep
        anyio.run(main, world, backend="trio")

    record_and_replay(program)


def test_a_recorded_block_inside_a_run() -> None:
    """A session that begins in a task follows the tasks that it starts, and lets go of them at its end."""
    store = reenact.open_store("memory:trio-block")

    async def one(n: int, said: list[int]) -> None:
        await trio.sleep(0.001 * n)
        said.append(n)

    async def main() -> list[int]:
        said: list[int] = []
        async with reenact.record(store=store, agent="block"):
            async with trio.open_nursery() as nursery:
                for n in range(3):
                    nursery.start_soon(one, n, said)
        with trio.move_on_after(0.001):
            await trio.sleep_forever()
        return said

    assert trio.run(main) == [0, 1, 2]
    (run,) = store.runs()
    assert (run.status.name, run.totals.unproven) == ("OK", 0)


def test_a_run_that_was_under_way_before_anything_was_hooked() -> None:
    """In a process of its own: the hooks are put in place by the task that first records, and find its run."""
    ended = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stdout, ended.stderr) == ("['a', 'b', 'c'] [('root/child#1', 0), ('root/child#2', 0)] 0\n", "")


LATE = read_program("order/recording_begun_beside_a_task.py")


def test_a_program_that_asks_something_else_diverges_and_ends() -> None:
    """Every task that waits is told, also one that catches whatever comes and waits again."""

    async def stubborn() -> None:
        for _ in range(2):
            try:
                await trio.sleep_forever()
            except BaseException:
                pass

    def asking(question: str) -> Main:
        async def main(world: World) -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(stubborn)
                await world.aask(question)
                nursery.cancel_scope.cancel()

        return main

    recorded = record(on_trio(asking("this")))
    with pytest.raises(reenact.Divergence):
        replay(recorded, on_trio(asking("that")))


def test_a_guest_of_asyncio_is_left_alone_and_named() -> None:
    async def guest(world: World) -> int:
        await trio.sleep(0.001)
        return await world.aask("anything")

    async def host(world: World) -> int:
        done = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        trio.lowlevel.start_guest_run(
            guest, world, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=done.set_result
        )
        return int((await done).unwrap())

    def program(world: World) -> int:
        world.sleep = trio.sleep
        return asyncio.run(host(world))

    recorded = record(program)
    assert recorded.output >= 1000
    assert_named(recorded, program)


def test_a_process_that_trio_starts_is_left_alone_and_named() -> None:
    async def main(world: World) -> bytes:
        ended = await trio.run_process([sys.executable, "-c", "print(1)"], capture_stdout=True)
        return bytes(ended.stdout).strip()

    program = on_trio(main)
    recorded = record(program)
    assert recorded.output == b"1"
    assert_named(recorded, program, "processes that trio starts are not recorded")


def test_a_clock_of_its_own_is_left_alone_and_named() -> None:
    async def main(world: World) -> int:
        return await world.aask("anything")

    program = on_trio(main, clock=trio.testing.MockClock(rate=1.0))
    recorded = record(program)
    assert recorded.output >= 1000
    assert (recorded.run.status.name, recorded.run.totals.deliveries) == ("OK", 0)
    assert_named(recorded, program)
