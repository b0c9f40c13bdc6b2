"""Proves that MCP sessions with a server in the same process replay exactly, and that the server does not run again."""

from __future__ import annotations

import pytest

from tests.mcp.conftest import Agent

AGENT = """
import asyncio, sys
from mcp import Client
from server import server
import mcp_types as types

async def sample(context, params):
    print("sampled", params.messages[0].content.text)
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="yes"), model="m")

async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"ok": True})

async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///here")])

async def progress(done, total, message):
    print("progress", done, total, message)

async def main():
    how = dict(mode=MODE, sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=roots)
    async with Client(server, **how) as client:
        print([tool.name for tool in (await client.list_tools()).tools])
        texts = zip("abc", (0.1, 0, 0.05))
        done = await asyncio.gather(*(client.call_tool("shout", {"text": t, "wait": w}) for t, w in texts))
        print([each.content[0].text for each in done])
        print((await client.call_tool("in_steps", {"n": 2}, progress_callback=progress)).content[0].text)
        print((await client.call_tool("fails", {"text": "x"})).is_error)
        if MODE == "legacy":
            print((await client.call_tool("asks", {})).content[0].text)

asyncio.run(main())
"""


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_server_runs_once(agent: Agent, mode: str) -> None:
    agent.write(AGENT.replace("MODE", repr(mode)))
    recorded = agent.record().stdout
    assert recorded.startswith("['shout', 'fails', 'dies', 'in_steps', 'asks']\n['A ")
    assert recorded.count("\nprogress ") == 2
    assert ("sampled n=" in recorded) == (mode == "legacy")
    before = agent.marks
    assert sorted(before) == ["shout a", "shout b", "shout c"]
    replayed = agent.replay()
    assert replayed.returncode == 0, replayed.stderr
    assert "verdict: same (exact)" in replayed.stderr
    assert replayed.stdout == recorded
    assert agent.marks == before
