"""An alarm that rings while a request is put together, by a header of its own."""

import os
import random
import signal
import sys
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

signal.setitimer(signal.ITIMER_REAL, 0)
import requests


class Late(Exception):
    pass


class Loud(str):
    def encode(self, *how):
        if sys._getframe(1).f_code.co_name == "putheader":
            os.kill(os.getpid(), signal.SIGALRM)
        return super().encode(*how)


def ring(number, frame):
    print("rings", time.time(), flush=True)
    raise Late(random.random())


signal.signal(signal.SIGALRM, ring)
for turn in range(2):
    try:
        print(requests.get(os.environ["WORLD"], headers={"X-Loud": Loud(turn)}).text)
    except Late as error:
        print("late", error)

print(time.time(), random.random(), os.urandom(2).hex(), measure("end"), len(seen))
