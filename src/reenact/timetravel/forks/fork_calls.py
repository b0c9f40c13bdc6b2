"""The calls of a fork: however a call is answered, it is numbered, noted and put in its place in the order here."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from reenact.abc.session import Crossing
from reenact.errors import ForkError, Halt, StoreError
from reenact.facts.call import Call, Effect, Kind, Outcome, Value, is_transport
from reenact.facts.connections import is_incoming, is_of_connection
from reenact.facts.event import REWRITTEN, Event
from reenact.facts.handles import waits_for_message
from reenact.facts.insides import ANSWERED, holds_unseen, is_whole
from reenact.facts.interruptions import INTERRUPTED
from reenact.facts.lazy_dataclass import replace
from reenact.facts.plumbing import is_plumbing
from reenact.facts.record import EvidenceNoted, Record
from reenact.recording.live_calls import LiveCall
from reenact.recording.recording_session import RecordingSession
from reenact.recording.repeated_calls import RepeatedCall
from reenact.seams.lanes import Lane
from reenact.seams.turns import MappedTurn
from reenact.timetravel.forks.alarms import ended_by_signal
from reenact.timetravel.forks.changes import ChangedOutcome
from reenact.timetravel.forks.counterparts import Counterparts
from reenact.timetravel.forks.fork_answers import GivenCall, OwnCall, TapedCall
from reenact.timetravel.forks.fork_flags import flag_answer
from reenact.timetravel.forks.fork_requests import is_rewritten, redirects, said, sent
from reenact.timetravel.forks.fork_session import ForkSession
from reenact.timetravel.forks.ladder import ForkQuestion
from reenact.timetravel.forks.ledger import WriteStanding
from reenact.timetravel.forks.plan import refusal
from reenact.timetravel.forks.resources import Resources, began_by, gone

_OWN_WORK = frozenset({Kind.TOOL, Kind.MODEL, Kind.RETRIEVAL})
"""The kinds of call whose body is the agent's own code, which works in the world when the call is performed."""


class ForkCalls:
    """Answers calls from the recording, by the change, or by going live.

    Args:
        session: The fork.

    Attributes:
        performing: The numbers of the fork's calls that went live, and of the agent's own code inside them.
        retried: The calls among them that repeat a write in doubt; writes inside such a call are part of that write.
        goes_on: Performs a call that was cancelled in the parent, but is not cancelled in the fork.
    """

    goes_on: Callable[[TapedCall, OwnCall], OwnCall | MappedTurn]

    def __init__(self, session: ForkSession) -> None:
        self.session = session
        self.plan = session.plan
        self.schedule = session.schedule
        self.time = session.schedule.time
        self.course = session.course
        self.stops = session.stops
        self.put: Callable[[Record], None] = session.put
        self.counterparts = Counterparts()
        self.resources = Resources(session.tape)
        self.can_begin: Callable[[int, Call], None] = self.resources.can_begin
        self.performing: set[int] = set()
        self.retried: set[int] = set()

    @property
    def child(self) -> RecordingSession:
        """The fork's own log."""
        return self.session.child

    def answered(self, question: ForkQuestion, event: Event) -> Crossing:
        """Answer a call from the recording."""
        lane, call = question.lane, question.call
        if call.observed:
            return self.own_code(question, event, event if not self.schedule.cut else None)
        number = self.course.number(event, cut=self.schedule.cut)
        self.schedule.numbers[event.number] = number
        self._comes_to(lane, event)
        if event.outcome is not None:
            came_us = event.first_us or event.ended_us or event.issued_us
            self.time.answers_later(event.number, event.issued_us, came_us)
        self.counterparts.same(number, event.number)
        self.course.frozen += not is_plumbing(call)
        self._issued(question, number, event)
        scope = "" if is_transport(call) else lane.skip_scope(call.name)
        if scope:
            self.session.frozen_scopes.add(scope)
        crossing = TapedCall(self, lane, event, call, number, scope)
        self.resources.answered(crossing)
        ended_by = ended_by_signal(event)
        if ended_by is not None:
            self.child.put(EvidenceNoted(number, INTERRUPTED, ended_by))
        return crossing

    def own_code(self, question: ForkQuestion, place: Event | None, compared: Event | None = None) -> OwnCall:
        """Run the agent's own code, which runs in any case."""
        lane, number = question.lane, self.course.number(place, cut=self.schedule.cut)
        if place is not None:
            self.course.stands_at[number] = place.number
            self._comes_to(lane, place)
        for inside in (self.performing, self.retried):
            if lane.parent in inside:
                inside.add(number)
        self._issued(question, number, place)
        return OwnCall(self, lane, question.call, number, compared)

    def _comes_to(self, lane: Lane, place: Event | None) -> None:
        """Note that a lane makes a call, and the call of the parent that it stands for."""
        if place is not None and self.time.by_time:
            self.time.comes_to(place.issued_us, self.session.ambience.unread_ns(lane.path))

    def unanswered(self, question: ForkQuestion) -> Event:
        """An event for a call that nothing recorded answers."""
        like = question.place or Event(self.session.run.id, 0, question.lane.path, 0, None, question.call)
        return replace(like, number=-2 - self.course.top, outcome=None, delivery=None, answer=None)

    def given(self, question: ForkQuestion, outcome: Outcome, body: bytes, why: str) -> Crossing:
        """Give an answer that is not the parent's recorded answer to this call."""
        self.course.say(self.course.top + 1, question.call, "frozen", why)
        event = replace(self.unanswered(question), outcome=outcome)
        self.session.changed[event.number] = ChangedOutcome(outcome, body)
        crossing = self.answered(question, event)
        if question.place is not None:
            self.counterparts.same(crossing.event, question.place.number)
        return crossing

    def changed(self, call: Call) -> Value | None:
        """The answer that the change itself gives to a call."""
        try:
            return flag_answer(call, self.plan)
        except ForkError as error:
            self.session.fault(error)
            raise self.session.gate.halted or Halt(error.message) from None

    def handed(self, question: ForkQuestion, value: Value | None) -> GivenCall | OwnCall:
        """Answer with the change's value, or else with the standard input that the change gives to the process."""
        lane, call, place = question.lane, question.call, question.place
        number = self.course.number()
        self.time.sets_out(number, place.number if place is not None else None, transport=False)
        self.course.given.add(call.name)
        self.course.say(number, call, "frozen", "its answer is the change")
        self._issued(question, number, place)
        own = OwnCall(self, lane, call, number)
        if value is None:
            return own
        lane.skip_scope(call.name)
        return GivenCall(own, value)

    def handed_on(self, question: ForkQuestion) -> OwnCall:
        """Send telemetry out to the world. It makes no later read stale."""
        number = self.course.number()
        self.time.sets_out(number, None, transport=True)
        self.course.live += 1
        self._issued(question, number, None)
        return OwnCall(self, question.lane, question.call, number)

    def performed(self, question: ForkQuestion, standing: WriteStanding | None = None) -> Crossing:
        """Perform a call in the world; a write only after it is claimed."""
        lane, call, write, found = question
        self._require_keys(lane, call)
        place = question.place
        number = self.course.number()
        if found.answer is not None:
            self.counterparts.same(number, found.answer.number)
        if write and not self._claimed(write, number, standing):
            first = self.child.repeated(call, number) if "key" in call.head else None
            if first is None:
                raise self.stops.doubted(lane, call, "another process has just begun it", write)
            self._issued(question, number, place)
            return RepeatedCall(LiveCall(self.child, lane, call, number), first)
        self.child.repeated(call, number)
        self.time.differs = True
        self._comes_to(lane, place)
        stands_for = place.number if place is not None else None
        self.time.sets_out(number, stands_for, transport=is_transport(call), works=call.kind in _OWN_WORK)
        self._goes_out(call, number, standing)
        self.resources.went_live(number)
        if not is_of_connection(call):
            self.course.live += 1
            why = found.why if found.answer is None else "sent live again"
            self.course.say(number, call, "live", why + self.session.addresses.elsewhere(call))
        self._issued(question, number, place)
        return OwnCall(self, lane, call, number)

    def _issued(self, question: ForkQuestion, number: int, place: Event | None) -> None:
        lane, call = question.lane, question.call
        known: dict[str, Any] = {}
        if place is not None and self.schedule.numbers.get(place.number) == number:
            known = {"fidelity": place.fidelity, "note": place.fidelity_note}
        if place is not None and place.number == number and not self.schedule.cut:
            known["at_us"] = place.issued_us
        if question.write:
            self.child.writes.issued[number] = question.write
        self.session.settle(lane)
        self.child.issued(lane, call, number, **known)
        if not is_plumbing(call):  # plumbing is no call of its lane
            self.session.ambience.moved(lane.path, lane.position, place, again=self.schedule.cut)

    def refusal(self, lane: Lane, call: Call, model: bool) -> str:
        """Why a call without a recorded answer may not be made. The requests of a tool that goes live count as part of
        the tool, even writes. A tool that it calls is judged by itself."""
        if self.is_beneath(lane, call) or self.is_inside(lane, call):
            return ""
        return refusal(self.plan, call, model=model)

    def is_inside(self, lane: Lane, call: Call) -> bool:
        """Whether a live call other than a tool makes this call."""
        return lane.parent in self.performing and call.kind is not Kind.TOOL

    def is_beneath(self, lane: Lane, call: Call) -> bool:
        """Whether a call that only reads is made inside an opened call: it goes live with that call."""
        return bool(self.plan.only) and lane.parent in self.performing and call.effect is Effect.READ

    def standing(self, write: str) -> WriteStanding | None:
        """The state of a write in this lineage; None for other calls, and for a write that was not begun. A ledger that
        cannot be read ends the fork; the agent gets no error of ours."""
        try:
            return self.session.ledger.standing(write) if write else None
        except StoreError as error:
            raise self.session.faults.unreadable(error) from error

    def _claimed(self, write: str, number: int, standing: WriteStanding | None) -> bool:
        """Whether this call may make the write: only if the ledger grants its claim."""
        try:
            return self.session.ledger.claim(write, number, standing)
        except StoreError as error:
            raise self.session.faults.unreadable(error) from error

    def _goes_out(self, call: Call, number: int, standing: WriteStanding | None) -> None:
        """Note that a request goes out to the world. ``standing``: the earlier state of a write that it makes again."""
        self.performing.add(number)
        if standing is not None:
            self.retried.add(number)
        self.course.wrote |= call.effect is Effect.WRITE
        self._goes_live(call, number)

    def _goes_live(self, call: Call, number: int) -> None:
        """Note that a call may ask a model: its cost is the fork's own, not the parent's."""
        if call.kind in (Kind.HTTP, Kind.MODEL):
            self.course.asked.add(number)

    def _require_keys(self, lane: Lane, call: Call) -> None:
        """Stop the fork before it sends a call without its key, or with a key to a host that must not get it."""
        error = self.session.addresses.refused(call)
        if error is not None:
            raise self.stops.stopped(lane, call, error, error.message)

    def holds(self, crossing: TapedCall) -> None:
        """Stop the fork after the cut at a delivery that is about to be handed over, and is no answer any more."""
        then = began_by(crossing.recorded)
        if then is None:
            return
        with self.session.lock:
            self.resources.handed(crossing)
            why = self.resources.unfit(crossing) if self.schedule.cut else ""
        if why:
            asked = crossing.asked
            error = gone(self.session.run, self.plan, asked, self.session.recording.event(then), why)
            self.stops.waiting()
            raise self.stops.ends(crossing.event, asked, error, error.message)

    def answers(self, crossing: TapedCall) -> None:
        """Note that a recorded answer is handed over. If there are recorded calls inside it, the fork does not have
        them, and a note says so. In the prefix, the branching event is enough to show this."""
        event = crossing.recorded
        if event.call.kind is Kind.HTTP and (changes := event.attributes.get(REWRITTEN)):
            self.child.put(EvidenceNoted(crossing.event, REWRITTEN, changes))
        self.session.answered(event.number, crossing.event)
        if (self.schedule.cut or self.plan.resume) and holds_unseen(event) and self._held_something(event):
            self.child.put(EvidenceNoted(crossing.event, ANSWERED, True))

    def _held_something(self, event: Event) -> bool:
        """Whether a recorded call has calls inside it, or may have had some."""
        if event.number < 0:  # not an answer of the parent's recording
            return not is_transport(event.call)
        return is_whole(self.session.run, event) or event.number in self._holders

    @cached_property
    def _holders(self) -> frozenset[int | None]:
        """Numbers of the recorded calls with calls inside them. Reads every event, once."""
        return frozenset(event.parent for event in self.session.recording.events())

    def live_instead(self, taped: TapedCall) -> OwnCall | MappedTurn:
        """Let a call go live that was to be answered from the recording; it keeps its number."""
        lane, call, event = taped.lane, taped.asked, taped.event
        own = OwnCall(self, lane, call, event, scope=taped.scope)
        with self.session.lock:
            if is_incoming(call):
                self.course.frozen -= 1
                self.time.listens(event)
                return own
            self._require_keys(lane, call)
            waits = waits_for_message(call)
            self.time.sets_out(event, self.counterparts.then(event) if waits else None, transport=is_transport(call))
            if waits:
                self.course.frozen -= 1
                self.course.live += 1
            goes_on = own if waits or is_of_connection(call) else self.goes_on(taped, own)
            if goes_on is own:
                self._goes_live(call, event)
                self.session.frozen_scopes.discard(taped.scope)
            return goes_on

    def makes(self, lane: Lane, call: Call, event: int, why: str) -> None:
        """Make a call that had no answer; a write must be claimed first."""
        self._require_keys(lane, call)
        write = self.child.writes.issued.get(event, "")
        standing = self.standing(write)
        if write and not self._claimed(write, event, standing):
            raise self.stops.doubted(lane, call, "another process has just begun it", write)
        self._goes_out(call, event, standing)
        self.course.frozen -= 1
        self.course.live += 1
        self.course.say(event, call, "live", why)

    def outgoing(self, call: Call, event: int, url: str, body: bytes) -> tuple[str, bytes]:
        """The address and the body with which a call is really sent."""
        if redirects(call):
            url = self.session.addresses.today(url)
        if not is_rewritten(self.plan, call):
            return url, body
        self.child.put(EvidenceNoted(event, REWRITTEN, said(self.plan)))
        return sent(self.plan, call, url, body)
