"""The format of a store that this code writes, the formats that it can read, and the steps between them.

Every store has two numbers: the format in which it is written, and the oldest format that a reader must know. So a
later version may add things that older readers can ignore, and older readers refuse a store only when they must.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import NamedTuple

from reenact.errors import FormatTooNew, StoreError

WRITTEN = 5
"""The format this code writes: an older reader can make nothing of rows that have a whole state."""

OLDEST_READER = 5
"""The oldest format whose reader can read what this code writes."""

FOLDED = 4
"""The first format with rows of events that are folded."""

PACKED = 5
"""The first format with rows that have a whole state."""

OLDEST_WRITTEN = 1
"""The oldest format that this code continues to write. Such a store keeps its format until it needs a newer one: for a
fork, or for a body that is stored as a change. This makes it one of today's."""

Step = Callable[[sqlite3.Connection], None]

SHARED_TABLES = """
CREATE TABLE IF NOT EXISTS piece(log INTEGER, base INTEGER, kind INTEGER, data BLOB NOT NULL,
  PRIMARY KEY(log, base, kind)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS piece_base ON piece(base);
CREATE TABLE IF NOT EXISTS passage(log INTEGER, n INTEGER, base INTEGER NOT NULL, end INTEGER NOT NULL,
  PRIMARY KEY(log, n)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS passage_base ON passage(base);
"""
"""The tables that format 2 adds."""


def share_rows(connection: sqlite3.Connection) -> None:
    """The step from format 1 to 2, inside a transaction: adds the table for the rows that a log reads in another
    log."""
    for statement in filter(str.strip, SHARED_TABLES.split(";")):
        connection.execute(statement)


SPLICED_TABLES = """
CREATE TABLE IF NOT EXISTS text(id INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS text_owner ON text(owner);
CREATE TABLE IF NOT EXISTS frame(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, size INTEGER NOT NULL,
  codec INTEGER NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL);
"""
"""The tables that format 3 adds. The number of a text is never reused, because readers cache frames by it."""


def splice_bodies(connection: sqlite3.Connection) -> None:
    """The step from format 2 to 3, inside a transaction: there is a place for the text of bodies that are changes."""
    for statement in filter(str.strip, SPLICED_TABLES.split(";")):
        connection.execute(statement)


def fold_rows(connection: sqlite3.Connection) -> None:
    """The step from format 3 to 4, inside a transaction: rows of events may be folded (``store.folding``). Existing
    rows stay unchanged."""


SHAPE_TABLE = "CREATE TABLE IF NOT EXISTS shape(id INTEGER PRIMARY KEY, names TEXT NOT NULL);"
"""The table that format 5 adds."""


def pack_states(connection: sqlite3.Connection) -> None:
    """The step from format 4 to 5, inside a transaction: a row of ``slot`` may have a whole state
    (``store.slot_rows``), and there is a place for the names in it. States stored before keep their form."""
    connection.execute(SHAPE_TABLE)


MIGRATIONS: Mapping[int, Step] = {1: share_rows, 2: splice_bodies, 3: fold_rows, 4: pack_states}
"""For each old format the step to the next one; each runs inside one transaction."""


class Format(NamedTuple):
    """The two numbers of one store."""

    written: int
    oldest_reader: int


def check_readable(found: Format, place: str, *, ours: int = WRITTEN) -> None:
    """Refuse a store whose format is beyond this code.

    Raises:
        FormatTooNew: The store asks for a newer reader (``written``, ``readable``).
    """
    if found.oldest_reader > ours:
        raise FormatTooNew(
            f"{place} is written in store format {found.written}; this version of reenact reads formats up to {ours}",
            cause=f"a newer reenact wrote it; a reader of format {found.oldest_reader} is needed",
            next_command="pip install --upgrade reenact",
            written=found.written,
            oldest_reader=found.oldest_reader,
            readable=ours,
        )


def check_writable(found: Format, place: str, *, ours: int = WRITTEN, oldest: int = OLDEST_WRITTEN) -> None:
    """Refuse to write into a store of another format, older or newer; reading it stays possible.

    Args:
        found: What the store says it is.
        place: The name for it.
        ours: The newest format that is written.
        oldest: The oldest one.

    Raises:
        StoreError: The store is not of the format this code writes.
    """
    if found.written < oldest:
        raise StoreError(
            f"{place} is written in store format {found.written} and is open for reading only",
            cause=f"this version of reenact writes format {ours}",
            next_command="reenact --store sqlite:///runs.db record -- python agent.py",
            written=found.written,
        )
    if found.written > ours:
        raise StoreError(
            f"{place} is written in store format {found.written} and is open for reading only",
            cause=f"a newer reenact wrote it; this version writes format {ours}",
            next_command="pip install --upgrade reenact",
            written=found.written,
        )


def migrate(
    connection: sqlite3.Connection,
    found: Format,
    *,
    steps: Mapping[int, Step] | None = None,
    target: Format | None = None,
) -> list[int]:
    """Bring a store to the format that this code writes, in one transaction. Returns the former formats, in order.

    The caller has made a backup. A kill in the middle leaves the old store whole.

    Args:
        connection: A writing connection outside of any transaction.
        found: What the store says it is.
        steps: The steps to use; None for ``MIGRATIONS``.
        target: The format that it is to have; None for this code's own.

    Raises:
        StoreError: A step is missing; nothing was changed.
    """
    steps = MIGRATIONS if steps is None else steps
    target = target or Format(WRITTEN, OLDEST_READER)
    passed = list(range(found.written, target.written))
    for each in passed:
        if each not in steps:
            raise StoreError(f"there is no way from store format {each} to {each + 1}", cause="a missing migration")
    connection.execute("BEGIN IMMEDIATE")
    try:
        for each in passed:
            steps[each](connection)
        write_format(connection, target)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return passed


def bring_up(connection: sqlite3.Connection) -> None:
    """Bring an older store that is still being written to today's format, inside a transaction. From now on older
    versions refuse it."""
    found = read_format(connection)
    for each in range(found.written, WRITTEN):
        MIGRATIONS[each](connection)
    if found.written < WRITTEN:
        write_format(connection, Format(WRITTEN, OLDEST_READER))


def has_folded(connection: sqlite3.Connection) -> bool:
    """Whether rows of events may be folded in a store."""
    return read_format(connection).written >= FOLDED


def has_packed(connection: sqlite3.Connection) -> bool:
    """Whether a row may have a whole state in a store."""
    return read_format(connection).written >= PACKED


def read_format(connection: sqlite3.Connection) -> Format:
    """The two numbers of an open store.

    Raises:
        StoreError: The numbers are missing.
    """
    rows = dict(connection.execute("SELECT name, value FROM meta WHERE name IN ('written', 'oldest_reader')"))
    try:
        return Format(int(rows["written"]), int(rows["oldest_reader"]))
    except (KeyError, TypeError, ValueError):
        raise StoreError(
            "the store does not say which format it is written in",
            cause="it is damaged, or another program made the file",
            next_command="reenact config",
        ) from None


def write_format(connection: sqlite3.Connection, found: Format) -> None:
    """Set the two numbers."""
    connection.executemany(
        "INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)",
        [("written", found.written), ("oldest_reader", found.oldest_reader)],
    )
