"""Proves that MCP sessions over stdio replay exactly without their server, and that what differs is a divergence."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.mcp.conftest import Agent

OPENING = """
import asyncio, sys
from mcp import ClientSession, StdioServerParameters, stdio_client

SERVER = StdioServerParameters(command=sys.executable, args=["server.py"])

async def main():
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
        print((await session.initialize()).server_info.name)
        await talk(session)

async def call(session, name, **arguments):
    result = await session.call_tool(name, arguments)
    return result.is_error, result.content[0].text

async def talk(session):
"""
CLOSING = "\nasyncio.run(main())\n"


def program(*lines: str) -> str:
    """An agent that says these lines to its session."""
    return OPENING + "\n".join("    " + line for line in lines) + CLOSING


def test_tools_prompts_errors_and_concurrent_calls(agent: Agent) -> None:
    agent.write(
        program(
            "print([tool.name for tool in (await session.list_tools()).tools])",
            "async def one(text, wait):",
            "    print(text, await call(session, 'shout', text=text, wait=wait))",
            "await asyncio.gather(one('a', 0.2), one('b', 0.05), one('c', 0.1), one('b', 0))",
            "print(await call(session, 'fails', text='x'))",
            "try:",
            "    await session.get_prompt('nope')",
            "except Exception as error:",
            "    print(type(error).__name__, error.code, error)",
        )
    )
    recorded = agent.record().stdout
    assert recorded.startswith("orders\n['shout', 'fails', 'dies', 'in_steps', 'asks']\n")
    spoken = [line.split()[0] for line in recorded.splitlines()[2:6]]
    assert spoken == ["b", "b", "c", "a"], "the quick ones answer first"
    assert "(True, 'Error executing tool fails')" in recorded
    assert "MCPError 0 Unknown prompt: nope" in recorded
    assert sorted(agent.marks) == ["shout a", "shout b", "shout b", "shout c", "start"]
    assert agent.same() == recorded


def test_a_call_that_is_given_up_or_times_out_and_a_server_that_dies(agent: Agent) -> None:
    agent.write(
        program(
            "try:",
            "    await asyncio.wait_for(session.call_tool('shout', {'text': 'late', 'wait': 30}), 0.2)",
            "except TimeoutError:",
            "    print('given up')",
            "try:",
            "    await session.call_tool('shout', {'text': 'later', 'wait': 30}, read_timeout_seconds=0.2)",
            "except Exception as error:",
            "    print(type(error).__name__, error.code)",
            "print(await call(session, 'shout', text='still there'))",
            "for name in ('dies', 'shout'):",
            "    try:",
            "        print(await call(session, name, text='x'))",
            "    except Exception as error:",
            "        print(type(error).__name__, error.code, error)",
        )
    )
    recorded = agent.record().stdout
    assert "given up\nMCPError -32001\n(False, 'STILL THERE " in recorded
    assert recorded.endswith(2 * "MCPError -32000 Connection closed\n")
    assert agent.same() == recorded


def test_what_fails_comes_out_in_the_same_wrapping(agent: Agent) -> None:
    agent.write(
        program("raise KeyError('mine')").replace(CLOSING, "")
        + """
try:
    asyncio.run(main())
except BaseExceptionGroup as error:
    print(repr(error))
SERVER = StdioServerParameters(command="no-such-program-here")
try:
    asyncio.run(main())
except FileNotFoundError as error:
    print(error.filename)
"""
    )
    recorded = agent.record().stdout
    assert "ExceptionGroup('unhandled errors in a TaskGroup', [" in recorded
    assert "KeyError('mine')" in recorded
    assert recorded.endswith("\nno-such-program-here\n")
    assert agent.same() == recorded


def test_two_sessions_at_once_keep_their_own_answers(agent: Agent) -> None:
    agent.write(
        program("await asyncio.gather(*(call(session, 'shout', text='same') for _ in range(2)))").replace(
            CLOSING,
            """
async def own(name):
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        for n in range(3):
            print(name, n, await call(session, "shout", text="same"))

async def both():
    await asyncio.gather(own("one"), own("two"))

asyncio.run(both())
""",
        )
    )
    recorded = agent.record().stdout
    assert len(set(recorded.splitlines())) == 6
    assert agent.same() == recorded


def test_a_request_that_differs_is_too_many_or_too_few_is_named(agent: Agent) -> None:
    agent.write(
        program("for word in open('words').read().split():", "    print(await call(session, 'shout', text=word))")
    )
    words = agent.folder / "words"
    words.write_text("hello world")
    agent.record()
    for others, named in (
        ("hello moon", "moon"),
        ("hello world again", "now       shout"),
        ("hello", "recorded  shout"),
    ):
        words.write_text(others)
        replayed = agent.replay()
        assert replayed.returncode == 1, (others, replayed.stderr)
        assert "shout" in replayed.stderr
        assert named in replayed.stderr, replayed.stderr
    assert len(agent.marks) == 3


def test_each_call_is_an_event_with_its_server_and_the_tools_with_their_hash(agent: Agent) -> None:
    agent.write(program("await session.list_tools()", "await call(session, 'shout', text='x')"))
    agent.record()
    kit = agent.run("kit", "@")
    listed = re.search(r"captured  mcp_tools +orders: shout, fails, dies, in_steps … \(hash [0-9a-f]{12}\)", kit.stdout)
    assert listed, kit.stdout
    assert "1, asked and answered: shout (MCP server orders)" in kit.stdout
    shown = agent.run("show", "@").stdout
    assert "shout" in shown
    assert "process" not in shown, "the server's process is no part of the run"


def test_a_line_that_is_no_message_reaches_the_handler(agent: Agent) -> None:
    agent.server.write_text("print('no message', flush=True)\n" + agent.server.read_text())
    agent.write(
        program("print(await call(session, 'shout', text='x'))").replace(
            "ClientSession(read, write)", "ClientSession(read, write, message_handler=handle)"
        )
        + "\n"
    )
    text = (agent.folder / "agent.py").read_text()
    handle = "async def handle(message):\n    print('handled', type(message).__name__, message.errors()[0])\n\n"
    (agent.folder / "agent.py").write_text(text.replace("async def main", handle + "async def main", 1))
    recorded = agent.record().stdout
    assert "handled ValidationError {'type': 'json_invalid'" in recorded
    assert agent.same() == recorded


def test_a_session_from_before_the_recording_is_recorded_call_by_call(agent: Agent) -> None:
    agent.write(
        program(
            "for n in range(2):",
            "    async with reenact.record():",
            "        print(await call(session, 'shout', text='x'))",
        ).replace("import asyncio", "import reenact, asyncio")
    )
    plain = subprocess.run(
        [sys.executable, "agent.py"],
        cwd=agent.folder,
        env={**os.environ, "REENACT_STORE": str(agent.folder / "store.sqlite")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    for at, printed in (("@~1", plain.stdout.splitlines()[1]), ("@", plain.stdout.splitlines()[2])):
        shown = agent.run("show", at).stdout
        assert printed.split("'")[1] in shown
