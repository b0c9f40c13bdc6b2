"""The same calls for everybody: bodies of about 3 KB to the local endpoint, and the timing of a loop over them."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Any

from bench.clocks import Real

WARM = 10
"""Calls made before any is timed, by everybody: connections, caches and first times are not what is compared."""

SYSTEM = "You answer questions about orders. Look an order up before you speak about it, and never guess. " * 12
QUESTION = "Where is my parcel, and when will it be here? I ordered it a week ago and have heard nothing since. " * 15


def url(path: str = "/v1/chat/completions") -> str:
    """Address of the endpoint that the benchmark started."""
    return os.environ["REENACT_BENCH_URL"] + path


def body(number: int) -> dict[str, Any]:
    """The request of one call; no two are the same."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"({number}) {QUESTION}"}]
    return {"model": "m", "temperature": 0, "messages": messages}


def drive(call: Callable[[dict[str, Any]], object], numbers: Iterable[int]) -> list[float]:
    """Make the calls one after the other; microseconds of each."""
    gc.collect()  # as ``agents.figures`` does
    took = []
    for number in numbers:
        asked = body(number)
        start = Real.now_ns()
        call(asked)
        took.append((Real.now_ns() - start) / 1e3)
    return took


def busy(call: Callable[[dict[str, Any]], object], numbers: Iterable[int]) -> tuple[list[float], list[float]]:
    """``drive``, and beside the time that passed what the calling thread itself worked; microseconds of each."""
    gc.collect()
    took, worked = [], []
    for number in numbers:
        asked = body(number)
        start, began = Real.now_ns(), Real.thread_ns()
        call(asked)
        ended, stop = Real.thread_ns(), Real.now_ns()
        took.append((stop - start) / 1e3)
        worked.append((ended - began) / 1e3)
    return took, worked


def describe(prefix: str, took: list[float]) -> Mapping[str, float]:
    """Median of all, of the first tenth and of the last tenth: a cost that grows shows in the last two."""
    part = max(3, len(took) // 10)
    return {
        f"{prefix}_us": median(took),
        f"{prefix}_first_us": median(took[:part]),
        f"{prefix}_last_us": median(took[-part:]),
    }
