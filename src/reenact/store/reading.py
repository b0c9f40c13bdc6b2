"""The read side of one run in a SQLite store: opened with two look-ups, everything else fetched in pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, dropwhile
from typing import Any, NamedTuple
from zlib import crc32

from reenact.errors import BlobMissing, StoreError
from reenact.facts.call import Json, Stream
from reenact.facts.checkpoint import Snapshot, Version
from reenact.facts.event import Event, LaneFact, Payload
from reenact.facts.ids import tail
from reenact.facts.order import Delivery, unpack
from reenact.facts.record import AmbientRead
from reenact.facts.run import Run, Totals
from reenact.store.ahead import AmbientRows, ShortStreams
from reenact.store.attributes import Attributes
from reenact.store.codec import joined, load, weaker
from reenact.store.connection import Reading
from reenact.store.payloads import RAW, KeyedHash, checked, corrupt, decompress, place
from reenact.store.references import no_event
from reenact.store.rows import Recurring, damaged, event_of, parsed, sum_of
from reenact.store.schema import LOW, MENTIONED, SCOPE, SHIFT
from reenact.store.snapshots import distinct, places, snapshots
from reenact.store.streams import FIRST_LINK, Chunk, Part, parts_of, said_of
from reenact.store.unfinished import totalled

PAGE = 128
"""Most rows fetched at a time; the first page of a walk is smaller, for those who want one row."""

_FIRST_PAGE = 16
_MADE_AT_ONCE = 16
_CHUNK_PAGE = 8
_SMALL = 4096
_CACHED = 1024

_EVENT = f"""
SELECT e.id, l.path, e.asked, e.asked_crc, e.came, e.came_crc, s.ended, s.crc, s.digest,
  q.codec, CASE WHEN length(q.data) <= {_SMALL} THEN q.data END,
  a.codec, CASE WHEN length(a.data) <= {_SMALL} THEN a.data END
FROM event e LEFT JOIN lane l ON l.id = e.strand LEFT JOIN stream s ON s.id = e.id
  LEFT JOIN payload q ON q.id = e.request LEFT JOIN payload a ON a.id = e.answer
"""


class Owner(NamedTuple):
    """Where a run's rows are: its own number, and that of its log."""

    number: int
    log: int


class SqliteRecording:
    """One run, for reading. Any thread may use it; each method is cheap until its answer is asked for.

    Args:
        run: The run.
        owner: Where its rows are.
        reading: The store's reading connection.
        hasher: The store's hash.
    """

    def __init__(self, run: Run, owner: Owner, reading: Reading, hasher: KeyedHash) -> None:
        self._run = run
        self._owner = owner
        self._reading = reading
        self._hasher = hasher
        self._first = owner.log << SHIFT
        self._end = self._first | LOW
        self._bodies: dict[str, tuple[int, bytes]] = {}
        self._strands: dict[str, int] = {}
        self._ended: dict[int, tuple[bytes, int]] = {}
        self._fetch_notes: Callable[[int], dict[str, Json]] = self._notes
        self._recurring = Recurring()
        self._ambient = AmbientRows(reading)
        self._short = ShortStreams(reading, hasher)
        self._lane_sql, self._lane_values = _below(run.lane)

    @property
    def run(self) -> Run:
        """See ``abc.store.Recording``."""
        return self._run

    def beside(self, log: int) -> SqliteRecording:
        """The rows of another log, as this run's; what was read once is known to both."""
        other = SqliteRecording(self._run, Owner(self._owner.number, log), self._reading, self._hasher)
        other._bodies, other._recurring = self._bodies, self._recurring
        return other

    def attributes_by(self, fetch: Callable[[int], dict[str, Json]]) -> None:
        """Events ask ``fetch`` for their evidence, by address."""
        self._fetch_notes = fetch

    # --- events ------------------------------------------------------------------------------------------------

    def event(self, number: int) -> Event:
        """See ``abc.store.Recording``."""
        row = None
        if 0 <= number <= LOW:
            row = self._reading.row(
                f"{_EVENT} WHERE e.id = ?{self._lane_sql}", (self._first | number, *self._lane_values)
            )
        if row is None:
            raise no_event(self._run.id, number, self.last())
        self._forget(1)
        return self._event(row)

    def events(
        self,
        *,
        lane: str | None = None,
        after: int = -1,
        before: int | None = None,
        kinds: Iterable[str] = (),
        name: str | None = None,
        limit: int | None = None,
        skip: int = 0,
        backwards: bool = False,
    ) -> Iterator[Event]:
        """See ``abc.store.Recording``. Two index look-ups a page."""
        condition = self._condition(lane, kinds, name)
        if condition is None:
            return
        where, values = condition
        sql = f"{_EVENT} WHERE e.id > ? AND e.id < ?{where} ORDER BY e.id{' DESC' if backwards else ''} LIMIT ?"
        low, high = self._between(after, before)
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

    def numbers(
        self, *, lane: str | None = None, kinds: Iterable[str] = (), name: str | None = None, noted: str = ""
    ) -> list[int]:
        """Numbers of events, in order: no event is read. About 0.2 µs each.

        Args:
            lane, kinds, name: As for ``events``.
            noted: Only those with evidence of this name.
        """
        condition = self._condition(lane, kinds, name)
        if condition is None:
            return []
        where, values = condition
        lanes = " LEFT JOIN lane l ON l.id = e.strand" if self._run.lane else ""
        sql = f"SELECT e.id FROM event e{lanes} WHERE e.id BETWEEN ? AND ?{where}"
        if noted:
            sql += " AND EXISTS (SELECT 1 FROM note n WHERE n.owner = e.id AND n.name = ?)"
            values = [*values, noted]
        rows = self._reading.rows(f"{sql} ORDER BY e.id", (self._first, self._end, *values))
        return [address & LOW for (address,) in rows]

    def _condition(
        self, lane: str | None, kinds: Iterable[str], name: str | None
    ) -> tuple[str, list[str | int]] | None:
        """A condition on the event ``e`` with lane ``l``, and its values; None where it holds for none."""
        where = self._lane_sql
        values: list[str | int] = list(self._lane_values)
        if lane is not None:
            strand = self._strand(lane)
            if strand is None or not self._holds(lane):
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
        """Address of the last of so many events that are left out; None where there are not so many. In SQLite alone:
        about a tenth of a microsecond an event."""
        lanes = " LEFT JOIN lane l ON l.id = e.strand" if self._run.lane else ""
        order = "DESC" if backwards else "ASC"
        sql = (
            f"SELECT e.id FROM event e{lanes} WHERE e.id > ? AND e.id < ?{where} ORDER BY e.id {order} LIMIT 1 OFFSET ?"
        )
        row = self._reading.row(sql, (*values, skip - 1))
        return None if row is None else int(row[0])

    def _between(self, after: int, before: int | None) -> tuple[int, int]:
        """Addresses around the events between two numbers, both outside."""
        return self._first + max(after, -1), self._end + 1 if before is None else self._first + min(before, LOW)

    def count(self) -> int:
        """See ``abc.store.Recording``."""
        if not self._run.lane:
            row = self._reading.row("SELECT events FROM log WHERE id = ?", (self._owner.log,))
            return 0 if row is None else int(row[0])
        sql = "SELECT count(*) FROM event e JOIN lane l ON l.id = e.strand WHERE e.id BETWEEN ? AND ?"
        return int(self._reading.row(sql + self._lane_sql, (self._first, self._end, *self._lane_values))[0])

    def totals(self) -> Totals:
        """What a run that has no end has added up to: what its end would say of events, models, tools and tokens."""
        span = f"e.id BETWEEN ? AND ?{self._lane_sql}"
        values = (self._first, self._end, *self._lane_values)
        events = "event e JOIN lane l ON l.id = e.strand"
        kinds = dict(
            self._reading.rows(
                f"SELECT e.kind, count(*) FROM {events} WHERE {span} AND e.kind IN ('model', 'tool') GROUP BY e.kind",
                values,
            )
        )
        notes = f"SELECT e.id FROM {events} JOIN note n ON n.owner = e.id AND n.name = 'reading' WHERE {span}"
        readings = [self._notes(owner)["reading"] for (owner,) in self._reading.rows(notes, values)]
        return totalled(self.count(), kinds.get("tool", 0), kinds.get("model", 0), readings)

    def last(self) -> int | None:
        """Number of the last event; None where there is none."""
        sql = "SELECT max(e.id) FROM event e WHERE e.id BETWEEN ? AND ?"
        if self._run.lane:
            sql = "SELECT max(e.id) FROM event e JOIN lane l ON l.id = e.strand WHERE e.id BETWEEN ? AND ?"
        row = self._reading.row(sql + self._lane_sql, (self._first, self._end, *self._lane_values))
        return None if row[0] is None else row[0] & LOW

    def _page(self, rows: list[Any]) -> Iterator[Event]:
        """The events of some rows, a few in one go: one by one each would find cold caches between the small steps of a
        replay, and a whole page of them would live long enough for the collector of garbage to go through them again
        and again."""
        for at in range(0, len(rows), _MADE_AT_ONCE):
            some = rows[at : at + _MADE_AT_ONCE]
            self._forget(len(some))
            found: list[Event] = []
            try:
                for row in some:
                    found.append(self._event(row))
            except StoreError:  # of the row that is damaged, and only when it is reached
                yield from found
                raise
            yield from found

    def _forget(self, coming: int) -> None:
        """Make room for what comes with so many events, before them: what they bring is wanted next."""
        if len(self._bodies) + 2 * coming > _CACHED:
            self._bodies.clear()
        if len(self._ended) + coming > _CACHED:
            self._ended.clear()

    def _event(self, row: tuple[Any, ...]) -> Event:
        address = row[0]
        event = event_of(self._run.id, row[:9], Attributes(self._fetch_notes, address), self._recurring)
        q_codec, q_data, a_codec, a_data = row[9:]
        if q_data is not None and event.request is not None:
            self._bodies[event.request.digest] = (q_codec, q_data)
        answer, outcome = event.answer, event.outcome
        if type(outcome) is Stream:
            if outcome.end is None:
                return self._open_stream(event)
            self._ended[address] = (row[8], outcome.size)
        elif a_data is not None and answer is not None:
            self._bodies[answer.digest] = (a_codec, a_data)
        return event

    def _open_stream(self, event: Event) -> Event:
        """An event whose stream never ended, with what there is of it."""
        assert isinstance(event.outcome, Stream)
        size = segments = 0
        fidelity, remark = event.fidelity, event.fidelity_note
        for chunk, parts in self._chunks(event.number):
            size += chunk.size
            segments += sum(not part.continued for part in parts)
            word, said = said_of(chunk.said)
            fidelity, remark = weaker(fidelity, word), joined(remark, said)
        outcome = Stream(event.outcome.head, None, size, segments)
        return replace(event, outcome=outcome, fidelity=fidelity, fidelity_note=remark)

    # --- bytes -------------------------------------------------------------------------------------------------

    def body(self, payload: Payload | None) -> bytes:
        """See ``abc.store.Recording``."""
        if payload is None:
            return b""
        text = payload.digest
        found = self._bodies.get(text)
        if found is not None and found[0] == RAW and self._hasher.named(found[1], text):
            return found[1]
        digest = bytes.fromhex(text)
        if found is None:
            found = self._reading.row("SELECT codec, data FROM payload WHERE digest = ?", (digest,))
        if found is not None:
            try:
                return checked(self._hasher, digest, *found)
            except StoreError:
                raise corrupt(text, "", run=self._run.id, event=self._event_with(text)) from None
        row = self._reading.row(
            "SELECT id FROM stream WHERE digest = ? AND id BETWEEN ? AND ?", (digest, self._first, self._end)
        )
        if row is not None:
            return b"".join(data for _, _, data in self.parts(row[0] & LOW))
        raise missing(text, self._run.id, self._event_with(text))

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        """See ``abc.store.Recording``."""
        if payload is None:
            return not data
        return payload.size == len(data) and self._hasher.named(data, payload.digest)

    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        """See ``abc.store.Recording``. Each row is checked before any of its bytes is given."""
        address = self._first | event
        ended = self._ended.pop(address, None)
        if ended is None:
            row = self._reading.row("SELECT digest, ended, crc FROM stream WHERE id = ?", (address,))
            ended = None if row is None else (row[0], parsed(address, row[1], row[2])[4])
        if ended is not None:
            known = self._short.segments(address, *ended)
            if known is not None:
                return iter(known)
        return self._long_parts(event, ended)

    def _long_parts(self, event: int, ended: tuple[bytes, int] | None) -> Iterator[tuple[int | None, int, bytes]]:
        """``parts`` of a stream of any length, a few rows at a time; ``ended`` is its digest and size, once it has."""
        whole = self._hasher.begin()
        waiting: list[bytes] = []
        size = 0
        for _, parts in self._chunks(event, b"" if ended is None else ended[0]):
            for delivery, at_us, data, continued in parts:
                whole.update(data)
                size += len(data)
                if continued:
                    waiting.append(data)
                    continue
                yield delivery, at_us, b"".join([*waiting, data]) if waiting else data
                waiting.clear()
        if ended is not None and whole.digest() != ended[0]:
            if size < ended[1]:
                raise missing(ended[0].hex(), self._run.id, event)
            raise corrupt(ended[0].hex(), whole.digest().hex(), run=self._run.id, event=event)

    def _chunks(self, event: int, known: bytes = b"") -> Iterator[tuple[Chunk, list[Part]]]:
        """The rows of a stream with their parts, a few at a time; ``known`` is the stream's digest, for errors."""
        n = 0
        link = FIRST_LINK
        while True:
            rows = self._reading.rows(
                "SELECT event, n, codec, size, said, segments, data, digest FROM chunk "
                "WHERE event = ? AND n >= ? ORDER BY n LIMIT ?",
                (self._first | event, n, _CHUNK_PAGE),
            )
            for row in rows:
                chunk = Chunk(*row)
                if chunk.n != n:
                    raise missing(known.hex() or "of a stream", self._run.id, event)
                try:
                    parts = parts_of(self._hasher, link, chunk)
                except (ValueError, IndexError):
                    raise corrupt((known or chunk.digest).hex(), "", run=self._run.id, event=event) from None
                yield chunk, parts
                n += 1
                link = chunk.digest
            if len(rows) < _CHUNK_PAGE:
                return

    def _event_with(self, digest: str) -> int | None:
        """The first event that names a payload; a search, for errors only."""
        try:
            row = self._reading.row(
                "SELECT min(id) FROM event WHERE id BETWEEN ? AND ? AND (instr(asked, ?) OR instr(came, ?))",
                (self._first, self._end, digest, digest),
            )
        except StoreError:
            return None
        return None if row[0] is None else row[0] & LOW

    # --- lanes and order ---------------------------------------------------------------------------------------

    def lanes(self, after: int = -1) -> Iterator[LaneFact]:
        """See ``abc.store.Recording``; those after one number."""
        at = self._first + after
        while True:
            rows = self._reading.rows(
                "SELECT l.id, l.path, l.parent, l.kind FROM lane l WHERE l.id > ? AND l.id <= ? AND l.kind <> ?"
                f"{self._lane_sql} ORDER BY l.id LIMIT ?",
                (at, self._end, MENTIONED, *self._lane_values, PAGE),
            )
            for row in rows:
                yield _lane_fact(row)
            if len(rows) < PAGE:
                return
            at = rows[-1][0]

    def lane(self, path: str) -> LaneFact | None:
        """See ``abc.store.Recording``."""
        if not self._holds(path):
            return None
        row = self._reading.row(
            "SELECT id, path, parent, kind FROM lane WHERE path = ? AND id BETWEEN ? AND ? AND kind <> ?",
            (path, self._first, self._end, MENTIONED),
        )
        return None if row is None else _lane_fact(row)

    def _strand(self, path: str) -> int | None:
        strand = self._strands.get(path)
        if strand is None:
            fact = self.lane(path)
            if fact is None:
                return None
            strand = self._strands[path] = self._first | fact.number
        return strand

    def _holds(self, path: str) -> bool:
        """Whether a lane belongs to this run; a child run owns its lane and what is below it."""
        own = self._run.lane
        return not own or path == own or path.startswith((f"{own}/", f"{own}>"))

    def deliveries(self, start: int = 0) -> Iterator[Delivery]:
        """See ``abc.store.Recording``."""
        found = chain.from_iterable(self._packs(start))  # in C: a replay asks for the next one at every turn
        return found if start <= 0 else dropwhile(lambda delivery: delivery.number < start, found)

    def _packs(self, start: int) -> Iterator[Iterator[Delivery]]:
        """The deliveries of each row, from the row that holds ``start`` on."""
        paths = _Paths(self._reading, self._first)
        row = self._reading.row(
            "SELECT id FROM turns WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
            (self._first, self._first + max(start, 0)),
        )
        at = self._first if row is None else row[0]
        while True:
            rows = self._reading.rows(
                "SELECT id, data, crc FROM turns WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
                (at, self._end, _CHUNK_PAGE),
            )
            for address, data, crc in rows:
                if crc32(data, address & LOW) != crc:
                    raise damaged(f"the order of run {self._run.id} from {address & LOW} on")
                yield unpack(data, address & LOW, paths)
            if len(rows) < _CHUNK_PAGE:
                return
            at = rows[-1][0] + 1

    def ambient(self, lane: str, position: int) -> Mapping[str, bytes]:
        """See ``abc.store.Recording``."""
        strand = self._strand(lane)
        if strand is None:
            return {}
        return self._ambient.packs(strand, position)

    def reads(self, lane: int = 0, position: int = 0) -> Iterator[AmbientRead]:
        """See ``abc.store.Recording``; from one position of a lane on."""
        at = (self._first | lane, position, -1)
        sql = (
            "SELECT a.strand, a.position, a.n, a.source, a.data, a.crc "
            "FROM ambient a LEFT JOIN lane l ON l.id = a.strand "
            f"WHERE (a.strand, a.position, a.n) > (?, ?, ?) AND a.strand <= ?{self._lane_sql} "
            "ORDER BY a.strand, a.position, a.n LIMIT ?"
        )
        while True:
            rows = self._reading.rows(sql, (*at, self._end, *self._lane_values, PAGE))
            for strand, since, _, source, data, crc in rows:
                if crc32(data, strand & LOW) != crc:
                    raise damaged(f"a read of {source} of run {self._run.id}")
                yield AmbientRead(strand & LOW, since, source, data)
            if len(rows) < PAGE:
                return
            at = rows[-1][:3]

    # --- the rest ----------------------------------------------------------------------------------------------

    def printed(self, stream: int) -> Iterator[bytes]:
        """See ``abc.store.Recording``."""
        owner = self._first | stream
        at = -1
        while True:
            rows = self._reading.rows(
                "SELECT id, codec, data, crc FROM printed WHERE owner = ? AND id > ? ORDER BY id LIMIT ?",
                (owner, at, _CHUNK_PAGE),
            )
            for number, codec, data, crc in rows:
                try:
                    body = decompress(codec, data)
                except ValueError:
                    body = None
                if body is None or crc32(body, owner & LOW) != crc:
                    raise damaged(f"what run {self._run.id} printed")
                yield body
                at = number
            if len(rows) < _CHUNK_PAGE:
                return

    def checkpoint_slots(self, event: int, phase: str) -> Mapping[str, bytes] | None:
        """See ``abc.store.Recording``."""
        rows = self._reading.rows(
            "SELECT s.n, s.name, s.digest, p.codec, p.data FROM slot s LEFT JOIN payload p ON p.digest = s.digest "
            "WHERE s.event = ? AND s.phase = ? ORDER BY s.n",
            (self._first | event, phase),
        )
        if not rows:
            return None
        found: dict[str, bytes] = {}
        for n, name, digest, codec, data in rows:
            if n < 0:
                continue
            if not digest:
                found[name] = b""
            elif data is None:
                raise missing(digest.hex(), self._run.id, event)
            else:
                found[name] = checked(self._hasher, digest, codec, data, run=self._run.id, event=event)
        return found

    def snapshots(
        self,
        *,
        lanes: Collection[str] = (),
        after: int = -1,
        before: int | None = None,
        unlike: tuple[str, str | None] | None = None,
        backwards: bool = False,
    ) -> Iterator[Snapshot]:
        """See ``abc.store.Recording``. Rows of the slots alone are read, and the lane of each step."""
        low, high = self._between(after, before)
        yield from snapshots(
            self._reading, (low, high), (self._lane_sql, *self._lane_values), lanes, unlike, backwards=backwards
        )

    def versions(
        self, slot: str, *, lanes: Collection[str] = (), before: int | None = None, unended: Collection[int] = ()
    ) -> Iterator[Version]:
        """See ``abc.store.Recording``. About 7 µs a version."""
        return map(self.version, distinct(self.places(slot, lanes, before, unended)))

    def places(
        self, slot: str, lanes: Collection[str], before: int | None, unended: Collection[int]
    ) -> Iterator[tuple[Any, ...]]:
        """What one slot was at each place, newest first, changed or not, for ``version``; arguments as for
        ``versions``."""
        ends = tuple(self._first | number for number in unended)
        return places(self._reading, slot, self._between(-1, before), (self._lane_sql, *self._lane_values), lanes, ends)

    def version(self, place: tuple[Any, ...]) -> Version:
        """One of the places, with its bytes."""
        address, phase, lane, digest, codec, data = place
        event = address & LOW
        if not digest:
            body = b""
        elif codec is None:
            raise missing(digest.hex(), self._run.id, event)
        elif data is None:  # too large to be fetched with many others
            body = self.body(Payload(digest.hex(), 0))
        else:
            body = checked(self._hasher, digest, codec, data, run=self._run.id, event=event)
        return Version(event, phase, lane, None if digest is None else digest.hex(), body)

    def notes(self, event: int | None) -> Mapping[str, Any]:
        """See ``abc.store.Recording``. A child run has the notes of its own end only."""
        return self._notes(-self._owner.number if event is None else self._first | event)

    def _notes(self, owner: int) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for name, value, digest, crc in self._reading.rows(
            "SELECT name, value, digest, crc FROM note WHERE owner = ? ORDER BY n", (owner,)
        ):
            if digest is not None:
                found[name] = load(self.body(Payload(digest.hex(), 0)))
            elif sum_of(owner & LOW, value) != crc:
                raise damaged(f"a note ({name}) of run {self._run.id}")
            else:
                found[name] = load(value)
        return found

    def gaps(self) -> Iterator[tuple[str, str, int]]:
        """See ``abc.store.Recording``."""
        sql = "SELECT what, place, count FROM gap WHERE log = ? ORDER BY id"
        yield from self._reading.rows(sql, (self._owner.log,))


class _Paths(dict[int, str]):
    """Paths of lanes by number, each looked up when it is first met."""

    def __init__(self, reading: Reading, first: int) -> None:
        self._reading = reading
        self._first = first

    def __missing__(self, number: int) -> str:
        row = self._reading.row("SELECT path FROM lane WHERE id = ?", (self._first | number,))
        path = self[number] = f"?{number}" if row is None else row[0]
        return path


def missing(digest: str, run: str = "", event: int | None = None) -> BlobMissing:
    """The error for bytes that the log names and the store does not hold."""
    return BlobMissing(
        f"payload {digest[:12]}{place(run, event)} is missing",
        cause="a row of the store's file was removed",
        next_command=f"reenact show {tail(run)}" if run else "reenact ls",
        digest=digest,
        run=run,
        event=event,
    )


def _below(lane: str) -> tuple[str, tuple[str, ...]]:
    """A condition on the path of a lane: this one or below it. Empty for a run with a log of its own."""
    if not lane:
        return "", ()
    length = len(lane) + 1
    return (
        f" AND (l.path = ? OR substr(l.path, 1, {length}) IN (?, ?))",
        (lane, f"{lane}/", f"{lane}>"),
    )


def _lane_fact(row: tuple[int, str, int | None, int]) -> LaneFact:
    return LaneFact(row[0] & LOW, row[1], row[2], row[3] == SCOPE)
