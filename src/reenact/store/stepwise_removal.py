"""The large parts of a removed run are deleted in steps, each in a transaction of its own, so that other writers never
wait long.

The transaction that forgets a run removes all rows by which the run is read, and hands over rows that other runs read.
It leaves payloads that no row names, texts and parts of streams, and sets a mark in ``meta``. After a kill the next
removal continues.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from reenact.store.connection import WriteConnection
from reenact.store.schema import LOW, SHIFT
from reenact.store.splice_rows import SPLICED

STEP_BYTES = 4 << 20
"""About how many bytes are removed in one transaction; a larger row is removed alone."""

MARK = "removing:"
"""The beginning of the key of a mark in ``meta``; the number of the log follows."""

_ROWS = 2_000
"""The most rows that are removed in one transaction."""


def release_rest(connection: sqlite3.Connection, log: int) -> None:
    """Remove the payloads, texts and streams of a log, in the transaction that forgets the log. If they are large, only
    a part is removed, and the log stays marked."""
    connection.execute("DELETE FROM payload WHERE owner = ? AND codec = ?", (log, SPLICED))  # small rows of large texts
    connection.execute("INSERT OR REPLACE INTO meta(name, value) VALUES (?, 0)", (f"{MARK}{log}",))
    _step(connection, log)


def is_forgotten(connection: sqlite3.Connection, log: int) -> bool:
    """Whether a log was forgotten. Payloads of such a log may still exist, and will be removed unless they get another
    owner."""
    return connection.execute("SELECT 1 FROM log WHERE id = ?", (log,)).fetchone() is None


def remove_rest(writing: WriteConnection) -> Iterator[None]:
    """Remove the marked logs, step by step; yields after each step."""
    while True:
        with writing.transaction() as connection:
            row = connection.execute("SELECT name FROM meta WHERE name > ? AND name < ?", (MARK, MARK + "a")).fetchone()
            if row is not None:
                _step(connection, int(row[0][len(MARK) :]))
        if row is None:
            return
        writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)
        yield


def _step(connection: sqlite3.Connection, log: int) -> None:
    """Remove a part of a log, and its mark once nothing is left."""
    first, end = log << SHIFT, log << SHIFT | LOW
    left = STEP_BYTES
    left = _some(connection, "payload", "owner = ?", (log,), left)
    left = _some(connection, "chunk", "event BETWEEN ? AND ?", (first, end), left)
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'frame'").fetchone() is not None:
        for (text,) in connection.execute("SELECT id FROM text WHERE owner = ?", (log,)).fetchall():
            if left > 0:
                left = _some(connection, "frame", "id BETWEEN ? AND ?", (text << SHIFT, text << SHIFT | LOW), left)
            if left > 0:
                connection.execute("DELETE FROM text WHERE id = ?", (text,))
    if left > 0:
        connection.execute("DELETE FROM meta WHERE name = ?", (f"{MARK}{log}",))


def _some(connection: sqlite3.Connection, table: str, where: str, values: tuple[int, ...], left: int) -> int:
    """Remove rows of a table, up to ``left`` bytes. Returns how many bytes may still be removed (0 if rows may be
    left)."""
    if left <= 0:
        return 0
    rows = connection.execute(f"SELECT id, length(data) FROM {table} WHERE {where} LIMIT {_ROWS}", values).fetchall()
    gone: list[tuple[int]] = []
    for number, size in rows:
        if left <= 0 or (gone and size > left):
            left = 0
            break
        gone.append((number,))
        left -= size
    connection.executemany(f"DELETE FROM {table} WHERE id = ?", gone)
    return 0 if len(rows) == _ROWS else max(left, 0)
