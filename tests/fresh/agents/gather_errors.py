"""Errors of every kind among good answers (aiohttp): gather with exceptions, then a task group that fails for real."""

import asyncio
import os

import aiohttp

WORLD = os.environ["WORLD_URL"]
KINDS = ("lookup", "reset", "broken", "cut", "moody", "zipped", "moved", "slow", "weather", "lines")


async def call(session: aiohttp.ClientSession, kind: str, number: int) -> object:
    async with session.get(f"{WORLD}/tools/{kind}", params={"n": number}) as reply:
        reply.raise_for_status()
        if kind == "lines":
            return [line async for line in reply.content][-1]
        return await reply.json()


async def refused(session: aiohttp.ClientSession) -> object:
    async with session.get("http://127.0.0.1:9/") as reply:
        return reply.status


async def main() -> None:
    timeout = aiohttp.ClientTimeout(total=0.4)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        calls = [call(session, kind, number) for number in range(2) for kind in KINDS] + [refused(session)]
        for result in await asyncio.gather(*calls, return_exceptions=True):
            print(type(result).__name__, str(result)[:150])
        print(sorted(cookie.key for cookie in session.cookie_jar))
        async with asyncio.TaskGroup() as group:
            for kind in ("lookup", "weather", "broken", "maybe"):
                group.create_task(call(session, kind, 9), name=kind)


asyncio.run(main())
