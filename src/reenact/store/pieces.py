"""The parts of a log that are in other logs: a fork reads its prefix in its parent's rows.

A log may have **bases**: the log of its parent and the logs that this one reads. All bases had ended when the log
began. The log reads the rows of some numbers (of events, of the order) in each base, and has the rows of all other
numbers itself. The row of each number is read in one log only. The content of a run does not depend on bases: once all
rows are taken back (``store.row_sharing``), the log has them itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from enum import IntEnum

from reenact.facts.lazy_dataclass import dataclass
from reenact.store.check_sums import damaged
from reenact.store.ranges import NONE, Ranges, unpack_ranges
from reenact.store.schema import SHIFT
from reenact.store.versions import bring_up

QUERY = "SELECT base, kind, data FROM piece WHERE log = ? ORDER BY base, kind"
"""The query for the rows of one log that ``pieces_of`` takes."""


class LogPart(IntEnum):
    """The parts of a log that other logs read; the numbers are part of the format."""

    EVENTS = 0
    """Events by number, with their evidence, states and streams."""
    ORDER = 1
    """Deliveries by number."""
    READS = 2
    """Ambient reads by lane and position (``place_of``)."""
    OUT = 3
    """Standard output by byte."""
    ERR = 4
    """Standard error by byte."""
    LANES = 5
    """Lanes by number, except the lanes of the log's own rows."""


@dataclass(frozen=True, slots=True)
class LogPiece:
    """The part of one base that a log reads.

    Attributes:
        base: Number of the base.
        events, order, reads, out, err, lanes: The numbers that the log reads in the base, for each part.
    """

    base: int
    events: Ranges = NONE
    order: Ranges = NONE
    reads: Ranges = NONE
    out: Ranges = NONE
    err: Ranges = NONE
    lanes: Ranges = NONE

    def of(self, part: LogPart) -> Ranges:
        """The numbers that the log reads in one part."""
        found: Ranges = getattr(self, part.name.lower())
        return found

    def having(self, part: LogPart, ranges: Ranges) -> LogPiece:
        """The piece with the given numbers in one part."""
        changed = {each.name.lower(): ranges if each is part else self.of(each) for each in LogPart}
        return LogPiece(self.base, **changed)


def place_of(lane: int, position: int) -> int:
    """The number in ``LogPart.READS`` for the ambient reads of a lane at a position."""
    return lane << SHIFT | position


def pieces_of(rows: Iterable[tuple[int, int, bytes]]) -> tuple[LogPiece, ...]:
    """The pieces of one log, in the order of their bases; empty for a log that has all of its rows itself.

    Raises:
        StoreError: A row is damaged.
    """
    found: dict[int, LogPiece] = {}
    for base, kind, data in rows:
        try:
            found[base] = found.get(base, LogPiece(base)).having(LogPart(kind), unpack_ranges(data))
        except ValueError:
            raise damaged("what a fork shares with its parent") from None
    return tuple(found.values())


def pieces(connection: sqlite3.Connection, log: int) -> tuple[LogPiece, ...]:
    """The pieces of a log, read in a transaction; the table of pieces must exist (``is_there``)."""
    return pieces_of(connection.execute(QUERY, (log,)))


def is_there(connection: sqlite3.Connection) -> bool:
    """Whether the store is of a format in which logs have bases."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'piece'").fetchone() is not None


def set_pieces(connection: sqlite3.Connection, log: int, found: Sequence[LogPiece]) -> None:
    """Store the pieces that a log reads elsewhere. Each base has a row for its events, even if the log reads none of
    them."""
    connection.execute("DELETE FROM piece WHERE log = ?", (log,))
    rows = [
        (log, piece.base, int(part), piece.of(part).pack())
        for piece in found
        for part in LogPart
        if part is LogPart.EVENTS or piece.of(part)
    ]
    connection.executemany("INSERT INTO piece(log, base, kind, data) VALUES (?, ?, ?, ?)", rows)


def declare(connection: sqlite3.Connection, log: int, parent: int) -> None:
    """Note the bases of a log that begins: ``parent``, which has ended, and the logs that ``parent`` reads. From now on
    the store is of a format that older versions, which expect whole logs, refuse to read."""
    if not is_there(connection):
        bring_up(connection)
    bases = [parent, *(piece.base for piece in pieces(connection, parent))]
    set_pieces(connection, log, [LogPiece(base) for base in bases])


def readers_of(connection: sqlite3.Connection, base: int) -> list[int]:
    """The numbers of the logs that read a base."""
    return [log for (log,) in connection.execute("SELECT DISTINCT log FROM piece WHERE base = ? ORDER BY log", (base,))]
