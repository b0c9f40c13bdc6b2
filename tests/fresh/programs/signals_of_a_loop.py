"""A signal of a loop during a tool, and one during a tool that is a coroutine."""

import asyncio
import os
import signal
import time

import reenact


@reenact.tool(effect="read")
def look(turn):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.03)
    return turn


@reenact.tool(effect="read")
async def alook(turn):
    await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.sleep(0.01)
    return turn


async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    signal.signal(signal.SIGUSR1, lambda *a: print("usr1", flush=True))

    async def beside():
        for n in range(5):
            await asyncio.sleep(0.007)
            print("beside", n, flush=True)

    t = asyncio.create_task(beside())
    print(look(1))
    print(stop.is_set())
    await stop.wait()
    print("stopped")
    print(await alook(3))
    await t


asyncio.run(main())
