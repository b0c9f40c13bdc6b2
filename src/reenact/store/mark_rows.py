"""The rows of marks, each as JSON with a check sum, in a table that is made with the first mark.

A reader that does not know the table can still read the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from reenact.errors import StoreError
from reenact.facts.marks import Mark, in_order
from reenact.store.check_sums import damaged, sum_of
from reenact.store.codec import dump, load
from reenact.store.row_guards import UNSOUND
from reenact.store.tombstones import Rows, has

TABLE = "mark"

_MADE = "CREATE TABLE IF NOT EXISTS mark(id TEXT PRIMARY KEY, body TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID"


def insert_mark(connection: sqlite3.Connection, mark: Mark) -> None:
    """Write a mark, in a transaction. A mark with the same id is replaced."""
    connection.execute(_MADE)
    body = dump(mark.to_json())
    connection.execute("INSERT OR REPLACE INTO mark(id, body, crc) VALUES (?, ?, ?)", (mark.id, body, sum_of(0, body)))


def delete_mark(connection: sqlite3.Connection, mark_id: str) -> None:
    """Remove a mark, in a transaction. It is no error if the mark is missing."""
    connection.execute(_MADE)
    connection.execute("DELETE FROM mark WHERE id = ?", (mark_id,))


def read_marks(rows: Rows) -> tuple[Mark, ...]:
    """All marks, in order of time.

    Raises:
        StoreError: A row is damaged.
    """
    found = rows("SELECT id, body, crc FROM mark", ()) if has(rows, TABLE) else []
    return in_order(mark_of(*row) for row in found)


def sound_marks(rows: Iterable[tuple[Any, ...]]) -> Iterator[Mark]:
    """The marks in undamaged rows.

    Args:
        rows: Each with id, body and check sum.
    """
    for row in rows:
        with suppress(StoreError):
            yield mark_of(*row)


def mark_of(mark_id: str, body: str, crc: int) -> Mark:
    """The mark from its row.

    Raises:
        StoreError: The row is damaged.
    """
    if type(body) is not str or sum_of(0, body) != crc:
        raise damaged("a mark")
    try:
        found = Mark.from_json(load(body))
    except UNSOUND as error:
        raise damaged("a mark") from error
    if found.id != mark_id:
        raise damaged("a mark")
    return found
