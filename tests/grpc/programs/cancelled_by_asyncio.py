"""Calls of the asyncio API that are cancelled, timed out, and left before the end."""

import asyncio

import grpc
import grpc.aio
from orders import TARGET, methods


async def main():
    async with grpc.aio.insecure_channel(TARGET) as channel:
        unary, down, up, _ = methods(channel)

        call = unary(b"hang")
        await asyncio.sleep(0.05)
        print(call.cancel(), call.cancel())
        try:
            await call
        except asyncio.CancelledError:
            print("cancelled", await call.code(), await call.details())
        try:
            await asyncio.wait_for(unary(b"hang"), 0.1)
        except TimeoutError:
            print("timeout")
        call = down(b"early")
        print(await call.read(), call.cancel(), call.cancelled())
        try:
            await call.read()
        except asyncio.CancelledError:
            print("cancelled too")

        async def endless():
            while True:
                yield b"enough"

        print(await up(endless()))


asyncio.run(main())
