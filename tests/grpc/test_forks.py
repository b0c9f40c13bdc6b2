"""Proves that a fork never sends through an RPC that its prefix answered: it stops, and says so."""

from __future__ import annotations

import sys

import pytest

from .conftest import Agent

BLOCKING = """
import reenact
channel = grpc.insecure_channel(TARGET)
asked = queue.Queue()
talk = methods(channel)[3](iter(asked.get, None))
asked.put(b"one")
print(next(talk))
with reenact.step("plan", {"text": "two", "skips": False}) as state:
    pass
if not state["skips"]:
    asked.put(state["text"].encode())
print(next(talk))
asked.put(None)
print(list(talk))
"""
ASYNCIO = """
import reenact
async def main():
    async with grpc.aio.insecure_channel(TARGET) as channel:
        talk = methods(channel)[3]()
        await talk.write(b"one")
        print(await talk.read())
        with reenact.step("plan", {"text": "two", "skips": False}) as state:
            pass
        if not state["skips"]:
            await talk.write(state["text"].encode())
        print(await talk.read())
        await talk.done_writing()
asyncio.run(main())
"""


@pytest.mark.parametrize("text", [BLOCKING, ASYNCIO], ids=["blocking", "asyncio"])
def test_what_the_recorded_rpc_cannot_answer_stops_the_fork(agent: Agent, text: str) -> None:
    agent.write(text)
    recorded = agent.record()
    arrived = agent.server.calls()
    allowed = ("--allow-write", "shop.Orders/Both send", "--live", "all")
    for place, change in (("@", 'text="three"'), ("@~1", "skips=true")):
        done = agent.run(sys.executable, "-m", "reenact", "fork", f"{place}:plan#1", "--set", change, *allowed)
        assert done.returncode == 3, done.stderr
        assert done.stdout == recorded.stdout.splitlines(keepends=True)[0]
        assert "the fork cannot go on live with what the recording began (shop.Orders/Both, event 0)" in done.stderr
    assert agent.server.calls() == arrived
    replayed = agent.replay()
    assert replayed.returncode == 0, replayed.stderr
    assert "verdict: same (exact)" in replayed.stderr
    assert replayed.stdout == done.stdout
