"""The removal of a run: all of its rows are deleted, except those that other runs read. Large parts are deleted in
steps (``store.stepwise_removal``)."""

from __future__ import annotations

import sqlite3

from reenact.facts.run import Status, belongs_to
from reenact.store import effect_rows
from reenact.store.feature_rows import forget_features
from reenact.store.full_text import drop_text, mark_erasure
from reenact.store.payloads import release
from reenact.store.pieces import is_there
from reenact.store.row_sharing import hand_over, share_again
from reenact.store.runrows import remember_last, run_of
from reenact.store.schema import LOW, SHIFT
from reenact.store.slot_rows import forget_states
from reenact.store.tombstones import forget_arrival

_BESIDE = (
    "SELECT c.log, c.body, c.amended, c.crc FROM run p JOIN run c ON c.parent = p.run_id WHERE p.log = ? AND c.log != ?"
)
"""The query for the runs with a log of their own whose parents are runs of a log."""

_RANGES = ("lane", "event", "stream", "turns")


def forget(connection: sqlite3.Connection, log: int) -> None:
    """Remove all rows of one log, in a transaction. Forks that read it get the rows first."""
    readers = hand_over(connection, log)
    effect_rows.forget(connection, log)
    first, end = log << SHIFT, log << SHIFT | LOW
    runs = [row[0] for row in connection.execute("SELECT id FROM run WHERE log = ?", (log,))]
    for table in _RANGES:
        connection.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", (first, end))
    forget_states(connection, log)
    connection.execute("DELETE FROM note WHERE owner BETWEEN ? AND ?", (first, end))
    connection.execute("DELETE FROM ambient WHERE strand BETWEEN ? AND ?", (first, end))
    connection.execute("DELETE FROM printed WHERE owner BETWEEN ? AND ?", (first, end))
    connection.execute("DELETE FROM gap WHERE log = ?", (log,))
    connection.execute("DELETE FROM log WHERE id = ?", (log,))
    for number in runs:
        connection.execute("DELETE FROM note WHERE owner = ?", (-number,))
        connection.execute("DELETE FROM tag WHERE run = ?", (number,))
        drop_text(connection, number)
        forget_arrival(connection, number)
        forget_features(connection, number)
    mark_erasure(connection)
    if is_there(connection):
        connection.execute("DELETE FROM piece WHERE log = ?", (log,))
        connection.execute("DELETE FROM passage WHERE log = ?", (log,))
    release(connection, log)
    remember_last(connection)
    connection.execute("DELETE FROM run WHERE log = ?", (log,))
    share_again(connection, readers)


def unneeded(connection: sqlite3.Connection, log: int) -> list[int]:
    """The numbers of the log of a run that is not needed (``abc.store.Store.discard``), and of the logs of processes
    that this run started; empty if any of these runs is needed."""
    logs = [log]
    for each in logs:  # the list grows
        standing = connection.execute("SELECT status, amended FROM run WHERE log = ?", (each,))
        if any(status != Status.OK or amended for status, amended in standing):
            return []
        for beside, body, amended, crc in connection.execute(_BESIDE, (each, each)):
            if not belongs_to(run_of(body, amended, crc)):
                return []
            logs.append(beside)
    return logs
