"""A recording as the records from which it can be made again, for bundles and for imports into a store.

The methods of a recording give more than the records have (totals, joined streams), and less (the batches in which
records came). A log made of these records gives the same answers as the recording. The fidelity of an event is in its
first record only, because a reader joins the fidelities of all records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reenact.abc.body_access import body_or_size
from reenact.abc.store import Recording
from reenact.facts.call import Failure, Json, Stream, Value
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import Delivery
from reenact.facts.path_before import PHASE, all_before, place_of_content
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
    HeadArrived,
    LaneOpened,
    OutputPrinted,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
    TurnsDelivered,
)
from reenact.facts.run import Run, Status, Totals

TURNS = 64
"""The most turns in one record."""

PIECE = 1 << 16
"""The most bytes of output in one record."""

_END = -1
_LOST = 1 << 29
"""The first number for lanes whose opening was lost, where their own number belongs to another lane."""
_OPEN = (Status.RECORDING, Status.INTERRUPTED)


def records_of(recording: Recording, inner: Iterable[Recording] = ()) -> Iterator[Record]:
    """Every record of a run with a log of its own.

    Args:
        recording: The run.
        inner: Its child runs that lie in the same log, in any order.

    Returns:
        The records, always in the same order. The call first reads the whole order of the run; all other parts are read
        on demand.

    Raises:
        StoreError: A part of the run is missing or damaged.
    """
    children = sorted(inner, key=lambda each: (each.run.started_us, each.run.id))
    yield RunOpened(as_begun(recording.run))
    for child in children:
        yield RunOpened(as_begun(child.run))
    lanes = {}
    for fact in recording.lanes():
        lanes[fact.path] = fact.number
        yield LaneOpened(fact.number, fact.path, fact.parent, fact.scope)
    ends = {
        each.tag.number: each.number for each in recording.deliveries() if each.tag.kind == "e" and each.tag.n == _END
    }
    phases: dict[int, list[str]] = {}
    for snapshot in recording.snapshots():
        phases.setdefault(snapshot.event, []).append(snapshot.phase)
    for event in recording.events():
        yield from _event(recording, event, lanes, ends.get(event.number))
        for phase in phases.get(event.number, ()):
            yield state_of(recording, event.number, phase) or CheckpointTaken(event.number, phase, {})
    yield from recording.reads()
    yield from _order(recording)
    for stream in (1, 2):
        yield from _output(recording, stream)
    for what, place, count in recording.gaps():
        yield GapNoted(what, place, count)
    notes = recording.notes(None)
    for key, value in notes.items():
        yield EvidenceNoted(None, key, value)
    yield from contents_of(recording, notes)
    for child in children:
        if child.run.status not in _OPEN:
            yield RunClosed(_anywhere(child.run), dict(child.notes(None)))
    if recording.run.status not in _OPEN:
        yield RunClosed(_anywhere(recording.run))


def state_of(recording: Recording, event: int, phase: str, fresh: int | None = None) -> CheckpointTaken | None:
    """The record of a state, with the notes on its growing lists; None where no state was kept.

    Args:
        recording: The run.
        event: The step.
        phase: The start or the end of the step.
        fresh: The number of the event in the record, if it differs from the recorded number.
    """
    slots = recording.checkpoint_slots(event, phase, proven=False)
    if slots is None:
        return None
    note = recording.checkpoint_note(event, phase)
    return CheckpointTaken(event if fresh is None else fresh, phase, dict(slots), note=note)


def contents_of(recording: Recording, notes: Mapping[str, Json]) -> Iterator[Record]:
    """The contents of files before the run changed them; its notes name them."""
    for before in all_before(notes):
        place = None if before.content is None else place_of_content(before.content)
        slots = None if place is None else recording.checkpoint_slots(place, PHASE)
        if place is not None and slots:
            yield CheckpointTaken(place, PHASE, dict(slots))


def as_begun(run: Run) -> Run:
    """The run for the record of its beginning. There, a run without an end has the status ``recording``, and no
    totals."""
    if run.status not in _OPEN:
        return _anywhere(run)
    return replace(_anywhere(run), status=Status.RECORDING, interrupted_at=None, totals=Totals())


def _anywhere(run: Run) -> Run:
    """A run without the digest of its result, because each store has digests of its own."""
    return replace(run, result="") if run.result else run


def _event(recording: Recording, event: Event, lanes: Mapping[str, int], end: int | None) -> Iterator[Record]:
    lane = lanes.get(event.lane)
    if lane is None:  # the opening of the lane was lost: its path is "?" and its number
        lane = int(event.lane.removeprefix("?"))
        lane += _LOST if lane in lanes.values() else 0
    yield CallIssued(
        event.number, lane, event.position, event.parent, event.issued_us,
        replace(event.call, body=recording.body(event.request)), event.fidelity, event.fidelity_note,
    )  # fmt: skip
    yield from _outcome(recording, event, end)
    for key, value in event.attributes.items():
        yield EvidenceNoted(event.number, key, value)


def _outcome(recording: Recording, event: Event, end: int | None) -> Iterator[Record]:
    outcome, number, ended_us = event.outcome, event.number, event.ended_us or 0
    if isinstance(outcome, Value):
        yield CallSettled(
            number, ended_us, replace(outcome, body=body_or_size(recording, event.answer)), event.delivery
        )
    elif isinstance(outcome, Failure):
        yield CallSettled(number, ended_us, outcome, event.delivery)
    elif isinstance(outcome, Stream):
        if event.first_us is not None:
            yield HeadArrived(number, event.first_us, outcome.head, event.delivery)
        for delivery, at_us, data in recording.parts(number):
            yield SegmentArrived(number, at_us, data, delivery)
        if outcome.end is not None:
            yield StreamEnded(number, ended_us, outcome.end, end)


def _order(recording: Recording) -> Iterator[Record]:
    """The records of the turns; consecutive turns are in one record."""
    turns: list[Delivery] = []
    for each in recording.deliveries():
        if turns and (len(turns) >= TURNS or each.number != turns[-1].number + 1):
            yield TurnsDelivered(tuple(turns))
            turns = []
        turns.append(each)
    if turns:
        yield TurnsDelivered(tuple(turns))


def _output(recording: Recording, stream: int) -> Iterator[Record]:
    """The records of the output, in pieces of one length that do not depend on the batches in which it was written."""
    waiting = bytearray()
    for data in recording.printed(stream):
        waiting += data
        while len(waiting) >= PIECE:
            yield OutputPrinted(stream, 0, bytes(waiting[:PIECE]))
            del waiting[:PIECE]
    if waiting:
        yield OutputPrinted(stream, 0, bytes(waiting))
