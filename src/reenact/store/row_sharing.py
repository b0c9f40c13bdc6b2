"""The write side of sharing: rows of a fork that are its parent's are left to the parent, and taken back when needed.

No row is assumed to be equal: a row is left to a base only after it and all rows that belong to it were compared with
the base's. Equal rows mean the same event, so a log that reads them in a base reads the same as with rows of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from reenact.facts.order import Delivery, pack, unpack
from reenact.store.base_output import STREAMS, BaseOutput, len_of, take_output_back
from reenact.store.event_equality import WHOLE, events_of, is_whole
from reenact.store.held_payloads import hold, let_go
from reenact.store.passages import share_text, take_text_back, text_of
from reenact.store.pieces import LogPart, LogPiece, declare, is_there, pieces, place_of, readers_of, set_pieces
from reenact.store.ranges import Ranges
from reenact.store.schema import LOW, SHIFT
from reenact.store.slot_rows import PACKED, copy_states

_AT_ONCE = 400
"""The most numbers in one statement."""
_PACK = 256
"""The most deliveries in one row: a reader must unpack a row from its beginning."""
_ALL = Ranges((0, 1 << SHIFT))


_MOVED = {
    "event": (
        "id, strand, kind, name, request, answer, asked, asked_crc, came, came_crc",
        f"id + :by, strand + :by, kind, name, request, answer, {WHOLE.format('event', 'asked')}, asked_crc, "
        f"{WHOLE.format('event', 'came')}, came_crc",
        "id",
    ),
    "stream": ("id, digest, ended, crc", "id + :by, digest, ended, crc", "id"),
    "chunk": (
        "event, n, codec, size, said, segments, data, digest",
        "event + :by, n, codec, size, said, segments, data, digest",
        "event",
    ),
    "slot": (
        "event, phase, n, name, digest, fidelity, remark",
        "event + :by, phase, n, name, digest, fidelity, remark",
        "event",
    ),  # rows of a single slot only; copy_states copies the others
    "note": (
        "owner, name, n, fidelity, value, digest, crc",
        "owner + :by, name, n, fidelity, value, digest, crc",
        "owner",
    ),
}
"""For each table of an event's rows: its columns, their values at the address of another log (check sums cover only the
low half of an address), and the column with the address."""

GOES_ON = ("fork", "resume", "attempt")
"""The relations of runs that begin like their parent."""


class Heir:
    """Shares the rows of one log with its bases while the log is written.

    Args:
        connection: Used in a transaction; the table of pieces exists.
        log: Number of the log.
    """

    def __init__(self, connection: sqlite3.Connection, log: int) -> None:
        self._connection = connection
        self._log = log
        self._before = self._pieces = pieces(connection, log)
        self._left: set[int] = set()

    @property
    def bases(self) -> tuple[int, ...]:
        """The numbers of the log's bases."""
        return tuple(piece.base for piece in self._pieces)

    def save(self) -> None:
        """Write the changes of the log's pieces."""
        if self._pieces != self._before:
            set_pieces(self._connection, self._log, self._pieces)
            self._before = self._pieces

    # --- events ------------------------------------------------------------------------------------------------

    def share(self, numbers: Iterable[int]) -> None:
        """Leave the events that are equal in a base to that base. Each event takes about 20 µs."""
        left = sorted(set(numbers))
        for piece in self._pieces:
            equal = [number for some in _some(left) for number in self._equal(piece.base, some)]
            if equal:
                for some in _some(equal):
                    self._left |= _lanes_of(self._connection, self._log, some)
                    _remove(self._connection, self._log, some)
                self._set(piece.having(LogPart.EVENTS, piece.events.with_(equal)))
                left = sorted({*left} - {*equal})

    def _equal(self, base: int, numbers: Sequence[int]) -> list[int]:
        theirs = events_of(self._connection, base, numbers)
        if not theirs:
            return []
        own = events_of(self._connection, self._log, [number for number in numbers if number in theirs])
        return [number for number, event in own.items() if event == theirs[number] and is_whole(event)]

    def take_back(self, numbers: Iterable[int]) -> None:
        """Copy events back into the log, because more of them will be written."""
        wanted = {*numbers}
        for piece in self._pieces:
            found = [number for number in wanted if number in piece.events]
            if found:
                self._copy(piece.base, Ranges().with_(found))
                self._set(piece.having(LogPart.EVENTS, piece.events.without(found)))
                for some in _some(found):
                    self.take_lanes_back(_lanes_of(self._connection, self._log, some))

    def _copy(self, base: int, numbers: Ranges) -> None:
        by = (self._log - base) << SHIFT
        for first, end in numbers:
            span = {"by": by, "first": base << SHIFT | first, "last": base << SHIFT | end - 1}
            for table, (columns, values, key) in _MOVED.items():
                self._connection.execute(
                    f"INSERT INTO {table}({columns}) SELECT {values} FROM {table} WHERE {key} BETWEEN :first AND :last"
                    + (f" AND n != {PACKED}" if table == "slot" else ""),
                    span,
                )
            copy_states(self._connection, span["first"], span["last"], by)

    def _set(self, changed: LogPiece) -> None:
        self._pieces = tuple(changed if piece.base == changed.base else piece for piece in self._pieces)

    # --- the order ---------------------------------------------------------------------------------------------

    def own_order(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Leave the deliveries that are equal in a base to that base, and return the others."""
        left = list(deliveries)
        for piece in self._pieces:
            if left:
                numbers = Ranges().with_([each.number for each in left])
                theirs = {each.number: each for each in _order(self._connection, piece.base, numbers)}
                equal = [each.number for each in left if theirs.get(each.number) == each]
                if equal:
                    self._set(piece.having(LogPart.ORDER, piece.order.with_(equal)))
                    left = [each for each in left if theirs.get(each.number) != each]
        return left

    def share_order(self) -> None:
        """Leave the deliveries that are already written, and equal in a base, to that base. The others are written
        again."""
        span = (self._log << SHIFT, self._log << SHIFT | LOW)
        left = self.own_order(list(_order(self._connection, self._log, _ALL)))
        self._connection.execute("DELETE FROM turns WHERE id BETWEEN ? AND ?", span)
        self._put_order(left)

    def _put_order(self, deliveries: Sequence[Delivery]) -> None:
        first = self._log << SHIFT
        lanes = self._connection.execute("SELECT path, id FROM lane WHERE id BETWEEN ? AND ?", (first, first | LOW))
        numbers = {path: address & LOW for path, address in lanes}
        for stretch in stretches(deliveries):
            data = pack(stretch, {tag.lane: numbers[tag.lane] for _, tag, *_ in stretch if tag.lane})
            at = stretch[0].number
            self._connection.execute(
                "INSERT INTO turns(id, count, data, crc) VALUES (?, ?, ?, ?)",
                (first | at, len(stretch), data, crc32(data, at)),
            )

    # --- reads -------------------------------------------------------------------------------------------------

    def share_reads(self, places: Iterable[int]) -> None:
        """Leave the ambient reads at some places (``place_of``) to a base that has equal reads there, in a lane with
        the same path."""
        own = {place: _reads(self._connection, self._log, place) for place in places}
        for piece in self._pieces:
            equal = [place for place, reads in own.items() if reads and reads == self._theirs(piece.base, place)]
            for place in equal:
                span = _span(self._log, place)
                self._connection.execute("DELETE FROM ambient WHERE strand = ? AND position = ?", span)
                self._left.add(span[0] & LOW)
                del own[place]
            if equal:
                self._set(piece.having(LogPart.READS, piece.reads.with_(equal)))

    def _theirs(self, base: int, place: int) -> dict[str, bytes] | None:
        sql = "SELECT path FROM lane WHERE id = ?"
        own, other = (self._connection.execute(sql, (_span(log, place)[0],)).fetchone() for log in (self._log, base))
        return _reads(self._connection, base, place) if own == other else None

    def take_reads_back(self, places: Iterable[int]) -> None:
        """Copy the ambient reads at some places back into the log, because more will be written there."""
        wanted = {*places}
        for piece in self._pieces:
            found = [place for place in wanted if place in piece.reads]
            if found:
                self._copy_reads(piece.base, Ranges().with_(found))
                self._set(piece.having(LogPart.READS, piece.reads.without(found)))
                self.take_lanes_back({place >> SHIFT for place in found})

    def _copy_reads(self, base: int, places: Ranges) -> None:
        by = (self._log - base) << SHIFT
        for first, end in places:
            strand, position = _span(base, first)
            self._connection.execute(
                "INSERT INTO ambient(strand, position, n, source, data, crc) SELECT strand + ?, position, n, source, "
                "data, crc FROM ambient WHERE strand = ? AND position >= ? AND position < ?",
                (by, strand, position, position + end - first),
            )

    def own_output(self, spoken: BaseOutput, stream: int, offset: int, data: bytes) -> bytes:
        """Leave the output after ``offset`` bytes to the bases as far as they have equal output, and return the
        rest."""
        for piece in spoken.agreeing(self._connection, self._pieces, stream, offset, data):
            self._set(piece)
        left = len_of(self._pieces, STREAMS[stream]) - offset
        return data[left:] if left > 0 else data

    # --- lanes -------------------------------------------------------------------------------------------------

    def share_lanes(self, numbers: Iterable[int], named: Collection[int]) -> None:
        """Leave lanes that have no row in this log to a base that has these lanes. The lanes are those in ``numbers``,
        and those whose rows have just been left to a base. The lanes in ``named`` stay, because the order of this log
        names them."""
        wanted = sorted({*numbers} | self._left)
        self._left.clear()
        free = [number for number in wanted if number not in named and not self._is_used(number)]
        own = {number: row for some in _some(free) for number, row in _lanes(self._connection, self._log, some).items()}
        for piece in self._pieces:
            theirs: dict[int, Any] = {}
            for some in _some([*own]):
                theirs |= _lanes(self._connection, piece.base, some)
            equal = [number for number, row in own.items() if theirs.get(number) == row]
            for number in equal:
                self._connection.execute("DELETE FROM lane WHERE id = ?", (self._log << SHIFT | number,))
                del own[number]
            if equal:
                self._set(piece.having(LogPart.LANES, piece.lanes.with_(equal)))

    def _is_used(self, number: int) -> bool:
        address = (self._log << SHIFT | number,)
        tables = ("event", "ambient")
        return any(
            self._connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table} WHERE strand = ?)", address).fetchone()[0]
            for table in tables
        )

    def take_lanes_back(self, numbers: Iterable[int]) -> None:
        """Copy lanes back into the log, because rows will be written on them."""
        wanted = {*numbers}
        for piece in self._pieces:
            found = [number for number in wanted if number in piece.lanes]
            if found:
                self._copy_lanes(piece.base, Ranges().with_(found))
                self._set(piece.having(LogPart.LANES, piece.lanes.without(found)))

    def _copy_lanes(self, base: int, numbers: Ranges) -> None:
        by = (self._log - base) << SHIFT
        for first, end in numbers:
            self._connection.execute(
                "INSERT INTO lane(id, path, parent, kind) SELECT id + ?, path, parent, kind FROM lane "
                "WHERE id BETWEEN ? AND ?",
                (by, base << SHIFT | first, base << SHIFT | end - 1),
            )

    # --- all of it ---------------------------------------------------------------------------------------------

    def take_back_all(self) -> None:
        """Copy everything back into the log, the payloads too, so that it has no base any more."""
        take_output_back(self._connection, self._log, self._pieces)
        for piece in self._pieces:
            self._copy_lanes(piece.base, piece.lanes)
        for piece in self._pieces:
            self._copy(piece.base, piece.events)
            self._put_order(list(_order(self._connection, piece.base, piece.order)))
            self._copy_reads(piece.base, piece.reads)
        self._pieces = ()
        self.save()
        take_text_back(self._connection, self._log)
        hold(self._connection, self._log)


def stretches(deliveries: Sequence[Delivery]) -> Iterator[Sequence[Delivery]]:
    """Divides deliveries into stretches for one row each: without a gap, and of limited length."""
    start = 0
    for at in range(1, len(deliveries) + 1):
        follows = at < len(deliveries) and deliveries[at].number == deliveries[at - 1].number + 1
        if not follows or at - start >= _PACK:
            yield deliveries[start:at]
            start = at


def last_serial(connection: sqlite3.Connection, bases: Iterable[int]) -> int:
    """The largest serial number of ambient reads and evidence in some logs. A log that may take these rows back begins
    its own numbers after it, so that its later rows stay later. The query looks at every read, which takes about 0.1 µs
    each."""
    last = 0
    for base in bases:
        span = (base << SHIFT, base << SHIFT | LOW)
        row = connection.execute(
            "SELECT max((SELECT coalesce(max(n), 0) FROM ambient WHERE strand BETWEEN ? AND ?), "
            "(SELECT coalesce(max(n), 0) FROM note WHERE owner BETWEEN ? AND ?))",
            (*span, *span),
        ).fetchone()
        last = max(last, row[0])
    return last


def hand_over(connection: sqlite3.Connection, log: int) -> list[int]:
    """Give the rows of a log that will be deleted to the logs that read them. Returns the numbers of these logs."""
    if not is_there(connection):
        return []
    readers = readers_of(connection, log)
    for reader in reversed(readers):  # forks of forks first, while the passages that they read still exist
        Heir(connection, reader).take_back_all()
    return readers


def share_again(connection: sqlite3.Connection, logs: Sequence[int]) -> None:
    """Let logs that have just been given the same rows share them again: the logs that have ended leave them to the
    first of these logs."""
    ended = [log for log in logs if _has_ended(connection, log)]
    for reader in ended[1:]:
        share_with(connection, reader, ended[0])


def share_with(connection: sqlite3.Connection, reader: int, base: int) -> None:
    """Leave the rows of a log that are equal in a base to that base. The log has all of its rows itself, none of them
    folded, and both logs have ended."""
    declare(connection, reader, base)
    heir = Heir(connection, reader)
    first = reader << SHIFT
    rows = connection.execute("SELECT id FROM event WHERE id BETWEEN ? AND ?", (first, first | LOW))
    heir.share([address & LOW for (address,) in rows.fetchall()])
    heir.share_order()
    places = connection.execute(
        "SELECT DISTINCT strand, position FROM ambient WHERE strand BETWEEN ? AND ?", (first, first | LOW)
    )
    heir.share_reads([place_of(strand & LOW, position) for strand, position in places.fetchall()])
    lanes = {path: number for number, (path, _, _) in _lanes(connection, reader).items()}
    named = {lanes[each.tag.lane] for each in _order(connection, reader, _ALL) if each.tag.lane in lanes}
    heir.share_lanes(lanes.values(), named)
    heir.save()
    share_text(connection, reader, text_of(connection, reader), heir.bases)
    let_go(connection, reader, heir.bases)


def _has_ended(connection: sqlite3.Connection, log: int) -> bool:
    row = connection.execute("SELECT status FROM run WHERE id = ?", (log,)).fetchone()
    return row is not None and row[0] != "recording"


# --- rows ------------------------------------------------------------------------------------------------------


def _some(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for at in range(0, len(numbers), _AT_ONCE):
        yield numbers[at : at + _AT_ONCE]


def _remove(connection: sqlite3.Connection, log: int, numbers: Sequence[int]) -> None:
    addresses = [log << SHIFT | number for number in numbers]
    marks = ", ".join("?" * len(addresses))
    for table, (_, _, key) in _MOVED.items():
        connection.execute(f"DELETE FROM {table} WHERE {key} IN ({marks})", addresses)


def _order(connection: sqlite3.Connection, log: int, numbers: Ranges) -> Iterator[Delivery]:
    """The deliveries of one log with these numbers, without deliveries in damaged rows."""
    if not numbers:
        return
    first, end = numbers.bounds[0], numbers.bounds[-1]
    origin = log << SHIFT
    row = connection.execute("SELECT max(id) FROM turns WHERE id BETWEEN ? AND ?", (origin, origin | first)).fetchone()
    lanes = connection.execute("SELECT id, path FROM lane WHERE id BETWEEN ? AND ?", (origin, origin | LOW))
    paths = _Paths({address & LOW: path for address, path in lanes})
    rows = connection.execute(
        "SELECT id, data, crc FROM turns WHERE id BETWEEN ? AND ? ORDER BY id",
        (origin if row[0] is None else row[0], origin | end - 1),
    )
    for address, data, crc in rows:
        if crc32(data, address & LOW) == crc:
            yield from (each for each in unpack(data, address & LOW, paths) if each.number in numbers)


def _lanes(
    connection: sqlite3.Connection, log: int, numbers: Sequence[int] | None = None
) -> dict[int, tuple[Any, ...]]:
    """For lanes whose rows a log has, by number: the path, the number of the lane above, and the kind. For None, all
    such lanes."""
    sql, values = "SELECT id, path, parent, kind FROM lane WHERE id ", [log << SHIFT, log << SHIFT | LOW]
    if numbers is not None:
        values = [log << SHIFT | number for number in numbers]
    sql += "BETWEEN ? AND ?" if numbers is None else f"IN ({', '.join('?' * len(values))})"
    return {address & LOW: tuple(row) for address, *row in connection.execute(sql, values)}


def _lanes_of(connection: sqlite3.Connection, log: int, events: Sequence[int]) -> set[int]:
    """The numbers of the lanes of some events."""
    addresses = [log << SHIFT | number for number in events]
    sql = f"SELECT DISTINCT strand FROM event WHERE id IN ({', '.join('?' * len(addresses))})"
    return {strand & LOW for (strand,) in connection.execute(sql, addresses)}


def _span(log: int, place: int) -> tuple[int, int]:
    """The address of the lane, and the position, for the ambient reads at a place."""
    return log << SHIFT | place >> SHIFT, place & LOW


def _reads(connection: sqlite3.Connection, log: int, place: int) -> dict[str, bytes]:
    """The ambient reads at one place, by source, with reads that continue others joined; empty where a read is
    damaged."""
    found: dict[str, bytes] = {}
    strand, position = _span(log, place)
    rows = connection.execute(
        "SELECT source, data, crc FROM ambient WHERE strand = ? AND position = ? ORDER BY n", (strand, position)
    )
    for source, data, crc in rows:
        if crc32(data, strand & LOW) != crc:
            return {}
        found[source] = found.get(source, b"") + data
    return found


class _Paths(dict[int, str]):
    """The paths of lanes by number. For a lane whose row was lost, it is a question mark and the number, as for
    readers."""

    def __missing__(self, number: int) -> str:
        return f"?{number}"
