"""One log in memory: its records, sorted by what the views over it ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reenact.facts.event import Event, LaneFact
from reenact.facts.order import Delivery
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    Delivered,
    HeadArrived,
    LaneOpened,
    Noted,
    Record,
    SegmentArrived,
    StreamEnded,
)
from reenact.store.words import Gathering


@dataclass(slots=True)
class Answered:
    """Everything that was said about one event."""

    issued: CallIssued
    settled: CallSettled | None = None
    head: HeadArrived | None = None
    segments: list[SegmentArrived] = field(default_factory=list)
    ended: StreamEnded | None = None


@dataclass(slots=True)
class Kept:
    """One log."""

    run: str
    live: bool = True
    calls: dict[int, Answered] = field(default_factory=dict)
    lanes: dict[int, LaneFact] = field(default_factory=dict)
    paths: dict[str, int] = field(default_factory=dict)
    reads: dict[tuple[int, int], list[AmbientRead]] = field(default_factory=dict)
    turns: list[Delivery] = field(default_factory=list)
    noted: dict[int | None, dict[str, Any]] = field(default_factory=dict)
    slots: dict[tuple[int, str], Mapping[str, bytes]] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    words: Gathering = field(default_factory=Gathering)
    events: dict[tuple[str, int], Event] = field(default_factory=dict)
    """Events that were asked for since the log has ended, by run and number."""
    _in_order: dict[int | None, list[Answered]] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Add one record."""
        self.words.see(record)
        match record:
            case CallIssued():
                self.calls[record.event] = Answered(record)
                self._in_order.clear()
            case LaneOpened():
                self.lanes[record.number] = LaneFact(record.number, record.path, record.parent, record.scope)
                self.paths[record.path] = record.number
            case AmbientRead():
                self.reads.setdefault((record.lane, record.position), []).append(record)
            case Noted():
                self.noted.setdefault(record.event, {})[record.key] = record.value
            case CheckpointTaken():
                self.slots[record.event, record.phase] = dict(record.slots)
            case Delivered():
                ordered = not self.turns or self.turns[-1].number < record.deliveries[0].number
                self.turns.extend(record.deliveries)
                if not ordered:
                    self.turns.sort()
            case CallSettled() | HeadArrived() | SegmentArrived() | StreamEnded():
                self._answer(record)
            case _:
                self.records.append(record)

    def in_order(self, lane: int | None) -> list[Answered]:
        """The calls of one lane, or of all, by number."""
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


def number_of(call: Answered) -> int:
    """Number of a call's event."""
    return call.issued.event
