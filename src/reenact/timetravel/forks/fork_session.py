"""The session of a fork: a replay of its parent that notes everything in its own log.

Its decider (``fork_decisions``) decides each call, before the cut and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Any, Final, Protocol

from reenact.abc.redaction import Redactor
from reenact.abc.session import Crossing
from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import Divergence, ForkError, Halt, UnreplayableRun
from reenact.facts.call import Call, End, EndKind, Json, Kind
from reenact.facts.connections import DIFFERS, is_incoming
from reenact.facts.event import Event
from reenact.facts.file_notes import NOTE as FILE
from reenact.facts.fork_stop import FIELD as STOPPED
from reenact.facts.keys import Rules
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import Delivery
from reenact.facts.path_before import Before
from reenact.facts.plumbing import is_plumbing, marked
from reenact.facts.record import EvidenceNoted, Record
from reenact.facts.run import Run, Totals
from reenact.facts.served_requests import REQUEST
from reenact.facts.telemetry_endpoints import Endpoint
from reenact.recording.recording_session import RecordingSession
from reenact.replaying.ambient_replay import MOVES
from reenact.replaying.keyed_matching import Own
from reenact.replaying.matching import Miss
from reenact.replaying.options import Options
from reenact.replaying.renamed_strands import RENAMED
from reenact.replaying.replay_session import ReplaySession
from reenact.replaying.state_changes import differs, restated
from reenact.seams.clock import REAL
from reenact.seams.lanes import Lane
from reenact.seams.looks import NOTE as LOOK
from reenact.seams.source import located
from reenact.timetravel.forks.changes import ChangedOutcome, changed_outcome, named_as_here
from reenact.timetravel.forks.counterparts import progress_of
from reenact.timetravel.forks.fork_ambient import ForkAmbient
from reenact.timetravel.forks.fork_course import ASKED, ForkCourse
from reenact.timetravel.forks.fork_points import fork_point_at, prefix_is_behind
from reenact.timetravel.forks.fork_schedule import ForkSchedule
from reenact.timetravel.forks.input import arguments
from reenact.timetravel.forks.ledger import Ledger
from reenact.timetravel.forks.live_addresses import LiveAddresses
from reenact.timetravel.forks.plan import Plan, moment_us
from reenact.timetravel.forks.stops import ForkStops

_MOST: Final = 10_000
"""The most reads that are held for a strand without a call. After these the strand keeps its function's name."""


def _worked_us() -> int:
    return REAL.process_time_ns() // 1000


class Decider(Protocol):
    """Decides the calls of a fork."""

    def decide(self, lane: Lane, call: Call) -> Crossing:
        """Decide a call. (Session locked.)"""

    def exported(self, lane: Lane, call: Call, endpoint: Endpoint) -> Crossing:
        """Decide a call that exports telemetry. (Session locked.)"""

    def ends(self) -> bool:
        """End the fork when everything waits for a delivery that will never come; False: it ends as a replay."""


class ForkSession(ReplaySession):
    """Answers the prefix of a run from its recording, and then lets it go on with something changed.

    Args: those of a ``ReplaySession``, and ``plan``: the changes, and what may go live.
    """

    mode = "fork"
    decider: Decider
    placed: Callable[[Call], Call] = staticmethod(lambda call: call)
    """Gives a call its source line in the parent's folder, if its code is in a scratch folder."""
    from_the_start = False
    needs_flags = True
    silent = False
    """Whether nothing more is noted, because the recorded process had ended at this place."""

    def __init__(self, recording: Recording, redactor: Redactor, rules: Rules, options: Options, plan: Plan) -> None:
        self.plan = plan = replace(plan, at=fork_point_at(recording, plan.at))
        self.course = ForkCourse()
        self.child: RecordingSession = None  # type: ignore[assignment]  # given by records()
        self.ledger: Ledger = None  # type: ignore[assignment]  # given by records()
        self.answered: Callable[[int, int], object] = lambda recorded, event: None
        self.changed: dict[int, ChangedOutcome] = {}
        self._early: dict[Lane, list[tuple[str, Any]]] = {}
        """Reads of lanes whose name in the parent is not known yet."""
        self.restated: dict[str, Mapping[str, Json]] = {}
        """The new values in states, by the number of the fork's step: its own replay sets them again."""
        super().__init__(recording, redactor, rules, options)
        self.schedule: ForkSchedule
        self.ambience: ForkAmbient = ForkAmbient(recording, self.schedule)
        self.ambience.address = self.renaming.address
        remark = self.course.remarks.append
        self.addresses = LiveAddresses(self, plan, self.ambience.variables, remark)
        self.stops = ForkStops(self, plan, self.course, self.addresses.lacks)
        self.arguments = arguments(plan.input) if plan.input is not None else None
        self._adds_on = plan.resume and plan.at >= recording.count()
        self.schedule.time.tell = remark
        self.schedule.open_ended = self._adds_on or plan.until is not None
        self.schedule.reached_end = self.cut
        self.schedule.time.by_time = not plan.resume and (bool(plan.changes) or plan.live != "none")
        self.schedule.time.differs = len(plan.changes) > len(plan.state)

    def _make_schedule(self) -> ForkSchedule:
        until = self.plan.until

        def again() -> Iterator[Delivery]:
            order = self.recording.deliveries(0)
            return order if until is None else takewhile(lambda each: each.number < until, order)

        parts = (again, self._stands_for, self._unawaited, self._at_the_end)
        return ForkSchedule(self._lane_seen, CLOCK, _worked_us, *parts)

    def _lane_seen(self, path: str) -> None:
        self.child.lane_number(path)

    def records(self, child: RecordingSession, ledger: Ledger, answered: Callable[[int, int], object]) -> None:
        """From now on all calls are noted in ``child``, and ``ledger`` is checked before a write; ``answered`` is told
        of each recorded answer handed over."""
        self.child = child
        self.states.growth = child.growth
        child.on_proof = self.states.proved
        child.number_as({lane.path: lane.number for lane in self.recording.lanes()})
        self.ledger = ledger
        self.answered = answered

    # --- abc.session.Session -----------------------------------------------------------------------------------

    def decide(self, lane: Lane, call: Call) -> Crossing | None:
        """Decide a call: before the cut it gets its recorded answer, after the cut the answer that applies."""
        if self.from_the_start and not (self.schedule.cut or self.closed):
            with self.lock:
                self.cut()
        if self.gate.halted is not None:
            raise self.gate.halted
        if self.closed:
            return None
        call = self.placed(located(call))
        name = self.said(call.name)  # the path in the recording, by which users know the lane
        if name != call.name:
            call = replace(call, name=name)
        self._lanes.setdefault(lane.path, lane)
        if self.schedule.awaits_signal():
            self.schedule.meets(lane)
        export = self.exports.endpoint(lane, call)
        with self.lock:
            if export is not None:
                return self.decider.exported(lane, marked(call, export), export)
            return self.decider.decide(lane, call)

    def strictly(self, lane: Lane, call: Call) -> Event | None:
        """The recorded call that a replay would find. Without one, raises a divergence, or returns None if this lane is
        past the prefix: other code, or another input, makes other calls from the branching event on."""
        found = self._matcher.identical(lane.path, call)
        assert not isinstance(found, Own)  # an imported run has no place to branch at
        if found is None:
            cleaned = self.redactor.call(call)
            other = self.renamed(lane, cleaned) or self._matcher.find(lane.path, cleaned)
            if isinstance(other, Miss):
                rest = self.tape.lane(lane.path).rest() if self._adds_on else ()
                at_end = self._adds_on and all(event.call.kind is Kind.OUTPUT for event in rest)  # error output
                if at_end or prefix_is_behind(self.recording, self.tape, lane.path, self.plan.at):
                    return None
                self.stops.keep(lane, cleaned)
                raise self.diverged(self.saying.miss(other, cleaned, lane.path))
            assert not isinstance(other, Own)  # no imported run is forked
            found = other
        self._count(found, lane.path)
        return found.event

    def cut(self) -> None:
        """End the prefix: from here on the fork goes on with its change."""
        self.schedule.time.cut = self.course.reached = True
        if self.plan.resume:
            self.schedule.time.goes_real()
        self.schedule.alarms.arms()
        moment = moment_us(self.plan.at_time) if self.plan.at_time else CLOCK.wall_us() if self.plan.resume else None
        goes_on = self.plan.resume and self.plan.at_time and MOVES in self.recording.notes(None)  # was moved before
        if moment is not None and not goes_on:
            self.ambience.move_to(moment)
            self.child.put(EvidenceNoted(None, MOVES, [list(move) for move in self.ambience.kept_moves]))

    def ambient(self, lane: Lane, source: str, fresh: Any) -> Any:
        """The recorded read at this place, or a read that goes on from it."""
        value = super().ambient(lane, source, fresh)
        early = self._early.get(lane)
        if early is None and lane.number < 0 and self.renaming.is_open(lane):
            early = self._early[lane] = []
        if early is None:
            return self.child.ambient(lane, source, value)
        early.append((source, value))
        if len(early) == _MOST:
            self.settle(lane)
        return value

    def settle(self, lane: Lane) -> None:
        """Note the early reads of a lane, whose counterpart in the parent is known now, or never will be."""
        for source, value in self._early.pop(lane, ()):
            self.child.ambient(lane, source, value)

    def effect(self, lane: Lane) -> bytes:
        """The identity of the write under way."""
        return self.child.effect(lane)

    @property
    def own_run(self) -> Run:
        """The run that is being written: the fork. ``run`` is its parent."""
        return self.child.run

    def persist(self) -> bool:
        """Wait until all records of the fork so far are on the disk."""
        return self.child.persist()

    def child_began(self, lane: str) -> None:
        """Note that a run inside the fork begins: the fork's own log counts it."""
        self.child.child_began(lane)

    def child_ended(self, lane: str) -> Totals:
        """Note that a run inside the fork has ended, and return its sums."""
        return self.child.child_ended(lane)

    def note(self, lane: Lane, key: str, value: Json) -> None:
        """Keep a note of the agent in the fork's own log."""
        if key == DIFFERS:
            self.course.remarks.append(f"the live server is another one: {value}")
        elif key.startswith((FILE, LOOK)):
            super().note(lane, key, value)
        self.child.note(lane, key, value)

    def keep_file(self, before: Before, content: bytes | None) -> None:
        """Keep the state of a path before the fork's first change of it."""
        self.child.keep_file(before, content)

    def checkpoint(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        """The state of a step: before the cut it agrees with the recorded one."""
        if not self.schedule.cut:
            super().checkpoint(event, phase, slots)
        self.child.checkpoint(event, phase, slots)

    def _compares_states(self) -> bool:
        """False after the cut, where the agent may change earlier state."""
        return not self.schedule.cut

    def restate(self, event: int, state: Any) -> Any:
        """The branching step starts with the plan's values, every other step with the parent's."""
        recorded = self.run.environment.get("restated") or {}
        # A fork may have died before its branching step reached the disk. Its resumption comes to that step under the
        # fork's number.
        then = self.course.stands_at.get(event, event if self.plan.resume else None)
        changes = {**recorded.get(str(then), {})}
        if event == self.course.branching:
            changes |= self.plan.state
            self.schedule.time.differs = self.schedule.time.differs or differs(state, self.plan.state)
        if not changes:
            return None
        self.states.growth.finish(f"the start of step {event}")  # the plan, not the agent, changes lists here
        self.restated[str(event)] = changes
        return restated(state, changes)

    def printed(self, stream: int, data: bytes) -> None:
        """Keep the agent's output."""
        if not self.silent:
            self.child.printed(stream, data)

    def fault(self, error: Exception) -> bool:
        """Note that a seam failed. If the seam could not perform a call, the fork's own replay waits at that call."""
        if isinstance(error, (ForkError, UnreplayableRun)) and self.schedule.cut:
            self.stops.waiting()
        return super().fault(error)

    def gap(self, what: str, place: str) -> None:
        """Note an escape."""
        self.child.gap(what, place)

    # --- what calls use ----------------------------------------------------------------------------------------

    def put(self, record: Record) -> None:
        """Note something in the fork's recording."""
        if not self.silent:
            self.child.put(record)

    def body_of(self, event: Event) -> bytes:
        """The recorded value's bytes, or the change's."""
        changed = self.changed.get(event.number)
        body = super().body_of(event) if changed is None else changed.body
        return progress_of(body, self.schedule.numbers) if is_incoming(event.call) else body

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The recorded stream's segments, or the change's."""
        changed = self.changed.get(event.number)
        if changed is None:
            yield from super().parts_of(event)
        else:
            yield (None, 0, changed.body)

    def read_past(self, event: Event) -> object:
        """Give the end to an exporter that reads more of its answer than before."""
        return End(EndKind.EOF) if is_plumbing(event.call) else super().read_past(event)

    def read_less(self, event: Event) -> None:
        """Allow a stream to be read less far than in the parent, after the cut."""
        if not self.schedule.cut:
            super().read_less(event)

    def as_asked(self, event: Event) -> Event:
        """The request that a server gets: the recorded request, or one with another body."""
        changes = event.call.name == REQUEST and (self.plan.input is not None or event.number in self.plan.answered)
        return self.with_change(event) if changes else event

    def with_change(self, event: Event) -> Event:
        """A recorded call with the answer that the plan gives it."""
        try:
            outcome = named_as_here(changed_outcome(self.recording, event, self.plan))
        except ForkError as error:
            self.fault(error)
            raise (self.gate.halted or error) from None
        self.changed[event.number] = outcome
        return replace(event, outcome=outcome.outcome)

    def _stands_for(self, delivery: Delivery) -> bool:
        """Whether to pass over a recorded delivery that no strand waits for; after the cut also telemetry's."""
        tag = delivery.tag
        if self.schedule.cut and tag.kind == "e" and is_plumbing(self.recording.event(tag.number).call):
            return tag.number not in self.schedule.plumbing
        return super()._stands_for(delivery)

    def _unawaited(self, delivery: Delivery) -> None:
        if not self.schedule.cut:
            super()._unawaited(delivery)

    def diverged(self, divergence: Divergence) -> Halt:
        """End the fork at a divergence, and its own replay too."""
        self.stops.waiting()
        if self.schedule.cut:
            self.stops.explain(divergence)
        return super().diverged(divergence)

    def _at_the_end(self) -> None:
        if not self.decider.ends():
            super()._at_the_end()

    def kept(self) -> dict[str, Any]:
        """Changes of the agent's surroundings, which the fork's own replay makes again. Called at the fork's end."""
        for lane in list(self._early):
            self.settle(lane)
        doubt = {"in_doubt": self.stops.doubt.write} if self.stops.doubt is not None else {}
        stop = {STOPPED: self.stops.at} if self.stops.at is not None else {}
        new = {RENAMED: self.renaming.new()} if self.renaming.count else {}
        asked = {ASKED: sorted(self.course.asked)}
        return {"restated": self.restated, MOVES: self.ambience.kept_moves, **asked, **new, **doubt, **stop}
