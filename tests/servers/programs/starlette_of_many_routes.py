"""A Starlette application: gathered requests, streams in and out, a thread, an error, an endless answer."""

import asyncio
import contextlib
import os
import random
import time
import uuid

import httpx
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

UPSTREAM = os.environ["UPSTREAM"]
client = httpx.AsyncClient()
warm = {}


@contextlib.asynccontextmanager
async def lifespan(app):
    warm["token"] = (await client.get(UPSTREAM + "/token")).json()["n"]
    warm["at"] = time.time()
    yield {"greeting": "good day"}
    await client.get(UPSTREAM + "/goodbye")


async def get(path):
    return (await client.get(UPSTREAM + path)).json()


async def ask(request):
    asked = await request.json()
    found = await asyncio.gather(*(get(f"/ask/{asked['who']}/{n}") for n in range(3)))
    print("answering", asked["who"], flush=True)
    assert all(each["path"].split("/")[2] == asked["who"] for each in found)
    return JSONResponse(
        {
            "who": asked["who"],
            "numbers": [each["n"] for each in found],
            "id": str(uuid.uuid4()),
            "at": time.time(),
            "chance": random.random(),
            "token": warm["token"],
            "warm": warm["at"],
            "hello": request.state.greeting,
        },
        headers={"X-Request": uuid.uuid4().hex},
    )


async def stream(request):
    async def pieces():
        async with client.stream("GET", UPSTREAM + "/stream") as response:
            async for piece in response.aiter_bytes():
                yield b"data: " + piece + b"\n\n"

    return StreamingResponse(pieces(), media_type="text/event-stream")


async def size(request):
    sizes = []
    async for piece in request.stream():
        sizes.append(len(piece))
    return JSONResponse({"bytes": sum(sizes), "after": (await get("/after"))["n"]})


def threaded(request):
    return PlainTextResponse(str(httpx.get(UPSTREAM + "/threaded").json()["n"]))


async def broken(request):
    raise ValueError(f"broken at {(await get('/broken'))['n']}")


async def endless(request):
    async def pieces():
        while True:
            yield b"x" * 65536
            await asyncio.sleep(0.001)

    return StreamingResponse(pieces())


app = Starlette(
    lifespan=lifespan,
    routes=[
        Route("/ask", ask, methods=["POST"]),
        Route("/stream", stream),
        Route("/size", size, methods=["POST"]),
        Route("/threaded", threaded),
        Route("/broken", broken),
        Route("/endless", endless),
    ],
)
