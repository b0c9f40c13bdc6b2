"""Generators in circles that the collector finds, in a thread."""

import asyncio
import gc
import os

import httpx
from closed_in_order import run

URL = os.environ["UPSTREAM"]


class Node:
    me = held = None


async def numbers(n):
    try:
        for i in range(3):
            yield i
    finally:
        print("closing", n)


async def main():
    loop = asyncio.get_running_loop()
    gc.disable()
    for n in range(3):
        node = Node()
        node.me, node.held = node, numbers(n)
        await anext(node.held)
        del node
    await asyncio.to_thread(gc.collect)
    await asyncio.sleep(0.01)
    async with httpx.AsyncClient() as client:
        print((await client.get(URL + "/next")).json()["path"])
    print("end")


run(main)
