"""Connections of aiohttp that are closed, aborted, cancelled, timed out and refused."""

import asyncio
import os

import aiohttp

WHERE = os.environ["WHERE"].replace("ws:", "http:")


async def main():
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(WHERE + "/closed", heartbeat=20) as ws:
            await ws.send_str("close")
            print([message async for message in ws], ws.closed, ws.close_code, ws.exception())
            for bad in ("late", 3):
                try:
                    await ws.send_str(bad)
                except (ConnectionError, TypeError) as error:
                    print(type(error).__name__, error)
            print(await ws.close())
        async with session.ws_connect(WHERE + "/aborted") as ws:
            await ws.send_str("abort")
            print(await ws.receive(), ws.closed, ws.close_code)
        ws = await session.ws_connect(WHERE + "/heard")
        hearing = asyncio.create_task(ws.receive())
        await asyncio.sleep(0.05)
        print(await ws.close(code=4000, message=b"enough"), await hearing, ws.close_code)
        ws = await session.ws_connect(WHERE + "/cancelled")
        hearing = asyncio.create_task(ws.receive())
        await asyncio.sleep(0.05)
        hearing.cancel()
        print([type(end).__name__ for end in await asyncio.gather(hearing, return_exceptions=True)], ws.close_code)
        try:
            await ws.receive(timeout=0.05)
        except asyncio.TimeoutError:
            print("timed out", ws.close_code, ws.closed)
        await ws.close()
        for where in (WHERE + "/refused", "http://127.0.0.1:1/x"):
            try:
                await session.ws_connect(where)
            except aiohttp.WSServerHandshakeError as error:
                print(error, error.status, error.headers["Connection"], error.request_info.url.path)
            except aiohttp.ClientConnectorError as error:
                print(error, error.host, error.port)


asyncio.run(main())
