"""A client of a server in its own process, with every callback."""

import asyncio

import mcp_types as types
from mcp import Client
from server import server


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
    mode = "auto"
    how = dict(mode=mode, sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=roots)
    async with Client(server, **how) as client:
        print([tool.name for tool in (await client.list_tools()).tools])
        texts = zip("abc", (0.1, 0, 0.05))
        done = await asyncio.gather(*(client.call_tool("shout", {"text": t, "wait": w}) for t, w in texts))
        print([each.content[0].text for each in done])
        print((await client.call_tool("in_steps", {"n": 2}, progress_callback=progress)).content[0].text)
        print((await client.call_tool("fails", {"text": "x"})).is_error)
        if mode == "legacy":
            print((await client.call_tool("asks", {})).content[0].text)


asyncio.run(main())
