"""The order of one run in a SQLite store: the deliveries, unpacked row by row, beginning at any number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, dropwhile
from zlib import crc32

from reenact.facts.order import Delivery, unpack
from reenact.store.check_sums import damaged
from reenact.store.connection import FEW, ReadConnection
from reenact.store.schema import LOW
from reenact.store.span import RunRows


def deliveries(reading: ReadConnection, span: RunRows, start: int) -> Iterator[Delivery]:
    """The deliveries of a run from number ``start`` on.

    Args:
        reading: The store's reading connection.
        span: The rows of the run.
        start: The number of the first delivery to read.
    """
    found = chain.from_iterable(_packs(reading, span, start))  # in C, because a replay reads one at every turn
    return found if start <= 0 else dropwhile(lambda delivery: delivery.number < start, found)


def _packs(reading: ReadConnection, span: RunRows, start: int) -> Iterator[Iterator[Delivery]]:
    """The deliveries of each row, from the row that holds ``start`` on."""
    paths = _Paths(reading, span.first)
    row = reading.row(
        "SELECT id FROM turns WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
        (span.first, span.first + max(start, 0)),
    )
    at = span.first if row is None else row[0]
    while True:
        rows = reading.rows(
            "SELECT id, data, crc FROM turns WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", (at, span.end, FEW)
        )
        for address, data, crc in rows:
            if type(data) is not bytes or crc32(data, address & LOW) != crc:
                raise damaged(f"the order of run {span.run} from {address & LOW} on")
            yield unpack(data, address & LOW, paths)
        if len(rows) < FEW:
            return
        at = rows[-1][0] + 1


class _Paths(dict[int, str]):
    """The paths of lanes by number, each looked up on first use."""

    def __init__(self, reading: ReadConnection, first: int) -> None:
        self._reading = reading
        self._first = first

    def __missing__(self, number: int) -> str:
        row = self._reading.row("SELECT path FROM lane WHERE id = ?", (self._first | number,))
        path = self[number] = f"?{number}" if row is None else row[0]
        return path
