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
"""The format that this code writes. Older readers cannot read its rows that have a whole state."""

OLDEST_READER = 5
"""The oldest format whose reader can read what this code writes."""

FOLDED = 4
"""The first format with rows of events that are folded."""

PACKED = 5
"""The first format with rows that have a whole state."""

OLDEST_WRITTEN = 1
"""The oldest format that this code continues to write. A store of an older format keeps this format until it needs a
newer one, for a fork or for a body that is stored as a change. Then it gets today's format."""

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
"""The tables that format 3 adds. The number of a text is never reused, because readers cache frames by this number."""


def splice_bodies(connection: sqlite3.Connection) -> None:
    """The step from format 2 to 3, inside a transaction: adds the tables for the text of bodies that are stored as
    changes."""
    for statement in filter(str.strip, SPLICED_TABLES.split(";")):
        connection.execute(statement)


def fold_rows(connection: sqlite3.Connection) -> None:
    """The step from format 3 to 4, inside a transaction: rows of events may be folded (``store.folding``). Existing
    rows stay unchanged."""


SHAPE_TABLE = "CREATE TABLE IF NOT EXISTS shape(id INTEGER PRIMARY KEY, names TEXT NOT NULL);"
"""The table that format 5 adds."""


def pack_states(connection: sqlite3.Connection) -> None:
    """The step from format 4 to 5, inside a transaction: a row of ``slot`` may have a whole state
    (``store.slot_rows``), and a table for the names of slots is added. States that are already stored keep their
    form."""
    connection.execute(SHAPE_TABLE)


MIGRATIONS: Mapping[int, Step] = {1: share_rows, 2: splice_bodies, 3: fold_rows, 4: pack_states}
"""For each old format, the step to the next format; each step runs inside one transaction."""


class Format(NamedTuple):
    """The two format numbers of one store."""

    written: int
    oldest_reader: int


def check_readable(found: Format, place: str, *, ours: int = WRITTEN) -> None:
    """Refuse a store whose format this code cannot read.

    Raises:
        FormatTooNew: The store needs a newer reader. The error has the numbers ``written`` and ``readable``.
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
        found: The format of the store.
        place: The name of the store, for the message.
        ours: The newest format that can be written.
        oldest: The oldest format that can be written.

    Raises:
        StoreError: The store has a format that this code does not write.
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

    The caller must have made a backup. After a kill in between, the old store is unchanged.

    Args:
        connection: A writing connection outside of any transaction.
        found: The present format of the store.
        steps: The steps to use; None for ``MIGRATIONS``.
        target: The format to reach; None for the format that this code writes.

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
    """Bring a store of an older format, which may be in use, to today's format, inside a transaction. From now on older
    versions refuse the store."""
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
    """The two format numbers of an open store.

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
    """Write the two format numbers into a store."""
    connection.executemany(
        "INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)",
        [("written", found.written), ("oldest_reader", found.oldest_reader)],
    )
