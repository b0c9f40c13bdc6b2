"""Streams in pieces: segments are gathered into rows of at most 256 KiB, and each row is checked before its bytes are
given.

Beside its bytes, a row has a packed table with the delivery, time and length of each segment. The digest of a row
covers the digest of the row before, so that a lost, swapped or changed row is found when it is read. The digest of all
bytes of the stream is its address as a payload.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from reenact.abc.hash_protocol import Hash
from reenact.facts.call import Fidelity
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.record import SegmentArrived, StreamEnded
from reenact.store.check_sums import sum_of
from reenact.store.codec import dump, joined, load, weaker
from reenact.store.keyed_hash import DIGEST_SIZE, KeyedHash
from reenact.store.payloads import compress, decompress
from reenact.store.rows import ended_row

ROW_BYTES = 256 << 10
"""The most bytes of one row."""

_ENTRY = struct.Struct("<qqIB")
_NO_DELIVERY = -1
_CONTINUED = 1
FIRST_LINK = bytes(DIGEST_SIZE)
"""The digest that stands for the row before the first row."""

_ADDRESS = struct.Struct("<qI")


class StreamPart(NamedTuple):
    """One segment, or the part of a segment that one row holds."""

    delivery: int | None
    at_us: int
    data: bytes
    continued: bool = False


class Chunk(NamedTuple):
    """The columns of one row of a stream, without its id."""

    event: int
    n: int
    codec: int
    size: int
    said: str | None
    segments: bytes
    data: bytes
    digest: bytes


@dataclass(slots=True)
class OpenStream:
    """A stream that is being written.

    Attributes:
        address: The address of its event.
        whole: Hash of all bytes so far.
        link: Digest of the last row.
        rows, size, segments: The number of written rows, and the number of bytes and of segments so far.
        fidelity, remark: The weakest fidelity of its segments, and their remarks.
        pending: The segments without a row so far.
    """

    address: int
    whole: Hash
    link: bytes = FIRST_LINK
    rows: int = 0
    size: int = 0
    segments: int = 0
    fidelity: Fidelity = Fidelity.EXACT
    remark: str = ""
    pending: list[SegmentArrived] = field(default_factory=list)

    def copy(self) -> OpenStream:
        """A copy, which a batch that may fail can change."""
        return OpenStream(
            self.address,
            self.whole.copy(),
            self.link,
            self.rows,
            self.size,
            self.segments,
            self.fidelity,
            self.remark,
            list(self.pending),
        )

    def add(self, record: SegmentArrived) -> None:
        """Take in one segment, which waits in memory for ``cut``."""
        self.pending.append(record)
        self.whole.update(record.data)
        self.size += len(record.data)
        self.segments += 1
        if record.fidelity is not Fidelity.EXACT or record.note:
            self.fidelity = weaker(self.fidelity, record.fidelity)
            self.remark = joined(self.remark, record.note)

    def cut(self, hasher: KeyedHash) -> Iterator[Chunk]:
        """Make rows of all segments that wait in memory."""
        parts: list[StreamPart] = []
        size = 0
        for part in _pieces(self.pending):
            if parts and size + len(part.data) > ROW_BYTES:
                yield self._row(hasher, parts)
                parts, size = [], 0
            parts.append(part)
            size += len(part.data)
        if parts:
            yield self._row(hasher, parts)
        self.pending.clear()

    def _row(self, hasher: KeyedHash, parts: list[StreamPart]) -> Chunk:
        data = b"".join([part.data for part in parts])
        table = b"".join(
            _ENTRY.pack(
                _NO_DELIVERY if part.delivery is None else part.delivery,
                part.at_us,
                len(part.data),
                _CONTINUED if part.continued else 0,
            )
            for part in parts
        )
        said = None
        if self.fidelity is not Fidelity.EXACT or self.remark:
            said = dump([self.fidelity.value, self.remark])
        self.link = link_of(hasher, self.address, self.rows, self.link, table, data)
        codec, kept = compress(data)
        chunk = Chunk(self.address, self.rows, codec, len(data), said, _framed(table), kept, self.link)
        self.rows += 1
        return chunk


class StreamBatch:
    """The streams of one transaction, written to copies that count only after ``commit``.

    Args:
        origin: The address of the log's first event.
        hasher: The store's hash.
        known: Streams of the log that are open, by event.
    """

    def __init__(self, origin: int, hasher: KeyedHash, known: dict[int, OpenStream]) -> None:
        self._origin = origin
        self._hasher = hasher
        self._known = known
        self._streams: dict[int, OpenStream | None] = {}
        self._ended: list[StreamEnded] = []

    def add(self, record: SegmentArrived) -> None:
        """Take in one segment."""
        self._stream(record.event).add(record)

    def end(self, record: StreamEnded) -> None:
        """Take in the end of a stream."""
        self._stream(record.event)
        self._ended.append(record)

    def _stream(self, event: int) -> OpenStream:
        """The stream of an event, as a copy that belongs to this batch."""
        stream = self._streams.get(event)
        if stream is None:
            known = self._known.get(event)
            stream = known.copy() if known else OpenStream(self._origin | event, self._hasher.begin())
            self._streams[event] = stream
        return stream

    def write(self, connection: sqlite3.Connection) -> None:
        """Write the new rows of streams, and the ends of streams that have ended, by one statement each."""
        open_ones = [stream for stream in self._streams.values() if stream is not None and stream.pending]
        if open_ones:
            connection.executemany(
                "INSERT INTO chunk(event, n, codec, size, said, segments, data, digest) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                chain.from_iterable([stream.cut(self._hasher) for stream in open_ones]),
            )
        rows = []
        for record in self._ended:
            ended = self._streams[record.event]
            if ended is None:
                continue
            address = self._origin | record.event
            text = ended_row(
                record.at_us, record.delivery, ended.fidelity, ended.remark, ended.size, ended.segments, record.end
            )
            rows.append((address, ended.whole.digest(), text, sum_of(address, text)))
            self._streams[record.event] = None
        if rows:
            connection.executemany("INSERT OR IGNORE INTO stream(id, digest, ended, crc) VALUES (?, ?, ?, ?)", rows)

    def commit(self) -> None:
        """Called when the transaction is committed."""
        for number, stream in self._streams.items():
            if stream is None:
                self._known.pop(number, None)
            else:
                self._known[number] = stream


def _pieces(records: Iterable[SegmentArrived]) -> Iterator[StreamPart]:
    """The segments as parts; a large segment is cut, so that each part fits into a row."""
    for record in records:
        data = record.data
        if len(data) <= ROW_BYTES:
            yield StreamPart(record.delivery, record.at_us, data)
            continue
        for at in range(0, len(data), ROW_BYTES):
            piece = data[at : at + ROW_BYTES]
            yield StreamPart(record.delivery, record.at_us, piece, at + ROW_BYTES < len(data))


def _framed(table: bytes) -> bytes:
    """A packed table after one byte, which is the codec."""
    codec, kept = compress(table)
    return bytes([codec]) + kept


def link_of(hasher: KeyedHash, address: int, n: int, before: bytes, table: bytes, data: bytes) -> bytes:
    """The digest of a row, which covers its place, the digest of the row before, its table and its bytes."""
    return hasher.of(b"".join((_ADDRESS.pack(address & 0xFFFFFFFF, n), before, table, data)))


def parts_of(hasher: KeyedHash, before: bytes, chunk: Chunk) -> list[StreamPart]:
    """The parts of one row.

    Args:
        hasher: The store's hash.
        before: Digest of the row before; ``FIRST_LINK`` for the first.
        chunk: The row.

    Raises:
        ValueError: The row is damaged, or not the next one.
    """
    data = decompress(chunk.codec, chunk.data)
    table = decompress(chunk.segments[0], chunk.segments[1:])
    if link_of(hasher, chunk.event, chunk.n, before, table, data) != chunk.digest:
        raise ValueError("the row does not hash to its digest")
    parts = []
    at = 0
    for delivery, at_us, size, flags in _ENTRY.iter_unpack(table):
        piece = data[at : at + size]
        parts.append(StreamPart(None if delivery == _NO_DELIVERY else delivery, at_us, piece, flags & _CONTINUED != 0))
        at += size
    return parts


def said_of(text: str | None) -> tuple[Fidelity, str]:
    """The column ``said``, parsed: the fidelity and the remark of a stream up to a row."""
    if text is None:
        return Fidelity.EXACT, ""
    word, remark = load(text)
    return Fidelity(word), remark
