"""Requests of every client to two hosts, some of them moved from one to the other."""

import asyncio
import sys
import urllib.request
import xmlrpc.client

import aiohttp
import httpx
import requests
import urllib3

urls = sys.argv[1:3]


async def unsync():
    async with httpx.AsyncClient() as client:
        for url in urls:
            print((await client.post(url + "/httpx-async", json={"a": 1})).json()["n"])
    async with aiohttp.ClientSession() as session:
        for url in urls:
            async with session.post(url + "/aiohttp", json={"a": 1}) as response:
                print((await response.json())["n"])
            async with session.get(url + "/away") as response:
                print((await response.json())["n"])


def pieces():
    yield b"in "
    yield b"pieces"


for url in urls:
    with httpx.Client(follow_redirects=True) as client:
        print(client.post(url + "/httpx", json={"a": 1}, headers={"baggage": "user=7"}).json()["n"])
        print(client.get(url + "/away").json()["n"])
        sent = client.get(url + "/own", headers={"Traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-00"})
        print(sent.json()["n"], sorted(sent.request.headers))
    print(requests.post(url + "/requests?a=1&b=", data=pieces()).json()["n"])
    print(urllib3.PoolManager().request("GET", url + "/urllib3?").json()["n"])
    print(urllib.request.urlopen(url + "/urllib").read())
    print(xmlrpc.client.ServerProxy(url + "/by-hand").ask(1))
asyncio.run(unsync())
