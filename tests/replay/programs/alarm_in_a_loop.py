"""Counts until an alarm ends it. What follows is told by the test."""

import signal

import reenact


class Rung(Exception):
    """What the alarm raises."""


def ring(number: int, frame: object) -> None:
    """End the counting."""
    raise Rung


@reenact.tool(effect="read")
def tell(what: int) -> int:
    """The number."""
    return what


signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.05)
counted = []
try:
    while True:
        counted.append(1)
except Rung:
    pass
