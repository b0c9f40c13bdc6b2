"""The file of a store: its two connections, its facts about itself (formats and key), and the lock files of living
recorders beside it."""

from __future__ import annotations

from _thread import allocate_lock
from pathlib import Path
from typing import TYPE_CHECKING

from reenact.errors import RunNotFound, StoreError
from reenact.facts.late import late
from reenact.store.connection import ReadConnection, WriteConnection, closed
from reenact.store.keyed_hash import KeyedHash
from reenact.store.run_query import make_narrow
from reenact.store.versions import Format, check_readable

if TYPE_CHECKING:
    from reenact.abc.sources import Entropy
    from reenact.store.store_creation import make_file
    from reenact.store.versions import check_writable
else:
    make_file = late("reenact.store.store_creation", "make_file")
    check_writable = late("reenact.store.versions", "check_writable")


class StoreFile:
    """The file of a store, and two connections to it, for reads and for writes, each opened on first use.

    Args:
        path: The file.
        url: The displayed name of the store.
        own_directory: Whether the file's directory is the store's own.
        entropy: The source of the secret of a new store.
    """

    def __init__(self, path: Path, url: str, own_directory: bool, entropy: Entropy) -> None:
        self.path = path
        self.url = url
        self._own_directory = own_directory
        self._entropy = entropy
        self._lock = allocate_lock()
        self._reading: ReadConnection | None = None
        self._writing: WriteConnection | None = None
        self._hasher: KeyedHash | None = None
        self._format = Format(0, 0)
        self.indexed = False
        """Whether the store has an index of words that this SQLite can read."""
        self._shares = False
        self._closed = False

    def read(self) -> tuple[ReadConnection, KeyedHash]:
        """The reading connection, opened on first use, and the store's hash.

        Raises:
            StoreError: There is no store, or the store is damaged or closed.
            FormatTooNew: The store is of a newer version.
        """
        reading = self._reading
        if reading is not None:
            return reading, self.hasher()
        with self._lock:
            self._check_open()
            if self._reading is None:
                if not self.path.exists():
                    raise no_store(self.url)
                reading = ReadConnection(self.path)
                try:
                    self._look(reading)
                except BaseException:
                    reading.close()
                    raise
                self._reading = reading
            return self._reading, self.hasher()

    def write(self) -> tuple[WriteConnection, KeyedHash]:
        """The writing connection, opened on first use, and the store's hash. A missing file is made.

        Raises:
            StoreError: The store cannot be written, or is of another version.
        """
        if self._writing is None:
            with self._lock:
                self._check_open()
            if not self.path.exists():
                make_file(self.path, self._entropy, own_directory=self._own_directory)
            reading, _ = self.read()
            check_writable(self._format, self.path.name)
            with self._lock:
                if self._writing is None:
                    writing = WriteConnection(self.path)
                    make_narrow(writing, reading.rows)
                    self._writing = writing
        return self._writing, self.hasher()

    def _look(self, reading: ReadConnection) -> None:
        """Read the facts of a store about itself."""
        names = {name for (name,) in reading.rows("SELECT name FROM sqlite_master")}
        if "meta" not in names:
            raise StoreError(
                f"{self.path.name} is not a store of reenact",
                cause="another program made the file",
                next_command="reenact config",
            )
        meta = dict(reading.rows("SELECT name, value FROM meta"))
        try:
            self._format = Format(int(meta["written"]), int(meta["oldest_reader"]))
            check_readable(self._format, self.path.name)
            self._hasher = KeyedHash(meta["key"])
        except (KeyError, TypeError, ValueError):
            raise StoreError(
                f"{self.path.name} does not say what it is",
                cause="it is damaged, or another program made the file",
                next_command="reenact config",
            ) from None
        self.indexed = False
        if "words_index" in names:
            try:
                reading.rows("SELECT rowid FROM words_index LIMIT 1")
                self.indexed = True
            except StoreError:
                # This SQLite was built without FTS5: the plain scan is used.
                pass

    def _check_open(self) -> None:
        if self._closed:
            raise closed()

    def hasher(self) -> KeyedHash:
        """The store's keyed hash. The store's facts must have been read before."""
        assert self._hasher is not None
        return self._hasher

    def has_shared(self, reading: ReadConnection) -> bool:
        """Whether any fork of this store has ever shared rows with its parent."""
        if not self._shares:
            self._shares = bool(reading.rows("SELECT 1 FROM sqlite_master WHERE name = 'piece'"))
        return self._shares

    def sign(self, run_id: str) -> Path:
        """The file that is locked while a run is recorded."""
        directory = "live" if self._own_directory else f"{self.path.name}-live"
        return self.path.parent / directory / f"{run_id}.lock"

    def close(self) -> None:
        """Close the connections. A second call does nothing."""
        with self._lock:
            self._closed = True
            reading, self._reading = self._reading, None
            writing, self._writing = self._writing, None
        if reading is not None:
            reading.close()
        if writing is not None:
            writing.close()


def no_store(url: str) -> RunNotFound:
    """The error for reading a store that does not exist; its ``reason`` is ``absent``."""
    return RunNotFound(
        f"no store here ({url})",
        cause="nothing has been recorded in this directory or above it",
        next_command="reenact record -- python agent.py",
        url=url,
        reason="absent",
    )
