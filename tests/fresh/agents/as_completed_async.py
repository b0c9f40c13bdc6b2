"""A crawler with a bucket of tokens, tenacity retries and results in order of completion (httpx2, run_in_executor)."""

import asyncio
import concurrent.futures
import os
import time

import httpx2
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

WORLD = os.environ["WORLD_URL"]


class Bucket:
    def __init__(self, rate: float) -> None:
        self.rate, self.tokens, self.last = rate, 3.0, time.monotonic()

    async def take(self) -> None:
        while True:
            now = time.monotonic()
            self.tokens = min(3.0, self.tokens + (now - self.last) * self.rate)
            self.last = now
            if self.tokens >= 1:
                self.tokens -= 1
                return
            await asyncio.sleep((1 - self.tokens) / self.rate)


@retry(
    retry=retry_if_exception_type(httpx2.HTTPStatusError),
    wait=wait_random_exponential(multiplier=0.001, max=0.01),
    stop=stop_after_attempt(6),
    reraise=True,
)
async def fetch(client: httpx2.AsyncClient, bucket: Bucket, number: int) -> float:
    await bucket.take()
    reply = await client.get(f"{WORLD}/tools/moody", params={"n": number})
    return reply.raise_for_status().json()["value"]


def score(value: float) -> float:
    return round(sum(value**n for n in range(200)), 6)


async def crawl(client: httpx2.AsyncClient, bucket: Bucket, pool: concurrent.futures.Executor, number: int) -> str:
    try:
        value = await fetch(client, bucket, number)
    except httpx2.HTTPStatusError as error:
        return f"{number} failed {error.response.status_code} {fetch.statistics.get('attempt_number')}"
    return f"{number} {await asyncio.get_running_loop().run_in_executor(pool, score, value)}"


async def main() -> None:
    bucket = Bucket(rate=400)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=6)) as client:
            for done in asyncio.as_completed([crawl(client, bucket, pool, number) for number in range(15)]):
                print(await done, f"{time.monotonic() - bucket.last:.6f}")


asyncio.run(main())
