"""One log in memory: its records, grouped as the readers of a run need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from reenact.facts.call import RETURN, Kind, Value
from reenact.facts.event import Event, LaneFact
from reenact.facts.growth import NewEntries, is_grown, mark_in
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.order import Delivery
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    OutputPrinted,
    Record,
    SegmentArrived,
    StreamEnded,
    TurnsDelivered,
)
from reenact.store.full_text import TextGatherer


@dataclass(slots=True)
class EventRecords:
    """All records about one event."""

    issued: CallIssued
    settled: CallSettled | None = None
    head: HeadArrived | None = None
    segments: list[SegmentArrived] = field(default_factory=list)
    ended: StreamEnded | None = None


@dataclass(slots=True)
class KeptLog:
    """One log in memory."""

    run: str
    live: bool = True
    calls: dict[int, EventRecords] = field(default_factory=dict)
    lanes: dict[int, LaneFact] = field(default_factory=dict)
    paths: dict[str, int] = field(default_factory=dict)
    reads: dict[tuple[int, int], list[AmbientRead]] = field(default_factory=dict)
    turns: list[Delivery] = field(default_factory=list)
    noted: dict[int | None, dict[str, Any]] = field(default_factory=dict)
    slots: dict[tuple[int, str], Mapping[str, bytes]] = field(default_factory=dict)
    growth: dict[tuple[int, str], str] = field(default_factory=dict)
    """The note on the growing lists of each state, by event and phase."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    events: dict[tuple[str, int], Event] = field(default_factory=dict)
    """A cache of the events that were read after the log had ended, by run and number."""
    _in_order: dict[int | None, list[EventRecords]] = field(default_factory=dict)
    _lists: dict[int, bytes] = field(default_factory=dict)
    _texts: list[Record] = field(default_factory=list)

    def take(self, record: Record) -> None:
        """Add one record to the log."""
        kind = type(record)
        if kind in _WITH_TEXT:
            self._texts.append(record)
        take = _TAKEN_BY.get(kind)
        if take is None:
            self.records.append(record)
        else:
            take(self, record)

    def text(self) -> str:
        """The searchable text of the run. The text is gathered only when a search needs it, because most runs in memory
        are never searched."""
        words = TextGatherer()
        for record in self._texts:
            words.see(record)
        return words.text()

    def returned(self) -> bytes:
        """The encoded result of the function whose call the run is; empty if there is none."""
        for each in reversed(self.calls.values()):
            call = each.issued.call
            if call.kind is Kind.OUTPUT and call.name == RETURN and each.settled is not None:
                outcome = each.settled.outcome
                return outcome.body if isinstance(outcome, Value) else b""
        return b""

    def _call(self, record: CallIssued) -> None:
        self.calls[record.event] = EventRecords(record)
        self._in_order.clear()

    def _lane(self, record: LaneOpened) -> None:
        self.lanes[record.number] = LaneFact(record.number, record.path, record.parent, record.scope)
        self.paths[record.path] = record.number

    def _read(self, record: AmbientRead) -> None:
        self.reads.setdefault((record.lane, record.position), []).append(record)

    def _note(self, record: EvidenceNoted) -> None:
        self.noted.setdefault(record.event, {})[record.key] = record.value

    def _checkpoint(self, record: CheckpointTaken) -> None:
        slots = {}
        for name, body in record.slots.items():
            slots[name] = self._whole(body) if is_grown(body) else body
        self.slots[record.event, record.phase] = slots
        self.growth[record.event, record.phase] = mark_in(record.note)

    def _whole(self, grown: NewEntries) -> bytes:
        """The whole list, with its new entries."""
        found = (self._lists.get(grown.number, b"") if grown.start else b"") + grown.lead + grown
        self._lists[grown.number] = found
        return found + b"]"

    def _turns(self, record: TurnsDelivered) -> None:
        ordered = not self.turns or self.turns[-1].number < record.deliveries[0].number
        self.turns.extend(record.deliveries)
        if not ordered:
            self.turns.sort()

    def in_order(self, lane: int | None) -> list[EventRecords]:
        """The calls of one lane, or of all lanes, in the order of their events."""
        found = self._in_order.get(lane)
        if found is None:
            every = sorted(self.calls.values(), key=number_of)
            found = every if lane is None else [call for call in every if call.issued.lane == lane]
            self._in_order[lane] = found
        return found

    def _answer(self, record: CallSettled | HeadArrived | SegmentArrived | StreamEnded) -> None:
        call = self.calls.get(record.event)
        if call is None:
            return
        if isinstance(record, CallSettled):
            call.settled = record
        elif isinstance(record, HeadArrived):
            call.head = record
        elif isinstance(record, SegmentArrived):
            call.segments.append(record)
        elif call.ended is None:
            call.ended = record


_WITH_TEXT: Final = frozenset({CallIssued, CallSettled, EvidenceNoted, OutputPrinted})
"""The kinds of records from which ``store.full_text`` takes text."""

_TAKEN_BY: Final[Mapping[type, Callable[[KeptLog, Any], None]]] = {
    CallIssued: KeptLog._call,
    LaneOpened: KeptLog._lane,
    AmbientRead: KeptLog._read,
    EvidenceNoted: KeptLog._note,
    CheckpointTaken: KeptLog._checkpoint,
    TurnsDelivered: KeptLog._turns,
    CallSettled: KeptLog._answer,
    HeadArrived: KeptLog._answer,
    SegmentArrived: KeptLog._answer,
    StreamEnded: KeptLog._answer,
}
"""The method that takes in each kind of record; a record of any other kind is only added to the list of records."""


def number_of(call: EventRecords) -> int:
    """Number of a call's event."""
    return call.issued.event
