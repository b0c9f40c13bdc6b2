"""A task that is polled until it is done, or until patience is over."""

import asyncio
import time

import reenact


@reenact.tool(effect="read")
async def look(query):
    await asyncio.sleep(0.9)
    return query.upper()


async def main():
    with reenact.step("plan", {"pause": 0.4, "patience": 5.0}) as state:
        pass
    began = time.monotonic()
    asked = asyncio.ensure_future(look("a"))
    polls = 0
    while not asked.done() and time.monotonic() < began + state["patience"]:
        polls += 1
        await asyncio.sleep(state["pause"])
    print(polls, asked.done(), time.monotonic() - began, asyncio.get_running_loop().time() - began)
    print(await asked, time.perf_counter() - began)


asyncio.run(main())
