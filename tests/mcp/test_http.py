"""Proves that MCP sessions over HTTP replay exactly without their server: the endless stream of what the server begins,
sampling, elicitation, roots, logging and progress included."""

from __future__ import annotations

import pytest

from tests.mcp.conftest import Agent

AGENT = """
import asyncio, os
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
import mcp_types as types

WHERE = os.environ["WHERE"]
SAYS = os.environ.get("SAYS", "I say so")

async def sample(context, params):
    print("sampled", params.messages[0].content.text)
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text=SAYS), model="m")

async def elicit(context, params):
    print("elicited", params.message)
    return types.ElicitResult(action="accept", content={"ok": True})

async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///here")])

async def logged(params):
    print("log", params.level, params.data)

async def handle(message):
    print("message", type(message).__name__)

async def progress(done, total, message):
    print("progress", done, total, message)

async def main():
    transport = sse_client(WHERE) if WHERE.endswith("/sse") else streamable_http_client(WHERE)
    callbacks = dict(sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=roots,
                     logging_callback=logged, message_handler=handle)
    async with transport as (read, write), ClientSession(read, write, **callbacks) as session:
        await session.initialize()
        print((await session.call_tool("asks", {})).content[0].text)
        print((await session.call_tool("in_steps", {"n": 2}, progress_callback=progress)).content[0].text)
        texts = zip("abc", (0.1, 0, 0.05))
        done = await asyncio.gather(*(session.call_tool("shout", {"text": t, "wait": w}) for t, w in texts))
        print([each.content[0].text for each in done])

asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["http", "sse"])
def test_everything_that_either_side_begins(agent: Agent, how: str) -> None:
    agent.write(AGENT)
    with agent.serving(how) as url:
        recorded = agent.record(WHERE=url).stdout
    # What the server begins comes over two streams: which of them is first is chance, and part of the recording.
    words = [line.split()[0] for line in recorded.splitlines()]
    assert {"log", "sampled", "elicited"} < set(words)
    assert words.count("progress") == 2 and words.count("message") == 3
    assert "I say so / accept {'ok': True} / ['file:///here']\n" in recorded
    assert agent.same(WHERE=url) == recorded
    shown = agent.run("show", "@", "--all").stdout
    assert "sampling/createMessage" in shown
    assert " http " not in shown, "the session answers, the exchanges below it are no part of the run"


def test_an_answer_to_the_server_that_differs_is_named(agent: Agent) -> None:
    agent.write(AGENT.replace('os.environ.get("SAYS", "I say so")', 'open("says").read()'))
    (agent.folder / "says").write_text("yes")
    with agent.serving("http") as url:
        agent.record(WHERE=url)
    (agent.folder / "says").write_text("maybe")
    replayed = agent.replay(WHERE=url)
    assert replayed.returncode == 1, replayed.stderr
    assert "sampling/createMessage" in replayed.stderr
    assert "maybe" in replayed.stderr


def test_a_server_that_is_not_there(agent: Agent) -> None:
    agent.write(
        AGENT.replace(
            "asyncio.run(main())",
            "try:\n    asyncio.run(main())\nexcept Exception as error:\n    print(type(error).__name__, error)",
        )
    )
    with agent.serving("http") as url:
        pass
    recorded = agent.record(WHERE=url).stdout
    assert recorded.strip()
    assert agent.same(WHERE=url) == recorded
