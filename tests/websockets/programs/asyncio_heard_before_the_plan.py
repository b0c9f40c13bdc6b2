"""A connection of asyncio that a task hears, and what is said being in a plan."""

import asyncio
import os

from websockets.asyncio.client import connect

import reenact


async def main():
    async with connect(os.environ["WHERE"]) as ws:
        print(ws.id, ws.remote_address, ws.local_address)
        heard = asyncio.Event()

        async def hear():
            async for message in ws:
                print("heard", message)
                heard.set()

        hearing = asyncio.create_task(hear())
        await asyncio.sleep(0)
        with reenact.step("plan", {"text": "slow one"}) as state:
            pass
        await ws.send(state["text"])
        await heard.wait()
    await hearing
    print(ws.id, ws.close_code)


asyncio.run(main())
