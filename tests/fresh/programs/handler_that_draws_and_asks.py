"""A handler that reads the clock, draws and asks, and what a program may do while its alarm rings."""

import os
import random
import signal
import subprocess  # noqa: F401 - what a program does may be to wait for one
import time
import urllib.request

import reenact


@reenact.tool(effect="read")
def measure(text):
    return len(text)


seen = []


def handle(number, frame):
    seen.append((time.time(), random.random(), os.urandom(2).hex(), measure("signal")))
    print("handles", seen[-1], flush=True)


def fetch():
    return urllib.request.urlopen(os.environ["WORLD"]).read().decode()


signal.signal(signal.SIGALRM, handle)
print(time.time(), random.random())
