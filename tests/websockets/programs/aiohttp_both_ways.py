"""Three connections of aiohttp side by side, spoken and listened to in every way."""

import asyncio
import os

import aiohttp

WHERE = os.environ["WHERE"].replace("ws:", "http:")


async def talk(session, name):
    async with session.ws_connect(f"{WHERE}/{name}", params={"a": "b c"}, protocols=("realtime",)) as ws:
        print(name, ws.protocol, ws.closed, ws.get_extra_info("peername")[0], ws.get_extra_info("nothing", 3))
        for n in range(3):
            await ws.send_str(f"{name} {n}")
            print(name, await ws.receive())
        await ws.send_json({"name": name})
        print(name, await ws.receive_str())
        await ws.send_bytes(b"abc")
        print(name, await ws.receive_bytes())
        await ws.send_str("several")
        print(name, [(await ws.receive()).data for _ in range(3)])
        await ws.ping()
        await ws.send_frame(b"framed", aiohttp.WSMsgType.TEXT)
        print(name, (await anext(ws)).data)
    print(name, ws.closed, ws.close_code, await ws.receive())


async def main():
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(talk(session, name) for name in ("one", "two", "three")))


asyncio.run(main())
