"""Tools that wait for what a signal handler changes."""

import signal
import time

import reenact

seen = []
state = {"stop": False}


def handle(number, frame):
    seen.append(number)
    state["stop"] = True


signal.signal(signal.SIGALRM, handle)


@reenact.tool(effect="read")
def look(turn):
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    while not seen:
        time.sleep(0.01)
    seen.append("tool")
    return turn


@reenact.tool(effect="read")
def given(state):
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    while not state["stop"]:
        time.sleep(0.01)
    state["n"] = 1
    return "stopped"


print(look(1), seen, state)
state["stop"] = False
print(given(state), seen, state)
