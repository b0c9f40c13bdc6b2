"""The places where a SQLite store has states, and the digests of these states. They serve the search for the last
change of a value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from reenact.facts.checkpoint import Snapshot
from reenact.facts.growth import mark_in
from reenact.store.check_sums import damaged
from reenact.store.connection import ReadConnection
from reenact.store.payloads import RAW
from reenact.store.schema import LOW, SHIFT
from reenact.store.slot_rows import GIVEN, PACKED, KeptState, StateReader

_FIRST_PAGE = 4
_PAGE = 1024
_LARGE = 1 << 15
"""The most stored bytes of a payload that is fetched together with others."""
_NONE_YET = object()

StateRows = Mapping[int, tuple[Any, ...]]
"""The rows of states at the beginning of steps, by address."""

_ROW = "s.event, s.phase, s.n, s.name, s.digest, s.fidelity, s.remark"
"""The columns of the first row of a state, which may have all of the state (``store.slot_rows``)."""

# CROSS JOIN makes SQLite keep the order of the tables, so that rows come in the order of the slots and a query ends
# early.
_PLACES = f"""
SELECT {_ROW}, l.path FROM slot s CROSS JOIN event e ON e.id = s.event CROSS JOIN lane l ON l.id = e.strand
WHERE s.n <= 0 AND s.event > ? AND s.event < ?
"""


def snapshots(
    reading: ReadConnection,
    states: StateReader,
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
        states: Reads rows that have a whole state.
        between: Addresses below and above the wanted events.
        lane: A SQL condition on the lane ``l`` of all wanted events (empty for no condition), and its values.
        lanes: Paths of the wanted lanes; empty for all lanes.
        unlike: See ``abc.store.Recording.snapshots``.
        backwards: Newest first.

    Returns:
        The snapshots, read a page at a time. A skipped step costs some microseconds.
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
        yield from _filled(reading, states, fresh, _given(rows), unlike)
        if len(rows) < page:
            return
        # The last event may have a second phase on the next page, so it is read again.
        last = rows[-1][0]
        known = {(row[0], row[1]) for row in rows if row[0] == last}
        low, high = (low, last + 1) if backwards else (last - 1, high)
        page = min(page * 4, _PAGE)


# The lane of an event is read from an index alone. Payloads are fetched by another query, each once for a page.
_DIGESTS = f"""
SELECT {_ROW}, e.strand, o.digest, o.n, o.remark FROM slot s CROSS JOIN event e ON e.id = s.event
  LEFT JOIN slot o ON o.event = s.event AND o.phase = s.phase AND o.n >= 0 AND o.name = ?
WHERE s.n <= 0 AND s.event > ? AND s.event < ?
"""


def places(
    reading: ReadConnection,
    states: StateReader,
    slot: str,
    between: tuple[int, int],
    lane: tuple[str, ...],
    lanes: Collection[str],
    unended: Collection[int],
) -> Iterator[tuple[Any, ...]]:
    """One slot in each state, newest first: the address, phase and lane of the state; the digest of the slot (None:
    missing); codec and data of its payload (codec None: there is no payload; data None: it is large); the position
    among the slots; and the note on the state.

    Args:
        reading: The store's reading connection.
        states: Reads rows that have a whole state.
        slot: Name of the slot.
        between: Addresses below and above the wanted events.
        lane: A SQL condition on the lane ``l`` of all wanted events (empty for no condition), and its values.
        lanes: Paths of the wanted lanes; empty for all lanes.
        unended: Addresses of steps whose state at the end does not count.
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
        given = _given(rows)
        found = [_found(states, slot, row, given) for row in fresh]
        bodies = _bodies(reading, {digest for digest, short, *_ in found if digest and short is None})
        if not paths.keys() >= {row[7] for row in fresh}:  # the run goes on, and has a new lane
            paths = _strands(reading, log, lane, lanes)
        for (event, phase, *_, strand, _, _, _), (digest, short, n, remark) in zip(fresh, found, strict=True):
            if strand not in paths:
                raise damaged(f"the lane of event {event & LOW}")
            body = bodies.get(digest, (None, None)) if digest is None or short is None else (RAW, short)
            yield event, phase, paths[strand], digest, *body, n, remark
        if len(rows) < page:
            return
        seen = rows[-1][0], rows[-1][1]
        high = seen[0] + 1  # read the last event again: it may have a second phase
        page = min(page * 4, _PAGE // 2)


def _found(
    states: StateReader, slot: str, row: tuple[Any, ...], given: StateRows
) -> tuple[Any, bytes | None, int | None, str | None]:
    """One slot in a state: its digest (None: missing), its value if the row has it, its position among the slots, and
    the note on the state."""
    if row[2] != PACKED:
        return row[8], None, row[9], row[10]
    state = _unpacked(states, row, given)
    if slot not in state.names:
        return None, None, None, None
    n = state.names.index(slot)
    kept = state.kept[n]
    return states.digest(kept), kept.data if kept.short else None, n, row[6]


def _given(rows: Sequence[tuple[Any, ...]]) -> StateRows:
    """The rows of the states at the beginning of steps, by address."""
    return {row[0]: row[:7] for row in rows if row[1] == GIVEN and row[2] == PACKED}


def _unpacked(states: StateReader, row: tuple[Any, ...], given: StateRows) -> KeptState:
    try:
        return states.unpack(row[:7], given.get(row[0]))
    except ValueError:
        raise damaged(f"the state of event {row[0] & LOW}") from None


def _strands(reading: ReadConnection, log: int, lane: tuple[str, ...], lanes: Collection[str]) -> dict[int, str]:
    """The paths of the wanted lanes, by address. If no lane is named, all lanes of the run are read."""
    condition, *values = lane
    sql = "SELECT l.id, l.path FROM lane l WHERE l.id BETWEEN ? AND ?" + condition
    if lanes:
        sql += f" AND l.path IN ({', '.join('?' * len(lanes))})"
    return dict(reading.rows(sql, (log, log | LOW, *values, *lanes)))


def _bodies(reading: ReadConnection, digests: Collection[bytes]) -> dict[bytes, tuple[int, bytes | None]]:
    """The codec and data of some payloads, by digest; the data is None for large payloads."""
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
    """The first of each series of places with the same digest. Places come newest first, so it is the latest."""
    last: Any = _NONE_YET
    for place in found:
        if place[3] != last:
            last = place[3]
            yield place


def _condition(unlike: tuple[str, str | None]) -> str:
    """The SQL condition for the wanted states that have a row for each slot; states in one row are checked by
    ``_differs``."""
    there = "EXISTS (SELECT 1 FROM slot o WHERE o.event = s.event AND o.phase = s.phase AND o.name = ?"
    if unlike[1] is None:
        return f" AND (s.n = {PACKED} OR {there}))"
    return f" AND (s.n = {PACKED} OR NOT {there} AND o.n >= 0 AND o.digest = ?))"


def _differs(slots: dict[str, str], unlike: tuple[str, str | None] | None) -> bool:
    """Whether a state is wanted: the slot exists (if the given digest is None), or its digest differs from the given
    one."""
    if unlike is None:
        return True
    return unlike[0] in slots if unlike[1] is None else slots.get(unlike[0]) != unlike[1]


def _filled(
    reading: ReadConnection,
    states: StateReader,
    rows: list[tuple[Any, ...]],
    given: StateRows,
    unlike: tuple[str, str | None] | None,
) -> Iterator[Snapshot]:
    """The wanted snapshots of some places. Their slots are read by one query."""
    events = list(dict.fromkeys(row[0] for row in rows if row[2] != PACKED))
    slots = _slots(reading, events) if events else {}
    for row in rows:
        event, phase, path = row[0], row[1], row[7]
        if row[2] == PACKED:
            names, kept = _unpacked(states, row, given)
            found = {name: states.digest(each).hex() for name, each in zip(names, kept, strict=True)}
            if _differs(found, unlike):
                short = {name: each.data for name, each in zip(names, kept, strict=True) if each.short}
                yield Snapshot(event & LOW, phase, path, found, note=mark_in(row[6]) if names else "", short=short)
            continue
        own = slots.get((event, phase), [])
        note = mark_in(own[0][4]) if own else ""
        yield Snapshot(event & LOW, phase, path, {name: digest.hex() for _, _, name, digest, _ in own}, note=note)


def _slots(reading: ReadConnection, events: list[int]) -> dict[tuple[int, str], list[Any]]:
    """The slots of the states at some events, where each slot has a row."""
    found = reading.rows(
        "SELECT event, phase, name, digest, remark FROM slot "
        f"WHERE event IN ({', '.join('?' * len(events))}) AND n >= 0 ORDER BY event, phase, n",
        events,
    )
    return {place: list(group) for place, group in groupby(found, key=lambda row: (row[0], row[1]))}
