"""A client over HTTP with every callback, and calls side by side."""

import asyncio
import os

import mcp_types as types
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

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
    callbacks = dict(
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        logging_callback=logged,
        message_handler=handle,
    )
    async with transport as (read, write), ClientSession(read, write, **callbacks) as session:
        await session.initialize()
        print((await session.call_tool("asks", {})).content[0].text)
        print((await session.call_tool("in_steps", {"n": 2}, progress_callback=progress)).content[0].text)
        texts = zip("abc", (0.1, 0, 0.05))
        done = await asyncio.gather(*(session.call_tool("shout", {"text": t, "wait": w}) for t, w in texts))
        print([each.content[0].text for each in done])


asyncio.run(main())
