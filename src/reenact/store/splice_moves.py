"""Moves spliced bodies to another log, with a new text that has only the ranges that they need.

The bodies need not be put together for the move. Each range of the old text that any of the bodies uses is copied once,
and the bodies get the new positions.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby

from reenact.store.frames import StreamPacker
from reenact.store.splice_rows import SPLICED, Splice, SplicedBodies, unpack_splice
from reenact.store.splices import SplicePiece, VersionChange
from reenact.store.splicing import new_text, put_text

_AT_ONCE = 64 << 10


def respliced(connection: sqlite3.Connection, rows: Iterable[tuple[int, int]]) -> None:
    """Give bodies to other logs. Bodies that could not be read before the move cannot be read after it.

    Args:
        connection: A connection, in a transaction.
        rows: The number of each row, and of its new log.
    """
    spliced = SplicedBodies(lambda sql, values: connection.execute(sql, values).fetchall())
    found: list[tuple[bytes, int]] = []
    for heir, some in groupby(sorted(rows, key=lambda each: each[::-1]), lambda each: each[1]):
        texts: dict[int, dict[int, Splice]] = {}
        for row, splice in _splices(connection, [row for row, _ in some]):
            texts.setdefault(splice.text, {})[row] = splice
        for text, splices in texts.items():
            own = _own(splices, spliced)
            moved = _MovedRanges(each for splice in own.values() for each in splice.change.middle)
            number = new_text(connection, heir)
            packing = StreamPacker()
            for start, size in moved.pieces():
                put_text(connection, number, packing, spliced.text(text, start, size))
            found += [(splice._replace(text=number, change=moved.change(splice.change)).pack(), row)
                      for row, splice in own.items()]  # fmt: skip
    # The rows change only now, because other bodies are read through the old rows.
    connection.executemany("UPDATE payload SET data = ? WHERE id = ?", found)


def _splices(connection: sqlite3.Connection, rows: Sequence[int]) -> Iterable[tuple[int, Splice]]:
    for row in rows:
        codec, data = connection.execute("SELECT codec, data FROM payload WHERE id = ?", (row,)).fetchone()
        if codec == SPLICED:
            try:
                yield row, unpack_splice(data)
            except ValueError:
                continue


def _own(splices: dict[int, Splice], spliced: SplicedBodies) -> dict[int, Splice]:
    """The splices to move. A splice whose earlier version is not moved gets a list of all its pieces. Splices that are
    visibly damaged are left out."""
    found: dict[int, Splice] = {}
    end = 0
    for row, splice in splices.items():
        end = end or spliced.end(splice.text)
        own = splice
        if splice.before and splice.before not in found:
            try:
                own = Splice(splice.text, 0, VersionChange(0, 0, spliced.pieces(splice)))
            except ValueError:
                continue
        if all(start + size <= end for start, size in own.change.middle):
            found[row] = own
    return found


class _MovedRanges:
    """The ranges of a text that some pieces use, and the places of these ranges in a new text, one after the other.

    Args:
        pieces: The pieces.
    """

    def __init__(self, pieces: Iterable[SplicePiece]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, size in sorted(pieces):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], start + size)
            else:
                self._starts.append(start)
                self._ends.append(start + size)
        self._places = [0]
        for start, end in zip(self._starts, self._ends, strict=True):
            self._places.append(self._places[-1] + end - start)

    def pieces(self) -> Iterable[SplicePiece]:
        """The ranges in the old text, in order; a long range is divided."""
        for start, end in zip(self._starts, self._ends, strict=True):
            for at in range(start, end, _AT_ONCE):
                yield SplicePiece(at, min(_AT_ONCE, end - at))

    def change(self, change: VersionChange) -> VersionChange:
        """The same change, with its places in the new text."""
        return change._replace(middle=tuple([SplicePiece(self._place(start), size) for start, size in change.middle]))

    def _place(self, start: int) -> int:
        at = bisect_right(self._starts, start) - 1
        return self._places[at] + start - self._starts[at]
