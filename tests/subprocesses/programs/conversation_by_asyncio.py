"""A conversation with a process of asyncio, what is said being in a plan."""

import asyncio
from asyncio.subprocess import PIPE

import reenact


async def main():
    process = await asyncio.create_subprocess_exec("cat", stdin=PIPE, stdout=PIPE, stderr=PIPE)
    process.stdin.write(b"one\n")
    print((await process.stdout.readline()).decode(), end="")
    with reenact.step("plan", {"text": "two\n", "skips": False}) as state:
        pass
    try:
        if not state["skips"]:
            process.stdin.write(state["text"].encode())
            await process.stdin.drain()
        print((await process.stdout.readline()).decode(), end="")
    except BaseException as error:
        print("caught", type(error).__name__)
    process.stdin.close()
    print(await process.wait())


asyncio.run(main())
