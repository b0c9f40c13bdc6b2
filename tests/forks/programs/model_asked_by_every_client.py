"""A model that is asked by every HTTP client, in pieces, twice and by an SDK."""

import asyncio
import http.client
import os
import urllib.request

import aiohttp
import openai
import requests
from openai import DefaultAioHttpClient

WORLD, ASKS = os.environ["WORLD"], b"{}"
URL = WORLD + "/v1/chat/completions"
HEADERS = {"Content-Type": "application/json"}

print("requests", requests.post(URL, data=ASKS, headers=HEADERS).status_code)
print("chunked", requests.post(URL, data=iter([ASKS[:20], ASKS[20:]]), headers=HEADERS).status_code)
conn = http.client.HTTPConnection(WORLD[7:])
conn.request("POST", "/v1/chat/completions", ASKS, {**HEADERS, "content-length": str(len(ASKS))})
print("http.client", len(conn.getresponse().read()))
conn.close()
request = urllib.request.Request(URL, ASKS, HEADERS)
print("urllib", urllib.request.urlopen(request).status)


async def twice(request, handler):
    (await handler(request)).release()
    return await handler(request)


async def main():
    async with aiohttp.ClientSession() as session:
        async with session.post(URL, data=ASKS, headers=HEADERS) as reply:
            print("aiohttp", len(await reply.read()))
        async with session.post(URL, data=ASKS, headers=HEADERS, middlewares=[twice]) as reply:
            print("twice", len(await reply.read()))
    client = openai.AsyncOpenAI(base_url=WORLD + "/v1", http_client=DefaultAioHttpClient())
    said = await client.chat.completions.create(model="gpt-5.4", messages=[{"role": "user", "content": "hi"}])
    print("openai over aiohttp", said.choices[0].message.content)
    await client.close()


asyncio.run(main())
