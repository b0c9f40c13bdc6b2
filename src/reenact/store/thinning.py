"""Thins a run: its bodies are removed, and its events stay, with the size and digest of each body.

A body stays if another run uses it as well. So does the evidence, except the words of models. The row of a removed body
is marked (``payloads.WITHHELD``), and the run states the reason (``facts.thinned_runs``).
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
"""The query for the bodies of a log that no other log uses, except its evidence."""


_SAID = ("system", "messages", "tools", "tool_calls", "text", "thinking", "error")
"""The fields of a model call's reading that are removed as content; the model, the tokens and the reason to stop
stay."""

Fetch = Callable[[bytes], bytes]
"""Gives the bytes of a digest, as they were before the transaction."""


def thin(connection: sqlite3.Connection, log: int, why: str, fetch: Fetch) -> list[int]:
    """Thin a run and the runs of the processes that it has started, in a transaction. Returns the numbers of their
    logs. Nothing is done if one of these runs did not end well, is flagged or labelled, or is continued by another run;
    then the list is empty.

    Args:
        connection: The connection of the store, in a transaction.
        log: The run's log.
        why: The rule by which the run is thinned, for its readers.
        fetch: Gives the bytes of readings that are stored as payloads.
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
