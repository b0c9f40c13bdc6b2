"""Decorated functions: idle, with arguments of megabytes, and replayed with their answers frozen."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

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


def large_argument(size: int) -> Mapping[str, float]:
    """Milliseconds of processor of one recorded tool call that is handed 3 MB, of which a little has changed: in the
    agent's thread, and in all; and of ``json.dumps`` of that value beside it."""
    row = {"name": {"first": "Ann", "last": "Lee"}, "status": "pending", "items": ["1008292230", "2613542319"]}
    rows = {f"#W{n}": {"n": n, "total": n * 1.25, **json.loads(json.dumps(row))} for n in range(22_000)}
    database: dict[str, Any] = {"orders": rows, "users": {}}

    @reenact.tool
    def cancel(db: dict[str, Any], order: str) -> str:
        return order

    agents, whole, dumps = [], [], []
    with tempfile.TemporaryDirectory() as folder, reenact.record(store=folder):
        for n in range(size + 2):
            rows[f"#W{n * 7}"]["status"] = "cancelled"
            start = time.process_time_ns()
            json.dumps(database)
            dumps.append(time.process_time_ns() - start)
            start, thread = time.process_time_ns(), time.thread_time_ns()
            cancel(database, f"#W{n * 7}")
            agents.append(time.thread_time_ns() - thread)
            whole.append(time.process_time_ns() - start)  # the writer's work too: the intent of a write is waited for
    return {
        "agent_ms": median(agents[2:]) / 1e6,
        "all_ms": median(whole[2:]) / 1e6,
        "first_ms": whole[0] / 1e6,
        "dumps_ms": median(dumps) / 1e6,
    }
