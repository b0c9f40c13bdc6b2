"""Proves that websocket connections of ``aiohttp`` replay exactly without their server: messages, ends and failures."""

from __future__ import annotations

import sys

from tests.websockets.conftest import Agent

OPENING = """
import asyncio, os
import aiohttp
WHERE = os.environ["WHERE"].replace("ws:", "http:")
"""
SAY = """
async def main():
    async with aiohttp.ClientSession() as session, session.ws_connect(WHERE + "/x") as ws:
        async with asyncio.timeout(30):
            await ws.send_str(os.environ.get("WORD", "hello"))
            print((await ws.receive()).data)
asyncio.run(main())
"""


def test_messages_both_ways_and_at_once(agent: Agent) -> None:
    printed = agent.same(
        OPENING
        + """
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
"""
    )
    assert "one realtime False 127.0.0.1 3" in printed and "two b'cba'" in printed and "three framed" in printed
    assert "one True 1000 WSMessage(type=<WSMsgType.CLOSED: 257>" in printed


def test_how_connections_end(agent: Agent) -> None:
    printed = agent.same(
        OPENING
        + """
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
"""
    )
    assert "[] True 4001 None" in printed and "data argument must be str" in printed
    assert "401" in printed and "Cannot connect to host 127.0.0.1:1" in printed and "['CancelledError'] 1006" in printed


def test_another_message_is_a_divergence(agent: Agent) -> None:
    agent.write(OPENING + SAY)
    with agent.serving() as url:
        recorded = agent.run("record", "--", sys.executable, "agent.py", WHERE=url)
    before = agent.marks
    replayed = agent.run("replay", "@", WHERE=url, WORD="other")
    assert recorded.returncode == 0 and replayed.returncode == 1, replayed.stderr
    assert "send" in replayed.stderr and agent.marks == before
    assert "Exception in callback" not in replayed.stderr, "a timer that was cancelled on the way out has fired"
