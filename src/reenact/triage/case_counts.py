"""The number of runs of each agent that failed alike or cannot be replayed, as sums that grow during a process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from reenact.abc.store import Store
from reenact.errors import RunNotFound
from reenact.facts.features import MOST_NAMED, OTHER, Case, names_suspicions
from reenact.facts.frequent_names import FingerprintTally, Key
from reenact.store.feature_rows import FeatureRow
from reenact.triage.featured_runs import EndedRun, ended, seen_of


class Cases:
    """The runs of a store that were looked into, counted.

    Args:
        store: The store. Missing features are not made; a triage makes them.
        most: The most fingerprints, and the most agents, that are named.

    Attributes:
        kept: The number of ended runs of each agent in the store now.
        unread: The number of runs among them without features so far.
    """

    def __init__(self, store: Store, most: int = MOST_NAMED) -> None:
        self._store = store
        self._most = most
        self._counted: frozenset[str] = frozenset()
        self._counted_cold: frozenset[str] = frozenset()
        self._failed = FingerprintTally(most)
        self._cold = FingerprintTally(most)
        self.kept: Mapping[str, int] = {}
        self.unread = 0

    @property
    def failed(self) -> Mapping[Key, int]:
        """Runs that failed or were flagged."""
        return self._failed.sums

    @property
    def cold(self) -> Mapping[Key, int]:
        """Runs that cannot be replayed, failed ones among them."""
        return self._cold.sums

    def look(self) -> None:
        """Count the runs since the last look. A pass over all runs: some 2 s for 100,000."""
        kept: Counter[str] = Counter()
        unread = 0
        cases: dict[str, EndedRun] = {}
        for row in _ended(self._store):
            kept[row.agent] += 1
            run = None if row.features is None else seen_of(row)
            if run is None or _unnamed(run):
                unread += 1
            elif run.case is not None:
                cases[run.id] = run
        failed = {name: run for name, run in cases.items() if run.case is not Case.COLD}
        cold = {name: run for name, run in cases.items() if run.cold}
        self._failed.add(_key(run) for name, run in failed.items() if name not in self._counted)
        self._cold.add(_key(run) for name, run in cold.items() if name not in self._counted_cold)
        self._counted, self._counted_cold = frozenset(failed), frozenset(cold)
        self.unread = unread
        self.kept = _bounded(kept, self._most)


def _key(run: EndedRun) -> Key:
    return Key(run.agent, run.fingerprint)


def _unnamed(run: EndedRun) -> bool:
    """Whether the group of a run depends on suspicious events that are not searched yet."""
    return run.case is not None and run.features.suspicions is None and names_suspicions(run.case, run.features)


def _ended(store: Store) -> list[FeatureRow]:
    """Runs that have ended; none if there is no recording yet."""
    try:
        return ended(store)
    except RunNotFound:
        return []


def _bounded(counts: Counter[str], most: int) -> Mapping[str, int]:
    named = dict(counts.most_common(most))
    rest = sum(counts.values()) - sum(named.values())
    return named | ({OTHER: named.get(OTHER, 0) + rest} if rest else {})
