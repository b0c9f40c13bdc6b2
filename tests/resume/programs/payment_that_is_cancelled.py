"""A payment in a task that is cancelled unless the program is patient."""

import asyncio
import os

import reenact


@reenact.tool
async def pay(order):
    await asyncio.sleep(60)
    return order


async def main():
    with reenact.step("paying", {"order": 1}):
        task = asyncio.create_task(pay(1))
        await asyncio.sleep(0.2)
    if not os.path.exists("patient"):
        task.cancel()
    try:
        print(await task)
    except asyncio.CancelledError:
        print("cancelled")


asyncio.run(main())
