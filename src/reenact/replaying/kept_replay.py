"""Keeping a replay as a run of its own: the served answers, in the lanes and the order of this replay."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from reenact.abc.body_access import body_or_size
from reenact.abc.sources import Clock, Entropy
from reenact.abc.store import Log, Recording, Store
from reenact.facts.call import RETURN, Call, Effect, Failure, Kind, Stream, Value
from reenact.facts.event import Event
from reenact.facts.ids import make_run_id
from reenact.facts.imported_runs import is_imported
from reenact.facts.insides import RAN, holds_unseen, summed
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.lane_paths import parent_path
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import Delivery, call_around, event_tag, signal_tag
from reenact.facts.path_before import NOTE as BEFORE
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    EvidenceNoted,
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
from reenact.privacy import make_redactor
from reenact.replaying.replay_opening import known_values
from reenact.replaying.replay_session import ReplaySession
from reenact.seams.ambient import pack
from reenact.seams.process_setting import variables_now
from reenact.store.run_records import contents_of, state_of

_BATCH = 256


class AgentOutput(NamedTuple):
    """The output of an agent in a replay.

    Attributes:
        printed: Stream and bytes, in order.
        returned: The result of its entry point, as encoded text; None without one.
    """

    printed: Iterable[tuple[int, bytes]]
    returned: str | None = None


def save(store: Store, session: ReplaySession, said: AgentOutput, failed: bool, clock: Clock, entropy: Entropy) -> Run:
    """Write a replay as a child of the run it replayed.

    Args:
        store: The store of the recorded run.
        session: The closed session.
        said: The agent's output and result in this replay.
        failed: Whether the replay differed from the recording.
        clock, entropy: For the new run's own identity.

    Returns:
        The new run (``relation`` is ``replay``).
    """
    recorded = session.run
    served = {number for number, _, _ in session.matches}
    unseen = summed(event for event in session.recording.events() if event.number not in served)
    now_us = clock.wall_us()
    run = replace(
        recorded,
        id=make_run_id(now_us, entropy.bytes(8)),
        status=Status.RECORDING,
        parent=recorded.id,
        relation="replay",
        lane="",
        flag=None,
        flagged=False,
        interrupted_at=None,
        totals=Totals(),
    )
    log = store.begin(run)
    copy = _Copy(session.recording, log, session.options.through, session.renaming.recorded)
    try:
        log.write([RunOpened(run)])
        for number, lane, position in session.matches:
            copy.event(number, lane, position)
        copy.evidence()
        copy.reads(session.ambience.kept or {})
        copy.order(session.schedule.granted)
        if said.returned is not None and is_imported(recorded):  # in any other run the result is among the events
            copy.returned(said.returned, known_values(session.run, variables_now()))
        copy.output(said.printed, known_values(session.run, variables_now()))
        copy.files()
        copy.flush()
        ended = replace(
            run,
            status=Status.FAILED if failed else recorded.status,
            ended_us=recorded.ended_us or clock.wall_us(),
            totals=replace(_without(recorded.totals, unseen), deliveries=len(session.schedule.granted)),
        )
        log.write([RunClosed(ended)])
    finally:
        log.close()
    return ended


def _without(whole: Totals, part: Totals) -> Totals:
    """The totals of a run without a part of it."""
    names = ("events", "models", "tools", "tokens_in", "tokens_out")
    return replace(whole, **{name: max(getattr(whole, name) - getattr(part, name), 0) for name in names})


class _Copy:
    """Copies served events into a new log, with numbers of its own.

    Args:
        recording: Their recording.
        log: The new log.
        through: The tools whose code ran.
        recorded: Gives the recorded address of a lane. The lane may have had another address until its first call.
    """

    def __init__(self, recording: Recording, log: Log, through: Container[str], recorded: Callable[[str], str]) -> None:
        self._recording = recording
        self._through = through
        self._recorded = recorded
        self._log = log
        self._lanes: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        self._batch: list[Record] = []

    def _put(self, record: Record) -> None:
        self._batch.append(record)
        if len(self._batch) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the gathered records."""
        if self._batch:
            self._log.write(self._batch)
            self._batch = []

    def _lane(self, path: str) -> int:
        number = self._lanes.get(path)
        if number is None:
            above, scope = parent_path(path)
            parent = self._lane(above) if above else None
            number = self._lanes[path] = len(self._lanes)
            self._put(LaneOpened(number, path, parent, scope))
        return number

    def event(self, number: int, lane: str, position: int) -> None:
        """Copy one event in the form in which it was served to ``lane``."""
        event = self._recording.event(number)
        fresh = self._numbers[number] = len(self._numbers)
        call = replace(event.call, body=self._recording.body(event.request))
        parent = self._numbers.get(event.parent) if event.parent is not None else None
        lane_number = self._lane(lane)
        self._put(
            CallIssued(fresh, lane_number, position, parent, event.issued_us, call, event.fidelity, event.fidelity_note)
        )
        for record in (*self._outcome(event, fresh), *self._evidence(event, fresh)):
            self._put(record)

    def _evidence(self, event: Event, fresh: int) -> Iterator[Record]:
        """The notes of an event, with the reading of a model's answer, and the states of a step."""
        for key, value in event.attributes.items():
            if key != RAN:
                yield EvidenceNoted(fresh, key, value)
        if holds_unseen(event) and event.name in self._through:
            yield EvidenceNoted(fresh, RAN, True)
        for phase in ("in", "out") if event.call.kind is Kind.STEP else ():
            state = state_of(self._recording, event.number, phase, fresh)
            if state is not None:
                yield state

    def evidence(self) -> None:
        """Copy the notes on the run, except those on its files (see ``files``)."""
        for key, value in self._recording.notes(None).items():
            if not key.startswith(BEFORE):
                self._put(EvidenceNoted(None, key, value))

    def _outcome(self, event: Event, fresh: int) -> Iterator[Record]:
        outcome = event.outcome
        at_us = event.ended_us or event.issued_us
        if isinstance(outcome, Value):
            value = replace(outcome, body=body_or_size(self._recording, event.answer))
            yield CallSettled(fresh, at_us, value, event.delivery, event.fidelity, event.fidelity_note)
        elif isinstance(outcome, Failure):
            yield CallSettled(fresh, at_us, outcome, event.delivery, event.fidelity, event.fidelity_note)
        elif isinstance(outcome, Stream):
            yield HeadArrived(fresh, event.first_us or at_us, outcome.head, event.delivery, event.fidelity)
            for delivery, segment_us, data in self._recording.parts(event.number):
                yield SegmentArrived(fresh, segment_us, data, delivery)
            if outcome.end is not None:
                yield StreamEnded(fresh, at_us, outcome.end)

    def reads(self, kept: Mapping[tuple[str, int], list[tuple[str, Any]]]) -> None:
        """Copy the ambient reads that were served."""
        for (path, position), reads in kept.items():
            lane = self._lane(self._recorded(path))
            sources: dict[str, list[Any]] = {}
            for source, value in reads:
                sources.setdefault(source, []).append(value)
            for source, values in sources.items():
                data = pack(source, values)
                framed = len(data).to_bytes(4, "big") + data
                self._put(AmbientRead(lane, position, source, framed))

    def output(self, printed: Iterable[tuple[int, bytes]], known: KnownCredentials) -> None:
        """Copy the printed output, cleaned as in any recording, and also of values that are known to be credentials."""
        redactor = make_redactor(known=known)
        for stream, data in printed:
            for record in redactor.clean(OutputPrinted(stream, 0, data)):
                self._put(record)
        for record in redactor.flush():
            self._put(record)

    def returned(self, text: str, known: KnownCredentials) -> None:
        """Add the result of the entry point, cleaned as in any recording."""
        redactor = make_redactor(known=known)
        fresh, lane = len(self._numbers), self._lane("root")
        call = Call(Kind.OUTPUT, RETURN, Effect.NONE, "value/1", observed=True)
        given = Value(text.encode("utf-8", "surrogatepass"))
        for record in (CallIssued(fresh, lane, fresh, None, 0, call), CallSettled(fresh, 0, given)):
            for cleaned in redactor.clean(record):
                self._put(cleaned)

    def files(self) -> None:
        """Copy the earlier states of the files that the run changes."""
        notes = {name: note for name, note in self._recording.notes(None).items() if name.startswith(BEFORE)}
        for name, note in notes.items():
            self._put(EvidenceNoted(None, name, note))
        for record in contents_of(self._recording, notes):
            self._put(record)

    def order(self, granted: list[Delivery]) -> None:
        """Copy the order of the deliveries."""
        turns = []
        for number, delivery in enumerate(granted):
            tag = delivery.tag._replace(lane=self._recorded(delivery.tag.lane))
            if tag.kind == "e":
                if tag.number not in self._numbers:
                    continue
                tag = event_tag(self._numbers[tag.number], tag.n)
            elif (around := call_around(tag)) is not None:
                tag = signal_tag(tag.lane, tag.number, self._numbers.get(around, around))
                self._lane(tag.lane)
            elif tag.lane:
                self._lane(tag.lane)
            turns.append(delivery._replace(number=number, tag=tag))
        for start in range(0, len(turns), _BATCH):
            self._put(TurnsDelivered(tuple(turns[start : start + _BATCH])))
