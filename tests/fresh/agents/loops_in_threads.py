"""Each thread runs an event loop of its own, one loop gets work from outside (httpx, aiohttp)."""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import httpx

WORLD = os.environ["WORLD_URL"]


async def trio_of(name: str) -> list[float]:
    async with httpx.AsyncClient() as client:
        replies = await asyncio.gather(
            *(client.get(f"{WORLD}/tools/x", params={"who": name, "n": n}) for n in range(3))
        )
    return [reply.json()["value"] for reply in replies]


async def single(number: int) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"{WORLD}/tools/single", params={"n": number}) as reply:
        return (await reply.json())["text"]


with ThreadPoolExecutor(4) as pool:
    for values in pool.map(lambda name: asyncio.run(trio_of(name)), ["a", "b", "c", "d", "e", "f"]):
        print(values)
loop = asyncio.new_event_loop()
thread = threading.Thread(target=loop.run_forever)
thread.start()
futures = [asyncio.run_coroutine_threadsafe(single(number), loop) for number in range(5)]
for future in futures:
    print(future.result(timeout=10))
loop.call_soon_threadsafe(loop.stop)
thread.join()
loop.close()
