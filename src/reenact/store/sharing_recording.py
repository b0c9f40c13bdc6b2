"""Reads a run that shares rows with others: each row is read in the log that has it, and the reader sees one run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from reenact.abc.hash_protocol import Hash
from reenact.errors import BlobMissing, EventNotFound, StoreError
from reenact.facts.call import Json
from reenact.facts.checkpoint import SlotVersion, Snapshot
from reenact.facts.event import Event, LaneFact, Payload
from reenact.facts.order import Delivery
from reenact.facts.record import AmbientRead
from reenact.facts.run import Run, Status, Totals
from reenact.store.base_output import STREAMS, len_of
from reenact.store.connection import PAGE, ReadConnection
from reenact.store.pieces import QUERY, LogPart, LogPiece, pieces_of, place_of
from reenact.store.ranges import Ranges
from reenact.store.reference_lookup import no_event
from reenact.store.schema import LOW, SHIFT
from reenact.store.snapshots import distinct
from reenact.store.sqlite_recording import SqliteRecording
from reenact.store.unfinished_totals import totalled

T = TypeVar("T")

_FIRST_PAGE = 16
_TURNS = 2048
"""The most deliveries that are read at a time; a row holds hundreds of them."""
_ALL = Ranges((0, 1 << 64))


class _Source(NamedTuple):
    """One log, and the numbers that are read in it."""

    rows: SqliteRecording
    numbers: Ranges


class SharingRecording:
    """One run whose log reads some numbers of other logs. Any thread may use it.

    The place of the rows is looked up for each page: a fork that is being recorded leaves rows to its parent, and takes
    them over when the parent is deleted. Each move of rows is one transaction, and a page that was read during a move
    is read again.

    Args:
        own: The rows that the log has itself.
        log: The number of the run's log.
        reading: The store's reading connection.
    """

    def __init__(self, own: SqliteRecording, log: int, reading: ReadConnection) -> None:
        self._own = own
        own.attributes_by(self._evidence)
        self._log = log
        self._reading = reading
        self._others: dict[int, SqliteRecording] = {}
        self._numbers_of_lanes: dict[str, int] = {}
        self._known: tuple[list[Any], tuple[LogPiece, ...]] = ([], ())

    @property
    def run(self) -> Run:
        return self._own.run

    # --- the logs of its rows ----------------------------------------------------------------------------------

    def _pieces(self) -> tuple[LogPiece, ...]:
        rows = self._reading.rows(QUERY, (self._log,))
        if rows != self._known[0]:
            self._known = (rows, pieces_of(rows))
        return self._known[1]

    def _sources(self, pieces: Iterable[LogPiece], part: LogPart) -> list[_Source]:
        """The logs that have rows of a part, the run's own log last."""
        found = [_Source(self._rows(piece.base), piece.of(part)) for piece in pieces if piece.of(part)]
        return [*found, _Source(self._own, _ALL)]

    def _rows(self, base: int) -> SqliteRecording:
        rows = self._others.get(base)
        if rows is None:
            rows = self._others[base] = self._own.beside(base)
            rows.attributes_by(self._evidence)
        return rows

    def _evidence(self, address: int) -> dict[str, Any]:
        """The evidence of an event. It is read later than the event's row, and may lie in another log by then."""
        return dict(self.notes(address & LOW))

    def _steady(self, part: LogPart, read: Callable[[list[_Source]], T]) -> T:
        """The answer of a read, which is repeated if rows moved from one log to another meanwhile."""
        pieces = self._pieces()
        while True:
            try:
                found, error = read(self._sources(pieces, part)), None
            except StoreError as raised:
                error = raised
            before, pieces = pieces, self._pieces()
            if pieces == before:
                if error is not None:
                    raise error
                return found

    def _holder(self, event: int) -> SqliteRecording:
        """The reader of the log that has an event."""
        for piece in self._pieces():
            if event in piece.events:
                return self._rows(piece.base)
        return self._own

    def _merged(
        self,
        part: LogPart,
        fetch: Callable[[SqliteRecording, int, int | None], Iterator[T]],
        number: Callable[[T], int],
        between: tuple[int, int | None],
        backwards: bool = False,
    ) -> Iterator[T]:
        """The rows of all logs, in order of number, a page at a time.

        Args:
            part: The part of the log.
            fetch: Reads the rows of one log between two numbers (both excluded), in order.
            number: Gives the number of a row.
            between: The numbers before and after the wanted rows.
            backwards: Whether to read the largest numbers first.
        """
        after, before = between
        size = _FIRST_PAGE
        while True:
            between = (after, before)
            read = partial(_page, fetch=fetch, number=number, between=between, size=size, backwards=backwards)
            page, bound = self._steady(part, read)
            yield from page
            if bound < 0:
                return
            after, before = (after, bound + 1) if backwards else (bound - 1, before)
            most = _TURNS if part is LogPart.ORDER else PAGE
            size = size * 4 if not page else min(size * 4, most)  # rows of one number need one page

    # --- events ------------------------------------------------------------------------------------------------

    def event(self, number: int) -> Event:

        def read(sources: list[_Source]) -> Event:
            for source in sources:
                if number in source.numbers or source.numbers is _ALL:
                    return source.rows.event(number)
            raise AssertionError("the log's own rows may have any number")

        try:
            return self._steady(LogPart.EVENTS, read)
        except EventNotFound:
            raise no_event(self.run.id, number, self.last()) from None

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
        wanted = tuple(kinds)
        if skip > 0:
            found = self._numbers(lane=lane, kinds=wanted, name=name)
            found = [each for each in found if each > after and (before is None or each < before)]
            if len(found) <= skip:
                return iter(())
            place = found[-skip] if backwards else found[skip - 1]
            after, before = (after, place) if backwards else (place, before)

        def fetch(rows: SqliteRecording, after: int, before: int | None) -> Iterator[Event]:
            return rows.events(lane=lane, after=after, before=before, kinds=wanted, name=name, backwards=backwards)

        every = self._merged(LogPart.EVENTS, fetch, _number_of, (after, before), backwards)
        return every if limit is None else islice(every, max(limit, 0))

    def _numbers(self, **wanted: Any) -> list[int]:
        """Numbers of events, in order; arguments as for ``SqliteRecording.numbers``."""

        def read(sources: list[_Source]) -> list[int]:
            return sorted(chain.from_iterable(_own_numbers(source, wanted) for source in sources))

        return self._steady(LogPart.EVENTS, read)

    def count(self) -> int:
        return len(self._numbers()) if self.run.lane else self._own.count()

    def totals(self) -> Totals:
        """The totals (events, models, tools and tokens) of a run whose end was not written."""
        models, tools = (len(self._numbers(kinds=(kind,))) for kind in ("model", "tool"))
        readings: list[Json] = [self.notes(event)["reading"] for event in self._numbers(noted="reading")]
        return totalled(self.count(), tools, models, readings)

    def last(self) -> int | None:
        """The number of the last event; None where the run has no event."""
        return max(self._numbers(), default=None)

    # --- bytes -------------------------------------------------------------------------------------------------

    def body(self, payload: Payload | None) -> bytes:
        """See ``abc.store.Recording``. The bytes of a stream are in the log of its event."""
        try:
            return self._own.body(payload)
        except BlobMissing:
            for piece in self._pieces():
                try:
                    return self._rows(piece.base).body(payload)
                except BlobMissing:
                    continue
            raise

    def pieces(self, payload: Payload) -> Iterator[bytes]:
        holders = [self._own, *(self._rows(piece.base) for piece in self._pieces())]
        for holder in holders[:-1]:
            try:
                yield from holder.pieces(payload)
            except BlobMissing:  # before the first piece
                continue
            return
        yield from holders[-1].pieces(payload)

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        return self._own.holds(payload, data)

    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        return self._holder(event).parts(event)

    # --- lanes and order ---------------------------------------------------------------------------------------

    def lanes(self) -> Iterator[LaneFact]:

        def fetch(rows: SqliteRecording, after: int, before: int | None) -> Iterator[LaneFact]:
            return rows.lanes(after)

        return self._merged(LogPart.LANES, fetch, _number_of, (-1, None))

    def lane(self, path: str) -> LaneFact | None:

        def read(sources: list[_Source]) -> LaneFact | None:
            found = ((each.rows.lane(path), each.numbers) for each in reversed(sources))
            return next((fact for fact, numbers in found if fact is not None and fact.number in numbers), None)

        return self._steady(LogPart.LANES, read)

    def deliveries(self, start: int = 0) -> Iterator[Delivery]:
        if not any(piece.order for piece in self._pieces()):
            return self._own.deliveries(start)

        def fetch(rows: SqliteRecording, after: int, before: int | None) -> Iterator[Delivery]:
            return rows.deliveries(after + 1)

        return self._merged(LogPart.ORDER, fetch, _number_of, (max(start, 0) - 1, None))

    def ambient(self, lane: str, position: int) -> Mapping[str, bytes]:
        number = self._numbers_of_lanes.get(lane)
        if number is None:
            fact = self.lane(lane)
            if fact is None:
                return {}
            number = self._numbers_of_lanes[lane] = fact.number
        place = place_of(number, position)

        def read(sources: list[_Source]) -> Mapping[str, bytes]:
            return next(each.rows.ambient(lane, position) for each in sources if place in each.numbers)

        # A replay reads at every step, so the known place is tried first. Rows of an ended run are right wherever they
        # are found. If none are found, they may have moved.
        ended = self.run.status is not Status.RECORDING
        found = read(self._sources(self._known[1], LogPart.READS)) if ended else {}
        return found or self._steady(LogPart.READS, read)

    def reads(self) -> Iterator[AmbientRead]:

        def fetch(rows: SqliteRecording, after: int, before: int | None) -> Iterator[AmbientRead]:
            return rows.reads((after + 1) >> SHIFT, (after + 1) & LOW)

        return self._merged(LogPart.READS, fetch, _place_of, (-1, None))

    # --- the rest ----------------------------------------------------------------------------------------------

    def printed(self, stream: int) -> Iterator[bytes]:
        return iter(self._steady(STREAMS[stream], lambda _: [*self._printed(stream)]))

    def _printed(self, stream: int) -> Iterator[bytes]:
        part = STREAMS[stream]
        pieces = self._pieces()
        for first, end, base in sorted((*each, piece.base) for piece in pieces for each in piece.of(part)):
            start = len_of(pieces_of(self._reading.rows(QUERY, (base,))), part)
            yield b"".join(self._rows(base).printed(stream))[first - start : end - start]
        yield from self._own.printed(stream)

    def checkpoint_slots(self, event: int, phase: str, *, proven: bool = True) -> Mapping[str, bytes] | None:
        return self._steady(LogPart.EVENTS, lambda _: self._holder(event).checkpoint_slots(event, phase, proven=proven))

    def checkpoint_digests(self, event: int, phase: str) -> Mapping[str, str] | None:
        return self._steady(LogPart.EVENTS, lambda _: self._holder(event).checkpoint_digests(event, phase))

    def begin_digest(self) -> Hash:
        return self._own.begin_digest()

    def checkpoint_note(self, event: int, phase: str) -> str:
        return self._steady(LogPart.EVENTS, lambda _: self._holder(event).checkpoint_note(event, phase))

    def snapshots(
        self,
        *,
        lanes: Collection[str] = (),
        after: int = -1,
        before: int | None = None,
        unlike: tuple[str, str | None] | None = None,
        backwards: bool = False,
    ) -> Iterator[Snapshot]:

        def fetch(rows: SqliteRecording, after: int, before: int | None) -> Iterator[Snapshot]:
            return rows.snapshots(lanes=lanes, after=after, before=before, unlike=unlike, backwards=backwards)

        return self._merged(LogPart.EVENTS, fetch, _event_of, (after, before), backwards)

    def versions(
        self, slot: str, *, lanes: Collection[str] = (), before: int | None = None, unended: Collection[int] = ()
    ) -> Iterator[SlotVersion]:

        def fetch(rows: SqliteRecording, _: int, before: int | None) -> Iterator[tuple[Any, ...]]:
            return rows.places(slot, lanes, before, unended)

        every = self._merged(LogPart.EVENTS, fetch, _event_at, (-1, before), backwards=True)
        return map(self._own.version, distinct(every))

    def notes(self, event: int | None) -> Mapping[str, Any]:
        if event is None:
            return self._own.notes(None)
        return self._steady(LogPart.EVENTS, lambda _: self._holder(event).notes(event))

    def gaps(self) -> Iterator[tuple[str, str, int]]:
        return self._own.gaps()


def _page(
    sources: list[_Source],
    fetch: Callable[[SqliteRecording, int, int | None], Iterator[T]],
    number: Callable[[T], int],
    between: tuple[int, int | None],
    size: int,
    *,
    backwards: bool,
) -> tuple[list[T], int]:
    """The next rows of some logs, in order, and the number from which to continue (-1: there are no more rows)."""
    after, before = between
    found: list[T] = []
    bounds: list[int] = []
    for source in sources:
        low, high = after, before
        if source.numbers is not _ALL:
            low = max(after, source.numbers.bounds[0] - 1)
            high = source.numbers.bounds[-1] if before is None else min(before, source.numbers.bounds[-1])
        if high is not None and high <= low + 1:
            continue
        rows = list(islice(fetch(source.rows, low, high), size))
        if len(rows) == size:
            bounds.append(number(rows[-1]))
        found += [row for row in rows if number(row) in source.numbers]
    found.sort(key=number, reverse=backwards)
    if not bounds:
        return found, -1
    bound = max(bounds) if backwards else min(bounds)
    return [row for row in found if (number(row) > bound if backwards else number(row) < bound)], bound


def _own_numbers(source: _Source, wanted: Mapping[str, Any]) -> list[int]:
    found = source.rows.numbers(**wanted)
    return found if source.numbers is _ALL else [number for number in found if number in source.numbers]


def _number_of(each: Event | Delivery | LaneFact) -> int:
    return each.number


def _place_of(each: AmbientRead) -> int:
    return place_of(each.lane, each.position)


def _event_of(each: Snapshot) -> int:
    return each.event


def _event_at(place: tuple[Any, ...]) -> int:
    address: int = place[0]
    return address & LOW
