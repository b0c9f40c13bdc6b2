"""The half of a fork's session that keeps: what the agent says, reads and comes to is noted in the fork's own log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from reenact.abc.redaction import Redactor
from reenact.abc.store import Recording
from reenact.errors import ForkError, UnreplayableRun
from reenact.facts.before import Before
from reenact.facts.call import Call, End, EndKind, Json
from reenact.facts.connections import DIFFERS, is_incoming
from reenact.facts.event import Event
from reenact.facts.file_notes import NOTE as FILE
from reenact.facts.keys import Rules
from reenact.facts.plumbing import is_plumbing
from reenact.facts.record import Record
from reenact.facts.run import Run, Totals
from reenact.facts.stopped import FIELD as STOPPED
from reenact.facts.stopped import stopped_waiting
from reenact.recording.recording_session import RecordingSession
from reenact.replaying.ambient_replay import MOVES
from reenact.replaying.options import Options
from reenact.replaying.renaming import RENAMED
from reenact.replaying.replay_session import ReplaySession
from reenact.seams.lanes import Lane
from reenact.seams.looks import NOTE as LOOK
from reenact.seams.restating import differs, restated
from reenact.timetravel.forks.changes import Changed
from reenact.timetravel.forks.counterparts import progress_of
from reenact.timetravel.forks.fork_ambient import ForkAmbient
from reenact.timetravel.forks.fork_course import ASKED, Answer, Course
from reenact.timetravel.forks.fork_schedule import ForkSchedule
from reenact.timetravel.forks.ledger import Doubt, Ledger
from reenact.timetravel.forks.plan import Plan

_MOST: Final = 10_000
"""So many reads are held for a strand that has asked nothing yet; then it has the name of its function for good."""


class KeepingSession(ReplaySession):
    """A replay that notes all of it in a log of its own; who answers a call is decided above it.

    Args:
        recording: The parent.
        redactor: Cleans calls as the parent's were, so that both sides compare.
        rules: How two calls are compared.
        options: Those of a replay.
        plan: What is to be different, and what may go live.
    """

    _stop_kept: Mapping[str, Json] | None = None
    """Where it was stopped, which its own replay stops at."""
    doubt: Doubt | None = None
    """The write in doubt that the fork was stopped by."""

    def __init__(self, recording: Recording, redactor: Redactor, rules: Rules, options: Options, plan: Plan) -> None:
        self.plan = plan
        self.course = Course()
        self.child: RecordingSession = None  # type: ignore[assignment]  # given by records()
        self._ledger: Ledger = None  # type: ignore[assignment]  # given by records()
        self.answered: Callable[[int, int], object] = lambda recorded, event: None
        self.changed: dict[int, Changed] = {}
        self._branching = -1
        self._stands_at: dict[int, int] = {}
        self._early: dict[Lane, list[tuple[str, Any]]] = {}
        """What lanes have read of which it is not known yet whether they have another name in the parent."""
        self.restated: dict[str, Mapping[str, Json]] = {}
        """What has been set in states, by the numbers of the fork's steps: its own replay sets it again."""
        super().__init__(recording, redactor, rules, options)
        self.schedule: ForkSchedule
        self.schedule.time.tell = self.course.remarks.append
        self.ambience: ForkAmbient = ForkAmbient(recording, self.schedule)
        self.ambience.address = self.renaming.address

    def records(self, child: RecordingSession, ledger: Ledger, answered: Callable[[int, int], object]) -> None:
        """Everything that happens is noted in ``child``, and ``ledger`` asked before a write; ``answered`` is told of
        each recorded answer handed over."""
        self.child = child
        self._growth = child.growth
        child.on_proof = self._proved
        child.number_as({lane.path: lane.number for lane in self.recording.lanes()})
        self._ledger = ledger
        self.answered = answered

    def _lane_seen(self, path: str) -> None:
        self.child.lane_number(path)

    def say(self, event: int, call: Call, how: str, why: str) -> None:
        """Keep for the report how a call was answered."""
        self.course.answers.append(Answer(event, call.name, how, why))

    # --- what calls use ----------------------------------------------------------------------------------------

    def put(self, record: Record) -> None:
        """Note something in the fork's recording."""
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
        """An exporter that reads its answer further than it did comes to its end."""
        return End(EndKind.EOF) if is_plumbing(event.call) else super().read_past(event)

    def read_less(self, event: Event) -> None:
        """After the cut nobody is held to how far the parent read."""
        if not self.schedule.cut:
            super().read_less(event)

    # --- the rest of the session -------------------------------------------------------------------------------

    def ambient(self, lane: Lane, source: str, fresh: Any) -> Any:
        """The recorded read of this place, or one that goes on from it."""
        if self.gate.halted is not None:
            raise self.gate.halted
        if self.schedule.awaits_signal():
            self.schedule.meets(lane)
        value = self.ambience.read(lane, source, fresh)
        early = self._early.get(lane)
        if early is None and lane.number < 0 and self.renaming.is_open(lane):
            early = self._early[lane] = []
        if early is None:
            return self.child.ambient(lane, source, value)
        early.append((source, value))
        if len(early) == _MOST:
            self._settle(lane)
        return value

    def _settle(self, lane: Lane) -> None:
        """Note what a lane has read while it was not known which of the parent's it is: now it is, or never will be."""
        for source, value in self._early.pop(lane, ()):
            self.child.ambient(lane, source, value)

    def effect(self, lane: Lane) -> bytes:
        """The identity of the write under way."""
        return self.child.effect(lane)

    @property
    def own_run(self) -> Run:
        """The run that is being written: the fork, where ``run`` is the one that it branched from."""
        return self.child.run

    def persist(self) -> bool:
        """Wait until all of the fork so far is on the disk."""
        return self.child.persist()

    def child_began(self, lane: str) -> None:
        """A run inside the fork begins: the fork's own log counts it."""
        self.child.child_began(lane)

    def child_ended(self, lane: str) -> Totals:
        """What a run inside the fork has added up to."""
        return self.child.child_ended(lane)

    def note(self, lane: Lane, key: str, value: Json) -> None:
        """The agent's notes are the fork's own."""
        if key == DIFFERS:
            self.course.remarks.append(f"the live server is another one: {value}")
        elif key.startswith((FILE, LOOK)):
            super().note(lane, key, value)
        self.child.note(lane, key, value)

    def keep_file(self, before: Before, content: bytes | None) -> None:
        """What a path was before the fork changed it first."""
        self.child.keep_file(before, content)

    def checkpoint(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        """The state of a step: before the cut it agrees with the recorded one."""
        if not self.schedule.cut:
            super().checkpoint(event, phase, slots)
        self.child.checkpoint(event, phase, slots)

    def _compares_states(self) -> bool:
        """Behind the cut the agent may change what it held before."""
        return not self.schedule.cut

    def restate(self, event: int, state: Any) -> Any:
        """The branching step starts with what the plan sets, every other one with what the parent's did."""
        recorded = self.run.environment.get("restated") or {}
        # Who resumes a fork that died before the branching step had reached the disk comes to it under its own number.
        then = self._stands_at.get(event, event if self.plan.resume else None)
        changes = {**recorded.get(str(then), {})}
        if event == self._branching:
            changes |= self.plan.state
            self.schedule.time.differs = self.schedule.time.differs or differs(state, self.plan.state)
        if not changes:
            return None
        self._growth.finish(f"the start of step {event}")  # what lists hold is changed by the plan, not by the agent
        self.restated[str(event)] = changes
        return restated(state, changes)

    def printed(self, stream: int, data: bytes) -> None:
        """What the agent writes."""
        self.child.printed(stream, data)

    def fault(self, error: Exception) -> bool:
        """A seam failed: where a call that was made cannot be performed, the fork's own replay waits for it."""
        if isinstance(error, (ForkError, UnreplayableRun)) and self.schedule.cut and self._stop_kept is None:
            self._stop_kept = stopped_waiting()
        return super().fault(error)

    def gap(self, what: str, place: str) -> None:
        """What escapes."""
        self.child.gap(what, place)

    def kept(self) -> dict[str, Any]:
        """Changes of the agent's surroundings, which the fork's own replay makes again. Asked when it has ended."""
        for lane in list(self._early):
            self._settle(lane)
        doubt = {"in_doubt": self.doubt.write} if self.doubt is not None else {}
        stop = {STOPPED: self._stop_kept} if self._stop_kept is not None else {}
        new = {RENAMED: self.renaming.new()} if self.renaming.count else {}
        asked = {ASKED: sorted(self.course.asked)}
        return {"restated": self.restated, MOVES: self.ambience.kept_moves, **asked, **new, **doubt, **stop}
