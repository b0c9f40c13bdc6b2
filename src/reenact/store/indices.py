"""The indices of a store, and why one is missing."""

from __future__ import annotations

from typing import NamedTuple

from reenact.abc.store import Store
from reenact.store.sqlite_store import SqliteStore


class Indices(NamedTuple):
    """Why a store has no index; empty where it has one.

    Attributes:
        runs: For the facts in the row of a run: names, labels, status and time.
        words: For the words in a run.
    """

    runs: str = ""
    words: str = ""


def indices(store: Store) -> Indices:
    """The present indices of a store."""
    if not isinstance(store, SqliteStore):
        return Indices(*["all runs are in memory"] * 2)
    narrow, words = store.indexed()
    return Indices(
        "" if narrow else "the row of each run is read, until `reenact gc` has made one",
        "" if words else "the words of each run are read, because this SQLite has no FTS5",
    )
