"""Reads one run in a SQLite store: each question goes to the reader of the rows concerned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reenact.facts.late import late
from reenact.store.row_guards import guarded, guarded_each
from reenact.store.span import Owner, span_of

if TYPE_CHECKING:
    from reenact.abc.hash_protocol import Hash
    from reenact.facts.call import Json
    from reenact.facts.checkpoint import SlotVersion, Snapshot
    from reenact.facts.event import Event, LaneFact, Payload
    from reenact.facts.order import Delivery
    from reenact.facts.record import AmbientRead
    from reenact.facts.run import Run, Totals
    from reenact.store.ambient_rows import AmbientRows
    from reenact.store.bodies import Bodies
    from reenact.store.connection import ReadConnection
    from reenact.store.event_rows import EventRows
    from reenact.store.evidence_rows import EvidenceRows
    from reenact.store.keyed_hash import KeyedHash
    from reenact.store.lane_rows import LaneRows
    from reenact.store.order_rows import deliveries
    from reenact.store.output_rows import printed
    from reenact.store.rows import RecurringFacts
    from reenact.store.snapshots import distinct
    from reenact.store.step_states import States
    from reenact.store.stream_rows import StreamRows
else:
    AmbientRows = late("reenact.store.ambient_rows", "AmbientRows")
    Bodies = late("reenact.store.bodies", "Bodies")
    EventRows = late("reenact.store.event_rows", "EventRows")
    EvidenceRows = late("reenact.store.evidence_rows", "EvidenceRows")
    LaneRows = late("reenact.store.lane_rows", "LaneRows")
    deliveries = late("reenact.store.order_rows", "deliveries")
    printed = late("reenact.store.output_rows", "printed")
    RecurringFacts = late("reenact.store.rows", "RecurringFacts")
    distinct = late("reenact.store.snapshots", "distinct")
    States = late("reenact.store.step_states", "States")
    StreamRows = late("reenact.store.stream_rows", "StreamRows")


class SqliteRecording:
    """Reads one run. Any thread may use it. Each method is cheap until its result is iterated.

    Args:
        run: The run.
        owner: The owner of its rows.
        reading: The store's reading connection.
        hasher: The store's hash.
        beside: The reader of the same run's rows in another log, whose cache is shared.
    """

    def __init__(
        self, run: Run, owner: Owner, reading: ReadConnection, hasher: KeyedHash, beside: SqliteRecording | None = None
    ) -> None:
        self._run = run
        self._reading = reading
        self._hasher = hasher
        self._span = span_of(run, owner)
        self._beside = beside

    # Readers of rows are made on first use: a list of runs needs none of them, and need not load their modules.

    @cached_property
    def _recurring(self) -> RecurringFacts:
        return RecurringFacts() if self._beside is None else self._beside._recurring

    @cached_property
    def _streams(self) -> StreamRows:
        return StreamRows(self._reading, self._hasher, self._span)

    @cached_property
    def _bodies(self) -> Bodies:
        beside = None if self._beside is None else self._beside._bodies
        return Bodies(self._reading, self._hasher, self._span, self._streams, beside)

    @cached_property
    def _evidence(self) -> EvidenceRows:
        return EvidenceRows(self._reading, self._span, self._bodies)

    @cached_property
    def _states(self) -> States:
        return States(self._reading, self._span, self._bodies, self._hasher)

    @cached_property
    def _lanes(self) -> LaneRows:
        return LaneRows(self._reading, self._span)

    @cached_property
    def _ambient(self) -> AmbientRows:
        return AmbientRows(self._reading, self._span, self._lanes)

    @cached_property
    def _events(self) -> EventRows:
        return EventRows(
            self._reading, self._span, self._lanes, self._bodies, self._streams, self._evidence, self._recurring
        )

    @property
    def run(self) -> Run:
        return self._run

    def beside(self, log: int) -> SqliteRecording:
        """A reader of rows of this run in another log, with a shared cache."""
        return SqliteRecording(self._run, Owner(self._span.owner.number, log), self._reading, self._hasher, self)

    def attributes_by(self, fetch: Callable[[int], dict[str, Json]]) -> None:
        """Let events get their evidence by ``fetch``, which takes the address of an event."""
        self._events.notes_by = fetch

    # --- events ------------------------------------------------------------------------------------------------

    @guarded
    def event(self, number: int) -> Event:
        return self._events.event(number)

    @guarded_each
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
        """See ``abc.store.Recording``. Each page costs two index look-ups."""
        return self._events.events(lane, after, before, kinds, name, limit, skip, backwards=backwards)

    @guarded
    def numbers(
        self, *, lane: str | None = None, kinds: Iterable[str] = (), name: str | None = None, noted: str = ""
    ) -> list[int]:
        """The numbers of events, in order. No event is read, so each number costs about 0.2 µs.

        Args:
            lane, kinds, name: As for ``events``.
            noted: Only those with evidence of this name.
        """
        return self._events.numbers(lane, kinds, name, noted)

    @guarded
    def count(self) -> int:
        return self._events.count()

    @guarded
    def totals(self) -> Totals:
        """The totals (events, models, tools and tokens) of a run whose end was not written."""
        return self._events.totals()

    @guarded
    def last(self) -> int | None:
        """The number of the last event; None where the run has no event."""
        return self._events.last()

    # --- bytes -------------------------------------------------------------------------------------------------

    @guarded
    def body(self, payload: Payload | None) -> bytes:
        return self._bodies.body(payload)

    @guarded_each
    def pieces(self, payload: Payload) -> Iterator[bytes]:
        return self._bodies.pieces(payload)

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        return self._bodies.holds(payload, data)

    @guarded_each
    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        """See ``abc.store.Recording``. Each row is checked before any of its bytes is given."""
        return self._streams.parts(event)

    # --- lanes and order ---------------------------------------------------------------------------------------

    @guarded_each
    def lanes(self, after: int = -1) -> Iterator[LaneFact]:
        """See ``abc.store.Recording``; only the lanes after a number."""
        return self._lanes.lanes(after)

    @guarded
    def lane(self, path: str) -> LaneFact | None:
        return self._lanes.lane(path)

    def deliveries(self, start: int = 0) -> Iterator[Delivery]:
        return deliveries(self._reading, self._span, start)

    @guarded
    def ambient(self, lane: str, position: int) -> Mapping[str, bytes]:
        return self._ambient.at(lane, position)

    @guarded_each
    def reads(self, lane: int = 0, position: int = 0) -> Iterator[AmbientRead]:
        """See ``abc.store.Recording``; the reads begin at a position of a lane."""
        return self._ambient.reads(lane, position)

    # --- the rest ----------------------------------------------------------------------------------------------

    @guarded_each
    def printed(self, stream: int) -> Iterator[bytes]:
        return printed(self._reading, self._span, stream)

    @guarded
    def checkpoint_slots(self, event: int, phase: str, *, proven: bool = True) -> Mapping[str, bytes] | None:
        return self._states.slots(event, phase, proven=proven)

    @guarded
    def checkpoint_digests(self, event: int, phase: str) -> Mapping[str, str] | None:
        return self._states.digests(event, phase)

    def begin_digest(self) -> Hash:
        return self._hasher.begin()

    @guarded
    def checkpoint_note(self, event: int, phase: str) -> str:
        return self._states.note(event, phase)

    @guarded_each
    def snapshots(
        self,
        *,
        lanes: Collection[str] = (),
        after: int = -1,
        before: int | None = None,
        unlike: tuple[str, str | None] | None = None,
        backwards: bool = False,
    ) -> Iterator[Snapshot]:
        """See ``abc.store.Recording``. Only the rows of slots are read, and the lane of each step."""
        return self._states.snapshots(lanes, after, before, unlike, backwards=backwards)

    @guarded_each
    def versions(
        self, slot: str, *, lanes: Collection[str] = (), before: int | None = None, unended: Collection[int] = ()
    ) -> Iterator[SlotVersion]:
        """See ``abc.store.Recording``. Each version takes about 7 µs."""
        return map(self.version, distinct(self.places(slot, lanes, before, unended)))

    def places(
        self, slot: str, lanes: Collection[str], before: int | None, unended: Collection[int]
    ) -> Iterator[tuple[Any, ...]]:
        """One slot in each state, newest first, even where it did not change. Each item is an argument for ``version``.
        The arguments are those of ``versions``."""
        return self._states.places(slot, lanes, before, unended)

    @guarded
    def version(self, place: tuple[Any, ...]) -> SlotVersion:
        """The version of the slot at one of the ``places``, with its bytes."""
        return self._states.version(place)

    @guarded
    def notes(self, event: int | None) -> Mapping[str, Any]:
        """See ``abc.store.Recording``. A child run has the notes of its own end only."""
        return self._evidence.of(event)

    @guarded_each
    def gaps(self) -> Iterator[tuple[str, str, int]]:
        return self._evidence.gaps()
