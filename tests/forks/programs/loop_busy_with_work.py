"""A sleep beside work that keeps the loop busy, and a question of whether it was late."""

import asyncio
import time

import reenact


@reenact.tool(effect="read")
async def look(query):
    return query


def works():
    total = 0
    for number in range(12_000_000):
        total += number * number


async def sleeps(began, limit):
    await asyncio.sleep(0.1)
    took = time.monotonic() - began
    print(await look("slow" if took > 0.35 else "fast"), limit)


async def is_busy():
    await asyncio.sleep(0)
    works()


async def main():
    began = time.monotonic()
    with reenact.step("plan", {"limit": 2}) as state:
        limit = state["limit"]
    await asyncio.gather(sleeps(began, limit), is_busy())


asyncio.run(main())
