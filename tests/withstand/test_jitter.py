"""Proves that replays of one concurrent run hand out the same in the same order, whatever the scheduler does."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.programs import read_program
from tests.withstand.stage import Recorded, record, replay

SOURCE = read_program("withstand/tasks_and_threads_of_one_shop.py")


def _again(recorded: Recorded, chance: random.Random) -> str:
    """One replay under some jitter; its digest chain."""
    ended = replay(
        recorded,
        PYTHONHASHSEED=str(chance.randint(1, 1 << 31)),
        JITTER=chance.choice(["0.000001", "0.00005", "0.005", "0.2"]),
    )
    assert ended.report["verdict"] in ("exact", "same"), ended.report["differences"]
    assert ended.report["live_calls"] == 0
    return str(ended.report["digest_chain"])


@pytest.mark.timeout(1800)
def test_many_replays_under_jitter_give_one_digest_chain(tmp_path: Path, sweep: bool, chance: random.Random) -> None:
    recorded = record("jitter", tmp_path, source=SOURCE)
    assert recorded.ended.status == 0, recorded.ended.err
    chances = [random.Random(chance.getrandbits(32)) for _ in range(100 if sweep else 6)]
    with ThreadPoolExecutor(3) as pool:  # at once: they are each other's jitter
        chains = Counter(pool.map(lambda each: _again(recorded, each), chances))
    assert len(chains) == 1, chains
    assert next(iter(chains))
