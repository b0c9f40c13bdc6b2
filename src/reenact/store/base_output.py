"""The output of a fork, as far as it equals that of a base: the fork reads these bytes in the base.

Bytes are compared from the first one until they differ; how they were divided into writes does not matter.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from zlib import crc32

from reenact.facts.call import Fidelity
from reenact.facts.common_bytes import shared_length
from reenact.facts.record import OutputPrinted
from reenact.store.codec import dump
from reenact.store.payloads import compress, decompress
from reenact.store.pieces import LogPart, LogPiece, pieces
from reenact.store.schema import LOW, SHIFT

LONGEST = 1 << 20
"""The most bytes of a base's output that are compared."""

STREAMS = {1: LogPart.OUT, 2: LogPart.ERR}
"""The part of a log for each stream: standard output, and standard error."""


Left = Callable[[int, int, bytes], bytes]
"""Takes a stream, an offset and the output there; returns this output without the part that a base has."""


class BaseOutput:
    """The output of the bases of one log. The output of each base is read once, because the base has ended."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bytes] = {}

    def agreeing(
        self, connection: sqlite3.Connection, found: tuple[LogPiece, ...], stream: int, offset: int, data: bytes
    ) -> list[LogPiece]:
        """The pieces of a log that change where bases have the same output as the log at ``offset``.

        Args:
            connection: A connection, in a transaction.
            found: The pieces of the log.
            stream: 1 or 2.
            offset: The number of bytes that the log has printed before.
            data: The next output of the log.
        """
        part = STREAMS[stream]
        if offset != len_of(found, part):
            return []
        changed = []
        for piece in found:
            theirs = self._of(connection, piece.base, stream)
            at = offset - len_of(pieces(connection, piece.base), part)
            same = shared_length(data, theirs[at : at + len(data)]) if at >= 0 else 0
            if same:
                changed.append(piece.having(part, piece.of(part).over(offset, offset + same)))
                offset += same
                data = data[same:]
        return changed

    def _of(self, connection: sqlite3.Connection, log: int, stream: int) -> bytes:
        known = self._known.get((log, stream))
        if known is None:
            known = self._known[log, stream] = printed_by(connection, log, stream)
        return known


class OutputBatch:
    """The output of one transaction; consecutive output of one stream is one row.

    Args:
        origin: The address of the log's first row.
        before: The number of bytes of each stream that the log has printed so far.
    """

    def __init__(self, origin: int, before: dict[int, int]) -> None:
        self._origin = origin
        self._before = before
        self._spoken: dict[int, int] = {}
        self._printed: list[OutputPrinted] = []

    def add(self, record: OutputPrinted) -> None:
        """Take in printed bytes."""
        self._printed.append(record)

    def write(self, connection: sqlite3.Connection, left: Left | None) -> None:
        """Write the output. Of exact output, only the part that ``left`` returns is written, because bases have the
        rest."""
        rows: list[tuple[int, int, str | None, list[bytes]]] = []
        for record in self._printed:
            said = None if record.fidelity is Fidelity.EXACT else dump([record.fidelity.value, record.note])
            if rows and rows[-1][0] == record.stream and rows[-1][2] == said:
                rows[-1][3].append(record.data)
            else:
                rows.append((record.stream, record.at_us, said, [record.data]))
        for stream, at_us, said, parts in rows:
            data = self._own(stream, b"".join(parts), left if said is None else None)
            if not data:
                continue
            owner = self._origin | stream
            codec, kept = compress(data)
            connection.execute(
                "INSERT INTO printed(owner, at_us, said, codec, data, crc) VALUES (?, ?, ?, ?, ?, ?)",
                (owner, at_us, said, codec, kept, crc32(data, owner & LOW)),
            )

    def _own(self, stream: int, data: bytes, left: Left | None) -> bytes:
        offset = self._spoken.get(stream, self._before.get(stream, 0))
        self._spoken[stream] = offset + len(data)
        return data if left is None else left(stream, offset, data)

    def commit(self) -> None:
        """Called after the transaction was committed."""
        self._before.update(self._spoken)


def len_of(found: tuple[LogPiece, ...], part: LogPart) -> int:
    """The number of bytes of a stream that a log leaves to its bases; its own bytes follow."""
    return sum(len(piece.of(part)) for piece in found)


def printed_by(connection: sqlite3.Connection, log: int, stream: int) -> bytes:
    """The own output of a log in a stream: at most ``LONGEST`` bytes, up to a damaged or inexact part."""
    found = bytearray()
    owner = log << SHIFT | stream
    for said, codec, data, crc in connection.execute(
        "SELECT said, codec, data, crc FROM printed WHERE owner = ? ORDER BY id", (owner,)
    ):
        if said is not None:
            break
        try:
            body = decompress(codec, data)
        except ValueError:
            break
        if crc32(body, owner & LOW) != crc or len(found) > LONGEST:
            break
        found += body
    return bytes(found[:LONGEST])


def take_output_back(connection: sqlite3.Connection, log: int, found: tuple[LogPiece, ...]) -> None:
    """Copy all output into the log itself. ``found`` are the pieces of the log; their bases still exist."""
    for stream, part in STREAMS.items():
        ranges = sorted((first, end, piece.base) for piece in found for first, end in piece.of(part))
        owner = log << SHIFT | stream
        said = bytearray()
        for first, end, base in ranges:
            start = len_of(pieces(connection, base), part)
            said += printed_by(connection, base, stream)[first - start : end - start]
        if said:
            rows = connection.execute(
                "SELECT owner, at_us, said, codec, data, crc FROM printed WHERE owner = ? ORDER BY id", (owner,)
            ).fetchall()
            connection.execute("DELETE FROM printed WHERE owner = ?", (owner,))
            first_row = (owner, 0, None, *compress(bytes(said)), crc32(said, owner & LOW))
            connection.executemany(
                "INSERT INTO printed(owner, at_us, said, codec, data, crc) VALUES (?, ?, ?, ?, ?, ?)",
                [first_row, *rows],
            )
