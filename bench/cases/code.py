"""Decorated functions: idle, and replayed with their answers frozen."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from statistics import median

import reenact
from bench.driver import fork_agent, run_agent

BATCH = 20_000


def batch(call: Callable[[int], object]) -> float:
    """Nanoseconds of the thread's work a call, in a tight loop."""
    start = time.thread_time_ns()
    for number in range(BATCH):
        call(number)
    return (time.thread_time_ns() - start) / BATCH


def idle_decorator(size: int) -> Mapping[str, float]:
    """What a decorated tool costs while nobody listens, over the plain function."""

    def plain(number: int) -> int:
        return number

    decorated = reenact.tool(effect="read")(plain)
    bare, idle = [], []
    for _ in range(7):
        bare.append(batch(plain))
        idle.append(batch(decorated))
    return {"us": (median(idle) - median(bare)) / 1e3}


def frozen_tool(size: int) -> Mapping[str, float]:
    """Microseconds of one replayed tool call, its comparison with the recording included."""
    with tempfile.TemporaryDirectory() as folder:
        return run_agent("tool_calls", size, folder)


def fork(size: int) -> Mapping[str, float]:
    """Microseconds of one frozen call in the prefix of a fork, and milliseconds of processor time that the forking
    process has used when its first call goes live, behind so many."""
    with tempfile.TemporaryDirectory() as folder:
        return fork_agent("forked_calls", size, folder)
