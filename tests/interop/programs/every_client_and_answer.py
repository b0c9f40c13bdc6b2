"""Requests of every client: chunked, compressed, moved, polled, broken and streamed answers."""

import asyncio
import sys
import urllib.request

import aiohttp
import httpx
import requests

base = sys.argv[1]
print(httpx.get(base + "/json", params={"x": 1}).json())
print(requests.post(base + "/chunked", json={"k": 1}).json())
answer = requests.get(base + "/gzip")
print(answer.text, answer.headers["content-encoding"], answer.headers.get("x-served"))
with urllib.request.urlopen(base + "/repeated") as response:
    print(response.read(), response.headers.get_all("X-Seen"), response.reason)
with httpx.Client(follow_redirects=True) as client:
    moved = client.get(base + "/moved")
    print([each.status_code for each in moved.history], moved.text)
    print([client.get(base + "/poll").text for _ in range(3)])
    print(client.head(base + "/json").headers["content-length"], client.get(base + "/nothing").status_code)
print(requests.get(base + "/broken").status_code)


async def main():
    async with aiohttp.ClientSession() as session:
        async with session.get(base + "/aiohttp") as response:
            print(response.status, await response.text())
    async with httpx.AsyncClient() as client:
        async with client.stream("GET", base + "/events") as response:
            print([line async for line in response.aiter_lines() if line])


asyncio.run(main())
