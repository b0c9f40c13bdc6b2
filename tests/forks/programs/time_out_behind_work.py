"""An answer that is waited for with a time-out after work that takes processor time."""

import asyncio
import time

import reenact


@reenact.tool(effect="read")
async def look(query):
    await asyncio.sleep(1)
    return query.upper()


async def main():
    with reenact.step("plan", {"limit": 5}) as state:
        pass
    asked = asyncio.ensure_future(look("a"))
    await asyncio.sleep(0)
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    try:
        print(await asyncio.wait_for(asked, state["limit"]))
    except TimeoutError:
        print("timed out")


asyncio.run(main())
