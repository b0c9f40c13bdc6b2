"""Proves that racing tasks of one event loop replay exactly: who did what, in which order, with whose answer."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from reenact.seams import lanes

from .driver import World, record, record_and_replay


def test_gathered_tasks_that_sleep_and_share_a_list() -> None:
    def program(world: World) -> object:
        async def branch(name: int) -> int:
            await asyncio.sleep(world.pause())
            first = await world.aask(f"{name}/first")
            world.did(name, first, len(world.said))
            await asyncio.sleep(world.pause())
            second = await world.aask(f"{name}/second/{len(world.said)}")
            world.did(name, second)
            return first + second

        async def main() -> object:
            return await asyncio.gather(*(branch(n) for n in range(8)))

        return asyncio.run(main())

    record_and_replay(program, rounds=5)


def test_five_identical_prompts_at_once() -> None:
    def program(world: World) -> object:
        async def branch(name: int) -> int:
            answer = await world.aask("the same question")
            world.did(name, answer)
            return answer

        async def main() -> object:
            return await asyncio.gather(*(branch(n) for n in range(5)))

        return asyncio.run(main())

    record_and_replay(program)


def test_as_completed_and_the_tasks_made_in_its_order() -> None:
    def program(world: World) -> object:
        async def follow(answer: int) -> int:
            return await world.aask(f"follow {answer}")

        async def main() -> object:
            answers, followers = [], []
            for done in asyncio.as_completed([world.aask(f"q{n}") for n in range(6)]):
                answers.append(await done)
                world.did(answers[-1])
                followers.append(asyncio.create_task(follow(answers[-1])))
            return answers, await asyncio.gather(*followers)

        return asyncio.run(main())

    record_and_replay(program)


def test_task_group_whose_tasks_start_tasks() -> None:
    def program(world: World) -> object:
        async def leaf(name: str) -> None:
            world.did(name, await world.aask("leaf"))

        async def node(group: asyncio.TaskGroup, name: str) -> None:
            await asyncio.sleep(world.pause())
            answer = await world.aask("node")
            for child in range(answer % 3 + 1):
                group.create_task(leaf(f"{name}.{child}"))

        async def main() -> None:
            async with asyncio.TaskGroup() as group:
                for n in range(4):
                    group.create_task(node(group, str(n)))

        return asyncio.run(main())

    record_and_replay(program)


def test_task_group_cancelled_by_a_failure() -> None:
    def program(world: World) -> object:
        async def works(name: int) -> None:
            try:
                for n in range(5):
                    world.did(name, await world.aask(f"{name}/{n}"))
            except asyncio.CancelledError:
                world.did(name, "cancelled")
                raise

        async def fails() -> None:
            await asyncio.sleep(0.003)
            await world.aask("bad", fail=True)

        async def main() -> list[str]:
            failures: list[str] = []
            try:
                async with asyncio.TaskGroup() as group:
                    for n in range(3):
                        group.create_task(works(n))
                    group.create_task(fails())
            except* ConnectionError as errors:
                failures += [str(error) for error in errors.exceptions]
            return failures

        return asyncio.run(main())

    record_and_replay(program, rounds=6)


def test_hedge_of_a_call_against_a_sleep() -> None:
    """Whoever is first decides what is asked next; the loser is cancelled."""

    def program(world: World) -> object:
        async def hedged(name: int) -> str:
            call = asyncio.ensure_future(world.aask(f"{name}/primary"))
            timer = asyncio.ensure_future(asyncio.sleep(0.002))
            done, pending = await asyncio.wait({call, timer}, return_when=asyncio.FIRST_COMPLETED)
            for each in pending:
                each.cancel()
            if call in done:
                return f"primary {call.result()}"
            return f"second {await world.aask(f'{name}/second')}"

        async def main() -> object:
            won = []
            for n in range(6):
                won.append(await hedged(n))
                world.did(won[-1])
            return won, await asyncio.gather(*(hedged(n) for n in range(10, 14)))

        return asyncio.run(main())

    record_and_replay(program, rounds=6)


def test_deadlines_that_some_calls_miss() -> None:
    def program(world: World) -> object:
        async def branch(name: int) -> object:
            try:
                answer: object = await asyncio.wait_for(world.aask(f"{name}"), 0.002)
            except TimeoutError:
                answer = "late"
            world.did(name, answer)
            try:
                async with asyncio.timeout(0.002):
                    answer = await world.aask(f"{name}/again")
            except TimeoutError:
                answer = "late again"
            world.did(name, answer)
            return answer

        async def main() -> object:
            return await asyncio.gather(*(branch(n) for n in range(8)))

        return asyncio.run(main())

    record_and_replay(program, rounds=6)


def _stopped_while_it_enters(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """The machine stops the process for a while whenever it is about to enter a deadline, and is recording."""
    original = asyncio.tasks.current_task

    def current_task(*loop: Any) -> Any:
        if world.pace is not None and sys._getframe(1).f_code.co_name == "__aenter__":
            with lanes.inside(None):  # it is not the program that sleeps
                time.sleep(0.01)
        return original(*loop)

    monkeypatch.setattr(asyncio.tasks, "current_task", current_task)


def test_deadlines_that_pass_before_they_are_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(world: World) -> object:
        _stopped_while_it_enters(monkeypatch, world)

        async def branch(name: int) -> object:
            try:
                async with asyncio.timeout(0.002):
                    answer: object = await world.aask(f"{name}")
            except TimeoutError:
                answer = "late"
            world.did(name, answer)
            return answer

        async def main() -> object:
            return await asyncio.gather(*(branch(n) for n in range(8)))

        try:
            return asyncio.run(main())
        finally:
            monkeypatch.undo()

    record_and_replay(program, rounds=3)


def test_a_deadline_that_the_program_itself_lets_pass_is_missed_at_once() -> None:
    """With or without us."""

    def program(world: World | None) -> object:
        async def main() -> list[str]:
            said = []
            for delay, spent in ((0, 0), (-1, 0), (0.001, 0.01), (10, 0)):
                deadline = asyncio.timeout(delay)
                time.sleep(spent)
                try:
                    async with deadline:
                        await asyncio.sleep(0)
                        said.append("in time")
                except TimeoutError:
                    said.append("late")
            return said

        return asyncio.run(main())

    missed = ["late", "late", "late", "in time"]
    assert program(None) == missed
    assert record(program).output == missed


def test_queue_with_timeouts() -> None:
    def program(world: World) -> object:
        async def producer(queue: asyncio.Queue[int], name: int) -> None:
            for n in range(4):
                await asyncio.sleep(world.pause(0.003))
                await queue.put(await world.aask(f"{name}/{n}"))

        async def consumer(queue: asyncio.Queue[int], name: str) -> None:
            misses = 0
            while misses < 3:
                try:
                    world.did(name, await asyncio.wait_for(queue.get(), 0.003))
                except TimeoutError:
                    misses += 1
                    world.did(name, "nothing")

        async def main() -> None:
            queue: asyncio.Queue[int] = asyncio.Queue()
            await asyncio.gather(*(producer(queue, n) for n in range(3)), consumer(queue, "a"), consumer(queue, "b"))

        return asyncio.run(main())

    record_and_replay(program, rounds=5)


def test_locks_semaphores_events_and_conditions_of_a_loop() -> None:
    def program(world: World) -> object:
        async def worker(name: int, limit: asyncio.Semaphore, lock: asyncio.Lock, start: asyncio.Event) -> None:
            await start.wait()
            async with limit:
                answer = await world.aask(f"{name}")
            async with lock:
                world.did(name, answer)
                await asyncio.sleep(world.pause(0.001))

        async def main() -> None:
            limit, lock, start = asyncio.Semaphore(2), asyncio.Lock(), asyncio.Event()
            tasks = [asyncio.create_task(worker(n, limit, lock, start)) for n in range(6)]
            await asyncio.sleep(0.001)
            start.set()
            await asyncio.gather(*tasks)

        return asyncio.run(main())

    record_and_replay(program)


def test_shielded_and_cancelled_calls() -> None:
    def program(world: World) -> object:
        async def patient(name: int) -> object:
            inner = asyncio.ensure_future(world.aask(f"{name}/kept"))
            try:
                await asyncio.wait_for(asyncio.shield(inner), 0.001)
                world.did(name, "in time")
            except TimeoutError:
                world.did(name, "waits on")
            return await inner

        async def main() -> object:
            dropped = asyncio.create_task(world.aask("never wanted", delay=5))
            kept = await asyncio.gather(*(patient(n) for n in range(5)))
            dropped.cancel()
            (end,) = await asyncio.gather(dropped, return_exceptions=True)
            return kept, type(end).__name__

        return asyncio.run(main())

    record_and_replay(program)


def test_async_generators_read_side_by_side() -> None:
    def program(world: World) -> object:
        async def pages(name: int) -> AsyncIterator[int]:
            for n in range(3):
                yield await world.aask(f"{name}/page {n}")

        async def reader(name: int) -> int:
            total = 0
            async for page in pages(name):
                world.did(name, page)
                total += page
            return total

        async def main() -> object:
            return await asyncio.gather(*(reader(n) for n in range(4)))

        return asyncio.run(main())

    record_and_replay(program)


def test_several_loops_one_after_the_other() -> None:
    def program(world: World) -> object:
        async def branch(name: str) -> int:
            world.did(name, await world.aask(name))
            return len(world.said)

        async def main(name: str) -> object:
            return await asyncio.gather(*(branch(f"{name}{n}") for n in range(3)))

        return [asyncio.run(main(name)) for name in "abc"] + [world.ask("between")]

    record_and_replay(program)


def test_callbacks_and_timers_of_a_loop() -> None:
    def program(world: World) -> object:
        async def main() -> None:
            loop = asyncio.get_running_loop()
            done = asyncio.Event()
            for n in range(5):
                loop.call_later(world.pause(), world.did, "timer", n)
            task = asyncio.create_task(world.aask("x"))

            def answered(task: asyncio.Task[int]) -> None:
                world.did("answer", task.result())
                done.set()

            task.add_done_callback(answered)
            loop.call_soon(world.did, "soon")
            await done.wait()
            await asyncio.sleep(0.006)

        return asyncio.run(main())

    record_and_replay(program, rounds=5)


def test_failures_come_back_to_whoever_had_them() -> None:
    def program(world: World) -> object:
        async def branch(name: int) -> str:
            for attempt in range(3):
                try:
                    return f"{name} got {await world.aask('flaky', fail=(name + attempt) % 3 != 0)}"
                except ConnectionError as error:
                    world.did(name, attempt, str(error))
                    await asyncio.sleep(world.pause(0.002))
            return f"{name} gave up"

        async def main() -> object:
            return await asyncio.gather(*(branch(n) for n in range(6)))

        return asyncio.run(main())

    record_and_replay(program)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_eager_tasks() -> None:
    def program(world: World) -> object:
        async def branch(name: int) -> int:
            world.did(name, "begins")
            first = await world.aask("same")
            world.did(name, first)
            return first + await world.aask(f"{name}")

        async def main() -> object:
            if sys.version_info >= (3, 12):
                asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(branch(n)) for n in range(4)]
            return [task.result() for task in tasks], await asyncio.gather(*(branch(n) for n in range(10, 14)))

        return asyncio.run(main())

    record_and_replay(program)
