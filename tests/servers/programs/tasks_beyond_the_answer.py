"""An ASGI application whose tasks and threads go on after its answer."""

import asyncio
import os

import httpx

UPSTREAM = os.environ["UPSTREAM"]
client = httpx.AsyncClient()
kept = set()


async def goes_on(name):
    for turn in range(4):
        print(name, turn, (await client.get(f"{UPSTREAM}/later/{name}/{turn}")).json(), flush=True)


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    name = scope["path"][1:]
    if name == "before":  # its first question is asked, and perhaps answered, before the end
        kept.add(asyncio.create_task(goes_on(name)))
    answer = (await client.get(f"{UPSTREAM}/{name}")).text
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": answer.encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b"."})
    if name == "after":
        kept.add(asyncio.create_task(goes_on(name)))
    elif name == "thread":
        kept.add(asyncio.get_running_loop().run_in_executor(None, httpx.get, f"{UPSTREAM}/later/thread/3"))
