"""Tools whose results cannot be kept, or are too large."""

import sys
import threading

import reenact


@reenact.tool(effect="read")
def connect(host: str):
    return threading.Lock()


@reenact.tool(effect="read")
def fetch(page: int):
    return "p" * page


@reenact.tool(effect="read")
def within(page: int):
    return len(fetch(page)), threading.current_thread().name


@reenact.tool
def fine(page: int):
    return page


with reenact.record(agent="desk", policy=reenact.Policy(largest_value_mb=0.01)) as run:
    globals()[sys.argv[1]]("db" if sys.argv[1] == "connect" else 20_000)
