"""Sums for a metric with few labels: the most frequent names have their own sums, all others have one together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from reenact.facts.features import MOST_NAMED, OTHER

_KEPT: Final = 100
"""How many times more names are counted than are named. Beyond that the rarest are forgotten, and start from zero."""


class Key(NamedTuple):
    """The key of a count.

    Attributes:
        agent: Name of the agent; ``other`` for a name that is not among the most frequent.
        fingerprint: The fingerprint of the group; ``other`` likewise.
    """

    agent: str
    fingerprint: str


class FingerprintTally:
    """Sums by agent and fingerprint. Only the most frequent fingerprints have sums of their own.

    A run is counted once, by the name that its group has at that time. A group that becomes one of the most frequent is
    counted by its name from then on. The sum of a group that drops out is added to the rest. So no sum ever shrinks.

    Args:
        most: The most fingerprints, and the most agents, that are named.
    """

    def __init__(self, most: int = MOST_NAMED) -> None:
        self._groups = _FrequentNames(most)
        self._agents = _FrequentNames(most)
        self.sums: Counter[Key] = Counter()

    def add(self, found: Iterable[Key]) -> None:
        """Count runs. It takes some 25 µs for each."""
        new = list(found)
        gone = self._groups.add(each.fingerprint for each in new)
        left = self._agents.add(each.agent for each in new)
        if gone or left:
            for key in [key for key in self.sums if key.fingerprint in gone or key.agent in left]:
                self.sums[self.place(key)] += self.sums.pop(key)
        self.sums.update(map(self.place, new))

    def place(self, key: Key) -> Key:
        """The names under which a run is counted now."""
        return Key(
            key.agent if key.agent in self._agents.named else OTHER,
            key.fingerprint if key.fingerprint in self._groups.named else OTHER,
        )


class _FrequentNames:
    """How often each name came, and the most frequent names."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[str] = Counter()
        self.named: dict[str, None] = {}

    def add(self, names: Iterable[str]) -> frozenset[str]:
        """Count names, and name the most frequent ones; among equally frequent ones, those that are named already win.
        Returns the names that are not among them any more."""
        new = Counter(names)
        self._counts.update(new)
        counts, before = self._counts, frozenset(self.named)
        rising = max((counts[each] for each in new if each not in before), default=0)
        if not rising or (len(before) >= self._most and rising <= min(counts[each] for each in before)):
            self._forget()
            return frozenset()
        ranked = sorted(counts, key=lambda each: (-counts[each], each not in before, each))[: self._most]
        self.named = dict.fromkeys(ranked)
        self._forget()
        return before - frozenset(ranked)

    def _forget(self) -> None:
        """Forget the rarest names, because a process may meet new names for years."""
        if len(self._counts) > _KEPT * self._most:
            kept = self._counts.most_common(_KEPT * self._most // 2)
            self._counts = Counter(dict(kept) | {each: self._counts[each] for each in self.named})
