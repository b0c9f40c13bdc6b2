"""Threads side by side whose functions are alike."""

import os
import threading
import time

import httpx

URL = os.environ["UPSTREAM"]
both = threading.Barrier(2)
found = {}


def look(n):
    both.wait()
    began = time.monotonic(), time.time()
    first = httpx.get(f"{URL}/{n}/first").json()["n"]
    found[n] = first, httpx.get(f"{URL}/{n}/second").json()["n"], began < (time.monotonic(), time.time())


def seek(n):
    look(n)


def rest():
    return time.monotonic()


work = {look: (1,), seek: (2,), rest: ()}
threads = [threading.Thread(target=each, args=args) for each, args in work.items()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(found.items()))
