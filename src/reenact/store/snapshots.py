"""Where state was kept in a SQLite store, and its digests: the index behind "who set this value last"."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Any

from reenact.facts.checkpoint import Snapshot
from reenact.facts.growing import mark_in
from reenact.store.connection import Reading
from reenact.store.schema import LOW, SHIFT

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


# The strand is asked of an index of events alone, and payloads are fetched by themselves, each once a page.
_DIGESTS = """
SELECT s.event, s.phase, e.strand, o.digest, o.n, o.remark FROM slot s CROSS JOIN event e ON e.id = s.event
  LEFT JOIN slot o ON o.event = s.event AND o.phase = s.phase AND o.n >= 0 AND o.name = ?
WHERE s.n <= 0 AND s.event > ? AND s.event < ?
"""


def places(
    reading: Reading,
    slot: str,
    between: tuple[int, int],
    lane: tuple[str, ...],
    lanes: Collection[str],
    unended: Collection[int],
) -> Iterator[tuple[Any, ...]]:
    """What one slot was at each place, newest first: address, phase and lane of the place, its digest (None: not
    there), codec and data of the payload (no codec: there is none; no data: it is large), its place among the slots,
    and what is noted with them.

    Args:
        reading: The store's reading connection.
        slot: Name of the slot.
        between: Addresses below and above the events wanted.
        lane: A condition on the lane ``l`` that holds for all of them (empty for none), and its values.
        lanes: Paths of the lanes wanted; empty for all.
        unended: Addresses of steps whose end does not count.
    """
    low, high = between
    log = (low + 1) >> SHIFT << SHIFT
    paths = _strands(reading, log, lane, lanes)
    values: list[Any] = []
    sql = _DIGESTS
    if lanes:
        sql += f" AND e.strand IN ({', '.join('?' * len(paths))})"
        values += paths
    elif lane[0]:
        sql += f" AND e.strand IN (SELECT l.id FROM lane l WHERE l.id BETWEEN ? AND ?{lane[0]})"
        values += log, log | LOW, *lane[1:]
    if unended:
        sql += f" AND NOT (s.phase = 'out' AND s.event IN ({', '.join('?' * len(unended))}))"
        values += unended
    sql += " ORDER BY s.event DESC, s.phase DESC LIMIT ?"
    page = _FIRST_PAGE
    seen: tuple[int, str] | None = None
    while True:
        rows = reading.rows(sql, (slot, low, high, *values, page))
        fresh = rows if seen is None else [row for row in rows if (row[0], row[1]) < seen]
        bodies = _bodies(reading, {row[3] for row in fresh if row[3]})
        if not paths.keys() >= {row[2] for row in fresh}:  # of a run under way: a lane that is new
            paths = _strands(reading, log, lane, lanes)
        for event, phase, strand, digest, n, remark in fresh:
            yield event, phase, paths[strand], digest, *bodies.get(digest, (None, None)), n, remark
        if len(rows) < page:
            return
        seen = rows[-1][0], rows[-1][1]
        high = seen[0] + 1  # the last event may have a second phase on the next page
        page = min(page * 4, _PAGE // 2)


def _strands(reading: Reading, log: int, lane: tuple[str, ...], lanes: Collection[str]) -> dict[int, str]:
    """The paths of the lanes wanted, by address. Those of a run, if none is named, are read at once."""
    condition, *values = lane
    sql = "SELECT l.id, l.path FROM lane l WHERE l.id BETWEEN ? AND ?" + condition
    if lanes:
        sql += f" AND l.path IN ({', '.join('?' * len(lanes))})"
    return dict(reading.rows(sql, (log, log | LOW, *values, *lanes)))


def _bodies(reading: Reading, digests: Collection[bytes]) -> dict[bytes, tuple[int, bytes | None]]:
    """Codec and data of some payloads, by digest; no data for what is large."""
    if not digests:
        return {}
    found = reading.rows(
        f"WITH wanted(digest) AS (VALUES {', '.join(['(?)'] * len(digests))}) "
        f"SELECT p.digest, p.codec, CASE WHEN length(p.data) <= {_LARGE} THEN p.data END "
        "FROM wanted CROSS JOIN payload p ON p.digest = wanted.digest",
        sorted(digests),
    )
    return {digest: (codec, data) for digest, codec, data in found}


def distinct(found: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Of places that follow each other with the same digest the first, which is the last where it was so."""
    last: Any = _NONE_YET
    for place in found:
        if place[3] != last:
            last = place[3]
            yield place


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
        "SELECT event, phase, name, digest, remark FROM slot "
        f"WHERE event IN ({', '.join('?' * len(events))}) AND n >= 0 ORDER BY event, phase, n",
        events,
    )
    slots = {place: list(group) for place, group in groupby(found, key=lambda row: (row[0], row[1]))}
    for event, phase, path in rows:
        own = slots.get((event, phase), [])
        note = mark_in(own[0][4]) if own else ""
        yield Snapshot(event & LOW, phase, path, {name: digest.hex() for _, _, name, digest, _ in own}, note=note)
