"""Proves that a fork never talks to the stand-in of a websocket that its prefix answered: it stops, or opens the
connection where nothing had passed through it."""

from __future__ import annotations

import sys

import pytest

from tests.programs import read_program
from tests.websockets.conftest import Agent

THREADS = """
import os, reenact
from websockets.sync.client import connect
WHERE = os.environ["WHERE"]
before = os.environ.get("BEFORE", "one")
def plan():
    with reenact.step("plan", {"text": "two", "skips": False}) as state:
        pass
    return state
with connect(WHERE, legacy=True) as ws:
    print(ws.id, ws.remote_address)
    if before:
        ws.send(before)
        print(ws.recv())
    state = plan()
    if not state["skips"]:
        ws.send(state["text"])
    print(ws.recv(timeout=20))
print(ws.close_code)
"""
ASYNCIO = """
import asyncio, os, reenact
from websockets.asyncio.client import connect
WHERE = os.environ["WHERE"]
before = os.environ.get("BEFORE", "one")
async def main():
    async with connect(WHERE) as ws:
        print(ws.id, ws.remote_address)
        if before:
            await ws.send(before)
            print(await ws.recv())
        with reenact.step("plan", {"text": "two", "skips": False}) as state:
            pass
        if not state["skips"]:
            await ws.send(state["text"])
        print(await ws.recv())
    print(ws.close_code)
asyncio.run(main())
"""
AIOHTTP = """
import aiohttp, asyncio, os, reenact
WHERE = os.environ["WHERE"]
before = os.environ.get("BEFORE", "one")
async def main():
    async with aiohttp.ClientSession() as session, session.ws_connect(WHERE) as ws:
        if before:
            await ws.send_str(before)
            print(await ws.receive_str())
        with reenact.step("plan", {"text": "two", "skips": False}) as state:
            pass
        if not state["skips"]:
            await ws.send_str(state["text"])
        print(await ws.receive_str())
    print(ws.close_code)
asyncio.run(main())
"""
CLIENTS = {"threads": THREADS, "asyncio": ASYNCIO, "aiohttp": AIOHTTP}


def send_of(url: str) -> str:
    """What sending through a connection is called."""
    return f"send {url.removeprefix('ws://')}"


def replays(agent: Agent, url: str, printed: str, **environment: str) -> None:
    """The fork replays to what it was, and nothing reaches the server."""
    before = agent.marks
    replayed = agent.run("replay", "@", WHERE=url, **environment)
    assert replayed.returncode == 0, replayed.stderr
    assert "verdict: same (exact)" in replayed.stderr
    assert replayed.stdout == printed
    assert agent.marks == before


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_recorded_connection_cannot_answer_stops_the_fork(agent: Agent, client: str) -> None:
    agent.write(CLIENTS[client])
    with agent.serving() as url:
        recorded = agent.run("record", "--", sys.executable, "agent.py", WHERE=url)
        assert recorded.returncode == 0, recorded.stderr
        before = agent.marks
        allowed = ("--allow-write", send_of(url))
        other = agent.run("fork", "@:plan#1", "--set", 'text="three"', *allowed, WHERE=url)
        silent = agent.run("fork", "@~1:plan#1", "--set", "skips=true", *allowed, WHERE=url)
        assert agent.marks == before
    said = recorded.stdout.splitlines(keepends=True)
    for done in (other, silent):
        assert done.returncode == 3, done.stderr
        assert done.stdout == "".join(said[:-2]), "the prefix, and nothing that is neither recorded nor the world's"
        assert "the fork cannot go on live with what the recording began (open 127.0.0.1:" in done.stderr
    assert "and differs from event" in other.stderr
    assert "which was not made again" in silent.stderr
    replays(agent, url, silent.stdout)


@pytest.mark.parametrize("client", CLIENTS)
def test_opened_anew_by_the_fork_it_is_asked_everything(agent: Agent, client: str) -> None:
    agent.write(CLIENTS[client])
    with agent.serving() as url:
        recorded = agent.run("record", "--", sys.executable, "agent.py", WHERE=url)
        assert recorded.returncode == 0, recorded.stderr
        before = len(agent.marks)
        refused = agent.run("fork", "@:0", "--live", "all", WHERE=url)
        assert refused.returncode == 5, refused.stderr
        assert agent.marks[before:] == ["open /"], "a message is not taken for one that was sent to another connection"
        done = agent.run("fork", "@~1:0", "--live", "all", "--allow-write", send_of(url), WHERE=url)
        assert done.returncode == 0, done.stderr
        assert agent.marks[before:] == ["open /", "open /", "message", "message"]
    assert [line.split()[0] for line in done.stdout.splitlines()[-3:]] == ["one", "two", "1000"]
    assert done.stdout != recorded.stdout, "every answer is one of today"
    replays(agent, url, done.stdout)


HEARING = {
    "threads": """
import os, reenact, threading
from websockets.sync.client import connect
with connect(os.environ["WHERE"], legacy=True) as ws:
    print(ws.id, ws.remote_address, ws.local_address)
    heard = threading.Event()
    def hear():
        for message in ws:
            print("heard", message)
            heard.set()
    hearing = threading.Thread(target=hear)
    hearing.start()
    with reenact.step("plan", {"text": "slow one"}) as state:
        pass
    ws.send(state["text"])
    heard.wait()
hearing.join()
print(ws.id, ws.close_code)
""",
    "asyncio": read_program("websockets/asyncio_heard_before_the_plan.py"),
    "aiohttp": """
import aiohttp, asyncio, os, reenact
async def main():
    async with aiohttp.ClientSession() as session, session.ws_connect(os.environ["WHERE"]) as ws:
        heard = asyncio.Event()
        async def hear():
            async for message in ws:
                print("heard", message.data)
                heard.set()
        hearing = asyncio.create_task(hear())
        await asyncio.sleep(0)
        with reenact.step("plan", {"text": "slow one"}) as state:
            pass
        await ws.send_str(state["text"])
        await heard.wait()
    await hearing
    print(ws.close_code)
asyncio.run(main())
""",
}


@pytest.mark.parametrize("client", HEARING)
def test_a_connection_that_nothing_has_passed_through_is_opened_for_what_is_new(agent: Agent, client: str) -> None:
    agent.write(HEARING[client])
    change = ("--set", 'text="slow two"')
    with agent.serving() as url:
        recorded = agent.run("record", "--", sys.executable, "agent.py", WHERE=url)
        assert recorded.returncode == 0, recorded.stderr
        before = len(agent.marks)
        refused = agent.run("fork", "@:plan#1", *change, WHERE=url)
        assert refused.returncode == 5, refused.stderr
        assert agent.marks[before:] == [], "nothing is opened for what is refused"
        done = agent.run("fork", "@~1:plan#1", *change, "--allow-write", send_of(url), WHERE=url)
        assert done.returncode == 0, done.stderr
        assert agent.marks[before:] == ["open /", "message"]
    then, now = recorded.stdout.splitlines(), done.stdout.splitlines()
    assert now[-2].startswith("heard slow two 0."), "who waited for a message has the live one"
    assert now[:-2] == then[:-2] and now[-1] == then[-1], "the agent knows the connection as the one it had"
    replays(agent, url, done.stdout)
    unreachable = agent.run("fork", "@~1:plan#1", *change, "--allow-write", send_of(url), WHERE=url)
    assert unreachable.returncode == 3, unreachable.stderr
    assert "was to be opened, because the run goes on live with it, and was not: " in unreachable.stderr
