"""Every back end a store can have, each behind the same two doings: open it, open it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.abc.store import Store
from reenact.store.memory_store import MemoryStore
from reenact.store.sqlite_store import SqliteStore


class Backend:
    """One place where runs are kept."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.path = folder / "kept" / "store.db"
        self._memory = MemoryStore()
        self._opened: list[Store] = []

    def open(self) -> Store:
        """The store, opened anew."""
        store: Store = self._memory if self.kind == "memory" else SqliteStore(self.path, own_directory=True)
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close whatever was opened."""
        for store in self._opened:
            store.close()


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """Each back end in turn."""
    found = Backend(request.param, tmp_path)
    yield found
    found.close()


@pytest.fixture
def store(backend: Backend) -> Store:
    """An empty store of each back end."""
    return backend.open()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty SQLite store."""
    found = SqliteStore(tmp_path / "kept" / "store.db", own_directory=True)
    yield found
    found.close()
