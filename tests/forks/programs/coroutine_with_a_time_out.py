"""A coroutine that is waited for with a time-out, a pause, and a question with the time of day in it."""

import asyncio
import datetime
import time

import reenact


@reenact.tool(effect="read")
async def look(query):
    await asyncio.sleep(0.3)
    return query[:1]


async def main():
    with reenact.step("plan", {"limit": 0.6, "pause": 0.2, "name": "a"}) as state:
        pass
    began = time.monotonic()
    try:
        print(await asyncio.wait_for(look(state["name"]), state["limit"]))
    except TimeoutError:
        print("late")
    print(time.monotonic() - began)
    await asyncio.sleep(state["pause"])
    print(time.monotonic() - began)
    print(await look(datetime.datetime.now().isoformat()))
    print(time.perf_counter() - began)


asyncio.run(main())
