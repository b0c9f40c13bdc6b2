"""The ambient reads of one run in a SQLite store: the reads at one place, and all reads in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from zlib import crc32

from reenact.facts.record import AmbientRead
from reenact.store.check_sums import damaged
from reenact.store.connection import PAGE, ReadConnection
from reenact.store.lane_rows import LaneRows
from reenact.store.read_ahead import AmbientAhead
from reenact.store.schema import LOW
from reenact.store.span import RunRows


class AmbientRows:
    """Finds the ambient reads of one run.

    Args:
        reading: The store's reading connection.
        span: The rows of the run.
        lanes: The lanes of the run.
    """

    def __init__(self, reading: ReadConnection, span: RunRows, lanes: LaneRows) -> None:
        self._reading = reading
        self._span = span
        self._lanes = lanes
        self._ahead = AmbientAhead(reading)

    def at(self, lane: str, position: int) -> Mapping[str, bytes]:
        """See ``abc.store.Recording.ambient``."""
        strand = self._lanes.strand(lane)
        if strand is None:
            return {}
        return self._ahead.packs(strand, position)

    def reads(self, lane: int, position: int) -> Iterator[AmbientRead]:
        """See ``abc.store.Recording``; the reads begin at a position of a lane."""
        span = self._span
        at = (span.first | lane, position, -1)
        sql = (
            "SELECT a.strand, a.position, a.n, a.source, a.data, a.crc "
            "FROM ambient a LEFT JOIN lane l ON l.id = a.strand "
            f"WHERE (a.strand, a.position, a.n) > (?, ?, ?) AND a.strand <= ?{span.sql} "
            "ORDER BY a.strand, a.position, a.n LIMIT ?"
        )
        while True:
            rows = self._reading.rows(sql, (*at, span.end, *span.values, PAGE))
            for strand, since, _, source, data, crc in rows:
                if crc32(data, strand & LOW) != crc:
                    raise damaged(f"a read of {source} of run {span.run}")
                yield AmbientRead(strand & LOW, since, source, data)
            if len(rows) < PAGE:
                return
            at = rows[-1][:3]
