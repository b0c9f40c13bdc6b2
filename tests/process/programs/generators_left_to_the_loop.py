"""Generators within generators, some dropped and some kept until the loop closes them."""

import asyncio

from closed_in_order import run


async def inner(n):
    try:
        for i in range(5):
            yield n, i
    finally:
        print("closing", n)
        for _ in range(n % 3):
            await asyncio.sleep(0)
        print("closed", n)


async def outer(n):
    async for pair in inner(n):
        yield pair


kept = []


async def main():
    for n in range(8):
        async for pair in outer(n):
            print(pair)
            break
    for n in range(8, 24):
        kept.append(outer(n))
        print(await anext(kept[-1]))
    print("end")


run(main)
