"""The text of runs that older versions kept as it was said, as words: each once, packed.

Forks read passages of such a text by number. So first they get a text of their own, the latest ones first; then nothing
reads the passages of their parents, which are reworded in turn; and at the end forks leave to their parents again what
these have.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from reenact.errors import StoreError
from reenact.store.full_text import drop_text, each_once, mark_erasure, put_text
from reenact.store.inheriting import Heir
from reenact.store.passages import share_text, text_of
from reenact.store.schema import LOW, SHIFT

_READERS = "SELECT DISTINCT log FROM passage WHERE base = ? ORDER BY log DESC"


def as_said(connection: sqlite3.Connection) -> set[int]:
    """Numbers of the logs whose text, or some of it, is kept as it was said."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "words_index" not in names:  # without an index all texts are kept unpacked
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
    """Give a log, and first those that read its passages, a text of its own, each word once; in a transaction. Gives
    the numbers of those whose text is damaged, and stays."""
    for (reader,) in connection.execute(_READERS, (log,)).fetchall():
        yield from reword(connection, reader)
    if connection.execute(_READERS, (log,)).fetchone() is not None:
        return  # of a reader whose own text is damaged
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
    """Leave to the bases of a log what they have of its text, in a transaction; where that is so already, nothing."""
    if connection.execute("SELECT 1 FROM words WHERE id = ?", (log,)).fetchone() is None:
        return
    bases = Heir(connection, log).bases
    if bases:
        share_text(connection, log, text_of(connection, log), bases)
