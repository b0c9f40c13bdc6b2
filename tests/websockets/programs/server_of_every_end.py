"""A websocket server that answers, streams, closes, aborts or refuses, as it is told to."""

import asyncio
import http
import random
import sys

from websockets.asyncio.server import serve


def mark(what):
    with open("marks", "a") as marks:
        marks.write(what + "\n")


async def talk(ws):
    mark("open " + ws.request.path)
    async for message in ws:
        mark("message")
        if message == "close":
            await ws.close(4001, "that is enough")
        elif message == "abort":
            ws.transport.abort()
        elif message == "bytes":
            await ws.send(bytes(range(5)))
        elif message == "parts":
            await ws.send(["one ", "two ", f"{random.random()}"])
        elif message == "several":
            for n in range(3):
                await ws.send(f"{n} {random.random()}")
        elif isinstance(message, str) and message.startswith("slow"):
            await asyncio.sleep(0.15)
            await ws.send(f"{message} {random.random()}")
        else:
            await ws.send(f"{message} {random.random()}" if isinstance(message, str) else message[::-1])


def check(connection, request):
    if request.path == "/refused":
        response = connection.respond(http.HTTPStatus.UNAUTHORIZED, "who are you?\n")
        return response


async def main():
    def choose(ws, offered):
        return next(iter(offered), None)

    how = dict(process_request=check, ping_interval=0.05, select_subprotocol=choose)
    async with serve(talk, "127.0.0.1", 0, **how) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
