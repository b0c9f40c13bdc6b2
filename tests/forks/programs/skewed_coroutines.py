"""Coroutines side by side, one of which waits for two answers with time-outs."""

import asyncio

import reenact


@reenact.tool(effect="read")
async def look(query, seconds):
    await asyncio.sleep(seconds)
    return query.upper()


async def slow():
    print(await look("slow", 1.2))


async def limited(pause):
    await asyncio.sleep(pause)
    for name in ("a", "b"):
        try:
            print(await asyncio.wait_for(look(name, 0.2), 0.5))
        except TimeoutError:
            print(name, "timed out")


async def main():
    with reenact.step("plan", {"pause": 1.4}) as state:
        pass
    await asyncio.gather(slow(), limited(state["pause"]))


asyncio.run(main())
