"""Deadlines, hedges and cancellations (httpx): wait_for, timeout(), FIRST_COMPLETED, a client's own read timeout."""

import asyncio
import os
import time

import httpx

WORLD = os.environ["WORLD_URL"]


async def fetch(client: httpx.AsyncClient, name: str, **query: object) -> float:
    try:
        return (await client.get(f"{WORLD}/tools/{name}", params=query)).json()["value"]
    except asyncio.CancelledError:
        print("cancelled", name, query)
        raise


async def hedged(client: httpx.AsyncClient, number: int) -> str:
    first = asyncio.create_task(fetch(client, "maybe", n=number))
    done, _ = await asyncio.wait({first}, timeout=0.02)
    if done:
        return f"first {first.result()}"
    second = asyncio.create_task(fetch(client, "maybe", n=number, hedge=1))
    done, pending = await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return f"{'first' if first in done else 'second'} {next(iter(done)).result()}"


async def impatient(client: httpx.AsyncClient, number: int) -> str:
    try:
        async with asyncio.timeout(0.02):
            return f"in time {await fetch(client, 'maybe', n=100 + number)}"
    except TimeoutError:
        return "too late"


async def main() -> None:
    began = time.perf_counter()
    async with httpx.AsyncClient(timeout=5) as client:
        print(await asyncio.gather(*(hedged(client, number) for number in range(8))))
        print(await asyncio.gather(*(impatient(client, number) for number in range(8))))
        try:
            await asyncio.wait_for(fetch(client, "slow"), 0.05)
        except asyncio.TimeoutError as error:
            print("wait_for:", repr(error))
        try:
            await client.get(f"{WORLD}/tools/slow", timeout=0.05)
        except httpx.TimeoutException as error:
            print("client:", type(error).__name__, error)
    print(f"{time.perf_counter() - began:.6f}")


asyncio.run(main())
