"""How a measured program times itself and leaves what it found, untouched by any seam."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

from reenact.seams.clock import REAL

FIGURES = "figures: "
"""How the line on standard error begins: what is written to a file in a replay goes to scratch."""
LARGEST_CHUNK = 256
"""Calls timed together: enough to hold whatever is fetched or made for many calls at a time."""


def measure(call: Callable[[Any], object], size: int, prepare: Callable[[int], Any] = int) -> None:
    """Call ``size`` times, and leave microseconds a call: over all, over the first tenth, over the last tenth.

    ``prepare`` makes what a call is called with of its number; that is not timed.

    What counts is how long the thread works: a replay waits for nothing, and others on the machine are not its cost.
    The clock is a real one; the program's own stands still in a replay. Chunks of calls are timed, because a call alone
    would look better than it is: what is read ahead for a hundred calls would vanish in the median.
    """
    worked_ns = REAL.thread_time_ns or REAL.perf_counter_ns
    gc.collect()  # what the start left behind would be gone through in the midst of some call or other
    took = []
    chunk = max(10, min(LARGEST_CHUNK, size // 4))
    for first in range(0, size - size % chunk, chunk):
        last = first + chunk
        prepared = [prepare(number) for number in range(first, last)]
        start = worked_ns()
        for each in prepared:
            call(each)
        took.append((worked_ns() - start) / 1e3 / (last - first))
    part = max(1, len(took) // 10)
    out = {"us": median(took), "first_us": median(took[:part]), "last_us": median(took[-part:])}
    print(FIGURES + json.dumps(out), file=sys.stderr, flush=True)
