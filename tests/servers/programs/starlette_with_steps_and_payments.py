"""A Starlette application with a step, a stream, and a payment."""

import asyncio
import contextlib
import os

import httpx
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

import reenact

UPSTREAM = os.environ["UPSTREAM"]
client = httpx.AsyncClient()
warm = {}


@contextlib.asynccontextmanager
async def lifespan(app):
    warm["token"] = (await client.get(UPSTREAM + "/token")).json()["n"]
    yield


async def get(path):
    return (await client.get(UPSTREAM + path)).json()


@reenact.tool
def pay(amount):
    return {"paid": amount}


async def ask(request):
    asked = await request.json()
    found = await asyncio.gather(*(get(f"/ask/{asked['who']}/{n}") for n in range(3)))
    with reenact.step("sum", {"numbers": [each["n"] for each in found]}) as state:
        total = sum(state["numbers"])
    more = await get(f"/more/{total}")
    return JSONResponse({"who": asked["who"], "total": total, "more": more["n"], "token": warm["token"]})


async def stream(request):
    async def pieces():
        async with client.stream("GET", UPSTREAM + "/stream") as response:
            async for piece in response.aiter_bytes():
                yield b"data: " + piece + b"\n\n"
        yield b"data: " + str((await get("/last"))["n"]).encode()

    return StreamingResponse(pieces(), media_type="text/event-stream")


async def buy(request):
    if (await request.json())["amount"] < 0:
        raise ValueError("nothing costs less than nothing")
    return JSONResponse(pay((await request.json())["amount"]))


app = Starlette(
    lifespan=lifespan,
    routes=[
        Route("/ask", ask, methods=["POST"]),
        Route("/stream", stream),
        Route("/buy", buy, methods=["POST"]),
    ],
)
