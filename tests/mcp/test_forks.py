"""Proves that a fork goes on live through an MCP session: its server is started then, greeted once, asked and ended,
and not needed for a replay of the fork."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.mcp.conftest import SERVER, Agent
from tests.programs import read_program

AGENT = read_program("mcp/client_of_each_transport.py")
TO_TALK = AGENT.partition("async def talk(")[0]
"""The program up to what it says: a test may have it say something else."""
SERVED = 'app = server.streamable_http_app() if how == "http" else server.sse_app()\n'
GREETED = """app = server.streamable_http_app() if how == "http" else server.sse_app()
        inner = app
        async def app(scope, receive, send):
            if scope["type"] == "http" and scope["method"] == ("POST" if how == "http" else "GET"):
                if b"mcp-session-id" not in dict(scope["headers"]):
                    mark("greeted")
            await inner(scope, receive, send)
"""
BROKEN = """
async def dies_in_the_middle():
    while "fails" not in open("marks").read().split():
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), 9)

async def talk(session):
    await session.list_tools()
    await call(session, "shout", text="one")
    if os.path.exists("hold"):
        watch = asyncio.create_task(dies_in_the_middle())
    await call(session, "fails", text="two")
    await call(session, "shout", text="three")

asyncio.run(main())
"""
CHANGED = ("--set", "text=second", "--set", "n=3", "--set", "asks=true")
ALLOWED = ("--allow-write", "shout", "--allow-write", "in_steps", "--allow-write", "asks")


@contextmanager
def reachable(agent: Agent, how: str) -> Iterator[str]:
    """The agent's server by one of its ways; what ``WHERE`` is to be."""
    if how in ("http", "sse"):
        agent.server.write_text(SERVER.replace(SERVED, GREETED))
        with agent.serving(how) as url:
            yield url
    else:
        yield "" if how == "stdio" else how


def replays(agent: Agent, at: str, printed: str, **environment: str) -> None:
    """A run replays to *same (exact)*."""
    replayed = agent.run("replay", at, **environment)
    assert replayed.returncode == 0, replayed.stderr
    assert "verdict: same (exact)" in replayed.stderr
    assert replayed.stdout == printed


@pytest.mark.parametrize("how", ["stdio", "http", "sse", "legacy", "auto"])
def test_what_was_not_asked_goes_to_the_live_server(agent: Agent, how: str, sweep: bool) -> None:
    if how == "sse" and not sweep:
        pytest.skip("the older way to an address: REENACT_SWEEP=1 runs it")
    agent.write(AGENT)
    begins = {"stdio": ["start"], "http": ["greeted"], "sse": ["greeted"]}.get(how, [])
    asks = how != "auto"  # the newest protocol has no way for it
    with reachable(agent, how) as where:
        recorded = agent.record(WHERE=where).stdout.splitlines()
        already = len(agent.marks)
        done = agent.run("fork", "@:plan#1", *(CHANGED if asks else CHANGED[:-2]), *ALLOWED, WHERE=where)
        assert done.returncode == 0, done.stderr
        assert agent.marks[already:] == [*begins, "shout second"], "started and greeted once, asked only what is new"
    told = done.stdout.splitlines()
    assert told[0] == recorded[0], "the prefix is answered from the recording"
    assert told[1].startswith("shout False SECOND ")
    assert told.count("progress 3.0 4.0") == 1
    assert len([line for line in told if line.startswith("progress")]) == 7, "all of it, of both live calls"
    assert ("sampled n=" in told) == asks
    assert told[-1] == recorded[-1], "what was asked before has its recorded answer"
    assert "reenact: live shout: differs from event" in done.stderr
    if how not in ("legacy", "auto"):
        agent.server.write_text("raise SystemExit('the server must not run')\n")
    replays(agent, "@", done.stdout, WHERE=where)
    assert agent.marks[already:] == [*begins, "shout second"]


def test_refused_calls_start_nothing_and_a_fork_of_a_fork_goes_live_anew(agent: Agent) -> None:
    agent.write(AGENT)
    recorded = agent.record().stdout.splitlines()
    already = len(agent.marks)
    refused = agent.run("fork", "@:plan#1", "--set", "text=second")
    assert refused.returncode == 5, refused.stderr
    assert "shout may change the world, and is not allowed to" in refused.stderr
    assert "--allow-write shout lets it be made" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert agent.marks[already:] == [], "no server is started for what is refused"
    first = agent.run("fork", "@~1:plan#1", "--set", "text=second", *ALLOWED)
    assert first.returncode == 0, first.stderr
    second = agent.run("fork", "@:plan#1", "--set", "text=third", *ALLOWED)
    assert second.returncode == 0, second.stderr
    assert agent.marks[already:] == ["start", "shout second", "start", "shout third"]
    assert second.stdout.splitlines()[-1] == recorded[-1]
    replays(agent, "@", second.stdout)


def test_a_run_that_broke_off_goes_on_through_its_session(agent: Agent) -> None:
    waiting = "async def fails(text: str) -> str:\n    mark('fails')\n    while os.path.exists('hold'):\n        "
    waiting += "await asyncio.sleep(0.01)\n    return 'fine'\n"
    text = SERVER.replace("import asyncio\n", "import asyncio\nimport os\n")
    agent.server.write_text(text.replace("async def fails(text: str) -> str:\n", waiting))
    agent.write(TO_TALK + BROKEN)
    hold = agent.folder / "hold"
    hold.touch()
    agent.run("record", "--", sys.executable, "agent.py")
    hold.unlink()
    assert agent.marks == ["start", "shout one", "fails"]
    resumed = agent.run("resume", "@")
    assert resumed.returncode == 0, resumed.stderr
    assert agent.marks == ["start", "shout one", "fails", "start", "fails", "shout three"]
    assert "fails False fine\nshout False THREE " in resumed.stdout
    replays(agent, "@", resumed.stdout)
