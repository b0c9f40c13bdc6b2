"""The rows of a transaction's events. An event that one transaction issues and settles is written once, with both of
its texts folded."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Any

from reenact.facts.record import CallIssued
from reenact.store.check_sums import sum_of
from reenact.store.folding import ColumnFold, first_of, whole
from reenact.store.rows import asked_row
from reenact.store.schema import LOW, SHIFT


class EventBatch:
    """The events of one transaction of a log.

    Args:
        origin: The address of the log's first event.
        asked, came: The folds of the columns ``asked`` and ``came``.
        folds: Whether texts are folded here.
    """

    def __init__(self, origin: int, asked: ColumnFold, came: ColumnFold, *, folds: bool) -> None:
        self._origin = origin
        self._asked = asked
        self._came = came
        self._folds = folds
        self._events: dict[int, list[Any]] = {}
        self._updates: dict[int, tuple[str, int, int | None]] = {}
        self.last = -1
        """The number of the last event in the batch."""

    def __len__(self) -> int:
        """The number of events that the batch issues."""
        return len(self._events)

    def issue(self, record: CallIssued, request: int | None, digest: bytes) -> None:
        """Note that a call begins.

        Args:
            record: The call.
            request: The number of the payload of its request.
            digest: The digest of that payload.
        """
        address, call = self._origin | record.event, record.call
        asked = asked_row(record, digest)
        kept = self._asked.fold(record.event, asked, _written_here) if self._folds else asked
        self._events[record.event] = [
            address, self._origin | record.lane, call.kind.value, call.name, request, None,
            kept, sum_of(address, asked), None, None,
        ]  # fmt: skip
        self.last = max(self.last, record.event)

    def settle(self, connection: sqlite3.Connection, event: int, text: str, where: int | None) -> None:
        """Note the outcome of a call; a second outcome replaces the first."""
        crc = sum_of(self._origin | event, text)
        if self._folds:
            if self._came.is_first(event):
                self._stand_alone(connection, event)
            text = self._came.fold(event, text, partial(self._has_row, connection))
        row = self._events.get(event)
        if row is not None:
            row[5], row[8], row[9] = where, text, crc
        else:
            self._updates[event] = (text, crc, where)

    def _has_row(self, connection: sqlite3.Connection, event: int) -> bool:
        """Whether an event has a row. If the batch with the beginning of a call was lost, the event has none, and the
        result of the call cannot be stored."""
        if event in self._events:
            return True
        query = "SELECT 1 FROM event WHERE id = ?"
        return connection.execute(query, (self._origin | event,)).fetchone() is not None

    def _stand_alone(self, connection: sqlite3.Connection, event: int) -> None:
        """Prepare a call for a second result, which replaces the first. Texts that were folded onto the first one
        become whole."""
        address = self._origin | event
        row = self._events.get(event)
        first = row[8] if row is not None else self._updates.get(event, (None,))[0]
        if first is None:
            row = connection.execute("SELECT came FROM event WHERE id = ?", (address,)).fetchone()
            first = row[0] if row is not None else None  # without a row, no other text refers to it
        for each in self._events.values():
            each[8] = whole(each[8], first) if first_of(each[8], address) == address else each[8]
        for number, (text, crc, where) in self._updates.items():
            if first_of(text, address) == address:
                self._updates[number] = (str(whole(text, first)), crc, where)
        connection.execute(
            "UPDATE event SET came = whole(came, ?) WHERE id BETWEEN ? AND ? AND first_of(came, id) = ?",
            (first, self._origin, self._origin | LOW, address),
        )
        self._came.drop(event)

    def write(self, connection: sqlite3.Connection, before: int, last: int) -> None:
        """Write the events. Before this batch, the log has ``before`` events, and its last event has the number
        ``last``."""
        if self._events:
            connection.executemany(
                "INSERT INTO event(id, strand, kind, name, request, answer, asked, asked_crc, came, came_crc) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                self._events.values(),
            )
            connection.execute(
                "UPDATE log SET events = ?, last = ? WHERE id = ?",
                (before + len(self._events), max(last, self.last), self._origin >> SHIFT),
            )
        if self._updates:
            connection.executemany(
                "UPDATE event SET came = ?, came_crc = ?, answer = ? WHERE id = ?",
                [(text, crc, where, self._origin | event) for event, (text, crc, where) in self._updates.items()],
            )

    def commit(self) -> None:
        """Called when the transaction is committed."""
        self._asked.commit()
        self._came.commit()

    def roll_back(self) -> None:
        """Called when the transaction has failed."""
        self._asked.roll_back()
        self._came.roll_back()


def _written_here(_: int) -> bool:
    """Whether an event has a row: always, because the row of a call is written with its request."""
    return True
