"""Proves that websocket connections of ``aiohttp`` replay exactly without their server: messages, ends and failures."""

from __future__ import annotations

import sys

from tests.programs import read_program
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
    printed = agent.same(read_program("websockets/aiohttp_both_ways.py"))
    assert "one realtime False 127.0.0.1 3" in printed and "two b'cba'" in printed and "three framed" in printed
    assert "one True 1000 WSMessage(type=<WSMsgType.CLOSED: 257>" in printed


def test_how_connections_end(agent: Agent) -> None:
    printed = agent.same(read_program("websockets/aiohttp_of_every_end.py"))
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
