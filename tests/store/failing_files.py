"""SQLite over files that fail, or lose what was not synchronised: the store's own statements through apsw.

apsw is another binding of SQLite, in which a file system can be written in Python. ``Connection`` gives it the face of
the standard library's, as far as the store uses that.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw

from reenact.store import connection as ours

_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Act:
    """Something that was done to a file.

    Attributes:
        what: ``write``, ``truncate``, ``sync``, ``open`` or ``delete``.
        file: Its name.
        at: Where, or to which length.
        data: What was written.
    """

    what: str
    file: str
    at: int = 0
    data: bytes = b""


@dataclass
class Disk:
    """What the files have gone through, and what goes wrong with them.

    Attributes:
        acts: All that was done, in order.
        fails: What goes wrong, and at which such act (from 1); 0: nothing.
        for_good: Whether all acts of that kind fail from then on, as they do on a full disk.
        error: What it fails with.
        fired: Whether it has.
        before: What the files held when this began, by name.
    """

    acts: list[Act] = field(default_factory=list)
    fails: tuple[str, int] = ("", 0)
    for_good: bool = False
    error: type[apsw.Error] = apsw.IOError
    fired: bool = False
    before: dict[str, bytes] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def meets(self, act: Act) -> None:
        """Fail, or keep it."""
        what, number = self.fails
        count = self._counts[act.what] = self._counts.get(act.what, 0) + 1
        if act.what == what and number and (count == number or (self.for_good and count > number)):
            self.fired = True
            raise self.error(f"{act.what} {count} fails")
        if act.what != "read":
            self.acts.append(act)

    def mended(self) -> None:
        """From now on nothing fails."""
        self.fails = ("", 0)

    def after_power_loss(self, folder: Path, acts: int, chance: random.Random) -> None:
        """Write the files as a power loss may leave them: all that was synchronised, and of the rest any sectors.

        Args:
            folder: Where.
            acts: How many acts there had been.
            chance: Decides what else has reached the disk.
        """
        share = chance.choice((0.0, 0.1, 0.5, 0.9))
        files: dict[str, tuple[bytes, list[Act]]] = {name: (data, []) for name, data in self.before.items()}
        for act in self.acts[:acts]:
            kept, pending = files.get(act.file, (b"", []))
            if act.what == "delete":
                files.pop(act.file, None)
            elif act.what == "sync":
                files[act.file] = (_written(kept, pending), [])
            elif act.what in ("write", "truncate"):
                files[act.file] = (kept, [*pending, act])
            else:
                files[act.file] = (kept, pending)
        for name, (kept, pending) in files.items():
            left = [part for act in pending for part in _sectors(act) if chance.random() < share]
            (folder / name).write_bytes(_written(kept, left))


def _written(kept: bytes, acts: Iterable[Act]) -> bytes:
    found = bytearray(kept)
    for act in acts:
        if act.what == "truncate":
            del found[act.at :]
            continue
        if len(found) < act.at:
            found += bytes(act.at - len(found))
        found[act.at : act.at + len(act.data)] = act.data
    return bytes(found)


def _sectors(act: Act) -> Iterator[Act]:
    """A write by what a disk writes at once."""
    if act.what != "write":
        yield act
        return
    at = 0
    while at < len(act.data):
        size = _SECTOR - (act.at + at) % _SECTOR
        yield Act("write", act.file, act.at + at, act.data[at : at + size])
        at += size


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._disk = disk
        self._name = os.path.basename(path or "")
        disk.meets(Act("open", self._name))
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:
        self._disk.meets(Act("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._disk.meets(Act("truncate", self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._disk.meets(Act("sync", self._name))
        super().xSync(flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._disk.meets(Act("read", self._name))
        return super().xRead(amount, offset)


class _Files(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        self._disk = disk
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        return _File(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._disk.meets(Act("delete", os.path.basename(filename)))
        super().xDelete(filename, syncdir)


class _Cursor:
    """Rows of a statement that has begun."""

    def __init__(self, connection: apsw.Connection, rows: apsw.Cursor) -> None:
        self._rows = rows
        self.lastrowid = connection.last_insert_rowid()
        self.rowcount = connection.changes()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def fetchone(self) -> tuple[Any, ...] | None:
        with _as_theirs():
            return self._rows.fetchone()

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        while len(found) < size and (row := self.fetchone()) is not None:
            found.append(row)
        return found

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self)


class Connection:
    """A connection of apsw with the face of ``sqlite3.Connection``."""

    text_factory: Any = str

    def __init__(self, uri: str, files: str, wait_ms: int) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        with _as_theirs():
            self._own = apsw.Connection(uri, flags=flags, vfs=files)
            self._own.set_busy_timeout(wait_ms)

    @property
    def in_transaction(self) -> bool:
        return self._own.in_transaction

    @property
    def total_changes(self) -> int:
        return self._own.total_changes()

    def execute(self, sql: str, values: Any = ()) -> _Cursor:
        with _as_theirs():
            return _Cursor(self._own, self._own.cursor().execute(sql, values))

    def executemany(self, sql: str, rows: Iterable[Any]) -> _Cursor:
        with _as_theirs():
            return _Cursor(self._own, self._own.cursor().executemany(sql, rows))

    def executescript(self, sql: str) -> None:
        with _as_theirs():
            self._own.cursor().execute(sql).fetchall()

    def create_function(self, name: str, size: int, function: Callable[..., Any], *, deterministic: bool) -> None:
        self._own.create_scalar_function(name, function, size, deterministic=deterministic)

    def set_trace_callback(self, callback: Any) -> None:
        """The store names what it looks at; nothing here asks for that."""

    def close(self) -> None:
        with suppress(apsw.Error):  # SQLite itself does not say what fails in the checkpoint of a close
            self._own.close(True)

    def __del__(self) -> None:
        if hasattr(self, "_own"):
            self.close()


@contextmanager
def _as_theirs() -> Iterator[None]:
    """What apsw raises, as the standard library does."""
    try:
        yield
    except apsw.Error as error:
        kind = {
            apsw.ConstraintError: sqlite3.IntegrityError,
            apsw.CorruptError: sqlite3.DatabaseError,
            apsw.NotADBError: sqlite3.DatabaseError,
        }.get(type(error), sqlite3.OperationalError)
        theirs = kind(str(error))
        codes = {apsw.IOError: 10, apsw.FullError: 13, apsw.CantOpenError: 14, apsw.BusyError: 5}
        theirs.sqlite_errorcode = getattr(error, "extendedresult", 0) or codes.get(type(error), 1)
        raise theirs from error


@contextmanager
def over(disk: Disk) -> Iterator[None]:
    """All connections of stores go through a disk's files, inside the block."""
    name = f"reenact-{id(disk)}"
    files = _Files(name, disk)

    def connect(path: Path, mode: str) -> Any:
        return Connection(f"file:{path}?{mode}", name, ours.BUSY_MS)

    with patch.object(ours, "_connect", connect):
        yield
    files.unregister()
