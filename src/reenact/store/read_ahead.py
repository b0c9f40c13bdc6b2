"""Reading ahead: fetches the rows that the next calls of a replay will need, together with the present ones.

A replay goes through a run from its first call to its last, so it needs the following rows next. One query then serves
dozens of calls, with warm processor caches. Rows that are read one by one, between the steps of an agent, cost twice as
much each. Random access reads up to a page of rows in vain.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any
from zlib import crc32

from reenact.store.check_sums import damaged
from reenact.store.connection import ReadConnection
from reenact.store.keyed_hash import KeyedHash
from reenact.store.schema import LOW
from reenact.store.stream_pieces import FIRST_LINK, Chunk, parts_of

Segment = tuple[int | None, int, bytes]
"""One segment of a stream: the number of its delivery, its time in microseconds since the run began, and its bytes."""

SHORT = 8192
"""The largest row, in bytes, that is read ahead; streams with larger rows are not."""

_EVENTS_AHEAD = 96
_CHUNKS = 128
_READS = 256
_STRANDS = 64


class ShortStreams:
    """Reads, unpacks and checks many short streams at a time, while the caches are warm.

    Args:
        reading: The store's reading connection.
        hasher: The store's hash.
    """

    __slots__ = ("_hasher", "_known", "_reading")

    def __init__(self, reading: ReadConnection, hasher: KeyedHash) -> None:
        self._reading = reading
        self._hasher = hasher
        self._known: dict[int, tuple[bytes, list[Segment]]] = {}

    def segments(self, address: int, digest: bytes, total: int) -> list[Segment] | None:
        """All segments of the stream at ``address``, which has ``total`` bytes and this digest; None where the stream
        is long or damaged. The caller then reads it row by row, which finds the fault."""
        if total > SHORT:
            return None
        if address not in self._known:
            self._read(address)
        found = self._known.pop(address, None)
        return found[1] if found is not None and found[0] == digest else None

    def _read(self, address: int) -> None:
        rows = self._reading.rows(
            "SELECT event, n, codec, size, said, segments, data, digest FROM chunk "
            "WHERE event >= ? AND event < ? AND size <= ? ORDER BY event, n LIMIT ?",
            (address, address + _EVENTS_AHEAD, SHORT, _CHUNKS),
        )
        self._known = {}
        for event, group in groupby(rows, itemgetter(0)):
            stream = self._stream(group)
            if stream is not None:
                self._known[event] = stream

    def _stream(self, rows: Iterable[tuple[Any, ...]]) -> tuple[bytes, list[Segment]] | None:
        """The digest and the segments of one stream; None if one of its rows is damaged or missing."""
        link = FIRST_LINK
        found: list[Segment] = []
        try:
            for n, row in enumerate(rows):
                chunk = Chunk(*row)
                if chunk.n != n:
                    return None
                for delivery, at_us, data, continued in parts_of(self._hasher, link, chunk):
                    if continued:
                        return None
                    found.append((delivery, at_us, data))
                link = chunk.digest
        except (ValueError, IndexError):
            return None
        return self._hasher.of(b"".join([data for _, _, data in found])), found


class AmbientAhead:
    """Fetches the ambient reads of each lane from the store, many positions at a time.

    Args:
        reading: The store's reading connection.
    """

    __slots__ = ("_pages", "_reading")

    def __init__(self, reading: ReadConnection) -> None:
        self._reading = reading
        self._pages: dict[int, AmbientPage] = {}

    def packs(self, strand: int, position: int) -> dict[str, bytes]:
        """The packed reads of one lane at one position, by source.

        Raises:
            StoreError: One of the packs is damaged.
        """
        page = self._pages.get(strand)
        if page is None or not page.first <= position < page.end:
            page = self._read(strand, position)
        if position in page.damaged:
            raise damaged(f"an ambient read ({page.damaged[position]}) at {position} of a lane")
        return page.packs.get(position) or {}

    def _read(self, strand: int, position: int) -> AmbientPage:
        rows = self._reading.rows(
            "SELECT position, source, data, crc FROM ambient WHERE strand = ? AND position >= ? "
            "ORDER BY position, n LIMIT ?",
            (strand, position, _READS),
        )
        end = 1 << 62
        if len(rows) == _READS:
            end = rows[-1][0]  # the next page may have more rows of the last position
            if end == position:
                rows = self._reading.rows(
                    "SELECT position, source, data, crc FROM ambient WHERE strand = ? AND position = ? ORDER BY n",
                    (strand, position),
                )
                end = position + 1
        if len(self._pages) >= _STRANDS:
            self._pages.clear()
        page = self._pages[strand] = AmbientPage(position, end)
        low = strand & LOW
        for at, source, data, crc in rows:
            if at >= end:
                break
            packs = page.packs.get(at)
            if packs is None:
                packs = page.packs[at] = {}
            packs[source] = packs[source] + data if source in packs else data
            if crc32(data, low) != crc:
                page.damaged[at] = source
        return page


class AmbientPage:
    """The ambient reads of one lane from one position to another, packed, by position and source."""

    __slots__ = ("damaged", "end", "first", "packs")

    def __init__(self, first: int, end: int) -> None:
        self.first = first
        self.end = end
        self.packs: dict[int, dict[str, bytes]] = {}
        self.damaged: dict[int, str] = {}
