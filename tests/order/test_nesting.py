"""Proves exact replay of what is nested: agents inside agents, tools that start tasks and threads, generators."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import reenact

from .driver import Recorded, World, record, record_and_replay, replay

_bodies: list[str] = []


def _body_runs(query: str) -> None:
    """Called by the bodies of tools: module state that a tool reaches through a function is not its own."""
    _bodies.append(query)


def assert_frozen(recorded: Recorded, program: object) -> None:
    """The replay is exact, and what the recorded bodies of tools did is neither repeated nor missed."""
    replayed = replay(recorded, program)  # type: ignore[arg-type]
    assert replayed.said == recorded.said
    assert replayed.replay.output == recorded.output
    assert replayed.replay.verdict == "exact"
    assert (replayed.performed, replayed.replay.live_calls, replayed.replay.unused) == (0, 0, 0)


def test_nested_agents_under_gather() -> None:
    def program(world: World) -> object:
        async def agent(name: int) -> int:
            async with reenact.record(agent="researcher"):
                first = await world.aask("what is known?")
                world.did(name, first)
                return first + await world.aask(f"{name}: and then?")

        async def main() -> object:
            return await asyncio.gather(*(agent(n) for n in range(5)))

        return asyncio.run(main())

    record_and_replay(program, rounds=5)


def test_nested_agents_as_decorated_functions_in_threads() -> None:
    def program(world: World) -> object:
        @reenact.record(agent="helper")
        def agent(name: int) -> int:
            world.did(name, world.ask("same"))
            return inner(name)

        @reenact.record(agent="inner")
        def inner(name: int) -> int:
            return world.ask(f"{name}")

        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(agent, range(6)))

    record_and_replay(program, rounds=4)


def test_tools_that_start_tasks_are_answered_whole() -> None:
    def program(world: World) -> object:
        async def look(name: str) -> int:
            _body_runs(name)
            return await world.aask(name)

        @reenact.tool(effect="read")
        async def search(query: str) -> list[int]:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(look(f"{query}/{n}")) for n in range(3)]
            await asyncio.sleep(0.001)
            return [task.result() for task in tasks]

        async def branch(name: int) -> object:
            found = await search("the same query")
            world.did(name, tuple(found))
            return await search(f"{found[0]}")

        async def main() -> object:
            return await asyncio.gather(*(branch(n) for n in range(4)))

        return asyncio.run(main())

    for seed in range(4):
        _bodies.clear()
        recorded = record(program, seed=seed)
        assert len(_bodies) == 24
        assert_frozen(recorded, program)
        assert len(_bodies) == 24, "the body of a frozen tool does not run"


def test_tools_with_threads_and_sleeps_inside() -> None:
    def program(world: World) -> None:
        def look(name: str, found: list[int]) -> None:
            found.append(world.ask(name))

        @reenact.tool(effect="read")
        def search(query: str) -> list[int]:
            found: list[int] = []
            threads = [threading.Thread(target=look, args=(f"{query}/{n}", found)) for n in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return found

        def branch(name: int) -> None:
            world.did(name, tuple(search("same")))
            world.did(name, world.ask(f"{name}"))

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(branch, range(4)))

    for seed in range(4):
        assert_frozen(record(program, seed=seed), program)


def test_through_a_tool_its_own_tasks_are_the_agents() -> None:
    def program(world: World) -> object:
        async def look(name: str) -> int:
            _body_runs(name)
            return await world.aask(name)

        @reenact.tool(effect="read")
        async def search(query: str) -> list[int]:
            return list(await asyncio.gather(*(look(f"{query}/{n}") for n in range(3))))

        async def main() -> object:
            return await asyncio.gather(*(search(f"q{n % 2}") for n in range(4)))

        return asyncio.run(main())

    _bodies.clear()
    recorded = record(program)
    assert len(_bodies) == 12

    def again() -> object:
        return program(World(None, random.Random(0)))

    result = reenact.replay(recorded.run.id, entry=again, store=recorded.store, through=["search"])
    assert len(_bodies) == 24, "its own code runs"
    assert (result.output, result.verdict, result.live_calls) == (recorded.output, "exact", 0)


def test_tools_of_effect_none_run_and_their_order_is_kept() -> None:
    def program(world: World) -> object:
        @reenact.tool(effect="none")
        async def plan(name: int) -> int:
            await asyncio.sleep(world.pause(0.002))
            world.did("planned", name)
            return await world.aask("inside") + len(world.said)

        async def main() -> object:
            return await asyncio.gather(*(plan(n) for n in range(4)))

        return asyncio.run(main())

    record_and_replay(program, rounds=4)


def test_steps_around_racing_calls() -> None:
    def program(world: World) -> object:
        async def branch(name: int) -> int:
            with reenact.step("research", {"name": name}):
                answer = await world.aask("same")
                with reenact.step("deepen"):
                    answer += await world.aask(f"{name}")
            world.did(name, answer)
            return answer

        async def main() -> object:
            return await asyncio.gather(*(branch(n) for n in range(5)))

        return asyncio.run(main())

    record_and_replay(program, rounds=4)


def test_streaming_tools_read_side_by_side() -> None:
    def program(world: World) -> object:
        async def look(name: str) -> int:
            return await world.aask(name)

        @reenact.tool(effect="read")
        async def tokens(prompt: str) -> AsyncIterator[int]:
            for n in range(4):
                yield await look(f"{prompt}/{n}")

        async def reader(name: int) -> list[int]:
            got = []
            async for token in tokens("same"):
                world.did(name, token)
                got.append(token)
            return got

        async def main() -> object:
            return await asyncio.gather(*(reader(n) for n in range(3)))

        return asyncio.run(main())

    for seed in range(4):
        assert_frozen(record(program, seed=seed), program)


def test_an_entry_point_of_every_colour() -> None:
    """A coroutine function, a generator and an async generator are entry points too."""
    world = World(0.002, random.Random(1))

    async def coroutine() -> list[int]:
        return list(await asyncio.gather(*(world.aask("same") for _ in range(3))))

    def generator() -> Iterator[int]:
        for n in range(3):
            yield world.ask(f"{n}")

    async def stream() -> AsyncIterator[int]:
        for n in range(3):
            yield await world.aask(f"{n}")

    async def collect(items: AsyncIterator[int]) -> list[int]:
        return [item async for item in items]

    runs = (
        (coroutine, lambda entry: asyncio.run(entry())),
        (generator, lambda entry: list(entry())),
        (stream, lambda entry: asyncio.run(collect(entry()))),
    )
    for entry, call in runs:
        world.pace = 0.002
        store = reenact.open_store(f"memory:colour-{entry.__name__}")
        output = call(reenact.record(entry, store=store))
        world.pace = None
        run = next(iter(store.runs()))
        result = reenact.replay(run.id, entry=entry, store=store)
        assert (result.output, result.verdict) == (output, "exact")
