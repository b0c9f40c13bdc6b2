"""An alarm that raises before a call is made, or within it."""

import os
import random
import signal
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
signal.setitimer(signal.ITIMER_REAL, 0.1)


class Late(Exception):
    pass


def ring(number, frame):
    raise Late


def spin(rounds):
    for _ in range(rounds):
        random.getstate()


signal.signal(signal.SIGALRM, ring)
for rounds in (1, 100_000):
    os.environ["WORLD"] += "/" + str(rounds)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        spin(rounds)
        print(fetch())
    except Late:
        print("late")
signal.setitimer(signal.ITIMER_REAL, 0)
print(fetch())

print(time.time(), random.random(), os.urandom(2).hex(), measure("end"), len(seen))
