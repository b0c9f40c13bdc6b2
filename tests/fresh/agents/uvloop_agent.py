"""The same on uvloop: streams, timers and a queue (httpx, aiohttp)."""

import asyncio
import os

import aiohttp
import httpx
import uvloop

WORLD = os.environ["WORLD_URL"]


async def lines(name: str, out: list[str]) -> None:
    async with (
        httpx.AsyncClient() as client,
        client.stream("GET", f"{WORLD}/tools/lines", params={"who": name}) as reply,
    ):
        async for line in reply.aiter_lines():
            out.append(f"{name} {line[:60]}")


async def polls(out: list[str]) -> None:
    async with aiohttp.ClientSession() as session:
        for number in range(5):
            await asyncio.sleep(0.004)
            async with session.get(f"{WORLD}/tools/poll", params={"n": number}) as reply:
                out.append(f"poll {(await reply.json())['value']}")


async def main() -> None:
    out: list[str] = []
    await asyncio.gather(lines("a", out), lines("b", out), lines("c", out), polls(out))
    print("\n".join(out))


uvloop.run(main())
