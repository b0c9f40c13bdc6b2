"""A client of a server by whichever transport its environment names; what it says is in a plan."""

import asyncio
import os
import sys

import mcp_types as types
from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

import reenact

WHERE = os.environ.get("WHERE", "")


async def sample(context, params):
    print("sampled", params.messages[0].content.text[:2])
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="yes"), model="m")


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"ok": True})


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///here")])


async def progress(done, total, message):
    print("progress", float(done), float(total))


CALLBACKS = dict(sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=roots)


async def call(session, name, **arguments):
    result = await session.call_tool(name, arguments, progress_callback=progress)
    print(name, result.is_error, result.content[0].text)


async def main():
    if WHERE.startswith("http"):
        transport = sse_client(WHERE) if WHERE.endswith("/sse") else streamable_http_client(WHERE)
    elif WHERE:
        from server import server

        async with Client(server, mode=WHERE, **CALLBACKS) as client:
            await talk(client)
        return
    else:
        transport = stdio_client(StdioServerParameters(command=sys.executable, args=["server.py"]))
    async with transport as (read, write), ClientSession(read, write, **CALLBACKS) as session:
        await session.initialize()
        await talk(session)


async def talk(session):
    await session.list_tools()
    await call(session, "shout", text="before")
    with reenact.step("plan", {"text": "first", "n": 1, "asks": False}) as state:
        pass
    await call(session, "shout", text=state["text"])
    await asyncio.gather(*(call(session, "in_steps", n=state["n"] + more) for more in range(2)))
    if state["asks"]:
        await call(session, "asks")
    await call(session, "shout", text="after")


asyncio.run(main())
