"""Requests of tasks, of a pool and of a thread."""

import asyncio
import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx

URL = os.environ["UPSTREAM"]


async def one(client, n):
    drawn = str(uuid.uuid4())
    await asyncio.sleep(0.002 * n)
    first = (await client.get(f"{URL}/{drawn}")).json()["n"]
    await asyncio.sleep(0.01 - 0.002 * n)
    return n, first, (await client.get(f"{URL}/again?{uuid.uuid4()}")).json()["n"]


async def main():
    async with httpx.AsyncClient() as client:
        return await asyncio.gather(one(client, 1), one(client, 2))


def job(n):
    return httpx.get(f"{URL}/pooled/{n}").json()["n"]


def work(found):
    found.append(httpx.get(f"{URL}/thread/{uuid.uuid4()}").json()["n"])


found = asyncio.run(main())
with ThreadPoolExecutor(1) as pool:
    found.append(pool.submit(job, 1).result())
thread = threading.Thread(target=work, args=(found,))
thread.start()
thread.join()
print(found)
# FIX
raise SystemExit(3)
