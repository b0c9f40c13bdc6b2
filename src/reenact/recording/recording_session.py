"""The recording session: every crossing is performed, and its result is noted.

It numbers events and lanes and hands records to the writer; it knows neither the intercepted library nor the place of
the records. A failure in here degrades the recording, and the agent goes on.
"""

from __future__ import annotations

import _thread
import itertools
import os
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from reenact.abc.redaction import Redactor
from reenact.abc.session import Frozen, Live
from reenact.abc.sources import Clock
from reenact.abc.store import Log
from reenact.errors import RecordingError, StoreError
from reenact.facts.call import Call, Failure, Json, Kind, Value, calls_a_tool
from reenact.facts.effects import Identities, acts, root_of
from reenact.facts.event import NODE
from reenact.facts.file_notes import NOTE as READ
from reenact.facts.growth import NOTE as GROWN
from reenact.facts.growth import Growth, GrowthProof, mark_of
from reenact.facts.interruptions import by_signal_handler
from reenact.facts.lane_paths import parent_path
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import take_all
from reenact.facts.path_before import NOTE, PHASE, Before, place_of_content
from reenact.facts.plumbing import is_plumbing, marked, plumbing_of
from reenact.facts.policy import Policy
from reenact.facts.record import (
    CallIssued,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
    LaneOpened,
    OutputPrinted,
    Record,
    RunClosed,
    RunOpened,
    TurnsDelivered,
)
from reenact.facts.run import Run, Totals
from reenact.facts.tracecontext import Propagation
from reenact.recording.ambient_reads import Reads, take_reads
from reenact.recording.arrival_schedule import ArrivalSchedule, NumberingSchedule
from reenact.recording.idle_readings import Readings
from reenact.recording.live_calls import LiveCall
from reenact.recording.repeated_calls import First, RepeatedCall, Repeats
from reenact.recording.run_evidence import RunEvidence
from reenact.recording.tallies import KindTally, summed
from reenact.recording.value_limits import ANY, MB, Limits
from reenact.recording.writer import LAST_WORK_US, Receipt, Writer
from reenact.seams import lanes
from reenact.seams.ambient import EFFECT
from reenact.seams.lanes import Lane
from reenact.seams.nodes import node_now
from reenact.seams.source import located
from reenact.seams.strands import release
from reenact.seams.turns import NOW
from reenact.seams.watch import WATCH

ROOT = "root"


def _unheard(proof: GrowthProof) -> None:
    """Ignore the proof of a list: a recording compares it with nothing."""


class RecordingSession:
    """Performs and notes the crossings of one run and of the child runs inside it.

    Args:
        run: The run as it begins.
        log: The log for its records.
        redactor: The redactor that cleans them.
        clock: Our own clock.
        policy: Rules for what may be kept, and how.
        readings: Makes readings of model calls when the writer is idle.
        schedule: The schedule; by default one of its own, first come, first served.
        writes: Makes its writer.
    """

    mode, reaches_world = "record", True
    cannot_go_on = RecordingError  # asked for only by a resource of an ended fork
    writes_in_pieces = True
    """Whether long texts and bytes may be passed whole (``facts.large_values``)."""

    def __init__(
        self,
        run: Run,
        log: Log,
        redactor: Redactor,
        clock: Clock,
        policy: Policy,
        readings: Readings,
        schedule: NumberingSchedule | None = None,
        writes: type[Writer] = Writer,
    ) -> None:
        self.run = run
        self.clock = clock
        self.policy = policy
        self.closed = False
        self.ordered = policy.order != "off"
        self.checks_changes = policy.check_changes
        self.propagation: Propagation | None = None
        self._plumbing = plumbing_of(run.capture)
        self.writes = Identities(root_of(run), policy.ignore)
        self._repeats = Repeats()
        self._origin_us = run.origin_us
        lanes.call_by(redactor.naming, self.fault)
        self._lock = _thread.RLock()  # a signal handler may make calls while its own thread holds it
        self._paths: dict[str, int] = {}
        self._nodes: dict[int, str] = {}
        """The node of a graph that was last at work in each lane, by the lane's number."""
        self._given: Mapping[str, int] = {}
        self._lanes = itertools.count()
        self._events = itertools.count()
        self._files = itertools.count()
        self._tally = KindTally()
        self._bytes = 0
        self._reads: dict[Reads, None] = {}
        self._faults: list[str] = []
        self.on_proof: Callable[[GrowthProof], object] = _unheard
        """Called with each proof of a growing list."""
        self.growth = Growth(self._proved, lambda: getattr(redactor, "mark", b""))
        self.unkept: StoreError | None = None
        """The store's first error, which is why some records could not be written."""
        self.readings = readings
        self.evidence: RunEvidence | None = None
        hold_us = int(policy.hold_ms * 1000)
        self._own_time = schedule is None
        if schedule is None:
            schedule = ArrivalSchedule(clock, run.origin_us, policy.order, hold_us, self.lane_number, self.fault)
            schedule.gate.attend = WATCH.attend
        self.schedule: NumberingSchedule = schedule
        self.gate = schedule.gate
        self.writer = writes(log, redactor, self._gather, self.fault, readings.saw, self._idle_work)
        self.writer.limits = Limits(int(policy.largest_value_mb * MB), int(policy.largest_run_mb * MB) or ANY)
        _open.add(self)
        self.put(RunOpened(run))
        self.root = Lane(ROOT, self, self.gate)
        self.lane_number(ROOT)

    # --- numbering ---------------------------------------------------------------------------------------------

    def now_us(self) -> int:
        """Microseconds since the run began."""
        return self.clock.mono_us() - self._origin_us if self._own_time else self.schedule.now_us()

    def lane_number(self, path: str) -> int:
        """The number of a lane in this log, given when its path is first needed."""
        number = self._paths.get(path)
        if number is None:
            parent, scope = parent_path(path)
            above = self.lane_number(parent) if parent else None
            with self._lock:
                number = self._paths.get(path)
                if number is None:
                    number = self._given.get(path, -1)
                    if number < 0:
                        number = next(self._lanes)
                    self._paths[path] = number
                    self.put(LaneOpened(number, path, above, scope))
        return number

    def number_as(self, given: Mapping[str, int]) -> None:
        """Let lanes that another recording has keep their numbers there (by path). Other lanes get later numbers."""
        with self._lock:
            self._given = given
            self._lanes = itertools.count(max([*given.values(), *self._paths.values()]) + 1)

    # --- abc.session.Session -----------------------------------------------------------------------------------

    def decide(self, lane: Lane, call: Call) -> Live | Frozen | None:
        """Every call is live, except a tool's call that repeats another one under the same key."""
        if self.closed:
            return None
        export = None if lane.in_tool else self._plumbing.endpoint(call)
        call = located(call if export is None else marked(call, export))
        event = next(self._events)
        effect = self.identity(lane, call) if acts(call) else ""
        if effect:
            self.writes.issued[event] = effect
        self.issued(lane, call, event)
        first = self.repeated(call, event)
        live = LiveCall(self, lane, call, event)
        return live if first is None else RepeatedCall(live, first)

    def issued(self, lane: Lane, call: Call, event: int, *, at_us: int | None = None, **known: Any) -> None:
        """Count a call and note that it has been issued, under this number. Plumbing does not count among the calls of
        its lane.

        For a call from another recording, ``known`` has its known facts (``fidelity``, ``note``), and ``at_us`` is the
        time of issue in microseconds since the run began; None: now."""
        number = lane.number
        if number < 0:
            number = lane.number = self.lane_number(lane.path)
        position = lane.position
        if not is_plumbing(call):
            lane.issued()
            lane.data = None
        if call.observed:
            self.writes.observed[event] = lane.parent
        with self._lock:
            self._tally.add(lane.path, Kind.TOOL if calls_a_tool(call) else call.kind)
        issued_us = self.now_us() if at_us is None else at_us
        self.put(CallIssued(event, number, position, lane.parent, issued_us, call, **known))
        node = node_now()
        if node != self._nodes.get(number, ""):
            self._nodes[number] = node
            self.put(EvidenceNoted(event, NODE, node))

    def ambient(self, lane: Lane, source: str, fresh: Any) -> Any:
        """Keep one read and give it to the agent. About 0.3 µs."""
        reads = lane.data
        if reads is None:
            if self.closed:
                return fresh
            if lane.number < 0:
                lane.number = self.lane_number(lane.path)
            reads = lane.data = Reads(lane.number, lane.position)
        reads.items.append((source, fresh))
        if not reads.listed:  # tested after the append: the writer first clears this flag, then takes the items
            if self.closed:
                reads.items.clear()
                return fresh
            reads.listed = True
            self._reads[reads] = None
        return fresh

    def unrecorded(self, lane: Lane, source: str, fresh: Any) -> Any:
        """The real time: clocks are real in a recording."""
        return fresh

    def note(self, lane: Lane, key: str, value: Json) -> None:
        """Keep evidence on the event around the lane, or on the run; evidence of a file with the time of its read."""
        self.put(EvidenceNoted(lane.parent, key, {**value, "us": self.now_us()} if key.startswith(READ) else value))

    def checkpoint(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        """Keep the state of a step."""
        self.put(CheckpointTaken(event, phase, dict(slots), note=mark_of(slots)))

    def _proved(self, proof: GrowthProof) -> None:
        """Note the proof of a growing list, whose items were compared."""
        self.put(EvidenceNoted(None, f"{GROWN}{proof.number}", {"proven": proof.look}))
        if proof.wrong:
            self.put(GapNoted(proof.wrong, proof.place))
        self.on_proof(proof)

    def keep_file(self, before: Before, content: bytes | None) -> None:
        """Store the state of a path before the run's first change of it, and its content if it is small enough."""
        if self.closed:
            return
        number = next(self._files)
        if content is not None:
            before = replace(before, content=number)
            self.put(CheckpointTaken(place_of_content(number), PHASE, {"": content}))
        self.put(EvidenceNoted(None, f"{NOTE}{number}", {**before.to_json(), "us": self.now_us()}))

    def growing(self, step: str, declared: tuple[str, ...]) -> tuple[tuple[str, ...], Growth | None]:
        """The lists that the step's author declares to grow."""
        return declared, self.growth

    def restate(self, event: int, state: Any) -> None:
        """None: every state is the agent's own."""

    def printed(self, stream: int, data: bytes) -> None:
        """Keep the agent's output."""
        if not self.closed:
            self.put(OutputPrinted(stream, self.now_us(), data))

    def gap(self, what: str, place: str) -> None:
        """Note something that escaped the recording."""
        self.put(GapNoted(what, place))

    def fault(self, error: Exception) -> bool:
        """Note that the recorder failed: the run is degraded, and the agent goes on. An error that a signal handler of
        the program raised meanwhile is no fault, and must reach the program (True)."""
        if by_signal_handler(error):
            return True
        if isinstance(error, StoreError) and self.unkept is None:
            self.unkept = error
        self.growth.restart()
        text = f"{type(error).__name__}: {error}".partition("\n")[0][:300]  # the later lines of our errors hold advice
        if text not in self._faults and len(self._faults) < 20:
            self._faults.append(text)
        return False

    # --- what calls use ----------------------------------------------------------------------------------------

    def put(self, record: Record) -> None:
        """Queue a record. Never raises: a fault in it is ours alone."""
        try:
            self.writer.put(record)
        except Exception as error:
            if self.fault(error):
                raise

    def intent(self, *, in_place: bool) -> Receipt | Any:
        """A turn that comes when all queued records are on the disk.

        Args:
            in_place: Whether no other task may run meanwhile. This is so if the agent's own code, which must not
                wait, follows; a transport waits in any case. Without a recorded order no other task runs either, so
                that the agent's timing is not changed.
        """
        if self.closed:
            return NOW
        return self.writer.receipt(durable=True, in_place=in_place or not self.ordered)

    # --- effects -----------------------------------------------------------------------------------------------

    def identity(self, lane: Lane, call: Call) -> str:
        """The identity of the next write (see ``facts.effects``); empty for the requests of a tool that only reads."""
        around = self.writes.around(lane.parent)
        return "" if around is None else self.writes.of(call, around)

    def effect(self, lane: Lane) -> bytes:
        """The identity of the write under way, for the agent. It is recorded, so that a replay gives the same one."""
        own: bytes = self.ambient(lane, EFFECT, bytes.fromhex(self.writes.around(lane.parent) or "") or bytes(16))
        return own

    def repeated(self, call: Call, event: int) -> First | None:
        """The first call under the key of ``call``, if ``call`` is a later one."""
        return self._repeats.first(call, event) if acts(call) and "key" in call.head else None

    def came(self, call: Call, event: int, outcome: Value | Failure) -> None:
        """Keep the result of a tool that acts under its own key, for later calls under this key."""
        if acts(call) and not self._repeats.came(call, event, outcome):
            self.gap("a tool's result cannot be stored: a second call under its key acts again", call.name)

    # --- the writer's side -------------------------------------------------------------------------------------

    def _gather(self) -> list[Record]:
        """Turns and ambient reads since the last batch; in the writer's thread."""
        fresh = take_all(self.schedule.fresh)
        return [*([TurnsDelivered(fresh)] if fresh else ()), *take_reads(self._reads)]

    def _idle_work(self) -> bool:
        records = self.readings.work()
        if not records and self.evidence is not None:
            records = self._gathered(self.evidence.idle)
        if not records:
            return False
        for record in records:
            self.writer.put(record)
        return True

    # --- life --------------------------------------------------------------------------------------------------

    def flush(self) -> bool:
        """Wait until everything so far has reached the file."""
        return self.writer.flush()

    def persist(self) -> bool:
        """Wait until everything so far is on the disk."""
        return self.writer.flush(durable=True)

    def begin(self, *, fallback: bool = False) -> AbstractContextManager[None]:
        """Listen: the block runs in the root lane. ``fallback``: listen also to threads whose start was not seen."""
        lanes.session_began(lanes.unowned(self, self.gate) if fallback else None)
        return lanes.inside(self.root)

    def child_began(self, lane: str) -> None:
        """Count from now on for a run that begins in a lane inside this run."""
        with self._lock:
            self._tally.begin(lane)

    def child_ended(self, lane: str) -> Totals:
        """The sums of a child run, without the sums that come from readings of its model calls."""
        with self._lock:
            return summed(self._tally.end(lane))

    def _totals(self) -> Totals:
        counted, sums, order = summed(self._tally.calls), self.readings.sums(), self.schedule
        return replace(
            counted,
            models=counted.models + sums.models,
            tokens_in=sums.tokens_in,
            tokens_out=sums.tokens_out,
            deliveries=order.count,
            unproven=order.unproven,
        )

    def end(self) -> None:
        """End the run, because the entry has returned. A strand that outlives the entry may still make calls, but these
        come after the end.

        Nothing after the end is numbered or noted, so the end does not depend on how long writing takes."""
        self.closed = True
        self.gate.close()
        release(self.gate)

    def close(self, run: Run) -> Run:
        """End the run, if it has not ended, and write the queue.

        Args:
            run: The run with its final status; totals and faults are added here.

        Returns:
            The run as it was written.
        """
        self.growth.finish("the end of the run")
        self.end()
        self.writer.flush()
        self.readings.ends()
        self.finish_idle_work()
        if self.evidence is not None:
            for record in self._gathered(partial(self.evidence.last, run.status)):
                self.put(record)
        run = replace(run, totals=self._totals(), degraded=tuple(self._faults))
        self.put(RunClosed(run))
        self.writer.close()
        self.run = run
        return run

    def _gathered(self, gather: Callable[[], list[Record]]) -> list[Record]:
        """The evidence of a run's surroundings; a fault in gathering costs only the evidence."""
        try:
            return gather()
        except Exception as error:
            if self.fault(error):
                raise
            return []

    def finish_idle_work(self) -> None:
        """Do as much idle work as the time allows: its sums become part of the run's totals."""
        end = self.clock.mono_us() + LAST_WORK_US
        while self.clock.mono_us() < end and self._idle_work():
            pass


_open: weakref.WeakSet[RecordingSession] = weakref.WeakSet()


def _forked() -> None:
    """Close the sessions in a forked child: run and writer are its parent's. Calls under way pass unrecorded."""
    for session in list(_open):
        session.closed = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
