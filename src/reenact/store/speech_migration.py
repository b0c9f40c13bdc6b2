"""Replaces the search text of runs of older versions, which holds whole sentences, by words: each once, packed.

Forks read passages of their parent's text by number. So first the forks get a text of their own, the newest fork first.
Then no log reads the passages of the parents, whose text is replaced, too. At the end, forks leave the passages that
their parents also have to the parents again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from reenact.errors import StoreError
from reenact.store.full_text import drop_text, each_once, mark_erasure, put_text
from reenact.store.passages import share_text, text_of
from reenact.store.row_sharing import Heir
from reenact.store.schema import LOW, SHIFT

_READERS = "SELECT DISTINCT log FROM passage WHERE base = ? ORDER BY log DESC"


def as_said(connection: sqlite3.Connection) -> set[int]:
    """The numbers of the logs whose search text, or a part of it, holds whole sentences."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "words_index" not in names:  # in a store without the index, all texts are unpacked
        return set()
    found = {
        place >> SHIFT if place > LOW else place
        for (place,) in connection.execute("SELECT id FROM words WHERE typeof(body) = 'text'")
    }
    if "passage" in names:
        for base in sorted(found):
            found.update(log for (log,) in connection.execute(_READERS, (base,)))
    return found


def reword(connection: sqlite3.Connection, log: int) -> Iterator[int]:
    """Give a log a text of its own with each word once, in a transaction. The logs that read its passages get a text of
    their own first. Returns the numbers of the logs whose text is damaged and stays unchanged."""
    for (reader,) in connection.execute(_READERS, (log,)).fetchall():
        yield from reword(connection, reader)
    if connection.execute(_READERS, (log,)).fetchone() is not None:
        return  # a reader, whose own text is damaged, still needs the passages
    try:
        text = text_of(connection, log)
    except StoreError:
        yield log
        return
    words = each_once(text)
    if words != text or connection.execute("SELECT 1 FROM passage WHERE log = ?", (log,)).fetchone() is not None:
        drop_text(connection, log)
        connection.execute("DELETE FROM passage WHERE log = ?", (log,))
        put_text(connection, log, words)
        mark_erasure(connection)


def share_words(connection: sqlite3.Connection, log: int) -> None:
    """Leave the parts of a log's text that its bases also have to the bases, in a transaction. If they are left
    already, nothing is done."""
    if connection.execute("SELECT 1 FROM words WHERE id = ?", (log,)).fetchone() is None:
        return
    bases = Heir(connection, log).bases
    if bases:
        share_text(connection, log, text_of(connection, log), bases)
