"""Three plans of two turns each, side by side, and one after another."""

import asyncio

import reenact


@reenact.tool(effect="read")
async def look(number):
    await asyncio.sleep(0.01 * (number % 3))
    return number


async def one(number):
    for turn in range(2):
        with reenact.step("plan", {"number": number}) as state:
            print("plans", number, flush=True)
            state["found"] = await look(number)
            print("has planned", number, flush=True)


async def main():
    GATHERED = await asyncio.gather(*(one(number) for number in range(1, 4)))


async def alone():
    ALONE = [await one(number) for number in range(1, 4)]


asyncio.run(main())
