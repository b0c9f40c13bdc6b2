"""Thinning a run: its bodies are removed. A log of its events stays, with the size and digest of each body.

A body that another run has too stays. Evidence, which says what happened, stays as well, except the words of models.
The row of a removed body says so (``payloads.WITHHELD``), and the run says why it was thinned (``facts.thinned_runs``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from reenact.facts.lazy_dataclass import replace
from reenact.facts.thinned_runs import NOTE
from reenact.store.check_sums import sum_of
from reenact.store.codec import dump, load
from reenact.store.feature_rows import thin_features
from reenact.store.full_text import drop_text, mark_erasure
from reenact.store.payloads import WITHHELD
from reenact.store.run_removal import unneeded
from reenact.store.runrows import run_of, update_run
from reenact.store.schema import LOW, SHIFT
from reenact.store.slot_rows import take_out
from reenact.store.splice_moves import respliced
from reenact.store.splice_rows import SPLICED

_OWN = (
    "SELECT id FROM payload WHERE owner = :log AND codec != :withheld "
    "AND NOT EXISTS (SELECT 1 FROM held WHERE held.payload = payload.id) "
    "AND digest NOT IN (SELECT digest FROM note WHERE digest IS NOT NULL AND (owner BETWEEN :first AND :end "
    "OR owner IN (SELECT -id FROM run WHERE log = :log)))"
)
"""The bodies of a log that no other log has, except its evidence."""


_SAID = ("system", "messages", "tools", "tool_calls", "text", "thinking", "error")
"""The parts of a model call's reading that are content; models, tokens and reasons to stop stay."""

Fetch = Callable[[bytes], bytes]
"""Reads the bytes of a digest in their state before the transaction."""


def thin(connection: sqlite3.Connection, log: int, why: str, fetch: Fetch) -> list[int]:
    """Thin a run and the runs of the processes that it has started, in a transaction. Returns their logs. None if one
    of them did not end well, is flagged or labelled, or is continued by another run.

    Args:
        connection: Of the store, in a transaction.
        log: The run's log.
        why: The rule that thins it, for its readers.
        fetch: Gives long readings.
    """
    logs = unneeded(connection, log)
    for each in logs:
        _silence(connection, each, fetch)
        _take_out(connection, each)
        rows = connection.execute("SELECT id, body, amended, crc FROM run WHERE log = ?", (each,)).fetchall()
        for number, body, amended, crc in rows:
            drop_text(connection, number)
            thin_features(connection, number)
            run = run_of(body, amended, crc)
            update_run(connection, number, replace(run, capture={**run.capture, NOTE: why}))
    mark_erasure(connection)
    return logs


def _silence(connection: sqlite3.Connection, log: int, fetch: Fetch) -> None:
    """Remove the words from the readings of model calls."""
    rows = connection.execute(
        "SELECT owner, value, digest FROM note WHERE owner BETWEEN ? AND ? AND name = 'reading'",
        (log << SHIFT, log << SHIFT | LOW),
    ).fetchall()
    for owner, value, digest in rows:
        reading = load(value if digest is None else fetch(digest))
        text = dump({name: each for name, each in reading.items() if name not in _SAID})
        connection.execute(
            "UPDATE note SET value = ?, digest = NULL, crc = ? WHERE owner = ? AND name = 'reading'",
            (text, sum_of(owner & LOW, text), owner),
        )


def _take_out(connection: sqlite3.Connection, log: int) -> None:
    values = {"log": log, "first": log << SHIFT, "end": log << SHIFT | LOW, "withheld": WITHHELD}
    bodies = connection.execute(_OWN, values).fetchall()
    connection.executemany(f"UPDATE payload SET codec = {WITHHELD}, data = x'' WHERE id = ?", bodies)
    take_out(connection, log)
    connection.execute("UPDATE chunk SET codec = :withheld, data = x'' WHERE event BETWEEN :first AND :end", values)
    connection.execute("DELETE FROM ambient WHERE strand BETWEEN :first AND :end", values)
    connection.execute("DELETE FROM printed WHERE owner BETWEEN :first AND :end", values)
    _shrink_texts(connection, log)


def _shrink_texts(connection: sqlite3.Connection, log: int) -> None:
    """Keep only those parts of the texts of spliced bodies that the remaining bodies need."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'frame'").fetchone() is None:
        return
    old = connection.execute("SELECT id FROM text WHERE owner = ?", (log,)).fetchall()
    left = connection.execute("SELECT id FROM payload WHERE owner = ? AND codec = ?", (log, SPLICED)).fetchall()
    respliced(connection, [(row, log) for (row,) in left])
    for (text,) in old:
        connection.execute("DELETE FROM frame WHERE id BETWEEN ? AND ?", (text << SHIFT, text << SHIFT | LOW))
        connection.execute("DELETE FROM text WHERE id = ?", (text,))
