"""Reading ahead: what the next calls of a replay will want, fetched with what this one wants.

A replay goes through a run from its first call to its last, so the rows behind those asked for are wanted next. One
query then serves dozens of calls; whoever jumps about pays for one page more than needed.
"""

from __future__ import annotations

from typing import Any

from reenact.store.connection import Reading

SHORT = 8192
"""Streams kept in rows of more bytes than this are not read ahead."""

_EVENTS_AHEAD = 96
_CHUNKS = 128
_READS = 256
_STRANDS = 64


class ShortStreams:
    """The rows of short streams, many at a time.

    Args:
        reading: The store's reading connection.
    """

    __slots__ = ("_known", "_reading")

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._known: dict[int, list[tuple[Any, ...]]] = {}

    def rows(self, address: int, total: int) -> list[tuple[Any, ...]] | None:
        """All rows of the stream of ``total`` bytes at ``address``; None where it is long, or not all here."""
        if total > SHORT:
            return None
        if address not in self._known:
            self._read(address)
        rows = self._known.pop(address, None)
        if rows is None or sum(row[3] for row in rows) != total:
            return None
        return rows

    def _read(self, address: int) -> None:
        rows = self._reading.rows(
            "SELECT event, n, codec, size, said, segments, data, digest FROM chunk "
            "WHERE event >= ? AND event < ? AND size <= ? ORDER BY event, n LIMIT ?",
            (address, address + _EVENTS_AHEAD, SHORT, _CHUNKS),
        )
        self._known = {}
        for row in rows:
            self._known.setdefault(row[0], []).append(row)


class AmbientRows:
    """The ambient reads of each lane, many positions at a time.

    Args:
        reading: The store's reading connection.
    """

    __slots__ = ("_pages", "_reading")

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._pages: dict[int, tuple[int, int, dict[int, list[tuple[str, bytes, int]]]]] = {}

    def rows(self, strand: int, position: int) -> list[tuple[str, bytes, int]]:
        """(source, pack, check sum) of one lane since one position, in order."""
        page = self._pages.get(strand)
        if page is None or not page[0] <= position < page[1]:
            page = self._read(strand, position)
        return page[2].get(position, [])

    def _read(self, strand: int, position: int) -> tuple[int, int, dict[int, list[tuple[str, bytes, int]]]]:
        rows = self._reading.rows(
            "SELECT position, source, data, crc FROM ambient WHERE strand = ? AND position >= ? "
            "ORDER BY position, n LIMIT ?",
            (strand, position, _READS),
        )
        end = 1 << 62
        if len(rows) == _READS:
            end = rows[-1][0]  # the last position may go on behind the page
            if end == position:
                rows = self._reading.rows(
                    "SELECT position, source, data, crc FROM ambient WHERE strand = ? AND position = ? ORDER BY n",
                    (strand, position),
                )
                end = position + 1
        found: dict[int, list[tuple[str, bytes, int]]] = {}
        for at, source, data, crc in rows:
            if at < end:
                found.setdefault(at, []).append((source, data, crc))
        if len(self._pages) >= _STRANDS:
            self._pages.clear()
        page = self._pages[strand] = (position, end, found)
        return page
