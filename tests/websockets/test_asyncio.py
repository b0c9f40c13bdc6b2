"""Proves that connections of the asyncio client of ``websockets`` replay exactly without their server, under
concurrency and in their ends, and that what differs is a divergence."""

from __future__ import annotations

import sys

from tests.programs import read_program
from tests.websockets.conftest import Agent

OPENING = """
import asyncio, os
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
WHERE = os.environ["WHERE"]
"""


def test_messages_both_ways_and_at_once(agent: Agent) -> None:
    printed = agent.same(read_program("websockets/asyncio_both_ways.py"))
    for name in ("one", "two"):
        assert f"{name} realtime 101 127.0.0.1 " in printed
        assert f"{name} heard b'cba'" in printed
        assert f"{name} heard b'\\x00\\x01\\x02\\x03\\x04'" in printed
        assert f"{name} ConnectionClosedError 4001 that is enough True" in printed
        assert f"{name} CLOSED 4001 that is enough" in printed
    assert agent.marks.count("message") == 12


def test_a_reader_that_gives_up_parts_pings_and_an_early_close(agent: Agent) -> None:
    printed = agent.same(read_program("websockets/asyncio_that_gives_up.py"))
    assert printed.startswith("nothing yet\nwaiting\n")
    assert "['one ', 'two ', '0." in printed
    assert "\nTrue\nb'hello 0." in printed
    assert "\nOPEN\nCLOSED 1000\nConnectionClosedOK sent 1000 (OK); then received 1000 (OK)\n" in printed


def test_a_connection_that_breaks_is_refused_or_is_not_there(agent: Agent) -> None:
    printed = agent.same(
        OPENING
        + """
async def main():
    async with connect(WHERE) as ws:
        await ws.send("abort")
        try:
            await ws.recv()
        except ConnectionClosed as closed:
            print(type(closed).__name__, closed.rcvd, closed)
    try:
        await connect(WHERE + "/refused")
    except InvalidStatus as error:
        print(error.response.status_code, error.response.body, error.response.headers["Content-Length"], error)
    try:
        await connect("ws://127.0.0.1:9/")
    except OSError as error:
        print(type(error).__name__, error.errno)

asyncio.run(main())
"""
    )
    assert "ConnectionClosedError None no close frame received or sent" in printed
    assert "401 bytearray(b'who are you?\\n') 13 server rejected WebSocket connection: HTTP 401\n" in printed
    assert "ConnectionRefusedError 111" in printed or "ConnectionRefusedError 61" in printed


def test_another_message_is_named(agent: Agent) -> None:
    agent.write(
        OPENING
        + """
async def main():
    async with connect(WHERE) as ws:
        await ws.send(open("word").read())
        print(await ws.recv())

asyncio.run(main())
"""
    )
    (agent.folder / "word").write_text('{"type": "response.create", "n": 1}')
    with agent.serving() as url:
        assert agent.run("record", "--", sys.executable, "agent.py", WHERE=url).returncode == 0
    (agent.folder / "word").write_text('{"type": "response.create", "n": 2}')
    replayed = agent.run("replay", "@", WHERE=url)
    assert replayed.returncode == 1, replayed.stderr
    assert "send 127.0.0.1" in replayed.stderr
    assert "2" in replayed.stderr
    (agent.folder / "word").write_text('{"n": 1, "type": "response.create"}')
    assert agent.run("replay", "@", WHERE=url).returncode == 0, "the order of keys does not count"
    kit = agent.run("kit", "@").stdout
    assert "websockets" in kit
    assert "gap" not in agent.run("show", "@").stdout
