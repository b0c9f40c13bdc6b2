"""Payloads that one log uses and another log wrote: they stay as long as the log that uses them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from reenact.store.schema import LOW, SHIFT
from reenact.store.slot_rows import long_values


def hold(connection: sqlite3.Connection, log: int) -> None:
    """Note the payloads that a log's rows name and another log wrote."""
    sql, values = _used(log)
    connection.execute(
        f"INSERT OR IGNORE INTO held(payload, log) SELECT id, :log FROM payload WHERE owner != :log AND id IN ({sql})",
        values,
    )
    connection.executemany(
        "INSERT OR IGNORE INTO held(payload, log) SELECT id, ?1 FROM payload WHERE owner != ?1 AND digest = ?2",
        [(log, digest) for digest in long_values(connection, log)],
    )


def let_go(connection: sqlite3.Connection, log: int, bases: Sequence[int]) -> None:
    """Stop holding payloads of the bases for a log, because a base is kept as long as the log."""
    for base in bases:
        connection.execute(
            "DELETE FROM held WHERE log = ? AND payload IN (SELECT id FROM payload WHERE owner = ? UNION "
            "SELECT payload FROM held WHERE log = ?)",
            (log, base, base),
        )


def _used(log: int) -> tuple[str, dict[str, int]]:
    """A query for the numbers of the payloads that a log's own rows name, and its values."""
    own = "BETWEEN :first AND :last"
    sql = (
        f"SELECT request FROM event WHERE id {own} UNION SELECT answer FROM event WHERE id {own} "
        f"UNION SELECT p.id FROM slot s JOIN payload p ON p.digest = s.digest WHERE s.event {own} "
        f"UNION SELECT p.id FROM note n JOIN payload p ON p.digest = n.digest WHERE n.owner {own} "
        "UNION SELECT p.id FROM run r JOIN note n ON n.owner = -r.id JOIN payload p ON p.digest = n.digest "
        "WHERE r.log = :log"
    )
    return sql, {"first": log << SHIFT, "last": log << SHIFT | LOW, "log": log}
