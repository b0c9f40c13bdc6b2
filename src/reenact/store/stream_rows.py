"""The streams of one run in a SQLite store: their segments, each row checked before any of its bytes is given."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.facts.call import Stream
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import replace
from reenact.store.codec import joined, weaker
from reenact.store.connection import FEW, ReadConnection
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payloads import WITHHELD, corrupt, missing, taken_out
from reenact.store.read_ahead import ShortStreams
from reenact.store.rows import parsed
from reenact.store.span import RunRows
from reenact.store.stream_pieces import FIRST_LINK, Chunk, StreamPart, parts_of, said_of

_CACHED = 1024


class StreamRows:
    """Reads the streams of one run.

    Args:
        reading: The store's reading connection.
        hasher: The store's hash.
        span: The rows of the run.

    Attributes:
        ended: The digest and size of streams that have ended, by address. They were read with their events, and each is
            used once.
    """

    def __init__(self, reading: ReadConnection, hasher: KeyedHash, span: RunRows) -> None:
        self._reading = reading
        self._hasher = hasher
        self._span = span
        self._short = ShortStreams(reading, hasher)
        self.ended: dict[int, tuple[bytes, int]] = {}

    def make_room(self, coming: int) -> None:
        """Make room in ``ended`` for a number of streams."""
        if len(self.ended) + coming > _CACHED:
            self.ended.clear()

    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        """See ``abc.store.Recording``. Each row is checked before any of its bytes are given."""
        address = self._span.first | event
        ended = self.ended.pop(address, None)
        if ended is None:
            row = self._reading.row("SELECT digest, ended, crc FROM stream WHERE id = ?", (address,))
            ended = None if row is None else (row[0], parsed(address, row[1], row[2])[4])
        if ended is not None:
            known = self._short.segments(address, *ended)
            if known is not None:
                return iter(known)
        return self._long_parts(event, ended)

    def so_far(self, event: Event) -> Event:
        """An event whose stream has not ended, with the stream so far."""
        assert isinstance(event.outcome, Stream)
        size = segments = 0
        fidelity, remark = event.fidelity, event.fidelity_note
        for chunk, parts in self._chunks(event.number):
            size += chunk.size
            segments += sum(not part.continued for part in parts)
            word, said = said_of(chunk.said)
            fidelity, remark = weaker(fidelity, word), joined(remark, said)
        outcome = Stream(event.outcome.head, None, size, segments)
        return replace(event, outcome=outcome, fidelity=fidelity, fidelity_note=remark)

    def _long_parts(self, event: int, ended: tuple[bytes, int] | None) -> Iterator[tuple[int | None, int, bytes]]:
        """The segments of a stream of any length, read a few rows at a time. ``ended`` is the digest and size of a
        stream that has ended."""
        whole = self._hasher.begin()
        waiting: list[bytes] = []
        size = 0
        for _, parts in self._chunks(event, b"" if ended is None else ended[0]):
            for delivery, at_us, data, continued in parts:
                whole.update(data)
                size += len(data)
                if continued:
                    waiting.append(data)
                    continue
                yield delivery, at_us, b"".join([*waiting, data]) if waiting else data
                waiting.clear()
        if ended is not None and whole.digest() != ended[0]:
            if size < ended[1]:
                raise missing(ended[0].hex(), self._span.run, event)
            raise corrupt(ended[0].hex(), whole.digest().hex(), run=self._span.run, event=event)

    def _chunks(self, event: int, known: bytes = b"") -> Iterator[tuple[Chunk, list[StreamPart]]]:
        """The rows of a stream with their parts, a few at a time; ``known`` is the digest of the stream, for errors."""
        n = 0
        link = FIRST_LINK
        while True:
            rows = self._reading.rows(
                "SELECT event, n, codec, size, said, segments, data, digest FROM chunk "
                "WHERE event = ? AND n >= ? ORDER BY n LIMIT ?",
                (self._span.first | event, n, FEW),
            )
            for row in rows:
                chunk = Chunk(*row)
                if chunk.n != n:
                    raise missing(known.hex() or "of a stream", self._span.run, event)
                if chunk.codec == WITHHELD:
                    raise taken_out(known.hex() or "of a stream", self._span.run, event)
                try:
                    parts = parts_of(self._hasher, link, chunk)
                except (ValueError, IndexError):
                    raise corrupt((known or chunk.digest).hex(), "", run=self._span.run, event=event) from None
                yield chunk, parts
                n += 1
                link = chunk.digest
            if len(rows) < FEW:
                return
