"""The indices of a store, with the reason for each missing one."""

from __future__ import annotations

from typing import NamedTuple

from reenact.abc.store import Store
from reenact.store.sqlite_store import SqliteStore


class Indices(NamedTuple):
    """For each index of a store, the reason why it is missing; empty where it exists.

    Attributes:
        runs: For the index of the facts in a run's row: names, labels, status and time.
        words: For the index of the words in a run.
    """

    runs: str = ""
    words: str = ""


def indices(store: Store) -> Indices:
    """The indices that a store lacks, with the reasons."""
    if not isinstance(store, SqliteStore):
        return Indices(*["all runs are in memory"] * 2)
    narrow, words = store.indexed()
    return Indices(
        "" if narrow else "the row of each run is read, until `reenact gc` has made one",
        "" if words else "the words of each run are read, because this SQLite has no FTS5",
    )
