"""A program that sends its conversation again, 2.8 KB longer each time, and says what the first and last ten cost."""

from __future__ import annotations

import gc
import json
import random
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import httpx

from bench.agents.figures import FIGURES
from bench.traffic import url
from reenact.seams.clock import REAL

TEN = 10


def main() -> None:
    """Send them, each timed by how long the thread works."""
    size = int(sys.argv[1])
    worked_ns = REAL.thread_time_ns or REAL.perf_counter_ns
    chance = random.Random(5)  # the same words in every run, whatever a recording makes of chance
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(3000)]
    messages: list[dict[str, str]] = []
    took = []
    with httpx.Client() as client:
        for _ in range(size):
            messages.append({"role": "assistant", "content": " ".join(chance.choices(words, k=80))})
            messages.append({"role": "user", "content": " ".join(chance.choices(words, k=340))})
            body = json.dumps({"model": "m", "messages": messages}).encode()
            gc.collect(0)
            start = worked_ns()
            _ = client.post(url(), content=body, headers={"content-type": "application/json"}).content
            took.append((worked_ns() - start) / 1e3)
    out = {"first_us": median(took[2 : 2 + TEN]), "last_us": median(took[-TEN:])}
    print(FIGURES + json.dumps(out), file=sys.stderr, flush=True)


main()
