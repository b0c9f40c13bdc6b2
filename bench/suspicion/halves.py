"""The two halves of each set of Who&When: one to build on, one to test on once.

Written down before any trajectory but the first of each set had been read. Those two are in the half to build on; the
others are ordered by a digest of their name, and the first of them fill that half up.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

SEED = "where it went wrong, 1"
"""Goes into each digest: another seed is another split."""


def halves(group: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The names of a set's files to build on, and those to test on; the larger half is built on.

    Args:
        group: Name of the set, as its folder has it.
        names: Names of its files.
    """
    rising = sorted(names)
    first, rest = rising[:1], rising[1:]
    rest.sort(key=lambda name: sha256(f"{SEED}/{group}/{name}".encode()).digest())
    half = (len(rising) + 1) // 2
    return sorted(first + rest[: half - 1]), sorted(rest[half - 1 :])
