"""Two connections of asyncio side by side, heard by tasks while others speak."""

import asyncio
import os

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

WHERE = os.environ["WHERE"]


async def realtime(name):
    async with connect(f"{WHERE}/{name}", subprotocols=["realtime"], ping_interval=0.05) as ws:
        print(name, ws.subprotocol, ws.response.status_code, ws.remote_address[0], ws.id)

        async def hear():
            async for message in ws:
                print(name, "heard", message)

        hearing = asyncio.create_task(hear())
        for text in ("slow a", "b", b"abc", "bytes", "several"):
            await ws.send(text)
        await asyncio.sleep(0.3)
        await ws.send("close")
        try:
            await hearing
        except ConnectionClosed as closed:
            print(name, type(closed).__name__, closed.rcvd.code, closed.rcvd.reason, closed.rcvd_then_sent, closed)
        print(name, ws.state.name, ws.close_code, ws.close_reason)


async def main():
    await asyncio.gather(realtime("one"), realtime("two"))


asyncio.run(main())
