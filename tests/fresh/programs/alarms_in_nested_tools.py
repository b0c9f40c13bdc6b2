"""Alarms that tools set for tools within them, one with a handler of its own, and one in a model."""

import signal
import time

import reenact

count = []


def ring(*a):
    count.append(1)
    print("ring", len(count), flush=True)
    raise TimeoutError(len(count))


signal.signal(signal.SIGALRM, ring)


@reenact.tool(effect="read")
def inner(n):
    time.sleep(n)
    return n


@reenact.tool(effect="read")
def outer(n):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        return inner(n)
    except TimeoutError as e:
        return f"caught {e}"


@reenact.tool(effect="read")
def sets(n):
    def mine(*a):
        raise KeyError("mine")

    before = signal.signal(signal.SIGALRM, mine)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        return inner(n)
    except KeyError as e:
        return f"inner caught {e}"
    finally:
        signal.signal(signal.SIGALRM, before)


@reenact.model
def model(n):
    time.sleep(n)
    return n


print(outer(0.2))
print(sets(0.2))
print(outer(0.3))
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    print(model(0.2))
except TimeoutError as e:
    print("model out", e)
print(len(count))
