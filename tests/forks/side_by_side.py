"""Two runs beside each other, as ``reenact diff`` lays them: what is said of runs that are the same, and of a fork."""

from __future__ import annotations

from collections.abc import Iterable

from reenact.abc.store import Recording
from reenact.timetravel.run_comparison import Comparison, Pair

_OWN = frozenset({"run", "tail", "relation", "duration"})
"""Figures that two runs have apart although they are the same."""


def differs_in_nothing(left: Recording, right: Recording) -> None:
    """Whichever is laid beside the other one: no difference, the same answer, the same figures."""
    for one, other in ((left, right), (right, left)):
        assert Comparison(one, other).first_difference is None, "looked for near where they part"
        found = Comparison(one, other)
        assert not found.differences, found.differences
        assert found.first_difference is None
        sides = ({k: v for k, v in found.summary[side].items() if k not in _OWN} for side in ("left", "right"))
        assert next(sides) == next(sides)
        assert found.same


def parts_behind(parent: Recording, fork: Recording, at: int) -> None:
    """A fork differs from its parent behind its branching event only, and its differences are told in order."""
    for near in (True, False):
        found = Comparison(parent, fork)
        listed = [] if near else list(found.differences)
        first = found.first_difference
        if first is not None:
            left, right = first.numbers
            parts = right if left is None else left
            assert parts is not None and parts >= at, f"the fork at {at} parts at {first}"
        told_in_order(listed)


def told_in_order(listed: Iterable[Pair]) -> None:
    """Calls of the left run stand in their order, and so do those that were added."""
    pairs = list(listed)
    lefts = [pair.numbers[0] for pair in pairs if pair.numbers[0] is not None]
    added = [pair.numbers[1] for pair in pairs if pair.numbers[0] is None and pair.numbers[1] is not None]
    assert lefts == sorted(lefts) and added == sorted(added), pairs
