"""Proves exact replay where worlds meet: loops and threads, anyio, uvloop, several loops at once."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from .driver import World, record_and_replay


def test_asyncio_to_thread_and_run_in_executor() -> None:
    def program(world: World) -> object:
        def job(name: str) -> int:
            time.sleep(world.pause(0.002))
            world.did(name, world.ask("in a thread"))
            return len(world.said)

        async def main() -> object:
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(2) as pool:
                return await asyncio.gather(
                    *(asyncio.to_thread(job, f"to_thread {n}") for n in range(4)),
                    *(loop.run_in_executor(None, job, f"default {n}") for n in range(2)),
                    *(loop.run_in_executor(pool, job, f"pool {n}") for n in range(4)),
                    world.aask("in a task"),
                )

        return asyncio.run(main())

    record_and_replay(program, rounds=5)


def test_executor_jobs_in_a_set_raced_against_a_call() -> None:
    def program(world: World) -> object:
        async def main() -> None:
            loop = asyncio.get_running_loop()
            pending = {loop.run_in_executor(None, world.ask, f"{n}") for n in range(5)}
            pending.add(asyncio.ensure_future(world.aask("task")))
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    world.did(each.result(), len(pending))

        return asyncio.run(main())

    record_and_replay(program, rounds=5)


def test_a_job_whose_attributes_raise_runs_in_a_pool() -> None:
    class Proxy:
        """Raises KeyError for an attribute that it does not have, as many a proxy does by mistake."""

        def __init__(self, world: World) -> None:
            self.fields = {"world": world}

        def __getattr__(self, name: str) -> Any:
            return self.fields[name]

        def __call__(self, question: str) -> str:
            answer: str = self.world.ask(question)
            return answer

    def program(world: World) -> object:
        async def main() -> object:
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(None, Proxy(world), f"{n}") for n in range(3)))

        with ThreadPoolExecutor(2) as pool:
            return [*pool.map(Proxy(world), ["a", "b"]), asyncio.run(main())]

    record_and_replay(program, rounds=3)


def test_run_coroutine_threadsafe_from_threads() -> None:
    def program(world: World) -> object:
        async def asked(name: str) -> int:
            answer = await world.aask(name)
            world.did(name, answer)
            return answer

        def thread(loop: asyncio.AbstractEventLoop, name: int) -> None:
            for n in range(2):
                future = asyncio.run_coroutine_threadsafe(asked(f"{name}/{n}"), loop)
                world.did("thread", name, future.result())
            loop.call_soon_threadsafe(world.did, "posted", name)

        async def main() -> None:
            loop = asyncio.get_running_loop()
            threads = [threading.Thread(target=thread, args=(loop, n)) for n in range(3)]
            for each in threads:
                each.start()
            await asyncio.gather(*(asked(f"main {n}") for n in range(3)))
            for each in threads:
                await asyncio.to_thread(each.join)

        return asyncio.run(main())

    record_and_replay(program, rounds=5)


def test_a_loop_in_another_thread() -> None:
    def program(world: World) -> object:
        async def branch(name: str) -> int:
            await asyncio.sleep(world.pause(0.002))
            world.did(name, await world.aask("same"))
            return len(world.said)

        async def side() -> object:
            return await asyncio.gather(*(branch(f"side {n}") for n in range(3)))

        results: list[object] = []
        thread = threading.Thread(target=lambda: results.append(asyncio.run(side())))
        thread.start()
        for n in range(3):
            world.did("main", world.ask(f"main {n}"))
        thread.join()
        return results

    record_and_replay(program, rounds=5)


def test_a_loop_kept_in_a_thread_for_synchronous_callers() -> None:
    def program(world: World) -> object:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()

        def call(name: str) -> int:
            return asyncio.run_coroutine_threadsafe(world.aask(name), loop).result()

        with ThreadPoolExecutor(3) as pool:
            results = list(pool.map(call, [f"q{n}" for n in range(6)]))
        world.did(call("last"))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        return results

    record_and_replay(program, rounds=4)


def test_anyio_task_groups_and_cancel_scopes() -> None:
    def program(world: World) -> object:
        async def branch(name: int) -> None:
            with anyio.move_on_after(0.003) as scope:
                world.did(name, await world.aask(f"{name}"))
                await anyio.sleep(world.pause(0.004))
                world.did(name, await world.aask(f"{name}/again"))
            world.did(name, "cut off" if scope.cancelled_caught else "done")

        async def main() -> None:
            async with anyio.create_task_group() as group:
                for n in range(5):
                    group.start_soon(branch, n)
            async with anyio.create_task_group() as group:
                for n in range(5, 8):
                    group.start_soon(branch, n)
                await anyio.sleep(0.002)
                group.cancel_scope.cancel()

        return anyio.run(main)

    record_and_replay(program, rounds=6)


def test_anyio_threads_in_both_directions() -> None:
    def program(world: World) -> object:
        async def asked(name: str) -> int:
            return await world.aask(name)

        def job(name: int) -> None:
            world.did(name, world.ask("in a thread"))
            world.did(name, "back", anyio.from_thread.run(asked, f"{name}"))
            anyio.from_thread.run_sync(world.did, "posted", name)

        async def main() -> None:
            limiter = anyio.CapacityLimiter(2)

            async def limited(n: int) -> None:
                await anyio.to_thread.run_sync(job, n, limiter=limiter)

            async with anyio.create_task_group() as group:
                for n in range(3):
                    group.start_soon(anyio.to_thread.run_sync, job, n)
                for n in range(3, 6):
                    group.start_soon(limited, n)

        return anyio.run(main)

    record_and_replay(program, rounds=5)


def test_anyio_streams_locks_and_events() -> None:
    def program(world: World) -> object:
        async def main() -> None:
            send, receive = anyio.create_memory_object_stream[int](2)
            lock, go = anyio.Lock(), anyio.Event()

            async def producer(name: int, mine: Any) -> None:
                await go.wait()
                async with mine:
                    for n in range(3):
                        await mine.send(await world.aask(f"{name}/{n}"))

            async def consumer(name: str, mine: Any) -> None:
                async with mine:
                    async for item in mine:
                        async with lock:
                            world.did(name, item)

            async with anyio.create_task_group() as group:
                for n in range(3):
                    group.start_soon(producer, n, send.clone())
                group.start_soon(consumer, "a", receive.clone())
                group.start_soon(consumer, "b", receive.clone())
                await anyio.sleep(0.001)
                send.close()
                receive.close()
                go.set()

        return anyio.run(main)

    record_and_replay(program, rounds=5)


def test_anyio_blocking_portal() -> None:
    def program(world: World) -> object:
        async def asked(name: int) -> int:
            return await world.aask(f"{name}")

        with anyio.from_thread.start_blocking_portal() as portal:
            futures = [portal.start_task_soon(asked, n) for n in range(4)]
            results = [future.result() for future in futures]
            world.did(portal.call(asked, 9))
        return results

    record_and_replay(program, rounds=4)


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="eager tasks came with Python 3.12")
def test_anyio_with_eager_tasks() -> None:
    def program(world: World) -> object:
        async def branch(name: int) -> None:
            world.did(name, await world.aask("same"))

        async def main() -> None:
            if sys.version_info >= (3, 12):
                asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            async with anyio.create_task_group() as group:
                for n in range(5):
                    group.start_soon(branch, n)

        return asyncio.run(main())

    record_and_replay(program)


def test_recorded_on_uvloop_replayed_on_the_standard_loop() -> None:
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")

    def program(world: World) -> object:
        def job(name: str) -> int:
            return world.ask(name)

        async def hedged(name: int) -> str:
            call = asyncio.ensure_future(world.aask(f"{name}"))
            timer = asyncio.ensure_future(asyncio.sleep(0.002))
            done, pending = await asyncio.wait({call, timer}, return_when=asyncio.FIRST_COMPLETED)
            for each in pending:
                each.cancel()
            world.did(name, call in done)
            return str(call.result()) if call in done else "gave up"

        async def main() -> object:
            return await asyncio.gather(
                *(hedged(n) for n in range(6)), *(asyncio.to_thread(job, f"thread {n}") for n in range(3))
            )

        return uvloop.run(main())

    record_and_replay(program, rounds=5)
