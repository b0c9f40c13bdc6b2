"""Connections to a SQLite file: one for writing behind a lock, one for reading that any thread may use.

Each error of SQLite is raised as one of reenact's own errors. A forked child never uses, and never closes, a connection
of its parent.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from _thread import allocate_lock
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from os import getpid  # imported by name, so that each read calls the real function, in a replay too
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from reenact.errors import StoreBusy, StoreError
from reenact.facts.late import late
from reenact.store.folding import first_of, whole

if TYPE_CHECKING:
    from reenact.store.full_text import plain
else:
    plain = late("reenact.store.full_text", "plain")

BUSY_MS = 10_000
"""The longest wait, in milliseconds, for another process that writes."""

PAGE = 128
"""The most rows that are fetched at a time. The first page of a query is smaller, because many callers need only one
row."""

FEW = 8
"""The most rows that are fetched at a time where rows are large."""

RESETS_SAFELY = (3, 51, 3)
"""The first SQLite in which a checkpoint during a commit cannot lose the commit (its "WAL-reset bug",
sqlite.org/wal.html)."""

_CACHE = "PRAGMA cache_size = -4096"
"""The part of the file that a connection may cache in memory, in KiB."""
_STATEMENTS = 256
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR) if hasattr(sqlite3, "SQLITE_FULL") else (13, 10)
_READ_ONLY = getattr(sqlite3, "SQLITE_READONLY", 8)

_opened: weakref.WeakSet[ReadConnection | WriteConnection] = weakref.WeakSet()

_inherited: list[sqlite3.Connection | None] = []
"""Connections of a parent process. They are kept open, because SQLite does not permit a child to close them."""


_lost: list[sqlite3.Connection | None] = []
"""Connections whose descriptors the program has closed. They are never closed, because the numbers of the descriptors
may belong to other files now."""


_lost_files: set[Path] = set()


def lose(path: Path) -> None:
    """Note that the program has closed the descriptors of a file. From now on no connection to this file is used,
    closed or opened, because SQLite shares the state of a file among all connections of a process."""
    _lost_files.add(path)
    for each in list(_opened):
        if each.path == path:
            each.lose()


def _keep_for_good(connection: sqlite3.Connection | None) -> None:
    """Keep the interpreter from closing a connection, even at its own end."""
    _lost.append(connection)
    with suppress(Exception):
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def lost() -> StoreError:
    """The error for every use of a connection whose files are lost."""
    return StoreError(
        "the recording has lost its files: their descriptors are closed",
        cause="the program closed all descriptors (os.closerange, a daemon's start), those of the recorder too",
        next_command="reenact ls",
    )


def explain(error: sqlite3.Error | UnicodeDecodeError, place: str) -> StoreError:
    """The error of reenact for an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    text = str(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or "locked" in text:
        return StoreBusy(
            f"{place} is held by another process",
            cause="a long write, or a checkpoint, of another recorder",
            next_command="reenact ls",
        )
    if code in _FULL:
        return StoreError(
            f"{place} cannot be written: {text}", cause="the disk is full, or fails", next_command="df -h"
        )
    if isinstance(error, sqlite3.OperationalError) and "unable to open" in text:
        return StoreError(
            f"{place} cannot be opened",
            cause="the file is gone, or it, or its directory, may not be read and written",
            next_command="reenact config",
        )
    if code == _READ_ONLY:
        return StoreError(
            f"{place} cannot be written: {text}",
            cause="this user may only read it, or its directory",
            next_command="reenact config",
        )
    return StoreError(f"{place} is damaged: {text}", cause="the file was changed or cut", next_command="reenact fsck")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection that has not touched the file yet: if the file cannot be used, the first statement fails."""
    if path in _lost_files:
        raise lost()
    return sqlite3.connect(
        f"file:{quote(str(path))}?{mode}",
        uri=True,
        timeout=BUSY_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_STATEMENTS,
    )


def connect_writing(path: Path) -> sqlite3.Connection:
    """A connection that writes. It never checkpoints by itself: see ``WriteConnection.checkpoint``.

    Raises:
        StoreError: The file cannot be opened.
    """
    try:
        connection = _connect(path, "mode=rw")
        connection.execute(_CACHE)
        connection.create_function("whole", 2, whole, deterministic=True)
        connection.create_function("first_of", 2, first_of, deterministic=True)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA fullfsync = 1")
        connection.execute("PRAGMA secure_delete = 1")  # its default depends on how SQLite was built
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # The write-ahead log is truncated when it is restarted, so that its length is the amount of data in it.
        connection.execute("PRAGMA journal_size_limit = 0")
    except sqlite3.Error as error:
        raise explain(error, path.name) from error
    return connection


def connect_reading(path: Path) -> sqlite3.Connection:
    """A connection that only reads, also where the directory cannot be written.

    Raises:
        StoreError: The file cannot be opened.
    """
    try:
        connection = _connect(path, "mode=ro")
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except sqlite3.OperationalError:
            log = path.with_name(path.name + "-wal")
            if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
                raise
            # The folder cannot be written, and no file lies beside the store: SQLite's own files are not needed.
            connection.close()
            connection = _connect(path, "immutable=1")
        connection.execute(_CACHE)
        connection.execute("PRAGMA query_only = 1")
        connection.create_function("plain", 1, plain, deterministic=True)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise explain(error, path.name) from error
    return connection


class ReadConnection:
    """Runs reading queries, from any thread; each query is finished before the next one begins.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = allocate_lock()
        self._connection: sqlite3.Connection | None = connect_reading(path)
        self._lost = False
        self._pid = getpid()
        _opened.add(self)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of one query. A query costs about 3 µs more than SQLite's own work.

        Raises:
            StoreError: The store is damaged, busy or closed.
        """
        if self._pid != getpid():
            self._forked()
        with self._lock:
            connection = self._connection
            if connection is None:
                raise lost() if self._lost else closed()
            try:
                return connection.execute(sql, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise explain(error, self.path.name) from error

    def row(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The first row of one query, or None."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def trace(self, callback: Any) -> None:
        """Tell ``callback`` about every statement (None: stop), for tests that count them."""
        assert self._connection is not None
        self._connection.set_trace_callback(callback)

    def close(self) -> None:
        """Release the file. A second call does nothing."""
        if self._pid != getpid():
            self._forked()
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def lose(self) -> None:
        """Stop the use of a connection whose descriptors the program has closed; they are not touched."""
        with self._lock:
            connection, self._connection, self._lost = self._connection, None, True
        if connection is not None:
            _keep_for_good(connection)

    def _forked(self) -> None:
        """Replace lock and connection in a forked child: at the fork, a thread that the child does not have may have
        held the lock."""
        self._lock = allocate_lock()
        self._pid = getpid()
        if self._connection is not None:
            self._connection = connect_reading(self.path)


class WriteConnection:
    """The one writing connection of a store in this process, shared by its logs behind a lock.

    The lock lets the writers of this process take turns fairly. SQLite's own waiting serves only against other
    processes.

    Args:
        path: The file.
    """

    CHECKPOINT_BYTES = 4 << 20
    """The growth of the write-ahead log, in bytes, after which a checkpoint is worth its cost."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = allocate_lock()
        self._connection: sqlite3.Connection | None = connect_writing(path)
        self._lost = False
        self._pid = getpid()
        self._wal = path.with_name(path.name + "-wal")
        self._brought_in = 0
        _opened.add(self)

    @contextmanager
    def transaction(self, *, durable: bool = False, waits: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction that begins as ``IMMEDIATE``. Once the block is left, the written data survives the end of the
        process.

        Args:
            durable: Whether the data survives a power loss, too.
            waits: Whether to wait for another process that writes, up to ``BUSY_MS``; else the transaction fails at
                once.

        Raises:
            StoreError: Nothing was kept.
        """
        self._check_process()
        with self._lock:
            connection = self._mine()
            try:
                if durable:
                    connection.execute("PRAGMA synchronous = FULL")
                if not waits:
                    connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise explain(error, self.path.name) from error
            finally:
                if durable:  # under the lock: it cannot be set inside a transaction of another writer
                    connection.execute("PRAGMA synchronous = NORMAL")
                if not waits:
                    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")

    def checkpoint(self, *, least_growth: int = 0) -> None:
        """Bring the write-ahead log into the file, without waiting for readers or other writers. Where SQLite is older
        than ``RESETS_SAFELY``, other processes cannot write until the checkpoint is done.

        Only writer threads call this method, between transactions.

        Args:
            least_growth: Do nothing if the log grew by fewer bytes since the last checkpoint.
        """
        try:
            size = self._wal.stat().st_size
        except OSError:
            return
        if size < self._brought_in:
            self._brought_in = 0
        if least_growth and size - self._brought_in < least_growth:
            return
        if self._pid != getpid():
            return
        # A checkpoint is only housekeeping: if it fails, the next connection makes one.
        with self._lock, suppress(sqlite3.Error, StoreError):
            if sqlite3.sqlite_version_info >= RESETS_SAFELY:
                self._bring_in()
            else:
                with self._alone():
                    self._bring_in()
            self._brought_in = size

    def pragma(self, name: str) -> int:
        """The value of a pragma that gives a number about the file, such as ``freelist_count``."""
        self._check_process()
        with self._lock:
            try:
                return int(self._mine().execute(f"PRAGMA {name}").fetchone()[0])
            except sqlite3.Error as error:
                raise explain(error, self.path.name) from error

    def rewrite(self) -> None:
        """Write the file again without its free pages, so that ``give_back`` works from now on. Other writers wait."""
        self._check_process()
        with self._lock:
            try:
                self._mine().executescript("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
            except sqlite3.Error as error:
                raise explain(error, self.path.name) from error

    def _bring_in(self) -> None:
        self._mine().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing for the length of a block. A second connection holds the lock, because a
        checkpoint cannot be made inside a transaction.

        Raises:
            sqlite3.Error: Another process writes.
        """
        with closing(_connect(self.path, "mode=rw")) as beside:
            beside.execute("PRAGMA busy_timeout = 0")
            beside.execute("BEGIN IMMEDIATE")
            yield
            beside.execute("ROLLBACK")

    def give_back(self, pages: int = 0) -> None:
        """Cut free pages off the file, at most ``pages`` of them (0: all), if the file was made to allow this. Call it
        between transactions only. If the file is in use, the pages are left for the next call."""
        self._check_process()
        with self._lock, suppress(sqlite3.Error):
            self._mine().executescript(f"PRAGMA incremental_vacuum({int(pages)})")  # execute() would free only one page

    def close(self) -> None:
        """Release the file. SQLite brings the write-ahead log into the file when its last connection is closed. A
        second call does nothing."""
        if self._pid != getpid():
            return
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def lose(self) -> None:
        """Stop the use of a connection whose descriptors the program has closed; they are not touched."""
        with self._lock:
            connection, self._connection, self._lost = self._connection, None, True
        if connection is not None:
            _keep_for_good(connection)

    def _mine(self) -> sqlite3.Connection:
        if self._connection is None:
            raise lost() if self._lost else closed()
        return self._connection

    def _check_process(self) -> None:
        if self._pid != getpid():
            raise StoreError(
                "this store was opened by the parent process",
                cause="a forked child writes a recording of its own",
                next_command="python -m pydoc reenact.open_store",
            )


def closed() -> StoreError:
    """The error for a store that is used after its end."""
    return StoreError(
        "the store is closed",
        cause="it was used after its with block, or after close()",
        next_command="python -m pydoc reenact.open_store",
    )


def _in_forked_child() -> None:
    _inherited.extend(each._connection for each in list(_opened))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_forked_child)
