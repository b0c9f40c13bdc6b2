"""A Starlette application that does things once, at the first request that needs them, and keeps them."""

import asyncio
import functools
import os
import random
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

UPSTREAM = os.environ["UPSTREAM"]
made = {}


def client():
    if "client" not in made:
        made["client"] = httpx.AsyncClient()
    return made["client"]


async def get(path):
    return (await client().get(UPSTREAM + path)).json()["n"]


def look_around():
    return "linux"


def weigh(n):
    return n * 2


async def first_in_a_pool(run):
    # the job that is done once has a name of its own, and comes back to the loop as those do that each request has
    if run not in made:
        made[run] = await run(look_around)
    n = await get("/pool")
    return {"n": await run(weigh, n), "id": uuid.uuid4().hex}


async def by_thread(body):
    return await first_in_a_pool(asyncio.to_thread)


async def by_starlette(body):
    return await first_in_a_pool(run_in_threadpool)


async def by_executor(body):
    if "executor" not in made:
        made["executor"] = ThreadPoolExecutor(2)
    run = functools.partial(asyncio.get_running_loop().run_in_executor, made["executor"])
    if "seen" not in made:
        made["seen"] = await run(look_around)
    return {"n": await run(weigh, await get("/executor")), "id": uuid.uuid4().hex}


async def same_name(body):
    # the job that is done once has the name of those that each request has: it takes their place
    if "same" not in made:
        made["same"] = await asyncio.to_thread(weigh, 1)
    n = await get("/same")
    first, second = await asyncio.to_thread(weigh, n), await asyncio.to_thread(weigh, n + 1)
    return {"n": [first, second], "again": await get("/same-again")}


async def by_task(body):
    async def warmed():
        await asyncio.sleep(0)
        return "warm"

    if "task" not in made:
        made["task"] = await asyncio.create_task(warmed())
    return {"n": await asyncio.gather(get("/task/1"), get("/task/2"))}


async def by_thread_of_its_own(body):
    if "thread" not in made:
        made["thread"] = done = threading.Event()
        thread = threading.Thread(target=done.set)
        thread.start()
        await asyncio.to_thread(thread.join)
    n = await get("/own")
    return {"n": await asyncio.to_thread(weigh, n)}


@functools.lru_cache
def rules():
    with open(__file__) as file:
        return len(file.read())


async def by_cache(body):
    return {"n": await get("/cache"), "rules": rules()}


async def by_lock(body):
    lock = made.setdefault("lock", asyncio.Lock())
    async with lock:
        if "locked" not in made:
            await asyncio.sleep(0.01)
            made["locked"] = await asyncio.to_thread(look_around)
    n = await get("/lock")
    return {"n": await asyncio.to_thread(weigh, n)}


async def shared_answer(body):
    # what one request has asked for, all others have in memory
    if "answer" not in made:
        made["answer"] = asyncio.create_task(get("/once"))
    return {"once": await made["answer"], "n": await get("/each")}


async def shared_chance(body):
    if "chance" not in made:
        made["chance"] = random.random()
    return {"n": await get("/chance"), "chance": random.random()}


def route(function):
    async def answer(request):
        return JSONResponse(await function(await request.json()))

    return Route("/" + function.__name__, answer, methods=["POST"])


async def stream(request):
    async def pieces():
        if "stream" not in made:
            made["stream"] = await run_in_threadpool(look_around)
        for n in range(3):
            yield str(await run_in_threadpool(weigh, await get(f"/piece/{n}"))).encode()

    return StreamingResponse(pieces(), media_type="text/plain")


FUNCTIONS = [
    by_thread,
    by_starlette,
    by_executor,
    same_name,
    by_task,
    by_thread_of_its_own,
    by_cache,
    by_lock,
    shared_answer,
    shared_chance,
]
app = Starlette(routes=[Route("/stream", stream, methods=["POST"]), *map(route, FUNCTIONS)])
