"""Proves that random concurrent programs recorded beside busy processes replay the same, and never green and wrong."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator

import pytest

import reenact

from .driver import record, replay
from .random_programs import make

PROGRAMS = 300
SAMPLE = 4
LIMIT_S = 3600.0
"""Whatever becomes of the test, its busy processes end."""


def _busy(limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        sum(range(10_000))


@pytest.fixture(params=[4, 10], ids=["four busy", "ten busy"])
def crowd(request: pytest.FixtureRequest, sweep: bool) -> Iterator[int]:
    """So many processes that do nothing but use the processor."""
    context = multiprocessing.get_context("spawn")
    limit_s = LIMIT_S if sweep else 60.0
    processes = [context.Process(target=_busy, args=(limit_s,), daemon=True) for _ in range(request.param)]
    for process in processes:
        process.start()
    yield request.param
    for process in processes:
        process.kill()
    for process in processes:
        process.join()


@pytest.mark.timeout(LIMIT_S)
def test_random_programs_on_a_busy_machine(crowd: int, sweep: bool) -> None:
    """A recording whose order is proven replays the same. One whose order is not may be different, which is rare, and
    what is the same has the same result."""
    different = []
    seeds = range(PROGRAMS) if sweep else range(crowd * PROGRAMS, crowd * PROGRAMS + SAMPLE)
    for seed in seeds:
        program = make(seed)
        recorded = record(program, seed=seed, policy=reenact.Policy())
        try:
            replayed = replay(recorded, program)
        except reenact.Divergence:
            assert recorded.run.totals.unproven, f"program {seed}: the order is proven, and it is not had again"
            different.append(seed)
            continue
        finally:
            recorded.store.close()
        result = replayed.replay
        assert replayed.performed == 0
        if result.verdict == "different":
            assert recorded.run.totals.unproven, (seed, result.report.last_line)
            different.append(seed)
        else:
            assert result.output == recorded.output, f"program {seed}: {result.verdict} and wrong"
    assert not sweep or len(different) * 100 <= PROGRAMS, f"{len(different)} of {PROGRAMS} differ: {different}"
