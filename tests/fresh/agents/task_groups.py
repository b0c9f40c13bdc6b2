"""anyio: task groups, memory streams, a limiter, blocking work in threads, a move_on_after (httpx2)."""

import os
import time

import anyio
import anyio.to_thread
import httpx2

WORLD = os.environ["WORLD_URL"]


def blocking(number: int) -> str:
    reply = httpx2.get(f"{WORLD}/tools/blocking", params={"n": number})
    time.sleep(0.002)
    return reply.json()["text"]


async def scout(client, number, send, limiter) -> None:
    async with send:
        text = await anyio.to_thread.run_sync(blocking, number, limiter=limiter)
        reply = await client.get(f"{WORLD}/tools/rank", params={"text": text})
        await send.send((number, reply.json()["value"]))
        with anyio.move_on_after(0.02) as scope:
            extra = (await client.get(f"{WORLD}/tools/maybe", params={"n": number})).json()["value"]
            await send.send((number, extra))
        if scope.cancelled_caught:
            await send.send((number, "no extra"))


async def main() -> None:
    send, receive = anyio.create_memory_object_stream(2)
    limiter = anyio.CapacityLimiter(3)
    async with httpx2.AsyncClient() as client, anyio.create_task_group() as group:
        async with send:
            for number in range(9):
                group.start_soon(scout, client, number, send.clone(), limiter)
        async with receive:
            async for item in receive:
                print(item)


anyio.run(main)
