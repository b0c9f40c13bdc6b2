"""A Starlette application with routes that need no runs, and one that asks another of its own routes."""

import asyncio
import os
import threading

import httpx
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

import reenact

UPSTREAM = os.environ["UPSTREAM"]
client = httpx.AsyncClient()
seen = []


@reenact.tool(effect="read")
def look(what):
    return len(what)


async def health(request):
    numbers = await asyncio.gather(*((client.get(UPSTREAM + f"/health/{n}")) for n in range(2)))
    thread = threading.Thread(target=seen.append, args=("thread",))
    thread.start()
    await asyncio.to_thread(thread.join)
    run = reenact.current_run()
    return JSONResponse({"up": len(numbers), "looked": bool(look("health")), "run": run and run.id})


async def static(request):
    async def pieces():
        for n in range(3):
            await asyncio.sleep(0)
            yield b"%d" % n

    return StreamingResponse(pieces(), media_type="text/plain")


async def broken(request):
    raise LookupError("broken")


async def kept(request):
    with reenact.record(agent="inner"):
        n = look("kept")
    return JSONResponse({"n": n > 0})


async def ask(request):
    port = request.url.port
    own = (await client.get(f"http://127.0.0.1:{port}/health")).json()  # its own server, on a route without runs
    n = (await client.get(UPSTREAM + "/ask")).json()["n"]
    return JSONResponse({"n": n, "looked": bool(look("ask")), "own": own["up"], "run": own["run"]})


app = Starlette(
    routes=[
        Route("/health", health),
        Route("/static/{name:path}", static),
        Route("/broken", broken),
        Route("/kept", kept),
        Route("/ask", ask, methods=["GET", "POST"]),
    ]
)
