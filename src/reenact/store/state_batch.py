"""The states of steps that one transaction writes: each in one row or, in older stores, with a row for each slot."""

from __future__ import annotations

import sqlite3

from reenact.facts.record import CheckpointTaken
from reenact.store.codec import dump
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payloads import Payloads
from reenact.store.slot_rows import (
    GIVEN,
    SHAPES,
    SlotRow,
    StateReader,
    StateRow,
    given_to,
    is_short,
    make_room,
    pack_state,
    put_rows,
    reader_of,
    said_of,
)


class StateBatch:
    """Writes the states of one transaction of a log.

    Args:
        connection: A connection, in a transaction.
        origin: The address of the log's first event.
        payloads: Stores long values.
        hasher: The store's hash.
        known: The number of each row of ``shape``, by the names of slots in it.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        origin: int,
        payloads: Payloads,
        hasher: KeyedHash,
        known: dict[tuple[str, ...], int],
    ) -> None:
        self._connection = connection
        self._origin = origin
        self._payloads = payloads
        self._hasher = hasher
        self._known = known
        self._shapes: dict[tuple[str, ...], int] = {}
        self._reader: StateReader | None = None

    def write(self, record: CheckpointTaken, *, packs: bool) -> None:
        """Write a state, as one row if ``packs`` is set, else with a row for each slot."""
        address = self._origin | record.event
        make_room(self._connection, address, record.phase)
        if packs:
            put_rows(self._connection, [self._packed(address, record)])
            return
        rows = []
        for n, (name, body) in enumerate(record.slots.items()):
            _, digest = self._payloads.keep(self._connection, body, f"slot:{name}")
            rows.append((address, record.phase, n, name, digest, record.fidelity.value, record.note))
        if not rows:
            rows.append((address, record.phase, -1, "", b"", record.fidelity.value, record.note))
        self._connection.executemany("INSERT INTO slot VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def _packed(self, address: int, record: CheckpointTaken) -> StateRow:
        """The row of a whole state."""
        kept = []
        for name, body in record.slots.items():
            if is_short(body):
                kept.append(SlotRow(True, bytes(body)))
            else:
                kept.append(SlotRow(False, self._payloads.keep(self._connection, body, f"slot:{name}")[1]))
        names = tuple(record.slots)
        shape = self._shape_of(names) if names else ""
        given = None
        if record.phase != GIVEN:
            self._reader = self._reader or reader_of(self._connection, self._hasher)
            given = given_to(self._connection, self._reader, address)
        return pack_state(address, record.phase, names, shape, kept, said_of(record.fidelity), record.note, given)

    def _shape_of(self, names: tuple[str, ...]) -> str:
        """The number of the row with the names of a state's slots; empty if the log has too many of these rows."""
        number = self._known.get(names, self._shapes.get(names))
        if number is None:
            number = len(self._known) + len(self._shapes)
            if number >= SHAPES:
                return ""
            self._shapes[names] = number
            self._connection.execute(
                "INSERT OR REPLACE INTO shape(id, names) VALUES (?, ?)", (self._origin | number, dump(names))
            )
        return str(number)

    def commit(self) -> None:
        """Called when the transaction is committed."""
        self._known.update(self._shapes)
