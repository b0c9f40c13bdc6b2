"""The lanes of one run in a SQLite store, by number and by path."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.facts.event import LaneFact
from reenact.store.connection import PAGE, ReadConnection
from reenact.store.schema import LOW, MENTIONED, SCOPE
from reenact.store.span import RunRows


class LaneRows:
    """Reads the lanes of one run.

    Args:
        reading: The store's reading connection.
        span: The rows of the run.
    """

    def __init__(self, reading: ReadConnection, span: RunRows) -> None:
        self._reading = reading
        self._span = span
        self._strands: dict[str, int] = {}

    def lanes(self, after: int) -> Iterator[LaneFact]:
        """See ``abc.store.Recording``; only the lanes after a number."""
        span = self._span
        at = span.first + after
        while True:
            rows = self._reading.rows(
                "SELECT l.id, l.path, l.parent, l.kind FROM lane l WHERE l.id > ? AND l.id <= ? AND l.kind <> ?"
                f"{span.sql} ORDER BY l.id LIMIT ?",
                (at, span.end, MENTIONED, *span.values, PAGE),
            )
            for row in rows:
                yield _lane_fact(row)
            if len(rows) < PAGE:
                return
            at = rows[-1][0]

    def lane(self, path: str) -> LaneFact | None:
        """See ``abc.store.Recording``."""
        span = self._span
        if not span.holds(path):
            return None
        sql = "SELECT id, path, parent, kind FROM lane WHERE path = ? AND id BETWEEN ? AND ? AND kind <> ?"
        values = (path, span.first, span.end, MENTIONED)
        row = self._reading.row(sql, values)
        if row is None:  # the index may be damaged: search without it
            row = self._reading.row(sql.replace("path =", "+path ="), values)
        return None if row is None else _lane_fact(row)

    def strand(self, path: str) -> int | None:
        """The address of a lane, looked up once; None where the run has no such lane."""
        strand = self._strands.get(path)
        if strand is None:
            fact = self.lane(path)
            if fact is None:
                return None
            strand = self._strands[path] = self._span.first | fact.number
        return strand


def _lane_fact(row: tuple[int, str, int | None, int]) -> LaneFact:
    return LaneFact(row[0] & LOW, row[1], row[2], row[3] == SCOPE)
