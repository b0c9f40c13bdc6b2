"""HTTP calls recorded and replayed by reenact, beside the same calls unrecorded."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean, median

import httpx

import reenact
from bench.cases.neighbours import first_chunks
from bench.clocks import Real
from bench.driver import replay_agent, run_agent, run_bare
from bench.traffic import WARM, busy, drive, url


def store_in(folder: str) -> str:
    """URL of a store in a folder."""
    return f"sqlite:///{folder}/runs.db"


def recorded(call: Callable[[object], object], size: int) -> Mapping[str, float]:
    """The same calls unrecorded, recorded and unrecorded again: what recording adds, and what is left to save."""
    with tempfile.TemporaryDirectory() as folder:
        drive(call, range(40))
        before = busy(call, range(size))
        recording = reenact.record(agent="bench", store=store_in(folder))
        recording.__enter__()
        drive(call, range(WARM))
        took, worked = busy(call, range(size))
        start = Real.now_ns()
        recording.__exit__(None, None, None)
        saved = (Real.now_ns() - start) / 1e6
        after = busy(call, range(size))
        live, work = ((median(one) + median(other)) / 2 for one, other in zip(before, after, strict=True))
        on_disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {
        "live_us": live,
        "added_us": median(took) - live,
        "added_work_us": median(worked) - work,
        "added_mean_us": mean(took) - (mean(before[0]) + mean(after[0])) / 2,
        "save_ms": saved,
        "bytes": on_disk / (size + WARM),
    }


def record_read(size: int) -> Mapping[str, float]:
    """A GET."""
    client = httpx.Client()
    return recorded(lambda asked: client.get(url("/orders?number=1")).content, size)


def record_model(size: int) -> Mapping[str, float]:
    """A model call, which is a read because it is stateless."""
    client = httpx.Client()
    return recorded(lambda asked: client.post(url(), json=asked).content, size)


def empty_run(size: int) -> Mapping[str, float]:
    """The end of a run in which nothing happened: what every end costs."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(5):
            recording = reenact.record(agent="bench", store=store_in(folder))
            recording.__enter__()
            start = Real.now_ns()
            recording.__exit__(None, None, None)
            took.append((Real.now_ns() - start) / 1e6)
    return {"save_ms": median(took)}


def durable_write(size: int) -> Mapping[str, float]:
    """A POST, which waits until its intent is durable."""
    client = httpx.Client()
    return recorded(lambda asked: client.post(url("/orders"), json=asked).content, size)


def fsync(size: int) -> Mapping[str, float]:
    """What the disk asks for making 300 bytes durable: the floor of a write's intent."""
    took = []
    with tempfile.TemporaryFile() as file:
        for _ in range(size):
            file.write(b"x" * 300)
            file.flush()
            start = time.perf_counter_ns()
            os.fsync(file.fileno())
            took.append((time.perf_counter_ns() - start) / 1e3)
    return {"us": median(took)}


def first_chunk(size: int) -> Mapping[str, float]:
    """How much later than unrecorded the first chunk of a stream arrives."""
    live: list[float] = []
    taped: list[float] = []
    with tempfile.TemporaryDirectory() as folder, httpx.Client() as client:
        for _ in range(4):
            live += first_chunks(client)
            with reenact.record(agent="bench", store=store_in(folder)):
                taped += first_chunks(client)
    return {"live_ms": median(live), "recorded_ms": median(taped), "later_ms": median(taped) - median(live)}


def frozen_http(size: int) -> Mapping[str, float]:
    """Microseconds a call under httpx when the run is replayed, everything included but the start of the process."""
    with tempfile.TemporaryDirectory() as folder:
        return {f"replay_{name}": took for name, took in run_agent("http_calls", size, folder).items()}


def resent(size: int) -> Mapping[str, float]:
    """How much more a request costs the agent's thread, recorded and replayed, at the end of so many that send their
    conversation again than at the beginning: beyond what it costs more unrecorded."""
    with tempfile.TemporaryDirectory() as folder:
        live = run_bare("resent_calls", size)
        taped = run_agent("resent_calls", size, folder, replay=False)
        again = run_bare("resent_calls", size)
        replayed = replay_agent(folder)
    grown = min(each["last_us"] - each["first_us"] for each in (live, again))
    return {
        "live_us": grown,
        "record_us": taped["last_us"] - taped["first_us"] - grown,
        "replay_us": replayed["last_us"] - replayed["first_us"],
        "replay_last_us": replayed["last_us"],
    }


def open_run(size: int) -> Mapping[str, float]:
    """Milliseconds to open a recorded run and read its first and its last event."""
    with tempfile.TemporaryDirectory() as folder:
        run_agent("tool_calls", size, folder, replay=False)
        store = reenact.open_store(store_in(folder))
        run = store.run("@")
        took = []
        for _ in range(20):
            start = time.perf_counter()
            recording = store.open(run)
            recording.event(0)
            recording.event(recording.count() - 1)
            took.append((time.perf_counter() - start) * 1e3)
        store.close()
    return {"ms": median(took), "events": float(run.totals.events)}
