"""Computes for a while, and then asks for what may not come in time."""

import asyncio
import os

import httpx


async def main() -> None:
    """Ask once, with a time-out."""
    async with httpx.AsyncClient() as client:
        sum(range(80_000_000))
        try:
            await asyncio.wait_for(client.get(os.environ["WORLD"]), 1.0)
            print("in time")
        except TimeoutError:
            print("it took too long")


asyncio.run(main())
