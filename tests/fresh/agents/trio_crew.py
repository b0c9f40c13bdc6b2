"""trio by itself: channels, a deadline for each question, threads that call back, and a race that is called off."""

import os
import random
import time

import httpx
import trio

import reenact

WORLD = os.environ["WORLD_URL"]


@reenact.tool(effect="read")
async def peek(number: int) -> str:
    """Look into the world, for a while of its own."""
    await trio.sleep(random.random() * 0.02)
    return f"{number}:{random.random()}"


@reenact.tool
async def note(line: str) -> int:
    """Do something to the world."""
    await trio.sleep(random.random() * 0.005)
    return len(line)


def compute(client: httpx.Client, number: int) -> str:
    """A blocking part, which asks by itself and by its loop."""
    value = client.get(f"{WORLD}/tools/lookup", params={"n": number}).json()["value"]
    time.sleep(0.002)
    return f"{value} {trio.from_thread.run(peek, number)}"


async def produce(channel: trio.MemorySendChannel[str], name: str) -> None:
    async with channel:
        for number in range(3):
            await channel.send(f"{name} {await peek(number)}")


async def consume(channel: trio.MemoryReceiveChannel[str], name: str) -> None:
    async with channel:
        async for item in channel:
            print(name, "got", item, await note(item))


async def hurry(number: int) -> None:
    try:
        with trio.fail_after(0.005 * number):
            print("in time", await peek(number))
    except trio.TooSlowError:
        print("too slow", number)


async def in_thread(client: httpx.Client, number: int) -> None:
    print("thread", number, await trio.to_thread.run_sync(compute, client, number))


async def listen(number: int) -> None:
    async with httpx.AsyncClient() as client:
        with trio.move_on_after(0.01 * number) as scope:
            async with client.stream("GET", f"{WORLD}/tools/maybe") as reply:
                async for part in reply.aiter_bytes():
                    print(number, "hears", part)
        print(number, "gave up" if scope.cancelled_caught else "heard all")


async def race(name: str, nursery: trio.Nursery) -> None:
    try:
        print(name, "wins with", await peek(0))
        nursery.cancel_scope.cancel()
    except trio.Cancelled:
        print(name, "is called off")
        raise


async def main() -> None:
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        send, receive = trio.open_memory_channel[str](1)
        async with send, receive:
            for name in "abc":
                nursery.start_soon(produce, send.clone(), name)
                nursery.start_soon(consume, receive.clone(), name.upper())
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(hurry, number)
            nursery.start_soon(listen, number)
    with httpx.Client() as client:
        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(in_thread, client, number)
    async with trio.open_nursery() as nursery:
        for name in ("red", "blue", "green"):
            nursery.start_soon(race, name, nursery)
    with trio.move_on_after(0.01) as scope:
        await trio.sleep(60)
    print(scope.cancelled_caught, trio.current_time() - began)


trio.run(main)
