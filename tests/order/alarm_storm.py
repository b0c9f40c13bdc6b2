"""A program that is interrupted by hundreds of alarms which raise, wherever they come: in a wait, on the way into it or
out of it, in a lock, in a call that is recorded. At its end the gate's count must be exact.

    python -m tests.order.alarm_storm ALARMS THREADS

It has a process of its own: CPython 3.11 itself may break where a handler raises in the middle of it.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import reenact
from reenact.seams import lanes
from reenact.seams.strands import signals


class _Rung(Exception):
    """What an alarm raises."""


@reenact.tool(effect="read")
def look(at: int) -> int:
    """A call that is recorded."""
    return at


def storm(alarms: int, others: int) -> None:
    """Wait in turn in five ways until so many alarms have come, beside ``others`` threads that call a tool."""
    rung = 0

    def ring(number: int, frame: Any) -> None:
        nonlocal rung
        rung += 1
        while frame is not None and frame.f_code is not attempt.__code__:
            frame = frame.f_back
        if frame is not None:
            raise _Rung

    def work() -> None:
        while not over.is_set():
            look(1)
            time.sleep(0.001)

    def attempt(turn: int) -> None:
        ways: list[Callable[[], object]] = [
            lambda: time.sleep(0.01),
            lambda: waiting.get(timeout=0.01),
            lambda: held.acquire(timeout=0.01),
            lambda: over.wait(0.01),
            lambda: look(turn),
        ]
        ways[turn % 5]()

    sys.unraisablehook = lambda _: None  # an alarm may come while something is being deleted
    with reenact.record(store="memory:counting"):
        lane = lanes.current()
        assert lane is not None
        gate = signals._gate = lane.gate
        over, waiting, held = threading.Event(), queue.Queue[int](), threading.Lock()
        held.acquire()
        threads = [threading.Thread(target=work) for _ in range(others)]
        for thread in threads:
            thread.start()
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)  # nearer together, a busy machine does nothing else
        try:
            for turn in itertools.count():
                with contextlib.suppress(_Rung, queue.Empty):
                    attempt(turn)
                assert others or gate.running == 1, gate.running
                if rung >= alarms:
                    break
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            over.set()
        for thread in threads:
            thread.join()
        turns = gate.signals
        assert (gate.running, turns.raising, turns.held, dict(gate.waiting)) == (1, 0, (), {})
        print(f"{rung} alarms")


if __name__ == "__main__":
    storm(int(sys.argv[1]), int(sys.argv[2]))
