"""A slow request by an asynchronous client that is cancelled if the plan says so."""

import asyncio
import importlib
import os

import reenact

library = importlib.import_module("httpx")


async def ask(where):
    url = os.environ["WORLD_URL"] + where
    if library.__name__ == "httpx":
        async with library.AsyncClient() as client:
            return (await client.get(url)).text
    async with library.ClientSession() as client, client.get(url) as response:
        return await response.text()


async def main():
    with reenact.step("plan", {"cancels": True}) as state:
        pass
    task = asyncio.create_task(ask("/slow"))
    await asyncio.sleep(0)
    if state["cancels"]:
        task.cancel()
    try:
        print("got", await task)
    except asyncio.CancelledError:
        print("cancelled")


asyncio.run(main())
