"""Proves that a fork's live MCP session ends with it, that no other server is taken for the recorded one, and that what
cannot go on is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.mcp.conftest import SERVER, Agent
from tests.mcp.test_forks import TO_TALK, replays

NOTED = 'mark("start")\n    open("pids", "a").write(f"{os.getpid()}\\n")'
WAITS = """
async def talk(session):
    with reenact.step("plan", {"text": "first", "wait": 0, "ends": ""}) as state:
        pass
    try:
        limit = 1 if state["ends"] == "given up" else 1000
        await asyncio.wait_for(call(session, "shout", text=state["text"], wait=state["wait"]), limit)
    except TimeoutError:
        print("given up")
    if state["ends"] == "raises":
        raise KeyError("mine")
    if state["ends"] == "refused":
        await call(session, "in_steps", n=5)
    if state["ends"] == "reads":
        await session.list_prompts()
    await call(session, "shout", text="after")

asyncio.run(main())
"""
SHOUTS = ("--allow-write", "shout")


GOOD = SERVER.replace("import asyncio\n", "import asyncio\nimport os\n").replace('mark("start")', NOTED)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Agent, str]:
    """An agent that calls one tool, recorded, and its run; its server notes its process."""
    agent = Agent(tmp_path_factory.mktemp("waiting"))
    agent.server.write_text(GOOD)
    agent.write(TO_TALK + WAITS)
    agent.record()
    run: str = json.loads(agent.run("ls", "--json").stdout.splitlines()[0])["run"]
    return agent, run


@pytest.fixture
def waiting(recorded: tuple[Agent, str]) -> Agent:
    """The recorded agent, with its server, and nothing marked."""
    agent = recorded[0]
    agent.server.write_text(GOOD)
    for name in ("marks", "pids"):
        (agent.folder / name).write_text("")
    return agent


@pytest.fixture
def plan(recorded: tuple[Agent, str]) -> str:
    """Where its run is forked."""
    return f"{recorded[1]}:plan#1"


def left(agent: Agent) -> list[int]:
    """Processes of the server that are still there."""
    there = []
    for each in map(int, (agent.folder / "pids").read_text().split()):
        try:
            os.kill(each, 0)
        except ProcessLookupError:
            continue
        there.append(each)
    return there


@pytest.mark.parametrize("ends", ["raises", "refused"])
def test_no_server_is_left_and_the_fork_ends_the_same_in_its_replay(waiting: Agent, plan: str, ends: str) -> None:
    done = waiting.run("fork", plan, "--set", f"text={ends}", "--set", f"ends={ends}", *SHOUTS)
    assert done.returncode == (5 if ends == "refused" else 0), done.stderr
    assert done.stdout.startswith(f"shout False {ends.upper()} ")
    assert waiting.marks == ["start", f"shout {ends}"]
    assert left(waiting) == []
    waiting.server.unlink()
    replays(waiting, "@", done.stdout)


def test_a_server_that_goes_on_when_its_input_has_ended_is_not_left_by_a_fork_that_is_stopped(
    waiting: Agent, plan: str
) -> None:
    waiting.server.write_text(GOOD.replace('server.run("stdio")', 'server.run("stdio"); __import__("time").sleep(60)'))
    done = waiting.run("fork", plan, "--set", "text=refused", "--set", "ends=refused", *SHOUTS)
    assert done.returncode == 5, done.stderr
    assert left(waiting) == []


def test_a_call_that_is_given_up_ends_its_server_too(waiting: Agent, plan: str) -> None:
    done = waiting.run("fork", plan, "--set", "text=given", "--set", "wait=600", "--set", "ends=given up", *SHOUTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "given up"
    assert left(waiting) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of other systems")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_fork_that_is_killed_leaves_no_server(waiting: Agent, plan: str, number: int) -> None:
    text = ("--set", f"text=killed {number:d}", "--set", "wait=600")
    command = (sys.executable, "-m", "reenact", "fork", plan, *text, *SHOUTS)
    base = {**os.environ, "REENACT_STORE": str(waiting.folder / "store.sqlite")}
    with subprocess.Popen(command, cwd=waiting.folder, env=base, stderr=subprocess.PIPE, text=True) as forking:
        until(lambda: f"shout killed {number:d}" in waiting.marks)
        [server] = left(waiting)
        told = subprocess.run(["ps", "-o", "ppid=", "-p", str(server)], capture_output=True, text=True, check=True)
        os.kill(int(told.stdout), number)
        _, said = forking.communicate(timeout=60)
    until(lambda: left(waiting) == [])
    assert "something that will never come" not in said, "a server that takes its time to end is waited for"


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_another_server_is_named_and_gives_its_own_errors(waiting: Agent, plan: str) -> None:
    waiting.server.write_text(GOOD.replace('("orders")', '("orders", version="9")').replace("def in_steps", "def gone"))
    text = ("--set", "text=other", "--set", "ends=refused")
    done = waiting.run("fork", plan, *text, *SHOUTS, "--allow-write", "in_steps")
    assert done.returncode == 0, done.stderr
    assert "in_steps True Unknown tool: in_steps" in done.stdout
    assert "the live server is another one: orders: server version was '', is '9'" in done.stderr


def test_a_server_that_is_not_there_stops_the_fork_and_is_named(waiting: Agent, plan: str) -> None:
    waiting.server.unlink()
    done = waiting.run("fork", plan, "--set", "text=lost", *SHOUTS)
    assert done.returncode == 2, done.stderr
    assert "the session with orders cannot go on live: MCPError: Connection closed" in done.stderr
    replays(waiting, "@", done.stdout)


def test_a_read_needs_no_leave_and_nothing_goes_live_with_live_none(waiting: Agent, plan: str) -> None:
    done = waiting.run("fork", plan, "--set", "ends=reads", "--live", "none")
    assert done.returncode == 5, done.stderr
    assert "prompts/list has no recorded answer, and nothing may go live" in done.stderr
    assert waiting.marks == []
    done = waiting.run("fork", plan, "--set", "ends=reads")
    assert done.returncode == 0, done.stderr
    assert "reenact: live prompts/list" in done.stderr
    assert waiting.marks == ["start"]


SESSIONS = """
@reenact.tool(effect="read")
def extra(n):
    return n

async def talk(session):
    await call(session, "in_steps", n=2)
    await call(session, "shout", text="same")

asyncio.run(main())
"""


def test_sessions_are_known_by_their_connection_not_by_their_number(agent: Agent) -> None:
    started = """async def main():
    with reenact.step("plan", {"more": 0, "where": "server.py"}) as state:
        pass
    for n in range(state["more"]):
        extra(n)
    for n in range(2):
        await one(state["where"])

async def one(where):
"""
    agent.write(TO_TALK.replace("async def main():\n", started).replace('["server.py"]', "[where]") + SESSIONS)
    recorded = agent.record().stdout
    before = agent.marks
    more = agent.run("fork", "@:plan#1", "--set", "more=2")
    assert more.returncode == 0, more.stderr
    assert more.stdout == recorded, "progress too, which names its call by a number"
    assert "live calls made: 2  frozen: 28" in more.stderr
    assert agent.marks == before
    (agent.folder / "server2.py").write_text(SERVER.replace('"orders"', '"others"'))
    elsewhere = ("--set", 'where="server2.py"')
    refused = agent.run("fork", "@~1:plan#1", *elsewhere)
    assert (refused.returncode, agent.marks) == (5, before), "a server that was never started is a write"
    assert "connect python may change the world" in refused.stderr
    names = ("connect python", "shout", "in_steps")
    allowed = [word for name in names for word in ("--allow-write", name)]
    other = agent.run("fork", "@~2:plan#1", *elsewhere, *allowed)
    assert other.returncode == 0, other.stderr
    assert agent.marks == [*before, *before], "nothing of the one server answers for the other"
    replays(agent, "@", other.stdout)
    (agent.folder / "server3.py").write_text(SERVER)  # which gives itself the name of the first
    same_name = agent.run("fork", "@~3:plan#1", "--set", 'where="server3.py"', *allowed)
    assert same_name.returncode == 3, same_name.stderr
    assert "over another connection" in same_name.stderr
    assert agent.marks == [*before, *before, "start"], "neither made there nor taken as made"


NOTIFIES = """
async def talk(session):
    with reenact.step("plan", {"asks": False}) as state:
        pass
    if state["asks"]:
        await session.list_prompts()
    await session.send_roots_list_changed()

asyncio.run(main())
"""


def test_a_live_server_hears_what_was_sent_to_the_recorded_one_and_the_report_says_so(agent: Agent) -> None:
    agent.write(TO_TALK + NOTIFIES)
    agent.record()
    done = agent.run("fork", "@:plan#1", "--set", "asks=true")
    assert done.returncode == 0, done.stderr
    assert "reenact: live notifications/roots/list_changed: the live server must hear it too" in done.stderr
