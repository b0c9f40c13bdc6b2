"""An alarm that raises through one tool, and that another one catches."""

import signal
import time

import reenact


def ring(number, frame):
    print("rings", flush=True)
    raise TimeoutError("too long")


signal.signal(signal.SIGALRM, ring)


@reenact.tool(effect="read")
def slow(n):
    try:
        time.sleep(n)
        return "slept"
    finally:
        print("cleaned", flush=True)


@reenact.tool(effect="read")
def patient(n):
    try:
        time.sleep(n)
    except TimeoutError:
        return "gave up"


for tool in (slow, patient):
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        print(tool(2))
    except TimeoutError as error:
        print("out", error)
    print(signal.alarm(0))
