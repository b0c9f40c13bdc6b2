"""A deadline that the code computes of the clock of its loop, set by `call_at` or `timeout_at`, behind work."""

import asyncio
import time

import reenact


def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


@reenact.tool(effect="read")
async def look(query):
    await asyncio.sleep(9)


async def main():
    loop = asyncio.get_running_loop()
    with reenact.step("plan", {"limit": 2}) as state:
        pass
    work(0.12)
    asked = asyncio.ensure_future(look("a"))
    deadline = loop.time() + state["limit"]
    work(later)
    if way == "call_at":
        loop.call_at(deadline, asked.cancel)
        print((await asyncio.gather(asked, return_exceptions=True))[0].__class__.__name__)
    else:
        try:
            async with asyncio.timeout_at(deadline):
                await asked
        except TimeoutError as error:
            print(type(error).__name__)


way, later = "call_at", 0
asyncio.run(main())
