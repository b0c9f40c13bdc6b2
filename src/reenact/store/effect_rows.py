"""The ledger's rows: one claim for each write of a lineage, even if several processes claim it at the same time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from reenact.errors import StoreError
from reenact.facts.effects import Claim
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run
from reenact.store.check_sums import sum_of
from reenact.store.codec import pack_run, unpack_run
from reenact.store.runrows import row_number, update_run


def claim(connection: sqlite3.Connection, wanted: Claim, over: Claim | None) -> bool:
    """Claim a write, in a transaction. Returns whether we have the claim now.

    Args:
        connection: A connection, in a transaction.
        wanted: The claim.
        over: The claim that the new claim replaces; None if the write has no claim yet.
    """
    row = connection.execute("SELECT run, event FROM effect WHERE address = ?", (wanted.address,)).fetchone()
    if row is not None and (over is None or (over.run, over.event) != tuple(row)):
        return False
    connection.execute(
        "INSERT OR REPLACE INTO effect(address, run, event) VALUES (?, ?, ?)",
        (wanted.address, wanted.run, wanted.event),
    )
    return True


def note(connection: sqlite3.Connection, claims: Iterable[Claim]) -> None:
    """Add the claims of writes that have been made and are not claimed yet."""
    connection.executemany(
        "INSERT OR IGNORE INTO effect(address, run, event) VALUES (?, ?, ?)",
        [(each.address, each.run, each.event) for each in claims],
    )


def forget(connection: sqlite3.Connection, log: int) -> None:
    """Forget the writes of a removed run. They stay as long as its lineage has another run, which might make a write
    again."""
    row = connection.execute("SELECT run_id, parent FROM run WHERE id = ?", (log,)).fetchone()
    if row is None:
        return
    kin = "SELECT 1 FROM run WHERE (parent = ? AND log != ?) OR run_id = ? LIMIT 1"
    if connection.execute(kin, (row[0], log, row[1])).fetchone() is None:
        connection.execute("DELETE FROM effect WHERE run = ?", (row[0],))


def exchange(connection: sqlite3.Connection, left: Run, right: Run) -> None:
    """Give each of two runs the log of the other, with its events and all other records.

    Args:
        connection: A connection, in a transaction.
        left, right: The runs as they will be afterwards.

    Raises:
        StoreError: A run does not exist, or lies in the log of another.
    """
    numbers = [row_number(connection, run.id) for run in (left, right)]
    if None in numbers or left.lane or right.lane:
        raise StoreError(
            f"runs {tail(left.id)} and {tail(right.id)} cannot be exchanged",
            cause="one of them was deleted meanwhile, or is part of another run",
            next_command="reenact ls",
        )
    first, second = numbers
    amended = dict(connection.execute("SELECT id, amended FROM run WHERE id IN (?, ?)", (first, second)))
    connection.execute("UPDATE run SET run_id = '', tail = '' WHERE id = ?", (first,))
    for number, run, before, other in ((second, left, first, right), (first, right, second, left)):
        connection.execute(
            "UPDATE run SET run_id = ?, tail = ?, amended = ? WHERE id = ?",
            (run.id, tail(run.id), amended[before], number),
        )
        update_run(connection, int(number or 0), run)
        _adopt(connection, int(number or 0), other.id, run.id)
    marks = ((left.id, "\0"), (right.id, left.id), ("\0", right.id))
    connection.executemany("UPDATE effect SET run = ? WHERE run = ?", [(new, old) for old, new in marks])


def _adopt(connection: sqlite3.Connection, log: int, before: str, now: str) -> None:
    """Give the runs that were recorded inside a run to the run that now has its log. Runs that are nested deeper keep
    their parent."""
    inside = connection.execute("SELECT id, body FROM run WHERE log = ? AND id != ?", (log, log)).fetchall()
    for number, body in inside:
        run = unpack_run(body)
        if run.parent == before:
            text = pack_run(replace(run, parent=now))
            connection.execute(
                "UPDATE run SET parent = ?, body = ?, crc = ? WHERE id = ?", (now, text, sum_of(0, text), number)
            )
