"""Tasks and threads that ask one shop side by side."""

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import requests

JITTER = os.environ.get("JITTER", "")
if JITTER:  # a replay under a restless scheduler: not what was recorded
    sys.setswitchinterval(float(JITTER))
URL = os.environ["SHOP_URL"]
session = requests.Session()
seen = []


def look(number):
    answer = session.get(f"{URL}/stock", params={"item": f"thread {number}"}).json()["left"]
    seen.append(answer)
    return answer


async def ask(client, number):
    answer = (await client.get(f"{URL}/stock", params={"item": f"task {number % 3}"})).json()["left"]
    seen.append(answer)
    await asyncio.sleep(0.001)
    order = (await client.post(f"{URL}/order", json={"seen": len(seen), "number": number})).json()["receipt"]
    print(number, answer, order)


async def main():
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient() as client:
        with ThreadPoolExecutor(3) as pool:
            jobs = [loop.run_in_executor(pool, look, number) for number in range(6)]
            await asyncio.gather(*(ask(client, number) for number in range(6)), *jobs)


asyncio.run(main())
print(seen)
