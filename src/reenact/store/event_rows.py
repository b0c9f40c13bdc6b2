"""The events of one run in a SQLite store: found by two index look-ups for each page, made from their rows a few at a
time, and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from reenact.errors import StoreError
from reenact.facts.call import Stream
from reenact.facts.late import late
from reenact.store.attributes import Attributes
from reenact.store.check_sums import damaged
from reenact.store.connection import PAGE
from reenact.store.folding import FOLDED, first_of, parts_of, unfolded
from reenact.store.row_guards import UNSOUND
from reenact.store.rows import event_of
from reenact.store.schema import LOW

if TYPE_CHECKING:
    from reenact.facts.call import Json
    from reenact.facts.event import Event
    from reenact.facts.run import Totals
    from reenact.store.bodies import Bodies
    from reenact.store.connection import ReadConnection
    from reenact.store.evidence_rows import EvidenceRows
    from reenact.store.lane_rows import LaneRows
    from reenact.store.reference_lookup import no_event
    from reenact.store.rows import RecurringFacts
    from reenact.store.span import RunRows
    from reenact.store.stream_rows import StreamRows
    from reenact.store.unfinished_totals import totalled
else:
    no_event = late("reenact.store.reference_lookup", "no_event")
    totalled = late("reenact.store.unfinished_totals", "totalled")

_FIRST_PAGE = 16
_MADE_AT_ONCE = 16
_SMALL = 4096
_FIRSTS = 512
"""The most texts in a reader's cache onto which other texts are folded."""

_EVENT = f"""
SELECT e.id, l.path, e.asked, e.asked_crc, e.came, e.came_crc, s.ended, s.crc, s.digest,
  q.codec, CASE WHEN length(q.data) <= {_SMALL} THEN q.data END,
  a.codec, CASE WHEN length(a.data) <= {_SMALL} THEN a.data END, e.kind, e.name
FROM event e LEFT JOIN lane l ON l.id = e.strand LEFT JOIN stream s ON s.id = e.id
  LEFT JOIN payload q ON q.id = e.request LEFT JOIN payload a ON a.id = e.answer
"""


class EventRows:
    """Reads the events of one run.

    Args:
        reading: The store's reading connection.
        span: The run's rows.
        lanes: The lanes of the run.
        bodies: The payloads of the run, which also get the payloads that were read with an event.
        streams: The streams of the run, which also get the ends that were read with the events.
        evidence: The evidence of the run.
        recurring: Facts that the events of the run share.

    Attributes:
        notes_by: Reads the evidence of an event by its address, on first use.
    """

    def __init__(
        self,
        reading: ReadConnection,
        span: RunRows,
        lanes: LaneRows,
        bodies: Bodies,
        streams: StreamRows,
        evidence: EvidenceRows,
        recurring: RecurringFacts,
    ) -> None:
        self._reading = reading
        self._span = span
        self._lanes = lanes
        self._bodies = bodies
        self._streams = streams
        self._evidence = evidence
        self._recurring = recurring
        self._firsts: dict[tuple[int | None, str], list[str]] = {}
        self.notes_by: Callable[[int], dict[str, Json]] = evidence.at

    def event(self, number: int) -> Event:
        """See ``abc.store.Recording``."""
        span = self._span
        row = None
        if 0 <= number <= LOW:
            row = self._reading.row(f"{_EVENT} WHERE e.id = ?{span.sql}", (span.first | number, *span.values))
        if row is None:
            raise no_event(span.run, number, self.last())
        self._make_room(1)
        return self._event(row)

    def events(
        self,
        lane: str | None,
        after: int,
        before: int | None,
        kinds: Iterable[str],
        name: str | None,
        limit: int | None,
        skip: int,
        *,
        backwards: bool,
    ) -> Iterator[Event]:
        """See ``abc.store.Recording``. Each page costs two index look-ups."""
        condition = self._condition(lane, kinds, name)
        if condition is None:
            return
        where, values = condition
        sql = f"{_EVENT} WHERE e.id > ? AND e.id < ?{where} ORDER BY e.id{' DESC' if backwards else ''} LIMIT ?"
        low, high = self._span.between(after, before)
        if skip > 0:
            place = self._passed(where, (low, high, *values), skip, backwards)
            if place is None:
                return
            low, high = (low, place) if backwards else (place, high)
        left = limit
        page = _FIRST_PAGE
        while left is None or left > 0:
            count = page if left is None else min(page, left)
            rows = self._reading.rows(sql, (low, high, *values, count))
            yield from self._page(rows)
            if len(rows) < count:
                return
            low, high = (low, rows[-1][0]) if backwards else (rows[-1][0], high)
            left = None if left is None else left - count
            page = min(page * 4, PAGE)

    def numbers(self, lane: str | None, kinds: Iterable[str], name: str | None, noted: str) -> list[int]:
        """The numbers of events, in order. No event is read, so each number costs about 0.2 µs.

        Args:
            lane, kinds, name: See ``events``.
            noted: Only those with evidence of this name; empty for all.
        """
        condition = self._condition(lane, kinds, name)
        if condition is None:
            return []
        where, values = condition
        span = self._span
        lanes = " LEFT JOIN lane l ON l.id = e.strand" if span.lane else ""
        sql = f"SELECT e.id FROM event e{lanes} WHERE e.id BETWEEN ? AND ?{where}"
        if noted:
            sql += " AND EXISTS (SELECT 1 FROM note n WHERE n.owner = e.id AND n.name = ?)"
            values = [*values, noted]
        rows = self._reading.rows(f"{sql} ORDER BY e.id", (span.first, span.end, *values))
        return [address & LOW for (address,) in rows]

    def _condition(
        self, lane: str | None, kinds: Iterable[str], name: str | None
    ) -> tuple[str, list[str | int]] | None:
        """The SQL condition for an event ``e`` in a lane ``l``, and its values; None where no event can match."""
        where = self._span.sql
        values: list[str | int] = list(self._span.values)
        if lane is not None:
            strand = self._lanes.strand(lane)
            if strand is None or not self._span.holds(lane):
                return None
            where, values = " AND e.strand = ?", [strand]
        wanted = [str(each) for each in kinds]
        if wanted:
            where += f" AND e.kind IN ({', '.join('?' * len(wanted))})"
            values += wanted
        if name is not None:
            where += " AND e.name = ?"
            values.append(name)
        return where, values

    def _passed(self, where: str, values: tuple[str | int, ...], skip: int, backwards: bool) -> int | None:
        """The address of the last of ``skip`` events that are left out; None where there are fewer events. SQLite alone
        does the work, in about 0.1 µs an event."""
        lanes = " LEFT JOIN lane l ON l.id = e.strand" if self._span.lane else ""
        order = "DESC" if backwards else "ASC"
        sql = (
            f"SELECT e.id FROM event e{lanes} WHERE e.id > ? AND e.id < ?{where} ORDER BY e.id {order} LIMIT 1 OFFSET ?"
        )
        row = self._reading.row(sql, (*values, skip - 1))
        return None if row is None else int(row[0])

    # --- made from rows ----------------------------------------------------------------------------------------

    def _page(self, rows: list[Any]) -> Iterator[Event]:
        """The events of some rows, made a few at a time. If they were made one by one, between the steps of a replay,
        each would find cold processor caches. If a whole page were made at once, its events would live so long that the
        garbage collector scans them again and again."""
        for at in range(0, len(rows), _MADE_AT_ONCE):
            some = rows[at : at + _MADE_AT_ONCE]
            self._make_room(len(some))
            found: list[Event] = []
            try:
                for row in some:
                    found.append(self._event(row))
            except (StoreError, *UNSOUND):  # first give the events before the damaged row
                yield from found
                raise
            yield from found

    def _make_room(self, coming: int) -> None:
        """Make room in the caches before ``coming`` events are read, whose contents are needed next."""
        self._bodies.make_room(2 * coming)
        self._streams.make_room(coming)

    def _event(self, row: tuple[Any, ...]) -> Event:
        address, path, asked, asked_crc, came, came_crc = row[:6]
        if asked[:1] == FOLDED:
            asked = self._whole(address, "asked", asked)
        if came is not None and came[:1] == FOLDED:
            came = self._whole(address, "came", came)
        columns = address, path, asked, asked_crc, came, came_crc, *row[6:9]
        event = event_of(self._span.run, columns, Attributes(self.notes_by, address), self._recurring)
        q_codec, q_data, a_codec, a_data, kind, name = row[9:]
        if event.call.kind != kind or event.call.name != name:  # the columns by which events are found
            raise damaged(f"event {event.number}")
        if q_data is not None and event.request is not None:
            self._bodies.known[event.request.digest] = (q_codec, q_data)
        answer, outcome = event.answer, event.outcome
        if type(outcome) is Stream:
            if outcome.end is None:
                return self._streams.so_far(event)
            self._streams.ended[address] = (row[8], outcome.size)
        elif a_data is not None and answer is not None:
            self._bodies.known[answer.digest] = (a_codec, a_data)
        return event

    def _whole(self, address: int, column: str, text: str) -> str:
        """A text that is stored as the difference from another one of the same column.

        Raises:
            StoreError: One of the two texts is damaged.
        """
        first = first_of(text, address)
        parts = self._firsts.get((first, column))
        if parts is None:
            row = self._reading.row(f"SELECT {column} FROM event WHERE id = ?", (first,))
            if row is None or type(row[0]) is not str or row[0][:1] == FOLDED:
                raise damaged(f"event {address & LOW}")
            if len(self._firsts) >= _FIRSTS:
                self._firsts = {}
            parts = self._firsts[first, column] = parts_of(row[0])
        try:
            return unfolded(text, parts)
        except ValueError:
            raise damaged(f"event {address & LOW}") from None

    # --- counted -----------------------------------------------------------------------------------------------

    def count(self) -> int:
        """See ``abc.store.Recording``."""
        span = self._span
        if not span.lane:
            row = self._reading.row("SELECT events FROM log WHERE id = ?", (span.owner.log,))
            return 0 if row is None else int(row[0])
        sql = "SELECT count(*) FROM event e JOIN lane l ON l.id = e.strand WHERE e.id BETWEEN ? AND ?"
        return int(self._reading.row(sql + span.sql, (span.first, span.end, *span.values))[0])

    def last(self) -> int | None:
        """The number of the last event; None where the run has no event."""
        span = self._span
        sql = "SELECT max(e.id) FROM event e WHERE e.id BETWEEN ? AND ?"
        if span.lane:
            sql = "SELECT max(e.id) FROM event e JOIN lane l ON l.id = e.strand WHERE e.id BETWEEN ? AND ?"
        row = self._reading.row(sql + span.sql, (span.first, span.end, *span.values))
        return None if row[0] is None else row[0] & LOW

    def totals(self) -> Totals:
        """The totals (events, models, tools and tokens) of a run whose end was not written."""
        span = f"e.id BETWEEN ? AND ?{self._span.sql}"
        values = (self._span.first, self._span.end, *self._span.values)
        events = "event e JOIN lane l ON l.id = e.strand"
        kinds = dict(
            self._reading.rows(
                f"SELECT e.kind, count(*) FROM {events} WHERE {span} AND e.kind IN ('model', 'tool') GROUP BY e.kind",
                values,
            )
        )
        notes = f"SELECT e.id FROM {events} JOIN note n ON n.owner = e.id AND n.name = 'reading' WHERE {span}"
        readings = [self._evidence.at(owner)["reading"] for (owner,) in self._reading.rows(notes, values)]
        return totalled(self.count(), kinds.get("tool", 0), kinds.get("model", 0), readings)
