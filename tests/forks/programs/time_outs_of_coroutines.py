"""Tools in a thread, in a coroutine and gathered, each waited for with a time-out."""

import asyncio
import sys
import time

import reenact

limit, seconds, count = map(float, sys.stdin.readline().split())


@reenact.tool(effect="read")
def look(query):
    time.sleep(seconds)
    return query.upper()


@reenact.tool(effect="read")
async def ask(query):
    await asyncio.sleep(seconds)
    return query.upper()


async def main():
    with reenact.step("plan", {"limit": limit}) as state:
        pass
    works = [lambda: asyncio.to_thread(look, "a"), lambda: ask("b"), lambda: asyncio.gather(ask("c"), ask("d"))]
    for work in works[: int(count)]:
        try:
            print(await asyncio.wait_for(work(), state["limit"]))
        except TimeoutError:
            print("timed out")
    await asyncio.sleep(1)
    print("done")


asyncio.run(main())
