"""aiohttp: a task group, a hedge of two equal requests, a race with a sleep, and a time-out that cancels."""

import asyncio
import os

import aiohttp

URL = os.environ["SHOP_URL"]


async def look(session: aiohttp.ClientSession, item: str) -> str:
    async with session.get(f"{URL}/stock", params={"item": item}) as answer:
        return str((await answer.json(content_type=None))["left"])


async def main() -> None:
    async with aiohttp.ClientSession(headers={"Accept-Encoding": "identity"}) as session:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(look(session, f"part {number}")) for number in range(6)]
        print([task.result() for task in tasks])
        hedge = {asyncio.create_task(look(session, "hedged"), name=f"try {n}") for n in (1, 2)}
        done, left = await asyncio.wait(hedge, return_when=asyncio.FIRST_COMPLETED)
        print(len(done), "first:", min(task.result() for task in done))
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        nap = asyncio.create_task(asyncio.sleep(0.002, "slept"))
        fast, _ = await asyncio.wait({nap, asyncio.create_task(look(session, "race"))})
        print(sorted(str(task.result()) for task in fast))
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(30)
        except TimeoutError:
            print("timed out", await look(session, "after"))


asyncio.run(main())
