"""The replay session: every crossing is answered from the log, while the agent's own code runs.

A divergence stops the agent with a private ``BaseException``: every later crossing raises it again, and the session
raises the public ``Divergence`` at its end, even if the agent has caught or retried it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from reenact.abc.body_access import UNPROVEN, WITHHELD
from reenact.abc.redaction import Redactor
from reenact.abc.session import Crossing, Frozen, Live, Rerun
from reenact.abc.store import Recording
from reenact.errors import BlobMissing, Divergence, ForkError, Halt, StoreError, UnreplayableRun
from reenact.facts.call import Call, Failure, Fidelity, Json, Kind, Value, calls_a_tool, is_transport
from reenact.facts.event import Event, node_of
from reenact.facts.file_notes import NOTE as FILE
from reenact.facts.fork_stop import stops_at, was_stopped
from reenact.facts.growth import Growth, GrowthProof
from reenact.facts.imported_runs import is_imported
from reenact.facts.keys import Rules
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import Delivery
from reenact.facts.plumbing import is_plumbing, plumbing_of
from reenact.facts.states import GROWS
from reenact.facts.telemetry_endpoints import Endpoint
from reenact.replaying import divergence as words
from reenact.replaying.ambient_replay import Ambient
from reenact.replaying.blocked_strands import BlockedStrands, MetLanes, lane_of
from reenact.replaying.files_read import Files
from reenact.replaying.frozen_calls import FrozenCall, RerunCall, UnansweredCall, UnrecordedCall
from reenact.replaying.frozen_scopes import FrozenScopes, never_handed_over
from reenact.replaying.grown_states import GrownStates
from reenact.replaying.keyed_matching import KeyedMatcher, Own
from reenact.replaying.long_values import needed, read_value
from reenact.replaying.matching import Match, Matcher, Miss
from reenact.replaying.options import Options
from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.replaying.renaming import StrandPairs, began_as
from reenact.replaying.replay_tally import Chains, Tally
from reenact.replaying.restating import restated
from reenact.replaying.result_comparison import ResultComparison
from reenact.replaying.run_divergences import RunDivergences, nobody_calls, waiting_place
from reenact.replaying.stopped_end import StoppedEnd
from reenact.replaying.tape import Tape
from reenact.replaying.telemetry_replay import Exports, UncountedSession
from reenact.replaying.unmade_calls import ReplayCoverage, count_inside, unmade
from reenact.seams import lanes
from reenact.seams.accepting import ACCEPTED
from reenact.seams.ambient import EFFECT
from reenact.seams.environment_variables import NOTE as VARIABLE
from reenact.seams.http.source import located
from reenact.seams.lanes import Lane
from reenact.seams.looks import NOTE as LOOK
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
    """Has a call performed that has no recording, where it may be; None: nothing may go live."""
    turns: Sequence[str] | None = None
    """The user's messages, if the entry point is called with them."""
    arguments: bytes | None = None
    """Arguments that the entry point is called with in place of the recorded ones, encoded as those are."""
    unheeded: ForkError | None = None
    """Why the change of a fork cannot be made, if it cannot."""

    def __init__(self, recording: Recording, redactor: Redactor, rules: Rules, options: Options) -> None:
        self.recording = recording
        self.run = recording.run
        self.options = options
        self.tally = Tally()
        self.divergences: list[Divergence] = []
        self._growing: dict[str, tuple[str, ...]] = {}
        self._growth = Growth(self._proved)
        self._grown = GrownStates(recording)
        self.unreplayable: list[UnreplayableRun] = []
        self.damaged: list[StoreError] = []
        self.on_stop: Callable[[], object] = lambda: None
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
        self.output_cleaned = redactor.printed
        lanes.call_by(redactor.naming, self.fault)
        self._lanes: dict[str, Lane] = {}
        self.frozen_scopes = FrozenScopes()
        self._met = MetLanes(self._lanes, self.tape, self.frozen_scopes)
        self._matcher = self._make_matcher()
        self.renaming = StrandPairs(self.tape, began_as(self.run))
        self._disordered: set[str] = set()
        self._passed: set[int] = set()
        self.chains = Chains()
        self._files = Files(recording)
        self.amiss: Callable[[], list[str]] = list
        """Says which files are not what they were when the run began."""
        self.appear: Callable[[str], object] = lambda path: None
        """Told of a file that is there from now on, though what makes it is answered from the recording."""
        self.matches: list[tuple[int, str, int]] = []
        self.schedule = self._make_schedule()
        self.gate = self.schedule.gate
        self.lock = self.gate.lock  # one for both: a call that takes its turn and the watch that looks meet in it
        self._end = StoppedEnd(self.run, rules) if was_stopped(self.run) else None
        self._prepare(self.schedule)
        self.ambience = Ambient(recording, self.schedule.now_us, keeping=options.save)
        self.ambience.address = self.renaming.address
        self.ambience.said = redactor.text
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

        schedule = RecordedSchedule(again, self._stands_for, self._nobody_awaits, self._at_the_end)
        if self.options.order.startswith("shuffle"):
            seed = self.options.order.partition(":")[2]
            schedule.shuffle(int(seed) if seed else 0)
        return schedule

    def _prepare(self, schedule: RecordedSchedule) -> None:
        """Tell the schedule what it has to know of the run."""
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
        gate = self.gate
        if gate.halted is not None:
            raise gate.halted
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
                self.redactor.call(replace(call, body=b""))  # what its head holds may be printed later
            if type(found) is Match:
                self._count(found, path)
                if self.options.save:
                    self.matches.append((found.event.number, path, position))
        if not isinstance(found, Match):
            return self._unmatched(found, lane, call, cleaned)
        event = found.event
        if is_transport(call):
            return FrozenCall(self, lane, event)
        recorded_scope = self._recorded_scope(found) if event.lane in self._disordered else ""
        if call.observed or call.name in self.options.through:
            scope = lane.scope(call.name, event.number, path=recorded_scope)
            scope.quiet = lane.quiet or not call.observed
            scope.in_tool = lane.in_tool or calls_a_tool(call)
            if self._observing:  # it is made, though its body may wait for what nothing answers
                self._passed.add(event.number)
            return RerunCall(self, lane, event, scope)
        here = lane.skip_scope(call.name)  # counted, whatever it was called in the recording
        self.frozen_scopes.add(recorded_scope or here)
        return FrozenCall(self, lane, event)

    def _exported(self, lane: Lane, call: Call, endpoint: Endpoint) -> Crossing:
        """Telemetry: the recorded answer, or that all is well."""
        with self.lock:
            self.exports.made += 1
            event = self.exports.recorded(lane.path, endpoint)
            if event is not None:
                self.matches.append((event.number, lane.path, lane.position))
        if event is None:
            return self.exports.taken(call, endpoint)
        self.schedule.plumbing.add(event.number)
        return FrozenCall(self._uncounted, lane, event)

    def _unmatched(self, found: Miss | Own, lane: Lane, call: Call, cleaned: Call) -> Frozen | Rerun | Live:
        """The answer to a call without a recording; raises the halt where it must have one."""
        if isinstance(found, Own):
            return UnrecordedCall(lane.scope(call.name, -1))
        live = self.ask(found, lane, call) if self.ask is not None else None
        if live is not None:
            return live
        missed = partial(self.saying.miss, found, located(cleaned), lane.path)
        if self._end is not None and self._end.holds(lane.path, cleaned, found, missed):
            held = UnansweredCall(self, lane)
            if not call.observed:
                return held
            if stops_at(self.run, lane.path, cleaned, self.rules):
                held.outcome().wait()  # its body is the agent's own code, and did not run: nothing of its thread did
            return UnrecordedCall(lane.scope(call.name, -1))
        halt = self.diverged(missed())
        if not self._observing:
            raise halt
        if found.reason == "changed" and found.nearest is not None and not is_imported(self.run):
            self.tape.use(found.nearest)
            self._passed.add(found.nearest.number)
        return UnansweredCall(self, lane)

    def ambient(self, lane: Lane, source: str, fresh: Any) -> Any:
        """The recorded read, or one that goes on from it."""
        gate = self.gate
        if gate.halted is not None:
            raise gate.halted
        if self.schedule.awaits_signal():
            self.schedule.meets(lane)
        return self.ambience.read(lane, source, fresh)

    def unrecorded(self, source: str, fresh: Any) -> Any:
        """Clocks show the time of the last delivery."""
        return self.ambience.clock(source, fresh)

    def effect(self, lane: Lane) -> bytes:
        """The recorded identity of the write under way: its body runs because it was opened."""
        return bytes(self.ambient(lane, EFFECT, b""))

    def note(self, lane: Lane, key: str, value: Json) -> None:
        """Remarks of a seam about the replay itself; the agent's notes are in the recording already."""
        if key == "loop":
            self.tally.remarks[key] = str(value)
        elif key.startswith(FILE):
            self._files.now(self.said(key[len(FILE) :]), value)
        elif key.startswith(LOOK):
            self._files.looked(self.said(key[len(LOOK) :]), value)
        elif key.startswith(VARIABLE):
            self.tally.used_as_set(self.said(key[len(VARIABLE) :]))

    def checkpoint(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        """Compare the state of a step with the recorded one."""
        try:
            grown = self._grown.compared(event, phase, slots, self._growth.held)
            if grown is not None:
                if self._grown.is_same(grown):
                    return
                slots = grown.whole()
            for different in self._comparing.state(event, phase, slots):
                self._noticed(different)
        except BlobMissing as missing:
            if missing.reason != UNPROVEN:
                raise
            self.tally.states_unproven.append(event)

    def growing(self, step: str, declared: tuple[str, ...]) -> tuple[tuple[str, ...], Growth | None]:
        """As it was recorded, for every present declaration."""
        names = self._growing.get(step)
        if names is None:
            first = next(self.recording.events(kinds=[Kind.STEP], name=step, limit=1), None)
            names = self._growing[step] = declared if first is None else tuple(first.call.head.get(GROWS) or ())
        return names, self._growth

    def _proved(self, proof: GrowthProof) -> None:
        """A list of the agent's states was gone through. Where it is not what it was, the states that counted as the
        same are no more known to be: the last one is compared again, whole."""
        doubted = self._grown.doubted(proof)
        if doubted is None:
            return
        last, events = doubted
        different = list(self._comparing.state(last.event, last.phase, last.whole())) if self._compares_states() else []
        if not different:
            self.tally.states_unproven += events
        for each in different:
            self._noticed(each)

    def _compares_states(self) -> bool:
        """Whether the agent's states are still to be the recorded ones."""
        return True

    def restate(self, event: int, state: Any) -> Any:
        """Of a fork what it, or a fork before it, has changed the state to there."""
        changes = (self.run.environment.get("restated") or {}).get(str(event))
        if not changes:
            return None
        self._growth.finish(f"the start of step {event}")  # what lists hold is changed by us, not by the agent
        return restated(state, changes)

    def printed(self, stream: int, data: bytes) -> None:
        """Pass on the output of the agent's own lanes, to be compared."""
        self.on_printed(stream, data)

    def gap(self, what: str, place: str) -> None:
        """Count what escapes."""
        self.tally.escaped(what, place)

    def fault(self, error: Exception) -> bool:
        """A seam failed: the replay cannot go on."""
        if isinstance(error, Divergence):
            self.diverged(error)
        elif isinstance(error, UnreplayableRun):
            error.next_command = self.saying.of_run(error.next_command)
            self.unreplayable.append(error)
            self.stop(Halt(error.message))
        elif isinstance(error, StoreError):
            self.unreadable(error)
        elif isinstance(error, ForkError):
            self.unheeded = error
            self.stop(Halt(error.message))
        return True

    def said(self, text: str) -> str:
        """A text of today as the recording would have it: without credentials."""
        return self.redactor.text(text)

    def as_asked(self, event: Event) -> Event:
        """The request that a server is asked: the recorded one."""
        return event

    # --- what calls use ----------------------------------------------------------------------------------------

    def body_of(self, event: Event) -> bytes:
        """The recorded value's bytes."""
        try:
            return read_value(self.recording, event)
        except StoreError as error:
            if not isinstance(error, BlobMissing) or error.reason != WITHHELD:
                raise self.unreadable(error) from error
            problem = needed(event, error)
            self.fault(problem)
            raise Halt(problem.message) from error

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The recorded stream's segments."""
        try:
            yield from self.recording.parts(event.number)
        except StoreError as error:
            raise self.unreadable(error) from error

    def served(self, event: Event, part: int, data: bytes) -> None:
        """Something recorded has been handed over."""
        self.chains.add(event, part, data)

    def read_past(self, event: Event) -> object:
        """Reading on is a divergence."""
        raise self.diverged(words.read_past(event, self.saying.next(event.number)))

    def read_less(self, event: Event) -> None:
        """Kept for the verdict; how far the reader of an imported answer had read is not known."""
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

    @property
    def _observing(self) -> bool:
        return self.options.on_divergence == "observe"

    def changed_inputs(self) -> list[str]:
        """Remarks on files and variables that differ from those of the recorded run."""
        return [*self.amiss(), *self._files.changed(), *self.tally.set_now.values()]

    def unproven_order(self) -> list[str]:
        """Remarks on a recording whose order is not proven up to here."""
        unproven = self.schedule.unproven_so_far() if self.run.totals.unproven else []
        return [words.unproven_order(unproven, self.run.capture.get("order"))] if unproven else []

    def diverged(self, divergence: Divergence) -> Halt:
        """Keep it and stop the agent; when observing, keep it and go on."""
        place = waiting_place() if self.gate.blocked_us >= 0 else None
        unseen = [f"the program waits at {place} for what no seam records"] if place else []
        unproven = self.unproven_order()
        others = [*self.changed_inputs(), *unseen, *self.tally.suspects()]
        divergence.by_code = "; ".join([*others, divergence.cause])
        divergence.by_order = "".join(unproven)
        divergence.cause = "; ".join([*unproven, *others]) if unproven else divergence.by_code
        self._hide(divergence)
        halt = Halt(divergence.message)
        with self.lock:
            if self._observing or not self.divergences:
                self.divergences.append(divergence)
        return halt if self._observing else self.stop(halt)

    def _hide(self, divergence: Divergence) -> None:
        """Nothing is said of what happens now that the recording would not hold."""
        text = self.redactor.text
        divergence.message, divergence.cause = text(divergence.message), text(divergence.cause)
        divergence.source = None if divergence.source is None else text(divergence.source)

    def _noticed(self, divergence: Divergence) -> None:
        """The agent's own code has another result: stop it; when observing, let it go on with that."""
        halt = self.diverged(divergence)
        if not self._observing:
            raise halt

    def stop(self, halt: Halt) -> Halt:
        """Stop the agent; what stopped it first."""
        first = self.gate.halted is None
        try:
            self.gate.halt(halt)
        finally:
            if first:
                self.on_stop()
        return self.gate.halted or halt

    def unreadable(self, error: StoreError) -> Halt:
        """The recording is damaged: stop here, and never substitute anything."""
        with self.lock:
            self.damaged.append(error)
        return self.stop(Halt(error.message))

    def refuse(self, words: str) -> Halt:
        """The agent tried to touch the world: stop it."""
        return self.stop(Halt(f"refused while replaying: {words}"))

    def _is_missed(self, delivery: Delivery) -> bool:
        """Whether its call should have been made: its counterpart did not ask something else, nothing has been said of
        it already, and it is no plumbing."""
        number = delivery.tag.number
        return number not in self._passed and not is_plumbing(self.recording.event(number).call)

    def _nobody_awaits(self, delivery: Delivery) -> None:
        """A recorded answer is due, and no strand waits for it (gate locked)."""
        if not self._is_missed(delivery):
            return
        event = self.recording.event(delivery.tag.number)
        self._passed.add(event.number)
        if self._waits_for_a_caller():
            return
        node = node_of(self.recording.events(), event)
        self.diverged(words.missing(event, self.tape.body(event), self.saying.next(event.number), node))

    def _at_the_end(self) -> None:
        """Everything waits for deliveries that never come."""
        if self._waits_for_a_caller():
            return
        if self._observing and self.divergences:
            self.stop(Halt("nothing can go on"))
        elif self._end is not None:
            astray = self._end.divergence()
            self.stop(self.diverged(astray) if astray is not None else Halt("the fork was stopped here"))
        else:
            last = self.run.interrupted_at
            self.stop(self.diverged(words.end_of_recording(last, self.saying.next(last))))

    def _waits_for_a_caller(self) -> bool:
        """Whether all waits are for connections from outside: then the replay stops here."""
        places = [place for what, place, _ in self.recording.gaps() if what == ACCEPTED]
        if self.gate.blocked_us < 0 or not places:
            return False
        self.unreplayable.append(nobody_calls(self.run, waiting_place() or places[0]))
        self.stop(Halt("nothing connects in a replay"))
        return True

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
        """Give a lane its recorded address where its function has another name now; a miss where that is not clear."""
        matcher = self._matcher
        if not isinstance(matcher, Matcher):
            return None
        unclear = self.renaming.pair(lane, lambda event: matcher.agrees(event, call))
        self.tally.renamed = self.renaming.count
        around: Lane | None = lane
        while around is not None and self._lanes.setdefault(around.path, around) is not None:
            around = around.origin
        return unclear

    def _recorded_scope(self, found: Match) -> str:
        """The recorded path of a call's scope, in a lane whose calls were not all made in their order."""
        event = found.event
        ordinal = 0
        for other in self.recording.events(lane=event.lane, name=event.name):
            ordinal += not is_transport(other.call)
            if other.number == event.number:
                break
        return Lane(event.lane, self, self.gate).scope_path(event.name, ordinal)

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
        """Listen: the block runs in the root lane."""
        lanes.session_began(lanes.unowned(self, self.gate) if fallback else None)
        return lanes.inside(self.root)

    def close(self) -> None:
        """The agent has ended: prove its lists, and release all waiters."""
        with suppress(Halt):  # it is noted
            self._growth.finish("the end of the run")
        self.closed = True
        halted = self.gate.halted
        self.gate.halt(halted or Halt("the replay has ended"))
        release(self.gate)

    def unused(self) -> list[Event]:
        """Recorded calls that the agent did not make, those inside frozen calls or after the end not counted; none
        where the recording is damaged there, which is noted."""
        try:
            return unmade(self.recording, self.tape, self.frozen_scopes, cut_short=self.schedule.cut_short)
        except StoreError as error:
            self.damaged.append(error)
            return []

    def covered(self) -> ReplayCoverage:
        """How much of the recording the replay has covered, and how faithfully."""
        inside = count_inside(self.recording, self.tape, self.frozen_scopes)
        return ReplayCoverage(self.recording.count() - self.tape.exports(), inside, self.tally.fidelity.value)
