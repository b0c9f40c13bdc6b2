"""A tool that is interrupted by a signal if it would take long."""

import os
import signal
import threading
import time

import reenact

fired = []


def give_up(number, frame):
    fired.append("fired")
    raise TimeoutError


@reenact.tool(effect="read")
def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
    return "worked"


signal.signal(signal.SIGUSR1, give_up)
with reenact.step("plan", {"seconds": 5.0}) as state:
    seconds = state["seconds"]
if seconds > 1:
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGUSR1]).start()
try:
    print(work(seconds), fired)
except TimeoutError:
    print("late", fired)
