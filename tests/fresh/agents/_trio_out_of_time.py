"""httpx on trio, whose time is the program's own."""

import os

import httpx
import trio
import trio.testing

WORLD = os.environ["WORLD_URL"]


async def main() -> None:
    async with httpx.AsyncClient() as client:
        for number in range(5):
            reply = await client.get(f"{WORLD}/tools/lookup", params={"n": number})
            print(number, reply.json()["value"])


trio.run(main, clock=trio.testing.MockClock(rate=1.0))
