"""The words of a fork for the search, in passages: those of its prefix are read in its parent's rows.

A long text of words is stored in passages of a kilobyte. A fork stores only the passages that none of its bases has at
the same place. The words of a run are one row until the run has a fork. Runs of older versions have their whole text in
place of its words.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from reenact.facts.lazy_regex import lazy_regex
from reenact.store.full_text import drop_text, index_text, plain, put_text
from reenact.store.schema import LOW, SHIFT

LENGTH = 1024
"""The least number of characters of each passage of a text except the last."""

_GAP = lazy_regex(r"\s")


def cut(text: str) -> Iterator[str]:
    """The passages of a text."""
    at = 0
    while len(text) - at > LENGTH:
        gap = _GAP.search(text, at + LENGTH)
        if gap is None:
            break
        yield text[at : gap.end()]
        at = gap.end()
    yield text[at:]


def share_text(connection: sqlite3.Connection, log: int, text: str, bases: Sequence[int]) -> None:
    """Set the text of a log. A passage that a base has at the same place is left to that base.

    Args:
        connection: The connection, in a transaction; the table of passages exists.
        log: The number of the log, which is also that of its run.
        text: All of the log's text.
        bases: The logs that this log reads; they are kept as long as this log.
    """
    found = list(cut(text))
    if len(found) == 1 or not bases:
        put_text(connection, log, text)
        return
    drop_text(connection, log)
    for base in bases:
        _split(connection, base)
    rows: list[list[int]] = []
    for n, body in enumerate(found):
        holder = _base_with(connection, bases, n, body)
        if holder is None:
            index_text(connection, log << SHIFT | n, body)
        elif rows and rows[-1][1:] == [holder, n]:
            rows[-1][2] = n + 1
        else:
            rows.append([n, holder, n + 1])
    connection.execute("DELETE FROM passage WHERE log = ?", (log,))
    connection.executemany("INSERT INTO passage(log, n, base, end) VALUES (?, ?, ?, ?)", [(log, *row) for row in rows])


def take_text_back(connection: sqlite3.Connection, log: int) -> None:
    """Copy all text into the log itself, as one row."""
    if connection.execute("SELECT 1 FROM passage WHERE log = ? LIMIT 1", (log,)).fetchone() is not None:
        text = text_of(connection, log)
        drop_text(connection, log)
        connection.execute("DELETE FROM passage WHERE log = ?", (log,))
        put_text(connection, log, text)


def text_of(connection: sqlite3.Connection, log: int) -> str:
    """All of the text of a log, wherever its passages are."""
    found = dict(_rows(connection, log, 0, LOW))
    shared = connection.execute("SELECT n, base, end FROM passage WHERE log = ?", (log,)).fetchall()
    for first, base, end in shared:
        found.update(_rows(connection, base, first, end - 1))
    row = connection.execute("SELECT body FROM words WHERE id = ?", (log,)).fetchone()
    return "".join(found[n] for n in sorted(found)) if row is None else plain(row[0])


def _rows(connection: sqlite3.Connection, log: int, first: int, last: int) -> list[tuple[int, str]]:
    """Passages of a log, with their numbers."""
    span = (log << SHIFT | first, log << SHIFT | last)
    found = connection.execute("SELECT id, body FROM words WHERE id BETWEEN ? AND ?", span)
    return [(address & LOW, plain(body)) for address, body in found]


def _split(connection: sqlite3.Connection, log: int) -> None:
    """Split the text of a log, which is one row, into passages."""
    row = connection.execute("SELECT body FROM words WHERE id = ?", (log,)).fetchone()
    if row is not None:
        drop_text(connection, log)
        for n, body in enumerate(cut(plain(row[0]))):
            index_text(connection, log << SHIFT | n, body)


def _base_with(connection: sqlite3.Connection, bases: Sequence[int], n: int, body: str) -> int | None:
    for base in bases:
        found = connection.execute("SELECT body FROM words WHERE id = ?", (base << SHIFT | n,)).fetchone()
        if found is not None and plain(found[0]) == body:
            return base
    return None


def own_and_forks(places: str) -> str:
    """A query for the numbers of the runs that have the texts at some places (the column ``id``), themselves or in
    their bases."""
    return f"""WITH hit AS MATERIALIZED ({places})
  SELECT CASE WHEN id > {LOW} THEN id >> {SHIFT} ELSE id END FROM hit
  UNION SELECT p.log FROM hit JOIN passage p ON p.base = hit.id >> {SHIFT}
    AND (hit.id & {LOW}) >= p.n AND (hit.id & {LOW}) < p.end"""
