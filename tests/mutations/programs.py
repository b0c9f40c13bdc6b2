"""Programs whose output holds everything they were answered: gather, threads, streams, nested agents, tools, retries.

Each takes the address of a ``world`` and returns what it saw. None of them knows that it is recorded.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import httpx
import httpx2
import requests

import reenact

Program = Callable[[str], Any]


def gather(address: str) -> Any:
    """Identical questions and different ones, asked at once."""

    async def one(client: httpx.AsyncClient, name: int) -> Any:
        first = (await client.get(f"{address}/same")).json()["n"]
        answer = await client.post(f"{address}/ask", json={"name": name, "given": first})
        return [name, first, answer.json()["n"]]

    async def main() -> Any:
        seen: list[Any] = []

        async def noted(client: httpx.AsyncClient, name: int) -> None:
            seen.append(await one(client, name))

        async with httpx.AsyncClient() as client:
            await asyncio.gather(*(noted(client, name) for name in range(5)))
        return seen

    return asyncio.run(main())


def threads(address: str) -> Any:
    """A pool and plain threads that share a session and a list."""
    seen: list[Any] = []
    lock = threading.Lock()

    def one(name: int) -> Any:
        with requests.Session() as session:
            n = session.get(f"{address}/thread", timeout=5).json()["n"]
            with lock:
                seen.append([name, n])
            then = session.post(f"{address}/then", json={"n": n}, timeout=5).json()["n"]
            with lock:
                seen.append([name, n, then])
            return then

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(one, range(5)))
    workers = [threading.Thread(target=one, args=(name,)) for name in (10, 11)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [answers, seen]


def streams(address: str) -> Any:
    """Three streams read at once, a chunk of one between chunks of the others."""
    seen: list[Any] = []

    async def one(client: httpx2.AsyncClient, name: int) -> None:
        async with client.stream("GET", f"{address}/stream?{name % 2}") as response:
            async for line in response.aiter_lines():
                if line:
                    seen.append([name, line])

    async def main() -> None:
        async with httpx2.AsyncClient() as client:
            await asyncio.gather(*(one(client, name) for name in range(3)))

    asyncio.run(main())
    with httpx2.stream("GET", f"{address}/stream?sync") as response:
        seen.extend(response.iter_lines())
    return seen


def nested(address: str) -> Any:
    """Agents inside an agent, under gather, each with a tool whose body asks the world."""

    @reenact.tool(effect="read")
    async def look(client: Any, query: str) -> dict[str, Any]:
        async with client.get(f"{address}/look", params={"query": query}) as response:
            return {"found": (await response.json())["n"]}

    async def inner(client: Any, name: int) -> Any:
        async with reenact.record(agent="inner"):
            found = await look(client, "the same query")
            with reenact.step("weigh", {"found": found["found"]}) as state:
                async with client.get(f"{address}/weigh/{found['found']}") as response:
                    state["weight"] = (await response.json())["n"]
            return [name, found, state["weight"]]

    async def main() -> Any:
        async with aiohttp.ClientSession() as client:
            return await asyncio.gather(*(inner(client, name) for name in range(3)))

    return asyncio.run(main())


def retries(address: str) -> Any:
    """A tool that is refused with half a body until it is not."""
    seen = []
    with httpx.Client() as client:
        for attempt in range(6):
            response = client.get(f"{address}/busy")
            seen.append([attempt, response.status_code, response.text])
            if response.status_code == 200:
                break
    return seen


CORPUS: dict[str, Program] = {each.__name__: each for each in (gather, threads, streams, nested, retries)}
