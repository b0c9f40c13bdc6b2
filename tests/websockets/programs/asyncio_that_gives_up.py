"""A reader of asyncio that gives up and asks again, parts, pings, and an early close."""

import asyncio
import os

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

WHERE = os.environ["WHERE"]


async def main():
    async with connect(WHERE) as ws:
        try:
            await asyncio.wait_for(ws.recv(), 0.05)
        except TimeoutError:
            print("nothing yet")
        await ws.send("slow")
        while True:
            try:
                print(await asyncio.wait_for(ws.recv(), 0.04))
                break
            except TimeoutError:
                print("waiting")
        await ws.send("parts")
        print([part async for part in ws.recv_streaming()])
        print(await (await ws.ping()) > 0)
        await ws.send("hello")
        print(await ws.recv(decode=False))
        print(ws.state.name)
    print(ws.state.name, ws.close_code)
    try:
        await ws.send("too late")
    except ConnectionClosed as closed:
        print(type(closed).__name__, closed)


asyncio.run(main())
