"""The state of a step in one row of ``slot``: its long values as digests, its short values as bytes.

A short value takes less space than the row of a payload, with entries in two indexes, and the row of a slot that names
it. So a row with ``n`` = ``PACKED`` has all of a state. Its column ``name`` names all slots: by the number of a row of
``shape`` in the same log, or as a JSON list. Its column ``digest`` begins with a check sum. For each slot, one byte
follows: a length or a mark. After a length come that many bytes of the value; after a mark a digest, or nothing if a
step left the slot unchanged. The check sum is taken over the row with all values filled in.

Older versions have one row for each slot (``n`` from 0 on, -1 for a state without slots); these are still read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from reenact.facts.call import Fidelity
from reenact.facts.growth import is_grown
from reenact.facts.large_values import is_large, is_withheld
from reenact.store.codec import dump, load
from reenact.store.keyed_hash import DIGEST_SIZE, KeyedHash
from reenact.store.payloads import WITHHELD
from reenact.store.schema import LOW, SHIFT

PACKED = -2
"""The number ``n`` of a row with a whole state."""

SHORT = 64
"""The size of the largest value inside the row, in bytes."""

SHAPES = 64
"""The most rows of ``shape`` in a log. Further names are stored in the state's own row."""

_LONG = 255
_SAME = 254
_SUM = 4
_REMEMBERED = 4096

Rows = Callable[[str, Sequence[Any]], list[Any]]
"""Gives all rows of a query."""


class SlotRow(NamedTuple):
    """One slot in the row of a state.

    Attributes:
        short: Whether the row has the value itself.
        data: The value, or its digest.
    """

    short: bool
    data: bytes


class KeptState(NamedTuple):
    """A state in the form of its row.

    Attributes:
        names: The names of its slots, in order.
        kept: The content of each slot.
    """

    names: tuple[str, ...]
    kept: list[SlotRow]


class StateRow(NamedTuple):
    """The columns of a row of a state."""

    event: int
    phase: str
    n: int
    name: str
    digest: bytes
    fidelity: str
    remark: str


COLUMNS = ", ".join(StateRow._fields)

GIVEN = "in"
"""The phase of the state at the beginning of a step."""


def is_short(body: bytes) -> bool:
    """Whether a value lies in the row of its state."""
    return not (is_large(body) or is_withheld(body) or is_grown(body)) and len(body) <= SHORT


def said_of(fidelity: Fidelity) -> str:
    """The fidelity of a state, as its row states it: empty for an exact state."""
    return "" if fidelity is Fidelity.EXACT else fidelity.value


def pack_state(
    address: int,
    phase: str,
    names: tuple[str, ...],
    shape: str,
    kept: Iterable[SlotRow],
    fidelity: str,
    remark: str,
    given: KeptState | None = None,
) -> StateRow:
    """The row of a state.

    Args:
        address: The address of its event.
        phase: The phase of the state.
        names: The names of its slots, in order.
        shape: The number of the row of ``shape`` with these names; empty to store the names themselves.
        kept: The content of each slot.
        fidelity: The result of ``said_of``.
        remark: The note on the state.
        given: The state before the same step, if it has a row; slots that equal it are left out.
    """
    before = dict(zip(given.names, given.kept, strict=True)) if given is not None else {}
    whole, found = bytearray(_SUM), bytearray(_SUM)
    for name, each in zip(names, kept, strict=True):
        entry = _entry(each)
        whole += entry
        found += bytes((_SAME,)) if before.get(name) == each else entry
    listed = dump(names)
    found[:_SUM] = _sum(address, _said(phase, fidelity, remark, listed), whole)
    return StateRow(address, phase, PACKED, shape or listed, bytes(found), fidelity, remark)


def _entry(kept: SlotRow) -> bytes:
    return bytes((len(kept.data) if kept.short else _LONG,)) + kept.data


def _said(phase: str, fidelity: str, remark: str, listed: str) -> bytes:
    return "\0".join((phase, fidelity, remark, listed)).encode()


def _sum(address: int, said: bytes, whole: bytes | bytearray) -> bytes:
    return crc32(memoryview(whole)[_SUM:], crc32(said, address & LOW)).to_bytes(_SUM, "little")


def _checked(
    address: int, names: tuple[str, ...], kept: Sequence[SlotRow | None], said: bytes, data: bytes, whole: bytes
) -> KeptState:
    """The state from its parts, if its row (``data``) has the right check sum."""
    found = [each for each in kept if each is not None]
    if len(found) != len(names) or data[:_SUM] != _sum(address, said, whole):
        raise ValueError("a state that does not agree with its check sum")
    return KeptState(names, found)


class StateReader:
    """Reads states from their rows. Any thread may use it: its caches are never changed, only replaced.

    Args:
        rows: Gives all rows of a query.
        hasher: The store's hash.
    """

    def __init__(self, rows: Rows, hasher: KeyedHash) -> None:
        self._rows = rows
        self._hasher = hasher
        self._shapes: dict[int, tuple[tuple[str, ...], str]] = {}
        self._last: tuple[tuple[Any, ...], KeptState] = ((), KeptState((), []))
        self._digests: dict[bytes, bytes] = {}

    def unpack(self, row: Sequence[Any], given: Sequence[Any] | None = None) -> KeptState:
        """The state in a row.

        Args:
            row: Its columns, like those of ``StateRow``.
            given: The row of the state before the same step, if at hand.

        Raises:
            ValueError: The row is damaged, or its names are gone.
        """
        address, phase, _, shape, data, fidelity, remark = row
        if tuple(row) == self._last[0]:
            return self._last[1]
        if not (type(data) is bytes and type(phase) is type(shape) is type(fidelity) is type(remark) is str):
            raise ValueError("a state of other columns")
        names, listed = self._listed(address, shape)
        said = _said(phase, fidelity, remark, listed)
        found = _kept(data)
        if None not in found:
            return _checked(address, names, found, said, data, data)
        if given is not None:
            try:
                return self._joined(address, names, found, said, data, given)
            except ValueError:
                pass  # the given row may be outdated: read it again
        rows = self._rows(
            f"SELECT {COLUMNS} FROM slot WHERE event = ? AND phase = ? AND n = {PACKED}", (address, GIVEN)
        )
        if not rows or phase == GIVEN:
            raise ValueError("the state that the step was given is gone")
        return self._joined(address, names, found, said, data, rows[0])

    def _joined(
        self,
        address: int,
        names: tuple[str, ...],
        found: Sequence[SlotRow | None],
        said: bytes,
        data: bytes,
        given: Sequence[Any],
    ) -> KeptState:
        """The state after a step, joined with the state before it."""
        before = self.unpack(given)
        self._last = tuple(given), before  # a reader that goes backwards needs this state next
        known = dict(zip(before.names, before.kept, strict=True))
        kept = [known.get(name) if each is None else each for name, each in zip(names, found, strict=True)]
        whole = bytes(_SUM) + b"".join([_entry(each) for each in kept if each is not None])
        return _checked(address, names, kept, said, data, whole)

    def names(self, address: int, shape: str) -> tuple[str, ...]:
        """The names of the slots of a state.

        Args:
            address: The address of its event.
            shape: The content of the column ``name``: a number of a row of ``shape``, or a JSON list.

        Raises:
            ValueError: The names are gone, or damaged.
        """
        return self._listed(address, shape)[0]

    def _listed(self, address: int, shape: str) -> tuple[tuple[str, ...], str]:
        """The names, and the JSON list of them that the check sum covers."""
        if shape[:1] == "[":
            return _listed(shape), shape
        place = address & ~LOW | int(shape)
        known = self._shapes.get(place)
        if known is None:
            rows = self._rows("SELECT names FROM shape WHERE id = ?", (place,))
            if not rows or type(rows[0][0]) is not str:
                raise ValueError("the names of a state are gone")
            known = _listed(rows[0][0]), rows[0][0]
            self._shapes = {**self._shapes, place: known} if len(self._shapes) < SHAPES else {place: known}
        return known

    def digest(self, kept: SlotRow) -> bytes:
        """The digest of a value, the same whether it is stored in the row or as a payload; empty for no bytes."""
        if not kept.short or not kept.data:
            return kept.data
        found = self._digests.get(kept.data)
        if found is None:
            found = self._hasher.of(kept.data)
            if len(self._digests) >= _REMEMBERED:
                self._digests = {}
            self._digests[kept.data] = found
        return found

    def as_slots(self, row: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The row of a state as a row for each slot, as older versions wrote them; ``row`` itself if it already is a
        row of a slot.

        Raises:
            ValueError: As ``unpack``.
        """
        address, phase, n, _, _, fidelity, remark = row
        if n != PACKED:
            return [tuple(row)]
        state = self.unpack(row)
        about = fidelity or Fidelity.EXACT.value, remark
        slots = zip(state.names, state.kept, strict=True)
        found = [(address, phase, at, name, self.digest(kept), *about) for at, (name, kept) in enumerate(slots)]
        return found or [(address, phase, -1, "", b"", *about)]


def _listed(text: str) -> tuple[str, ...]:
    found = load(text)
    if type(found) is not list:
        raise ValueError("names that are none")
    return tuple(found)


def _kept(data: bytes) -> list[SlotRow | None]:
    """The slots in a row; None for a slot with the same value in the state before the step."""
    found: list[SlotRow | None] = []
    at = _SUM
    while at < len(data):
        size = data[at]
        at += 1
        if size == _SAME:
            found.append(None)
            continue
        end = at + (DIGEST_SIZE if size == _LONG else size)
        found.append(SlotRow(size != _LONG, data[at:end]))
        at = end
    return found


def short_value(rows: Rows, hasher: KeyedHash, digest: bytes, first: int, end: int) -> bytes | None:
    """The short value with a digest, from the rows of a log's states; None where no row has it. The search is for a
    value that only the row of a state has, and of which only the digest is known.

    Args:
        rows: Gives all rows of a query.
        hasher: The store's hash.
        digest: The digest of the value.
        first: Address of the first event.
        end: Address of the last event.
    """
    states = StateReader(rows, hasher)
    for row in rows(f"SELECT {COLUMNS} FROM slot WHERE event BETWEEN ? AND ? AND n = {PACKED}", (first, end)):
        try:
            kept = states.unpack(row).kept
        except ValueError:
            continue
        for each in kept:
            if each.short and states.digest(each) == digest:
                return each.data
    return None


# --- in the transaction that changes them ------------------------------------------------------------------------


def states_of(connection: sqlite3.Connection) -> StateReader:
    """A reader of states that uses a writing connection."""
    (key,) = connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
    return reader_of(connection, KeyedHash(key))


def reader_of(connection: sqlite3.Connection, hasher: KeyedHash) -> StateReader:
    """A reader of states that uses a writing connection and the store's own hash."""
    return StateReader(lambda sql, values: connection.execute(sql, values).fetchall(), hasher)


def packed_rows(connection: sqlite3.Connection, first: int, end: int) -> list[StateRow]:
    """The rows of states between two addresses, both included."""
    return [
        StateRow(*row)
        for row in connection.execute(
            f"SELECT {COLUMNS} FROM slot WHERE event BETWEEN ? AND ? AND n = {PACKED}", (first, end)
        )
    ]


def put_rows(connection: sqlite3.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows of states, or of slots."""
    connection.executemany(f"INSERT OR REPLACE INTO slot({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def given_to(connection: sqlite3.Connection, states: StateReader, address: int) -> KeptState | None:
    """The state before a step, if it has one row that can be read.

    Args:
        connection: A connection, in a transaction.
        states: Reads rows.
        address: The address of the step.
    """
    sql = f"SELECT {COLUMNS} FROM slot WHERE event = ? AND phase = ? AND n = {PACKED}"
    row = connection.execute(sql, (address, GIVEN)).fetchone()
    try:
        return None if row is None else states.unpack(row)
    except ValueError:
        return None


def make_room(connection: sqlite3.Connection, address: int, phase: str) -> None:
    """Remove a state that will be written again. If it is the state before its step, the state after the step is first
    stored whole."""
    sql = f"SELECT {COLUMNS} FROM slot WHERE event = ? AND phase = ?"
    if not connection.execute(sql, (address, phase)).fetchone():
        return
    if phase == GIVEN:
        states = states_of(connection)
        others = connection.execute(f"{sql.replace('phase =', 'phase !=')} AND n = {PACKED}", (address, phase))
        for row in [StateRow(*each) for each in others.fetchall()]:
            names, kept = states.unpack(row)
            shape = "" if row.name[:1] == "[" else row.name
            put_rows(connection, [pack_state(address, row.phase, names, shape, kept, row.fidelity, row.remark)])
    connection.execute("DELETE FROM slot WHERE event = ? AND phase = ?", (address, phase))


def copy_states(connection: sqlite3.Connection, first: int, end: int, by: int) -> None:
    """Copy some rows of states into another log.

    Args:
        connection: A connection, in a transaction.
        first: Address of the first event.
        end: Address of the last event.
        by: The number that is added to each address.
    """
    states = states_of(connection)
    found = []
    for row in packed_rows(connection, first, end):
        try:
            listed = dump(states.names(row.event, row.name))
        except ValueError:  # damaged: the row is copied as it is
            listed = row.name
        found.append(row._replace(event=row.event + by, name=listed))
    put_rows(connection, found)


def long_values(connection: sqlite3.Connection, log: int) -> list[bytes]:
    """The digests of the payloads that the rows of a log's states name."""
    found: set[bytes] = set()
    for row in packed_rows(connection, log << SHIFT, log << SHIFT | LOW):
        found.update(each.data for each in _kept(row.digest) if each is not None and not each.short)
    return list(found)


def take_out(connection: sqlite3.Connection, log: int) -> None:
    """Take the short values out of the states of a log. The size and digest of each value stay, in the row of a payload
    without bytes."""
    states = states_of(connection)
    changed = []
    for row in packed_rows(connection, log << SHIFT, log << SHIFT | LOW):
        try:
            names, kept = states.unpack(row)
        except ValueError:  # damaged: the state becomes an empty one
            names, kept = (), []
        left = []
        for each in kept:
            if each.short and each.data:
                connection.execute(
                    "INSERT OR IGNORE INTO payload(digest, size, codec, owner, data) VALUES (?, ?, ?, ?, x'')",
                    (states.digest(each), len(each.data), WITHHELD, log),
                )
                left.append(SlotRow(False, states.digest(each)))
            else:
                left.append(each)
        shape = "" if row.name[:1] == "[" or not names else row.name
        changed.append(pack_state(row.event, row.phase, names, shape, left, row.fidelity, row.remark))
    put_rows(connection, changed)


def has_shapes(connection: sqlite3.Connection) -> bool:
    """Whether the store has a table for the names of slots; stores of older formats have none."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'shape'").fetchone() is not None


def forget_states(connection: sqlite3.Connection, log: int) -> None:
    """Remove the states of a log."""
    within = log << SHIFT, log << SHIFT | LOW
    connection.execute("DELETE FROM slot WHERE event BETWEEN ? AND ?", within)
    if has_shapes(connection):
        connection.execute("DELETE FROM shape WHERE id BETWEEN ? AND ?", within)
