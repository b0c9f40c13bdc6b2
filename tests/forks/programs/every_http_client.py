"""One request by each HTTP client, and one that is refused."""

import asyncio
import http.client
import json
import os
import urllib.error
import urllib.request

import aiohttp
import httpx
import requests

WORLD = os.environ["WORLD"]


def by_hand():
    conn = http.client.HTTPConnection(WORLD[7:])
    conn.request("GET", "/http.client")
    reply = conn.getresponse()
    return reply.status, json.loads(reply.read() or b"null") if reply.status == 200 else None


def by_urllib():
    try:
        with urllib.request.urlopen(WORLD + "/urllib") as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, None


async def by_aiohttp():
    async with aiohttp.ClientSession() as session, session.get(WORLD + "/aiohttp") as reply:
        return reply.status, await reply.json() if reply.status == 200 else None


def of(reply):
    return reply.status_code, reply.json() if reply.status_code == 200 else None


def refused():
    try:
        return of(requests.get("http://127.0.0.1:9/"))
    except requests.ConnectionError:
        return "refused"


print(of(httpx.get(WORLD + "/httpx")))
print(of(requests.get(WORLD + "/requests")))
print(by_hand())
print(by_urllib())
print(asyncio.run(by_aiohttp()))
print(refused())
