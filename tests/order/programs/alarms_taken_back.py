"""Sets thousands of alarms, works, and takes each back. Counts those that ring later, or twice."""

import os
import signal
import time
import uuid


class Rung(Exception):
    """What the alarm raises."""


armed = False
late = twice = rang = calls = 0


def ring(number: int, frame: object) -> None:
    """End the work; the alarm must be set."""
    global calls, late
    calls += 1
    late += not armed
    raise Rung


def work(rounds: int) -> None:
    """Read clocks and draw ids, which are recorded."""
    for _ in range(rounds):
        time.time()
        uuid.uuid4()
        time.monotonic()


def attempt() -> None:
    """One alarm, which may ring during the work."""
    global armed
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, 0.0002 + 0.002 * int.from_bytes(os.urandom(2), "big") / 65536)
        work(40)
        signal.setitimer(signal.ITIMER_REAL, 0)
        armed = False
        work(5)
    except Rung:
        signal.setitimer(signal.ITIMER_REAL, 0)
        armed = False
        work(5)


signal.signal(signal.SIGALRM, ring)
for _ in range(4000):
    before = calls
    try:
        attempt()
    except Rung:  # it rang again behind its handler
        signal.setitimer(signal.ITIMER_REAL, 0)
        armed = False
    rang += calls > before
    twice += calls > before + 1
print(f"late {late}, twice {twice}, {'some' if rang else 'none'} rang")
