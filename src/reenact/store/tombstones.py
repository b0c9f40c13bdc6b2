"""A row for each expired run, so that a reference to it can be explained; and the time at which runs came from other
stores.

Each of the two tables is made with its first row. A reader that does not know them can still read the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, NoReturn

from reenact.errors import RunNotFound
from reenact.facts.ids import tail

GONE = "gone"
ARRIVAL = "arrival"

_GONE = (
    "CREATE TABLE IF NOT EXISTS gone(run_id TEXT PRIMARY KEY, tail TEXT NOT NULL, at_us INTEGER NOT NULL, "
    "why TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS gone_tail ON gone(tail)",
    "CREATE INDEX IF NOT EXISTS gone_at ON gone(at_us)",
)
_ARRIVAL = "CREATE TABLE IF NOT EXISTS arrival(run INTEGER PRIMARY KEY, at_us INTEGER NOT NULL)"

REMEMBERED_US = 365 * 86_400_000_000
"""How long the row of an expired run is kept, in microseconds."""

Rows = Callable[[str, Sequence[Any]], list[Any]]
"""Gives all rows of a query."""


class Tombstone(NamedTuple):
    """A run that expired.

    Attributes:
        run: The id of the run.
        at_us: The time of its removal.
        why: The reason.
    """

    run: str
    at_us: int
    why: str


def has(rows: Rows, table: str) -> bool:
    """Whether a store has a table."""
    return bool(rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)))


def bury(connection: sqlite3.Connection, stones: Iterable[Tombstone]) -> None:
    """Write a row for each run, in the transaction that removes the run. Rows that are too old are removed."""
    for sql in _GONE:
        connection.execute(sql)
    for stone in stones:
        connection.execute(
            "INSERT OR REPLACE INTO gone(run_id, tail, at_us, why) VALUES (?, ?, ?, ?)",
            (stone.run, tail(stone.run), stone.at_us, stone.why),
        )
        connection.execute("DELETE FROM gone WHERE at_us < ?", (stone.at_us - REMEMBERED_US,))


def unbury(connection: sqlite3.Connection, run_id: str) -> None:
    """Remove the row of an expired run, because the run came back in a bundle."""
    if has(lambda sql, values: connection.execute(sql, values).fetchall(), GONE):
        connection.execute("DELETE FROM gone WHERE run_id = ?", (run_id,))


def arrived(connection: sqlite3.Connection, number: int, at_us: int) -> None:
    """Note the time at which a run came from another store: its term begins then."""
    connection.execute(_ARRIVAL)
    connection.execute("INSERT OR REPLACE INTO arrival(run, at_us) VALUES (?, ?)", (number, at_us))


def forget_arrival(connection: sqlite3.Connection, number: int) -> None:
    """Remove the time at which a run came, because the run is removed."""
    if has(lambda sql, values: connection.execute(sql, values).fetchall(), ARRIVAL):
        connection.execute("DELETE FROM arrival WHERE run = ?", (number,))


def find(rows: Rows, text: str) -> list[Tombstone]:
    """The expired runs whose tail, or else whose id, begins with a text; the latest id first."""
    found: list[Tombstone] = []
    if has(rows, GONE):
        for column in ("tail", "run_id"):
            found = found or [
                Tombstone(*row)
                for row in rows(
                    f"SELECT run_id, at_us, why FROM gone WHERE {column} >= ? AND {column} < ? "
                    "ORDER BY run_id DESC LIMIT 100",
                    (text, text + "{"),
                )
            ]
    return found


def day(at_us: int) -> str:
    """A day, as people write it: ``2026-11-23`` (UTC)."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).date().isoformat()


def refuse_expired(ref: str, stone: Tombstone) -> NoReturn:
    """Say that the run of a reference has expired."""
    raise RunNotFound(
        f"run {tail(stone.run)} expired on {day(stone.at_us)}",
        cause=f"{stone.why}; the setting keep says how long, and `reenact tag REF keep=always` keeps a run for good",
        next_command="reenact ls",
        ref=ref,
        candidates=(),
        reason="expired",
        run=stone.run,
        expired_us=stone.at_us,
    )
