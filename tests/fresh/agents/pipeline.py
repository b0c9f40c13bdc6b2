"""Producers, consumers and a collector on asyncio queues (aiohttp to fetch, httpx2 to post)."""

import asyncio
import os
import random

import aiohttp
import httpx2

WORLD = os.environ["WORLD_URL"]


async def produce(session: aiohttp.ClientSession, name: str, out: asyncio.Queue) -> None:
    for number in range(5):
        async with session.get(f"{WORLD}/tools/page", params={"source": name, "n": number}) as reply:
            await out.put((name, number, (await reply.json())["value"]))
        await asyncio.sleep(random.random() * 0.01)


async def refine(client: httpx2.AsyncClient, name: str, inbox: asyncio.Queue, out: asyncio.Queue) -> None:
    while True:
        item = await inbox.get()
        reply = await client.post(f"{WORLD}/v1/refine", json={"by": name, "item": item})
        await out.put((name, *item, reply.json()["id"]))
        inbox.task_done()


async def main() -> None:
    raw: asyncio.Queue = asyncio.Queue(maxsize=3)
    fine: asyncio.Queue = asyncio.Queue()
    async with aiohttp.ClientSession() as session, httpx2.AsyncClient() as client:
        consumers = [asyncio.create_task(refine(client, f"c{n}", raw, fine)) for n in range(3)]
        await asyncio.gather(*(produce(session, name, raw) for name in ("news", "mail", "wiki")))
        await raw.join()
        for consumer in consumers:
            consumer.cancel()
        await asyncio.gather(*consumers, return_exceptions=True)
    while not fine.empty():
        print(*fine.get_nowait())


asyncio.run(main())
