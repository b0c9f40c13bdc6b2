"""Makes an older store of one of today's: the same runs, in the rows of format 1 or 2, as those versions wrote them."""

from __future__ import annotations

import sqlite3
from contextlib import closing as closed
from pathlib import Path

from reenact.store.connection import connect_writing
from reenact.store.full_text import plain
from reenact.store.payloads import compress
from reenact.store.row_sharing import Heir
from reenact.store.schema import SHIFT
from reenact.store.slot_rows import packed_rows, put_rows, states_of
from reenact.store.splice_rows import SPLICED, SplicedBodies
from reenact.store.versions import Format, write_format


def age(path: Path, old: int) -> None:
    """Rewrite a closed store. Format 1 has no place for what forks share, 1 and 2 none for changes and folded rows."""
    with closed(connect_writing(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        _unfold(connection)
        _unpack(connection)
        if old == 1:
            for (log,) in connection.execute("SELECT DISTINCT log FROM piece ORDER BY log DESC").fetchall():
                Heir(connection, log).take_back_all()
        _make_whole(connection)
        _say(connection)
        for table in ("shape", "frame", "text", *(("piece", "passage") if old == 1 else ())):
            connection.execute(f"DROP TABLE {table}")
        write_format(connection, Format(old, old))
        connection.execute("COMMIT")
        connection.executescript("PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")


def _unfold(connection: sqlite3.Connection) -> None:
    for column in ("asked", "came"):
        connection.execute(
            f"UPDATE event SET {column} = whole({column}, "
            f"(SELECT x.{column} FROM event x WHERE x.id = first_of(event.{column}, event.id))) "
            f"WHERE first_of({column}, id) IS NOT NULL"
        )


def _unpack(connection: sqlite3.Connection) -> None:
    """A row a slot, and each value in the row of a payload."""
    states = states_of(connection)
    found = packed_rows(connection, 0, 1 << 62)
    slots = [states.as_slots(row) for row in found]  # what a step has left may go on from what it was given
    for row in found:
        log = row.event >> SHIFT
        for kept in states.unpack(row).kept:
            if kept.short and kept.data:
                digest = states.digest(kept)
                connection.execute(
                    "INSERT OR IGNORE INTO payload(digest, size, codec, owner, data) VALUES (?, ?, 0, ?, ?)",
                    (digest, len(kept.data), log, kept.data),
                )
                connection.execute(
                    "INSERT OR IGNORE INTO held(payload, log) "
                    "SELECT id, ?1 FROM payload WHERE digest = ?2 AND owner != ?1",
                    (log, digest),
                )
    connection.executemany("DELETE FROM slot WHERE event = ? AND phase = ?", [row[:2] for row in found])
    for own in slots:
        put_rows(connection, own)


def _say(connection: sqlite3.Connection) -> None:
    """Texts as they were said: words in capitals, and more than once."""
    for place, body in connection.execute("SELECT id, body FROM words").fetchall():
        text = plain(body)
        said = f"{text.title()} {text} "
        connection.execute("INSERT INTO words_index(words_index, rowid, body) VALUES ('delete', ?, ?)", (place, text))
        connection.execute("INSERT INTO words_index(rowid, body) VALUES (?, ?)", (place, said))
        connection.execute("UPDATE words SET body = ? WHERE id = ?", (said, place))


def _make_whole(connection: sqlite3.Connection) -> None:
    spliced = SplicedBodies(lambda sql, values: connection.execute(sql, values).fetchall())
    rows = connection.execute("SELECT id, data FROM payload WHERE codec = ?", (SPLICED,)).fetchall()
    bodies = [(row, compress(spliced.body(data))) for row, data in rows]
    connection.executemany(
        "UPDATE payload SET codec = ?, data = ? WHERE id = ?", [(*kept, row) for row, kept in bodies]
    )


def formats(path: Path) -> tuple[int, int]:
    """The two numbers of a store."""
    with closed(sqlite3.connect(path)) as connection:
        found = dict(connection.execute("SELECT name, value FROM meta WHERE name IN ('written', 'oldest_reader')"))
    return found["written"], found["oldest_reader"]
