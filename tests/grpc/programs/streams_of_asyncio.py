"""Streams of the asyncio API: read, written, iterated and failing."""

import asyncio

import grpc
import grpc.aio
from orders import TARGET, failed, methods


async def main():
    async with grpc.aio.insecure_channel(TARGET) as channel:
        unary, down, up, both = methods(channel)

        async def words():
            for word in (b"a", b"", b"c"):
                yield word

        async def asking():
            yield await unary(b"inside")

        print([message async for message in down(b"x")])
        call = down(b"fail")
        try:
            async for message in call:
                print(message)
        except grpc.aio.AioRpcError as error:
            failed(error)
        call = down(b"read")
        print([await call.read() for _ in range(3)], await call.read() is grpc.aio.EOF, await call.code())
        print(await up(words()), await up(iter([b"d"])), await up(asking()))
        talk = both()
        for word in (b"one", b"two"):
            await talk.write(word)
            print(await talk.read())
        await talk.done_writing()
        print(await talk.read() is grpc.aio.EOF, await talk.code())
        print([message async for message in both(words())])


asyncio.run(main())
