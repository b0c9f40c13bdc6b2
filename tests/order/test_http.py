"""Proves exact order over real sockets: httpx against a loopback server that answers when it likes."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import reenact
from tests.http.server import Request, Server, as_json

from .driver import World, record_and_replay


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that answers late, each time with another number."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    numbers, chance = itertools.count(1), random.Random(7)

    def answers(request: Request) -> list[bytes]:
        time.sleep(chance.random() * 0.01)
        return as_json({"number": next(numbers)})

    server = Server()
    server.routes["*"] = answers
    yield server.url
    server.close()


def test_tasks_that_post_the_same_and_different_prompts(url: str) -> None:
    def program(world: World) -> object:
        async def branch(client: httpx.AsyncClient, name: int) -> int:
            first: int = (await client.post(url, json={"prompt": "same"})).json()["number"]
            world.did(name, first)
            second: int = (await client.post(url, json={"prompt": name, "seen": len(world.said)})).json()["number"]
            world.did(name, second)
            return first - second

        async def main() -> object:
            async with httpx.AsyncClient() as client:
                return await asyncio.gather(*(branch(client, n) for n in range(8)))

        return asyncio.run(main())

    record_and_replay(program, rounds=2)


def test_threads_that_share_a_client(url: str) -> None:
    def program(world: World) -> object:
        with httpx.Client() as client, ThreadPoolExecutor(4) as pool:

            def branch(name: int) -> int:
                first: int = client.post(url, json={"prompt": "same"}).json()["number"]
                world.did(name, first)
                second: int = client.post(url, json={"prompt": name, "seen": len(world.said)}).json()["number"]
                world.did(name, second)
                return first - second

            return list(pool.map(branch, range(8)))

    record_and_replay(program, rounds=2)


@pytest.mark.parametrize("early", [False, True], ids=["to the end", "closed early"])
def test_streams_that_threads_read_and_close(url: str, early: bool) -> None:
    """Who closes a response goes on at once, and nobody else with him."""

    def program(world: World) -> object:
        with httpx.Client() as client, ThreadPoolExecutor(4) as pool:

            def branch(name: int) -> None:
                with client.stream("POST", url, json={"prompt": name}) as response:
                    for text in response.iter_text():
                        world.did(name, text)
                        if early:
                            break
                world.did(name, "closed", len(world.said))
                sum(range(20_000))  # long enough for somebody who runs beside us to be seen
                world.did(name, "still", len(world.said))

            return list(pool.map(branch, range(8)))

    record_and_replay(program, rounds=3)


@pytest.mark.parametrize("how", ["close", "cancel"])
def test_tasks_that_leave_a_request_beside_one_that_goes_on(url: str, how: str) -> None:
    """Closing and cancelling take turns of the loop only where there is a connection: nobody may see the difference."""

    def program(world: World) -> object:
        async def leaves(client: httpx.AsyncClient, name: int, go: asyncio.Event) -> None:
            try:
                async with client.stream("POST", url, json={"prompt": name}) as response:
                    if how == "cancel":
                        await go.wait()
                        await client.post(url, json={"prompt": "never awaited"})
                    async for text in response.aiter_text():
                        world.did(name, text)
                        await go.wait()
                        break
            except asyncio.CancelledError:
                world.did(name, "cancelled")
                raise
            finally:
                world.did(name, "left")

        async def goes_on(go: asyncio.Event) -> None:
            await go.wait()
            for n in range(12):
                world.did("goes on", n)
                await asyncio.sleep(0)

        async def main() -> None:
            async with httpx.AsyncClient() as client:
                go = asyncio.Event()
                tasks = [asyncio.create_task(leaves(client, n, go)) for n in range(4)]
                tasks.insert(2, asyncio.create_task(goes_on(go)))
                await client.post(url, json={"prompt": "now"})
                go.set()
                if how == "cancel":
                    await asyncio.sleep(0)
                    for task in tasks[:2] + tasks[3:]:
                        task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

        return asyncio.run(main())

    record_and_replay(program, rounds=4)


def test_a_hedge_of_two_requests(url: str) -> None:
    def program(world: World) -> object:
        async def hedged(client: httpx.AsyncClient, name: int) -> object:
            calls = [asyncio.create_task(client.get(f"{url}?{name}")) for _ in range(2)]
            done, pending = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            for each in pending:
                each.cancel()
            numbers = sorted(each.result().json()["number"] for each in done)
            world.did(name, [call in done for call in calls], numbers)
            return numbers

        async def main() -> object:
            async with httpx.AsyncClient() as client:
                return await asyncio.gather(*(hedged(client, n) for n in range(4)))

        return asyncio.run(main())

    record_and_replay(program, rounds=3)


def test_replay_needs_no_server(url: str) -> None:
    """The replaying process would be refused a connection: the guard counts none."""
    store = reenact.open_store("memory:no-server")

    def main() -> int:
        return int(httpx.get(url).json()["number"])

    output = reenact.record(main, store=store)()
    result = reenact.replay(next(iter(store.runs())).id, entry=main, store=store)
    assert (result.output, result.live_calls, result.report.refused) == (output, 0, ())


def test_requests_that_are_cancelled_wherever_they_are(url: str) -> None:
    """Deadlines from none to plenty hit a request while it connects, waits, has its answer at the gate, or reads."""

    def program(world: World) -> object:
        async def reads(client: httpx.AsyncClient, name: int) -> None:
            async with client.stream("POST", url, json={"prompt": name}) as response:
                async for text in response.aiter_text():
                    world.did(name, text)

        async def branch(client: httpx.AsyncClient, name: int) -> None:
            for n in range(4):
                try:
                    await asyncio.wait_for(reads(client, 10 * name + n), 0.002 * ((name + 3 * n) % 7))
                except TimeoutError:
                    world.did(name, n, "late")
                await asyncio.sleep(world.pause(0.001))

        async def main() -> None:
            async with httpx.AsyncClient() as client:
                await asyncio.gather(*(branch(client, n) for n in range(6)))

        return asyncio.run(main())

    record_and_replay(program, rounds=5)
