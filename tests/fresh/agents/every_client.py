"""Four HTTP clients in one program, all at once: httpx, httpx2, aiohttp, and requests in ten threads; each uploads."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import httpx
import httpx2
import requests

WORLD = os.environ["WORLD_URL"]
LOOKUP = f"{WORLD}/tools/lookup"
PAPER = ("paper.txt", b"nothing new", "text/plain")


async def by_httpx(lib, number):
    async with lib.AsyncClient() as client:
        found = await client.get(LOOKUP, params={"n": number})
        sent = await client.post(f"{WORLD}/upload", files={"paper": PAPER}, data={"n": str(found.json()["value"])})
        return found.json()["value"], sent.json()["id"]


async def by_aiohttp(number):
    async with aiohttp.ClientSession() as session:
        async with session.get(LOOKUP, params={"n": number}) as found:
            value = (await found.json())["value"]
        form = aiohttp.FormData({"n": str(value)})
        form.add_field("paper", PAPER[1], filename=PAPER[0], content_type=PAPER[2])
        async with session.post(f"{WORLD}/upload", data=form) as sent:
            return value, (await sent.json())["id"]


def by_requests(session, number):
    value = session.get(LOOKUP, params={"n": number}, timeout=30).json()["value"]
    sent = session.post(f"{WORLD}/upload", files={"paper": PAPER}, data={"n": value}, timeout=30)
    return value, sent.json()["id"]


async def main():
    loop = asyncio.get_running_loop()
    with requests.Session() as session, ThreadPoolExecutor(10) as pool:
        jobs = [loop.run_in_executor(pool, by_requests, session, number) for number in range(10)]
        tasks = [by_httpx(httpx, 10), by_httpx(httpx2, 11), by_aiohttp(12), by_httpx(httpx, 13), by_aiohttp(14)]
        for done in asyncio.as_completed([*jobs, *tasks]):
            print(*await done)


asyncio.run(main())
