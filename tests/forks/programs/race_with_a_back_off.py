"""Three requests of an asynchronous client race; one that is refused backs off, and the losers are cancelled."""

import asyncio
import importlib
import os

library = importlib.import_module("httpx")


async def get(client, name):
    url = os.environ["WORLD_URL"] + "/" + name
    if library.__name__ != "aiohttp":
        answer = await client.get(url)
        return answer.status_code
    async with client.get(url) as answer:
        return answer.status


async def ask(client, name):
    while await get(client, name) == 503:
        await asyncio.sleep(0.01)
    return name


async def main():
    make = library.ClientSession if library.__name__ == "aiohttp" else library.AsyncClient
    async with make() as client, asyncio.timeout(20):
        tasks = [asyncio.create_task(ask(client, name)) for name in "abc"]
        done, losers = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in losers:
            task.cancel()
        await asyncio.gather(*losers, return_exceptions=True)
    print("first", *(task.result() for task in done))


asyncio.run(main())
