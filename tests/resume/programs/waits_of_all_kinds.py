"""Computes, then waits in each way there is, and marks the beginning and the end of each wait by two files."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable

import reenact


@reenact.tool(effect="read")
def fall(order: int) -> int:
    """Die, as long as the file ``fall`` is there."""
    if os.path.exists("fall"):
        time.sleep(0.5)  # until what has happened so far is on the disk
        os.kill(os.getpid(), signal.SIGKILL)
    return order


def ring(number: int, frame: object) -> None:
    """End a computation that takes too long."""
    raise TimeoutError


def look_until_it_is_over(clock: Callable[[], float], seconds: float) -> None:
    """Look at a clock until so many seconds have passed by it."""
    end = clock() + seconds
    while clock() < end:
        sum(range(10_000))


def compute_until_an_alarm(seconds: int) -> None:
    """Compute until the alarm's handler ends it."""
    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        while True:
            sum(range(1_000))
    except TimeoutError:
        pass


WAITS: dict[str, Callable[[], object]] = {
    "sleep": lambda: time.sleep(0.6),
    "asyncio": lambda: asyncio.run(asyncio.sleep(0.6)),
    "timeout": lambda: threading.Event().wait(0.6),
    "monotonic": lambda: look_until_it_is_over(time.monotonic, 0.6),
    "perf_counter": lambda: look_until_it_is_over(time.perf_counter, 0.6),
    "wall": lambda: look_until_it_is_over(time.time, 0.6),
    "alarm": lambda: compute_until_an_alarm(2),
}

fall(1)
for name, wait in WAITS.items():
    sum(range(6_000_000))
    open(f"{name}.began", "w").close()
    wait()
    open(f"{name}.ended", "w").close()
    print(name, flush=True)
