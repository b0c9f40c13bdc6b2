"""A deadline by signal: SIGALRM raises in the middle of a call that takes too long (requests)."""

import os
import signal

import requests

WORLD = os.environ["WORLD_URL"]


class TooSlow(Exception):
    pass


def ring(number: int, frame: object) -> None:
    raise TooSlow(number)


signal.signal(signal.SIGALRM, ring)
for ms in (5, 400, 5, 400):
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    try:
        print(ms, requests.get(f"{WORLD}/tools/slow", params={"ms": ms}, timeout=5).json())
    except TooSlow as error:
        print(ms, "too slow", error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
