"""An ASGI application that gives up waiting for its body, and asks again."""

import asyncio
import json


async def hasty(receive, said):
    # what has arrived waits for its turn as long as something runs; its receiver does not
    for attempt in range(3):
        receiver = asyncio.ensure_future(receive())
        for turn in range(20):
            await asyncio.sleep(0)
        receiver.cancel()
        try:
            said.append(len((await receiver).get("body", b"")))
        except asyncio.CancelledError:
            pass


async def timed(receive, said):
    for attempt in range(4):
        try:
            message = await asyncio.wait_for(receive(), 0.1)
            said.append([len(message.get("body", b"")), message.get("more_body")])
        except asyncio.TimeoutError:
            said.append("timed out")


async def app(scope, receive, send):
    said, more = [], True
    if scope["path"] == "/hasty":
        await hasty(receive, said)
    else:
        await timed(receive, said)
        more = not any(isinstance(each, list) and each[1] is False for each in said)
    while more and sum(each for each in said if isinstance(each, int)) < 10:
        message = await receive()
        said.append(len(message.get("body", b"")))
        more = message.get("more_body")
    answer = json.dumps(said).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": answer})
