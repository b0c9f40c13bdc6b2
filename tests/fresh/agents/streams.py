"""Streams read in many ways, some closed early: requests, urllib3, httpx, urllib.request; also bytes, and redirects."""

import hashlib
import json
import os
import urllib.request

import httpx
import requests
import urllib3

WORLD = os.environ["WORLD_URL"]

with requests.get(f"{WORLD}/tools/lines?n=6", stream=True, timeout=5) as reply:
    for line in reply.iter_lines():
        print("requests", json.loads(line)["value"])
with httpx.stream("GET", f"{WORLD}/tools/lines?n=30") as reply:
    for number, line in enumerate(reply.iter_lines()):
        print("httpx", line[:40])
        if number == 3:
            break
pool = urllib3.PoolManager()
reply = pool.request("GET", f"{WORLD}/tools/blob?size=200000", preload_content=False)
digest = hashlib.sha256()
sizes = 0
for chunk in reply.stream(4096):
    digest.update(chunk)
    sizes += 1
reply.release_conn()
print("urllib3", digest.hexdigest(), sizes > 0)
with urllib.request.urlopen(f"{WORLD}/tools/lines?n=5") as reply:
    print("urllib", reply.readline(), len(reply.read()))
session = requests.Session()
moved = session.get(f"{WORLD}/tools/moved", timeout=5)
print(
    moved.url.split("?")[1],
    [r.status_code for r in moved.history],
    sorted(session.cookies.get_dict()),
    moved.json()["value"],
)
print(session.get(f"{WORLD}/tools/zipped", timeout=5).json()["value"])
for kind in ("reset", "cut", "broken"):
    try:
        print(session.get(f"{WORLD}/tools/{kind}", timeout=5).json())
    except requests.RequestException as error:
        print(kind, type(error).__name__, str(error)[:60])
