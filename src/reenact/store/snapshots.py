"""Where state was kept in a SQLite store, and its digests: the index behind "who set this value last"."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import Any

from reenact.facts.checkpoint import Snapshot
from reenact.store.connection import Reading
from reenact.store.schema import LOW

_FIRST_PAGE = 4
_PAGE = 1024
_LARGE = 1 << 15
"""Bytes of a payload, as it lies there, above which it is not fetched with others."""
_NONE_YET = object()

# CROSS JOIN: SQLite keeps the order of the tables, so that rows come in the order of the slots and a page ends early.
_PLACES = """
SELECT s.event, s.phase, l.path FROM slot s CROSS JOIN event e ON e.id = s.event CROSS JOIN lane l ON l.id = e.strand
WHERE s.n <= 0 AND s.event > ? AND s.event < ?
"""


def snapshots(
    reading: Reading,
    between: tuple[int, int],
    lane: tuple[str, ...],
    lanes: Collection[str],
    unlike: tuple[str, str | None] | None,
    *,
    backwards: bool,
) -> Iterator[Snapshot]:
    """The snapshots of one log.

    Args:
        reading: The store's reading connection.
        between: Addresses below and above the events wanted.
        lane: A condition on the lane ``l`` that holds for all of them (empty for none), and its values.
        lanes: Paths of the lanes wanted; empty for all.
        unlike: See ``abc.store.Recording.snapshots``.
        backwards: Newest first.

    Returns:
        Them, a page at a time. A step that is passed over costs about a microsecond, all of it in SQLite.
    """
    condition, *values = lane
    order = "DESC" if backwards else "ASC"
    sql = _PLACES + condition
    if lanes:
        sql += f" AND l.path IN ({', '.join('?' * len(lanes))})"
        values += lanes
    if unlike is not None:
        sql += _condition(unlike)
        values += [unlike[0]]
    more = [] if unlike is None or unlike[1] is None else [bytes.fromhex(unlike[1])]
    sql += f" ORDER BY s.event {order}, s.phase {order} LIMIT ?"
    low, high = between
    page = _FIRST_PAGE
    known: set[tuple[int, str]] = set()
    while True:
        rows = reading.rows(sql, (low, high, *values, *more, page))
        fresh = [row for row in rows if (row[0], row[1]) not in known]
        yield from _filled(reading, fresh)
        if len(rows) < page:
            return
        # The last event may have a second phase on the next page, so it is asked for again.
        last = rows[-1][0]
        known = {(row[0], row[1]) for row in rows if row[0] == last}
        low, high = (low, last + 1) if backwards else (last - 1, high)
        page = min(page * 4, _PAGE)


_VERSIONS = f"""
SELECT s.event, s.phase, l.path, o.digest, p.codec, CASE WHEN length(p.data) <= {_LARGE} THEN p.data END
FROM slot s CROSS JOIN event e ON e.id = s.event CROSS JOIN lane l ON l.id = e.strand
  LEFT JOIN slot o ON o.event = s.event AND o.phase = s.phase AND o.n >= 0 AND o.name = ?
  LEFT JOIN payload p ON p.digest = o.digest
WHERE s.n <= 0 AND s.event > ? AND s.event < ?
"""


def versions(
    reading: Reading,
    slot: str,
    between: tuple[int, int],
    lane: tuple[str, ...],
    lanes: Collection[str],
    unended: Collection[int],
) -> Iterator[tuple[Any, ...]]:
    """What one slot was, newest first: address, phase and lane of the last place where it was so, its digest (None:
    not there), and codec and data of the payload (no codec: there is none; no data: it is large).

    Args:
        reading: The store's reading connection.
        slot: Name of the slot.
        between: Addresses below and above the events wanted.
        lane: A condition on the lane ``l`` that holds for all of them (empty for none), and its values.
        lanes: Paths of the lanes wanted; empty for all.
        unended: Addresses of steps whose end does not count.
    """
    condition, *values = lane
    sql = _VERSIONS + condition
    if lanes:
        sql += f" AND l.path IN ({', '.join('?' * len(lanes))})"
        values += lanes
    if unended:
        sql += f" AND NOT (s.phase = 'out' AND s.event IN ({', '.join('?' * len(unended))}))"
        values += unended  # type: ignore[arg-type]  # numbers beside paths
    sql += " ORDER BY s.event DESC, s.phase DESC LIMIT ?"
    low, high = between
    page = _FIRST_PAGE
    last: Any = _NONE_YET
    seen: tuple[int, str] | None = None
    while True:
        rows = reading.rows(sql, (slot, low, high, *values, page))
        for row in rows if seen is None else [row for row in rows if (row[0], row[1]) < seen]:
            if row[3] != last:
                last = row[3]
                yield row
        if len(rows) < page:
            return
        seen = rows[-1][0], rows[-1][1]
        high = seen[0] + 1  # the last event may have a second phase on the next page
        page = min(page * 4, _PAGE // 2)


def _condition(unlike: tuple[str, str | None]) -> str:
    if unlike[1] is None:
        return " AND EXISTS (SELECT 1 FROM slot o WHERE o.event = s.event AND o.phase = s.phase AND o.name = ?)"
    return (
        " AND NOT EXISTS (SELECT 1 FROM slot o WHERE o.event = s.event AND o.phase = s.phase AND o.name = ? "
        "AND o.n >= 0 AND o.digest = ?)"
    )


def _filled(reading: Reading, rows: list[tuple[Any, ...]]) -> Iterator[Snapshot]:
    """The snapshots of some places, with their slots: one statement for all of them."""
    if not rows:
        return
    events = list(dict.fromkeys(row[0] for row in rows))
    found = reading.rows(
        "SELECT event, phase, name, digest FROM slot "
        f"WHERE event IN ({', '.join('?' * len(events))}) AND n >= 0 ORDER BY event, phase, n",
        events,
    )
    slots = {
        place: {name: digest.hex() for _, _, name, digest in group}
        for place, group in groupby(found, key=lambda row: (row[0], row[1]))
    }
    for event, phase, path in rows:
        yield Snapshot(event & LOW, phase, path, slots.get((event, phase), {}))
