"""Decides each call of a fork: before the cut it gets the recorded answer, after it the answer that applies."""

from __future__ import annotations

from reenact.abc.session import Crossing
from reenact.facts.call import Call, Effect
from reenact.facts.connections import SESSION, is_incoming, is_of_connection
from reenact.facts.effects import acts
from reenact.facts.handles import handle_of, only_looks
from reenact.facts.lazy_dataclass import replace
from reenact.facts.served_requests import GONE, arrives
from reenact.facts.telemetry_endpoints import Endpoint
from reenact.seams.lanes import Lane
from reenact.timetravel.forks.cancelled_calls import CancelledCalls
from reenact.timetravel.forks.counterparts import session_found
from reenact.timetravel.forks.fork_calls import ForkCalls
from reenact.timetravel.forks.fork_misses import ForkMisses
from reenact.timetravel.forks.fork_requests import is_rewritten
from reenact.timetravel.forks.fork_session import ForkSession
from reenact.timetravel.forks.input import is_read
from reenact.timetravel.forks.ladder import ForkQuestion, Ladder, LadderResult
from reenact.timetravel.forks.permits import is_model, meant, only_kept
from reenact.timetravel.forks.plan import NOT_AGAIN, opens
from reenact.timetravel.forks.refusals import nothing_comes
from reenact.timetravel.forks.resources import gone


class ForkDecisions:
    """Decides for the session of a fork (``fork_session.Decider``).

    Args:
        session: The session of the fork, which calls this from now on.
        misses: Decides about calls without an answer.
    """

    def __init__(self, session: ForkSession, misses: ForkMisses) -> None:
        self._session = session
        self._misses = misses
        self._plan = session.plan
        self._schedule = session.schedule
        self._course = session.course
        self._ladder = Ladder(session.tape, session.rules)
        self._calls = ForkCalls(session)
        self._cancelled_calls = CancelledCalls(self._calls, revives=misses.revives)
        session.decider = self
        session.from_the_start = misses.from_the_start
        session.needs_flags = misses.needs_flags

    def decide(self, lane: Lane, call: Call) -> Crossing:
        """Decide a call."""
        session, calls = self._session, self._calls
        question = ForkQuestion(lane, call, session.child.identity(lane, call) if acts(call) else "")
        if self._schedule.cut:
            return self._freely(self._found(question))
        event = session.strictly(lane, call)
        if event is None:  # the branching event, or the call that is made in its place
            session.cut()
            question = self._found(question)
            if question.found.place is not None and question.found.place.number == self._plan.at:
                self._course.branching = self._plan.at
            return self._freely(question)
        if event.number != self._plan.at:
            return calls.answered(question, event)
        session.cut()
        self._course.branching = event.number
        return self._taken(question._replace(found=LadderResult(event, event, "the branching event")))

    def exported(self, lane: Lane, call: Call, endpoint: Endpoint) -> Crossing:
        """Decide a telemetry request. Before the cut it gets its recorded answer. After the cut it is sent to the
        world if that is allowed or the run is resumed; else the exporter is told that it succeeded."""
        exports, question = self._session.exports, ForkQuestion(lane, call, "")
        if self._schedule.cut:
            exports.made += 1
            allowed = meant(self._plan.allow_writes, endpoint.name, call.name)
            if allowed:
                self._course.given.add(allowed)
            if allowed or self._plan.resume:
                return self._calls.handed_on(question)
        else:
            event = exports.recorded(lane.path, endpoint)
            if event is not None:
                self._schedule.plumbing.add(event.number)
                return self._calls.answered(question, event)
        return exports.taken(call, endpoint)

    def _found(self, question: ForkQuestion) -> ForkQuestion:
        """A call after the cut as a question, with the recorded answer that fits."""
        session, calls, lane, call = self._session, self._calls, question.lane, question.call
        asked = session.redactor.call(calls.counterparts.as_then(call))
        session.renamed(lane, asked)
        found, begins = self._ladder.find(lane.path, asked), call.name == SESSION and is_of_connection(call)
        found = session_found(session.tape, asked, found) if begins else calls.resources.fitting(call, found)
        return question._replace(found=found)

    def _freely(self, question: ForkQuestion) -> Crossing:
        """Decide any call after the cut."""
        lane, call, _, found = question
        if found.answer is not None:
            self._ladder.used(lane.path, found.answer)
            self._calls.resources.used(found.answer)
        elif found.place is not None:
            self._ladder.placed(lane.path, found.place)
        if call.observed:
            return self._calls.own_code(question, question.place)
        return self._taken(question)

    def _taken(self, question: ForkQuestion) -> Crossing:
        """Answer with the change, if there is one for this call; else with a known result."""
        calls, call, event = self._calls, question.call, question.found.answer
        given = calls.changed(call)
        if given is not None or (self._plan.input is not None and is_read(call)):
            return calls.handed(question, given)
        if event is not None and event.number in self._plan.answered:
            self._course.say(event.number, call, "frozen", "its answer is the change")
            return calls.answered(question, self._session.with_change(event))
        if arrives(call):  # a server's request, whose client waits for the answer
            known = event if call.name != GONE else None
            asked = calls.unanswered(question) if known is None else self._session.as_asked(known)
            return calls.answered(question, asked)
        return self._known(question)

    def _known(self, question: ForkQuestion) -> Crossing:
        """Answer the call from the recording, perform it, or refuse it."""
        call, event, calls, plan = question.call, question.found.answer, self._calls, self._plan
        if call.observed:
            return calls.own_code(question, event)
        if plan.may_store and only_kept(call):
            call = replace(call, effect=Effect.READ)
            question = question._replace(call=call, write="")
        if is_of_connection(call):
            return self._of_connection(question)
        handle = handle_of(call)
        if handle is not None:
            return self._on_handle(question._replace(write=""), handle)
        model = is_model(call)
        again = opens(plan, call, model=model) or is_rewritten(plan, call)
        again = again or calls.is_beneath(question.lane, call) or self._misses.is_stale(calls, call, model)
        if event is not None and not again:
            again = event.number in plan.retries or self._schedule.alarms.rings_otherwise(event)
        if event is not None and not again and not self._misses.breaks_off(calls, event):
            if model and plan.live in ("all", "model") and only_kept(call):
                self._course.remarks.extend({f"{call.name} {NOT_AGAIN}"}.difference(self._course.remarks))
            self._course.say(event.number, call, "frozen", question.found.why)
            return calls.answered(question, event)
        return self._misses.asked(calls, question, model)

    def _of_connection(self, question: ForkQuestion) -> Crossing:
        """A connection is answered as recorded until a call goes live through it; then the connection goes live too."""
        event, calls = question.found.answer, self._calls
        if is_incoming(question.call) or (event is not None and event.outcome is not None):
            return calls.answered(question, event or calls.unanswered(question))
        return calls.performed(question)

    def _on_handle(self, question: ForkQuestion, handle: int) -> Crossing:
        """A process or connection stays the recorded one until the fork makes a new request on it. Then the resource is
        begun, if no data has passed through it yet; else the fork stops. Messages through a live connection are no
        separate writes."""
        session, calls, resources = self._session, self._calls, self._calls.resources
        lane, call, _, found = question
        event = found.answer
        if event is not None and (event.outcome is not None or call.effect is Effect.READ):
            self._course.say(event.number, call, "frozen", found.why)
            return calls.answered(question, event)
        start = None
        if not resources.is_live(handle):
            start = resources.to_begin(handle) if not only_looks(call) else None
            if start is None:
                began = calls.counterparts.then(handle)
                beginning = session.recording.event(began) if began is not None else None
                error = gone(session.run, self._plan, call, beginning, found.why)
                raise session.stops.stopped(lane, call, error, error.message)
        refused = calls.refusal(lane, start, False) if start is not None else ""
        refused = f"{refused}; {call.name} would begin it" if refused else calls.refusal(lane, call, False)
        if refused:
            raise session.stops.refused(question, refused)
        if start is not None:
            resources.begin(handle)
        return calls.performed(question)

    def ends(self) -> bool:
        """Everything waits for a delivery that will never come: after the cut, the change has removed it."""
        if self._misses.ends(self._calls):
            return True
        if self._schedule.cut and not self._cancelled_calls.stop():
            session, after = self._session, self._course.branching
            behind = [event for event in session.unused() if event.number > after and not event.call.observed]
            left = min(behind, key=lambda event: event.number, default=None)
            given = (session.recording.event(number) for number in self._schedule.numbers if number >= 0)
            part = next((event for event in given if event.is_open), None)
            shown = session.saying.next(left.number if left is not None else None)
            session.faults.stop(session.diverged(nothing_comes(session.run, left, part, shown)))
        return self._schedule.cut
