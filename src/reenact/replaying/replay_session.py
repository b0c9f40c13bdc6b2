"""The replay session: every crossing is answered from the log, while the agent's own code runs.

A divergence stops the agent with a private ``BaseException``: every later crossing raises it again, and the session
raises the public ``Divergence`` at its end, even if the agent has caught or retried it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from reenact.abc.body_access import WITHHELD
from reenact.abc.redaction import Redactor
from reenact.abc.session import Crossing, Frozen, Live, Rerun
from reenact.abc.store import Recording
from reenact.errors import BlobMissing, Divergence, Halt, StoreError
from reenact.facts.call import Call, Failure, Fidelity, Json, Value, calls_a_tool, is_transport
from reenact.facts.event import Event, node_of
from reenact.facts.fork_stop import stops_at, was_stopped
from reenact.facts.growth import Growth
from reenact.facts.imported_runs import is_imported
from reenact.facts.keys import Rules
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import Delivery
from reenact.facts.plumbing import is_plumbing, plumbing_of
from reenact.facts.telemetry_endpoints import Endpoint
from reenact.replaying import divergence as words
from reenact.replaying.ambient_replay import Ambient
from reenact.replaying.blocked_strands import BlockedStrands, MetLanes, lane_of
from reenact.replaying.frozen_calls import FrozenCall, RerunCall, UnansweredCall, UnrecordedCall
from reenact.replaying.frozen_scopes import FrozenScopes, never_handed_over, recorded_scope
from reenact.replaying.grown_states import StateCheck
from reenact.replaying.keyed_matching import KeyedMatcher, Own
from reenact.replaying.long_values import needed, read_value
from reenact.replaying.matching import Match, Matcher, Miss
from reenact.replaying.options import Options
from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.replaying.renamed_strands import StrandPairs, began_as
from reenact.replaying.replay_faults import ReplayFaults
from reenact.replaying.replay_tally import Chains, Tally
from reenact.replaying.result_comparison import ResultComparison
from reenact.replaying.run_divergences import RunDivergences, waiting_place
from reenact.replaying.state_changes import restated
from reenact.replaying.stopped_end import StoppedEnd
from reenact.replaying.suspects import Suspects
from reenact.replaying.tape import Tape
from reenact.replaying.telemetry_replay import Exports, UncountedSession
from reenact.replaying.unmade_calls import ReplayCoverage, count_inside, unmade
from reenact.seams import lanes
from reenact.seams.ambient import EFFECT
from reenact.seams.lanes import Lane
from reenact.seams.source import located
from reenact.seams.strands import release
from reenact.seams.watch import WATCH

if TYPE_CHECKING:
    from reenact.replaying.trace_matching import TracedMatcher


class ReplaySession:
    """Answers the crossings of one recorded run.

    Args:
        recording: The run.
        redactor: Cleans live calls by the rules of the recording, so that both sides compare.
        rules: The rules by which calls are compared.
        options: The options.
    """

    mode = "replay"
    closed = reaches_world = False
    missing_code = Divergence.exit_code
    """Exit code of a replay in which a call has no answer."""
    asked = 0
    """How many calls went live, because they were allowed to."""
    ask: Callable[[Miss, Lane, Call], Live | None] | None = None
    """Performs a call that has no recorded answer, if the call may go live; None: nothing may go live."""
    arguments: bytes | None = None
    """Encoded arguments with which the entry point is called in place of the recorded ones."""

    def __init__(self, recording: Recording, redactor: Redactor, rules: Rules, options: Options) -> None:
        self.recording = recording
        self.run = recording.run
        self.options = options
        self.observing = options.on_divergence == "observe"
        self.tally = Tally()
        self.reached: Callable[[int], object] = lambda event: None
        self.on_printed: Callable[[int, bytes], object] = lambda stream, data: None
        self.tape = Tape(recording)
        self.exports = Exports(plumbing_of(self.run.capture), self.tape)
        self._uncounted = UncountedSession(self)
        self.rules = rules
        self.redactor = redactor
        self.saying = RunDivergences(self.run, self.tape, rules, options.through)
        self.cannot_go_on = partial(self.saying.cannot_go_on, self.fault)
        self._comparing = ResultComparison(recording, redactor, self.saying)
        self.states = StateCheck(recording, self._comparing, self.tally.states_unproven, self._compares_states)
        self.states.noticed = self._noticed
        self.output_cleaned = redactor.printed
        self.said = redactor.text
        """Gives a text of today as the recording would have it: without credentials."""
        lanes.call_by(redactor.naming, self.fault)
        self._lanes: dict[str, Lane] = {}
        self.frozen_scopes = FrozenScopes()
        self._met = MetLanes(self._lanes, self.tape, self.frozen_scopes)
        self._matcher = self._make_matcher()
        self.renaming = StrandPairs(self.tape, began_as(self.run))
        self._disordered: set[str] = set()
        self._passed: set[int] = set()
        self.chains = Chains()
        self.served = self.chains.add
        """Called with each recorded part of a call that has been handed over."""
        self.appear: Callable[[str], object] = lambda path: None
        """Called with a file that exists from now on, because its recorded maker is answered without running."""
        self.matches: list[tuple[int, str, int]] = []
        self.schedule = self._make_schedule()
        self.gate = self.schedule.gate
        self.faults = ReplayFaults(self.gate, self.saying, observing=self.observing)
        self.lock = self.gate.lock  # one lock for the calls that take turns, and for the watch
        self._end = StoppedEnd(self.run, rules) if was_stopped(self.run) else None
        self._prepare(self.schedule)
        self.suspects = Suspects(recording, self.said, self.tally, self.schedule)
        self.ambience = Ambient(recording, self.schedule.now_us, keeping=options.save)
        self.ambience.address = self.renaming.address
        self.ambience.said = self.said
        self.root = Lane(self.run.lane or "root", self, self.gate)
        self._lanes[self.root.path] = self.root
        self.tape.lane(self.root.path)

    def _make_matcher(self) -> Matcher | KeyedMatcher | TracedMatcher:
        if is_imported(self.run):
            return KeyedMatcher(self.tape, self.rules)
        return Matcher(self.tape, self.rules, self._met.gone)

    def _make_schedule(self) -> RecordedSchedule:
        def again() -> Iterator[Delivery]:
            return self.recording.deliveries(0)

        schedule = RecordedSchedule(again, self._stands_for, self._unawaited, self._at_the_end)
        order, _, seed = self.options.order.partition(":")
        if order == "shuffle":
            schedule.shuffle(int(seed or 0))
        return schedule

    def _prepare(self, schedule: RecordedSchedule) -> None:
        """Give the schedule its facts about the run."""
        schedule.is_missed = self._is_missed
        schedule.gate.lane_at = self._lanes.get
        lasted_us = self.run.lasted_us or 0
        schedule.give_up_us += 4 * lasted_us
        schedule.quiet_us += 2 * lasted_us
        schedule.keeping = self.options.save
        schedule.cut_short = self.run.interrupted_at is not None or self._end is not None
        if not is_imported(self.run):
            schedule.blocked_strands = BlockedStrands(partial(lane_of, self.recording), self._met.gone, self._met.due)
            schedule.stand_in = self.renaming.stand_in
        schedule.gate.attend = WATCH.attend

    # --- abc.session.Session -----------------------------------------------------------------------------------

    def decide(self, lane: Lane, call: Call) -> Crossing | None:
        """Find the recorded call; raise the halt when there is none."""
        if self.gate.halted is not None:
            raise self.gate.halted
        path = lane.path
        self._lanes.setdefault(path, lane)
        if self.schedule.awaits_signal():
            self.schedule.meets(lane)
        export = self.exports.endpoint(lane, call)
        if export is not None:
            return self._exported(lane, call, export)
        position = lane.issued()
        lane.data = None
        cleaned = call
        with self.lock:
            found: Match | Miss | Own | None = self._matcher.identical(path, call)
            if found is None:
                cleaned = self.redactor.call(call)
                found = self.renamed(lane, cleaned) or self._matcher.find(lane.path, cleaned)
                path = lane.path
            elif type(found) is Match and found.event.fidelity is not Fidelity.EXACT:
                self.redactor.call(replace(call, body=b""))  # values in its head may be printed later
            if type(found) is Match:
                self._count(found, path)
                if self.options.save:
                    self.matches.append((found.event.number, path, position))
        if not isinstance(found, Match):
            return self._unmatched(found, lane, call, cleaned)
        event = found.event
        if is_transport(call):
            return FrozenCall(self, lane, event)
        then = recorded_scope(self.recording, event) if event.lane in self._disordered else ""
        if call.observed or call.name in self.options.through:
            scope = lane.scope(call.name, event.number, path=then)
            scope.quiet = lane.quiet or not call.observed
            scope.in_tool = lane.in_tool or calls_a_tool(call)
            if self.observing:  # the call is made, although its body may wait for a missing answer
                self._passed.add(event.number)
            return RerunCall(self, lane, event, scope)
        here = lane.skip_scope(call.name)  # the scope is counted, even if it had another name in the recording
        self.frozen_scopes.add(then or here)
        return FrozenCall(self, lane, event)

    def _exported(self, lane: Lane, call: Call, endpoint: Endpoint) -> Crossing:
        """The answer to exported telemetry: the recorded one, or a made-up success."""
        with self.lock:
            event = self.exports.recorded(lane.path, endpoint)
            if event is None:
                return self.exports.taken(call, endpoint)
            self.matches.append((event.number, lane.path, lane.position))
        self.schedule.plumbing.add(event.number)
        return FrozenCall(self._uncounted, lane, event)

    def _unmatched(self, found: Miss | Own, lane: Lane, call: Call, cleaned: Call) -> Frozen | Rerun | Live:
        """The answer to a call without a recording; raises the halt if the call must have a recording."""
        if isinstance(found, Own):
            return UnrecordedCall(lane.scope(call.name, -1))
        live = self.ask(found, lane, call) if self.ask is not None else None
        if live is not None:
            return live
        missed = partial(self.saying.miss, found, located(cleaned), lane.path)
        if self._end is not None and self._end.holds(lane.path, cleaned, found, missed):
            if not call.observed:
                return UnansweredCall(self, lane)
            if stops_at(self.run, lane.path, cleaned, self.rules):
                UnansweredCall(self, lane).outcome().wait()  # the call's body, the agent's own code, did not run
            return UnrecordedCall(lane.scope(call.name, -1))
        halt = self.diverged(missed())
        if not self.observing:
            raise halt
        if found.reason == "changed" and found.nearest is not None and not is_imported(self.run):
            self.tape.use(found.nearest)
            self._passed.add(found.nearest.number)
        return UnansweredCall(self, lane)

    def ambient(self, lane: Lane, source: str, fresh: Any) -> Any:
        """The recorded read, or a value that goes on from the last recorded one."""
        if self.gate.halted is not None:
            raise self.gate.halted
        if self.schedule.awaits_signal():
            self.schedule.meets(lane)
        return self.ambience.read(lane, source, fresh)

    def unrecorded(self, lane: Lane, source: str, fresh: Any) -> Any:
        """The time of the last delivery, which all clocks show."""
        return self.ambience.clock(lane, source, fresh)

    def effect(self, lane: Lane) -> bytes:
        """The recorded identity of the write under way, whose body runs only if it was opened."""
        return bytes(self.ambient(lane, EFFECT, b""))

    def note(self, lane: Lane, key: str, value: Json) -> None:
        """Keep remarks of a seam about the replay itself; the agent's notes are in the recording already."""
        self.suspects.note(key, value)

    def checkpoint(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        """Compare the state of a step with the recorded one."""
        self.states.compare(event, phase, slots)

    def growing(self, step: str, declared: tuple[str, ...]) -> tuple[tuple[str, ...], Growth | None]:
        """The lists that were declared when the run was recorded, whatever is declared now."""
        return self.states.growing(step, declared)

    def _compares_states(self) -> bool:
        """Whether the agent's states must still equal the recorded ones."""
        return True

    def restate(self, event: int, state: Any) -> Any:
        """For a replayed fork: the state that this fork, or a fork before it, set there."""
        changes = (self.run.environment.get("restated") or {}).get(str(event))
        if not changes:
            return None
        self.states.growth.finish(f"the start of step {event}")  # we change the contents of lists here, not the agent
        return restated(state, changes)

    def printed(self, stream: int, data: bytes) -> None:
        """Pass on the output of the agent's own lanes, to be compared."""
        self.on_printed(stream, data)

    def gap(self, what: str, place: str) -> None:
        """Count an escape."""
        self.tally.escaped(what, place)

    def fault(self, error: Exception) -> bool:
        """Keep the error of a seam that failed: the replay cannot go on."""
        if isinstance(error, Divergence):
            self.diverged(error)
        else:
            self.faults.take(error)
        return True

    def as_asked(self, event: Event) -> Event:
        """The request that a server gets: the recorded one."""
        return event

    # --- what calls use ----------------------------------------------------------------------------------------

    def body_of(self, event: Event) -> bytes:
        """The recorded value's bytes."""
        try:
            return read_value(self.recording, event)
        except StoreError as error:
            if not isinstance(error, BlobMissing) or error.reason != WITHHELD:
                raise self.faults.unreadable(error) from error
            problem = needed(event, error)
            self.fault(problem)
            raise Halt(problem.message) from error

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The recorded stream's segments."""
        try:
            yield from self.recording.parts(event.number)
        except StoreError as error:
            raise self.faults.unreadable(error) from error

    def read_past(self, event: Event) -> object:
        """Keep a divergence: the recorded reader read no further."""
        raise self.diverged(words.read_past(event, self.saying.next(event.number)))

    def read_less(self, event: Event) -> None:
        """Note this for the verdict, except for an imported answer, of which it is not known how far it was read."""
        if not is_imported(self.run):
            self.tally.unread.append(event.number)

    def ends_in(self, event: Event) -> bool:
        """Whether this is a fork that was stopped before a body of its own code ended."""
        return self._end is not None and event.outcome is None

    def settled(self, event: Event, outcome: Value | Failure) -> None:
        """Compare a body that ran again with its recording."""
        now, different = self._comparing.outcome(event, outcome)
        self.served(event, 0, now.body if isinstance(now, Value) else now.error.type.encode())
        if different is not None:
            self._noticed(different)

    def matching_remarks(self) -> tuple[str, ...]:
        """Remarks on how calls were matched."""
        return self._matcher.remarks() if isinstance(self._matcher, KeyedMatcher) else ()

    # --- divergence --------------------------------------------------------------------------------------------

    def diverged(self, divergence: Divergence) -> Halt:
        """Keep a divergence and stop the agent; when observing, keep it and go on."""
        self.suspects.explain(divergence, waiting_place() if self.gate.blocked_us >= 0 else None)
        return self.faults.diverged(divergence)

    def _noticed(self, divergence: Divergence) -> None:
        """Stop the agent, whose own code has another result; in an observing replay, let it go on with that result."""
        halt = self.diverged(divergence)
        if not self.observing:
            raise halt

    def _is_missed(self, delivery: Delivery) -> bool:
        """Whether a missing call is a divergence: no other call took its place, it is not reported yet, and it is no
        plumbing."""
        number = delivery.tag.number
        return number not in self._passed and not is_plumbing(self.recording.event(number).call)

    def _unawaited(self, delivery: Delivery) -> None:
        """Keep a divergence if a recorded answer is due and no strand waits for it. The gate is locked."""
        if not self._is_missed(delivery):
            return
        event = self.recording.event(delivery.tag.number)
        self._passed.add(event.number)
        if self.faults.await_callers(self.recording):
            return
        node = node_of(self.recording.events(), event)
        self.diverged(words.missing(event, self.tape.body(event), self.saying.next(event.number), node))

    def _at_the_end(self) -> None:
        """End the replay: everything waits for deliveries that never come."""
        if self.faults.await_callers(self.recording):
            return
        if self.observing and self.faults.divergences:
            self.faults.stop(Halt("nothing can go on"))
        elif self._end is not None:
            astray = self._end.divergence()
            self.faults.stop(self.diverged(astray) if astray is not None else Halt("the fork was stopped here"))
        else:
            last = self.run.interrupted_at
            self.faults.stop(self.diverged(words.end_of_recording(last, self.saying.next(last))))

    # --- matching ----------------------------------------------------------------------------------------------

    def _count(self, found: Match, path: str) -> None:
        event = found.event
        self.reached(event.number)
        self.tape.use(event)
        self.tally.count(event, found.how, self.options.through)
        if found.how != "exact":
            self.schedule.loose.add(event.number)
            self._disordered |= {path, event.lane}

    def renamed(self, lane: Lane, call: Call) -> Miss | None:
        """Give a lane its recorded address if its function has another name now; a miss where that is ambiguous."""
        matcher = self._matcher
        if not isinstance(matcher, Matcher):
            return None
        unclear = self.renaming.pair(lane, lambda event: matcher.agrees(event, call))
        self.tally.renamed = self.renaming.count
        around: Lane | None = lane
        while around is not None and self._lanes.setdefault(around.path, around) is not None:
            around = around.origin
        return unclear

    def _stands_for(self, delivery: Delivery) -> bool:
        """Whether a recorded delivery happened inside a call that has been answered frozen."""
        if not self.frozen_scopes and delivery.tag.kind != "e":
            return False
        event = self.recording.event(delivery.tag.number) if delivery.tag.kind == "e" else None
        if event is not None and never_handed_over(event, delivery):
            return True
        inside = self.frozen_scopes.hold(event.lane if event is not None else delivery.tag.lane)
        if inside and delivery.tag.kind == "i":
            self.tally.signals.add(delivery.tag.number)
        return inside

    # --- life --------------------------------------------------------------------------------------------------

    def begin(self, *, fallback: bool = False) -> AbstractContextManager[None]:
        """Begin to answer calls. The block runs in the root lane."""
        lanes.session_began(lanes.unowned(self, self.gate) if fallback else None)
        return lanes.inside(self.root)

    def close(self) -> None:
        """Prove the agent's lists after it has ended, and release all waiters."""
        with suppress(Halt):  # the error is noted
            self.states.growth.finish("the end of the run")
        self.closed = True
        self.gate.halt(self.gate.halted or Halt("the replay has ended"))
        release(self.gate)

    def unused(self) -> list[Event]:
        """Recorded calls that the agent did not make; empty if the recording of these calls is damaged, which is
        noted."""
        try:
            return unmade(self.recording, self.tape, self.frozen_scopes, cut_short=self.schedule.cut_short)
        except StoreError as error:
            self.faults.damaged.append(error)
            return []

    def covered(self) -> ReplayCoverage:
        """How much of the recording the replay has covered, and how faithfully."""
        inside = count_inside(self.recording, self.tape, self.frozen_scopes)
        return ReplayCoverage(self.recording.count() - self.tape.exports(), inside, self.tally.fidelity.value)
