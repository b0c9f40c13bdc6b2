"""Proves that the fakes of time and entropy keep the contracts of ``reenact.abc.sources``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.abc.sources import Clock, Entropy
from reenact.testing import FrozenClock, SeededEntropy


def test_a_frozen_clock_moves_only_when_told() -> None:
    clock: Clock = (frozen := FrozenClock(wall_us=1_000, mono_us=5))
    assert (clock.wall_us(), clock.mono_us()) == (clock.wall_us(), clock.mono_us()) == (1_000, 5)
    frozen.advance(7)
    assert (clock.wall_us(), clock.mono_us()) == (1_007, 12)
    with pytest.raises(ValueError, match="cannot advance"):
        frozen.advance(-1)


@given(st.lists(st.integers(0, 200), max_size=8), st.integers())
def test_seeded_entropy_does_not_depend_on_how_it_is_cut(counts: list[int], seed: int) -> None:
    entropy: Entropy = SeededEntropy(seed)
    parts = [entropy.bytes(count) for count in counts]
    assert [len(part) for part in parts] == counts
    assert b"".join(parts) == SeededEntropy(seed).bytes(sum(counts))
    assert SeededEntropy(seed).bytes(16) != SeededEntropy(seed + 1).bytes(16)
