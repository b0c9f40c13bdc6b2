"""Threads that talk by Event, Condition, Barrier and Timer, and print as they go (httpx)."""

import os
import threading
import time

import httpx

WORLD = os.environ["WORLD_URL"]
client = httpx.Client()
ready = threading.Event()
board = threading.Condition()
barrier = threading.Barrier(4)
bids: dict[str, int] = {}


def bidder(name: str) -> None:
    ready.wait()
    for number in range(3):
        value = client.get(f"{WORLD}/tools/bid", params={"who": name, "n": number}).json()["value"]
        with board:
            if value > max(bids.values(), default=0):
                bids[name] = value
                print(name, "leads with", value)
            board.notify_all()
        barrier.wait(timeout=10)


def reporter() -> None:
    with board:
        board.wait_for(lambda: len(bids) >= 2 or finished.is_set(), timeout=10)
        print("reporter saw", dict(bids))


finished = threading.Event()
watcher = threading.Thread(target=reporter)
bidders = [threading.Thread(target=bidder, args=(name,)) for name in "abcd"]
watcher.start()
for thread in bidders:
    thread.start()
timer = threading.Timer(0.01, ready.set)
timer.start()
for thread in bidders:
    thread.join()
finished.set()
with board:
    board.notify_all()
watcher.join()
print(bids, time.perf_counter() > 0)
