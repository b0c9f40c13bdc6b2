"""An ASGI application whose task runs beside its sending."""

import asyncio
import json


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    log, over = [], asyncio.Event()

    async def beside():
        while not over.is_set():
            log.append("beside")
            await asyncio.sleep(0)

    task = asyncio.create_task(beside())
    await asyncio.sleep(0)
    log.append("begins")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    log.append("goes on")
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    over.set()
    await send({"type": "http.response.body", "body": json.dumps(log[log.index("begins") :]).encode()})
    await task
