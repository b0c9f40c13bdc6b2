"""The fork session: a replay up to its cut; after it, whatever was asked before is answered and the rest goes live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import takewhile
from typing import Any
from urllib.parse import urlsplit

from reenact.abc.redaction import Redactor
from reenact.abc.session import Crossing
from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import ForkError, Halt, StoreError
from reenact.facts.bases import Bases, moved_bases
from reenact.facts.call import Call, Effect, Kind, Outcome, Value, is_transport
from reenact.facts.connections import SESSION, is_incoming, is_of_connection
from reenact.facts.effects import acts
from reenact.facts.event import Event
from reenact.facts.exporters import Endpoint
from reenact.facts.handles import handle_of, only_looks, waits_for_message
from reenact.facts.insides import ANSWERED, holds_unseen, is_whole
from reenact.facts.interruptions import INTERRUPTED
from reenact.facts.keys import Rules
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import Delivery
from reenact.facts.plumbing import is_plumbing, marked
from reenact.facts.record import Noted
from reenact.facts.serving import GONE, REQUEST, arrives
from reenact.facts.stopped import stopped_at, stopped_waiting
from reenact.facts.values import encode
from reenact.recording.live_calls import LiveCall
from reenact.recording.repeats import RepeatedCall
from reenact.replaying.ambient_replay import MOVES
from reenact.replaying.imported import Own
from reenact.replaying.matching import Miss
from reenact.replaying.options import Options
from reenact.seams.clock import REAL
from reenact.seams.http.source import located
from reenact.seams.lanes import Lane
from reenact.seams.setting import variables_now
from reenact.timetravel.forks.alarms import ended_by_signal
from reenact.timetravel.forks.cancelled_calls import CancelledCalls
from reenact.timetravel.forks.changes import Changed, changed_outcome
from reenact.timetravel.forks.counterparts import Counterparts, session_found
from reenact.timetravel.forks.flags import flag_answer
from reenact.timetravel.forks.fork_points import fork_point_at, prefix_is_behind
from reenact.timetravel.forks.fork_requests import as_sent, is_rewritten, redirects, said, sent, unmoved, unwritable
from reenact.timetravel.forks.fork_schedule import ForkSchedule
from reenact.timetravel.forks.giving import GivenCall
from reenact.timetravel.forks.handing import Handing
from reenact.timetravel.forks.input import arguments, is_read
from reenact.timetravel.forks.keys import keys_of, said_by
from reenact.timetravel.forks.ladder import Found, Ladder
from reenact.timetravel.forks.ledger import WriteStanding
from reenact.timetravel.forks.model_calls import is_model
from reenact.timetravel.forks.moments import moment_us
from reenact.timetravel.forks.permits import meant, only_kept
from reenact.timetravel.forks.plan import NOT_AGAIN, Plan, opens, refusal, said_of
from reenact.timetravel.forks.refusals import unwritten
from reenact.timetravel.forks.resources import Resources, began_by, gone
from reenact.timetravel.forks.stops import StoppingSession
from reenact.timetravel.forks.taping import OwnCall, TapedCall

_OWN_WORK = frozenset({Kind.TOOL, Kind.MODEL, Kind.RETRIEVAL})
"""Calls whose body is the agent's own code, which works in the world when it is performed."""


def _worked_us() -> int:
    return REAL.process_time_ns() // 1000


class ForkSession(StoppingSession):
    """Answers the prefix of a run from its recording, and lets it go on with something changed.

    Args: those of ``KeepingSession``.
    """

    mode = "fork"
    moved: tuple[tuple[str, str], ...] = ()
    """Base addresses of variables that this process has as recorded, with today's, as it was told them."""
    revives = True
    """Whether calls that were cancelled in the parent, and are not here, may be made."""
    placed: Callable[[Call], Call] = staticmethod(lambda call: call)
    """Gives a call the place in the code that its parent would have, where its code lies in a scratch folder."""

    def __init__(self, recording: Recording, redactor: Redactor, rules: Rules, options: Options, plan: Plan) -> None:
        plan = replace(plan, at=fork_point_at(recording, plan.at))
        super().__init__(recording, redactor, rules, options, plan)
        self.arguments = arguments(plan.input) if plan.input is not None else None
        self._ladder = Ladder(self.tape, rules)
        self._counterparts = Counterparts()
        self.resources = Resources(self.tape)
        self._top = -1
        self.lends(())
        self._address = ""
        self._adds_on = plan.resume and plan.at >= recording.count()
        self.schedule.open_ended = self._adds_on or plan.until is not None
        self.schedule.reached_end = self._cut
        self.schedule.time.by_time = not plan.resume and (bool(plan.changes) or plan.live != "none")
        self.schedule.time.weighs_work = plan.resume or self.schedule.time.by_time
        self.schedule.time.differs = len(plan.changes) > len(plan.state)
        self._cancelled_calls = CancelledCalls(self)
        self.schedule.revive = self._cancelled_calls.revive
        self.schedule.give_up = self._cancelled_calls.stop
        self._performing: set[int] = set()
        """Numbers of the fork's calls that went live, and of the agent's own code inside them."""
        self._retried: set[int] = set()
        """Those among them that make a write in doubt again: what they write in turn is part of it."""

    def _make_schedule(self) -> ForkSchedule:
        until = self.plan.until

        def again() -> Iterator[Delivery]:
            order = self.recording.deliveries(0)
            return order if until is None else takewhile(lambda each: each.number < until, order)

        parts = (again, self._stands_for, self._nobody_awaits, self._at_the_end)
        return ForkSchedule(self._lane_seen, CLOCK, _worked_us, *parts)

    def lends(self, lent: Iterable[str]) -> None:
        """The environment is today's, but for these variables, which come from the recording."""
        now, lent = variables_now(), set(lent)
        self.ambience.variables.update({name: now[name] for name in lent if name in now})
        self._today = today = {name: text for name, text in now.items() if name not in lent}
        self._keys = keys_of(self.run, today, self.ambience.variables, (*self.options.command, *said_by(self.plan)))

    @property
    def bases(self) -> Bases:
        """Addresses of the recording that are others today: of variables that this process has as recorded, and of
        those whose recorded text the program was answered."""
        answered = dict(self.ambience.variables)
        found = (*self.moved, *((then, now) for then, now in moved_bases(answered, self._today, answered)))
        return Bases(tuple(sorted(found, key=lambda pair: -len(pair[0]))))

    # --- abc.session.Session -----------------------------------------------------------------------------------

    def decide(self, lane: Lane, call: Call) -> Crossing | None:
        """Before the cut the recorded call; after it whatever answers this one, or the world."""
        if self.gate.halted is not None:
            raise self.gate.halted
        if self.closed:
            return None
        call = self._as_known(self.placed(located(call)))
        self._lanes.setdefault(lane.path, lane)
        if self.schedule.awaits_signal():
            self.schedule.meets(lane)
        export = self.exports.endpoint(lane, call)
        if export is not None:
            return self._exported(lane, marked(call, export), export)
        with self._lock:
            self._address = self.child.identity(lane, call) if acts(call) else ""
            if not self.schedule.cut:
                event = self._strictly(lane, call)
                if event is None:
                    return self._astray(lane, call)
                if event.number != self.plan.at:
                    return self._answered(lane, call, event)
                self._cut()
                return self._at_the_cut(lane, call, event)
            return self._freely(lane, call, self._find(lane, call))

    def _as_known(self, call: Call) -> Call:
        """A call under the name by which a recording has it, and people know it from there."""
        name = self.said(call.name)
        return call if name == call.name else replace(call, name=name)

    def _exported(self, lane: Lane, call: Call, endpoint: Endpoint) -> Crossing:
        """Telemetry: before the cut its recorded answer. Behind it the world gets it where that is allowed,
        or when a run is resumed; else it is told that all is well."""
        with self._lock:
            self.exports.made += 1
            self._address = ""
            if self.schedule.cut:
                allowed = meant(self.plan.allow_writes, endpoint.name, call.name)
                if allowed or self.plan.resume:
                    return self._handed_on(lane, call, allowed)
            else:
                event = self.exports.recorded(lane.path, endpoint)
                if event is not None:
                    self.schedule.plumbing.add(event.number)
                    return self._answered(lane, call, event)
        return self.exports.taken(call, endpoint)

    def _handed_on(self, lane: Lane, call: Call, allowed: str) -> OwnCall:
        """Telemetry that goes out to the world. No read is stale after it."""
        number = self._number(None)
        self.schedule.time.sets_out(number, None, transport=True)
        self.course.live += 1
        if allowed:
            self.course.given.add(allowed)
        self._issued(lane, call, number, None)
        return OwnCall(self, lane, call, number)

    def _find(self, lane: Lane, call: Call) -> Found:
        """What the recording has for a call behind the cut."""
        asked = self._redactor.call(self._counterparts.as_then(call))
        self._renamed(lane, asked)
        found = self._ladder.find(lane.path, asked)
        if call.name == SESSION and is_of_connection(call):
            return session_found(self.tape, asked, found)
        return self.resources.fitting(call, found)

    def _strictly(self, lane: Lane, call: Call) -> Event | None:
        """The recorded call by the ladder of a replay; its divergence when there is none, or None where the prefix is
        behind this lane: other code, or another input, asks otherwise from the branching event on."""
        found = self._matcher.identical(lane.path, call)
        assert not isinstance(found, Own)  # an imported run has no place to branch at
        if found is None:
            cleaned = self._redactor.call(call)
            other = self._renamed(lane, cleaned) or self._matcher.find(lane.path, cleaned)
            if isinstance(other, Miss):
                rest = self.tape.lane(lane.path).rest() if self._adds_on else ()
                at_end = self._adds_on and all(event.call.kind is Kind.OUTPUT for event in rest)  # how it failed
                if at_end or prefix_is_behind(self.recording, self.tape, lane.path, self.plan.at):
                    return None
                self._stop_kept = stopped_at(self.child.run, lane.path, cleaned, self.rules)
                raise self._diverged(self.saying.miss(other, cleaned, lane.path))
            assert not isinstance(other, Own)  # no imported run is forked
            found = other
        self._count(found, lane.path)
        return found.event

    def _cut(self) -> None:
        self.schedule.time.cut = self.course.reached = True
        if self.plan.resume:
            self.schedule.time.goes_real()
        self.schedule.alarms.arms()
        moment = moment_us(self.plan.at_time) if self.plan.at_time else CLOCK.wall_us() if self.plan.resume else None
        goes_on = self.plan.resume and self.plan.at_time and MOVES in self.recording.notes(None)  # moved before already
        if moment is not None and not goes_on:
            self.ambience.move_to(moment)
            self.child.put(Noted(None, MOVES, [list(move) for move in self.ambience.kept_moves]))

    def _at_the_cut(self, lane: Lane, call: Call, event: Event) -> Crossing:
        """The branching event itself: it has its answer, unless it is to be asked again."""
        self._branching = event.number
        return self._taken(lane, call, Found(event, event, "the branching event"))

    def _astray(self, lane: Lane, call: Call) -> Crossing:
        """The branching event, or whatever is asked in its place."""
        self._cut()
        found = self._find(lane, call)
        if found.place is not None and found.place.number == self.plan.at:
            self._branching = self.plan.at
        return self._freely(lane, call, found)

    def _freely(self, lane: Lane, call: Call, found: Found) -> Crossing:
        """Any call after the cut."""
        if found.answer is not None:
            self._ladder.used(lane.path, found.answer)
            self.resources.used(found.answer)
        elif found.place is not None:
            self._ladder.placed(lane.path, found.place)
        if call.observed:
            return self._own_code(lane, call, found.answer or found.place, None)
        return self._taken(lane, call, found)

    def _taken(self, lane: Lane, call: Call, found: Found) -> Crossing:
        """By the change, where that answers it; else by what is known."""
        given = self._changed(call)
        if given is not None:
            return self._handed(lane, call, found, given)
        if self.plan.input is not None and is_read(call):
            return self._handed(lane, call, found, None)
        event = found.answer
        if event is not None and event.number in self.plan.answered:
            self.say(event.number, call, "frozen", "its answer is the change")
            return self._answered(lane, call, self._with_change(event))
        if arrives(call):
            return self._arriving(lane, call, found)
        return self._known(lane, call, found)

    def _known(self, lane: Lane, call: Call, found: Found) -> Crossing:
        """Answer it from the recording, perform it, or refuse it."""
        event = found.answer
        if call.observed:
            return self._own_code(lane, call, event, None)
        if self.plan.may_store and only_kept(call):
            call, self._address = replace(call, effect=Effect.READ), ""
        if is_of_connection(call):
            return self._of_connection(lane, call, found)
        handle = handle_of(call)
        if handle is not None:
            return self._on_handle(lane, call, found, handle)
        model = is_model(call)
        anew = opens(self.plan, call, model=model) or is_rewritten(self.plan, call)
        anew = anew or self._is_beneath(lane, call) or self._is_stale(call, model=model)
        if event is not None and not anew:
            anew = event.number in self.plan.anew or self.schedule.alarms.rings_otherwise(event)
        if event is not None and not anew and not self._breaks_off(event):
            if model and self.plan.live in ("all", "model") and only_kept(call):
                self.course.remarks.extend({f"{call.name} {NOT_AGAIN}"}.difference(self.course.remarks))
            self.say(event.number, call, "frozen", found.why)
            return self._answered(lane, call, event)
        return self._asked(lane, call, found, model)

    def _breaks_off(self, event: Event) -> bool:
        """Whether what was recorded ends before the answer does: it is asked for again, where that may be. A fork
        that asks nobody is given what there is of an answer, and ends there as its parent did."""
        return event.outcome is None or (event.is_open and (self.plan.resume or self.plan.live != "none"))

    def _of_connection(self, lane: Lane, call: Call, found: Found) -> Crossing:
        """A connection is as it was recorded until something goes live through it; then it goes live too."""
        event = found.answer
        if event is not None and (event.outcome is not None or is_incoming(call)):
            return self._answered(lane, call, event)
        if is_incoming(call):
            return self._answered(lane, call, self._unanswered(lane, call, found))
        return self._performed(lane, call, found, None)

    def _on_handle(self, lane: Lane, call: Call, found: Found, handle: int) -> Crossing:
        """A process or a connection is the recorded one until something else is asked of it. Then it is begun, where
        nothing has passed through it; else the fork stops. What passes through a live one is no write of its own."""
        self._address = ""
        event = found.answer
        if event is not None and (event.outcome is not None or call.effect is Effect.READ):
            self.say(event.number, call, "frozen", found.why)
            return self._answered(lane, call, event)
        start = None
        if not self.resources.is_live(handle):
            start = self.resources.to_begin(handle) if not only_looks(call) else None
            if start is None:
                began = self._counterparts.then(handle)
                beginning = self.recording.event(began) if began is not None else None
                error = gone(self.run, self.plan, call, beginning, found.why)
                raise self.stopped(lane, call, error, error.message)
        refused = self.refusal(lane, start, False) if start is not None else ""
        refused = f"{refused}; {call.name} would begin it" if refused else self.refusal(lane, call, False)
        if refused:
            raise self._refused(lane, call, refused, found)
        if start is not None:
            self.resources.begin(handle)
        return self._performed(lane, call, found, None)

    def _unanswered(self, lane: Lane, call: Call, found: Found) -> Event:
        """An event for a call that nothing recorded answers."""
        like = found.answer or found.place or Event(self.run.id, 0, lane.path, 0, None, call)
        return replace(like, number=-2 - self._top, outcome=None, delivery=None, answer=None)

    def can_begin(self, number: int, call: Call) -> None:
        """What a call was to begin is answered from the recording, and can be begun later."""
        self.resources.can_begin(number, call)

    def live_instead(self, taped: TapedCall) -> OwnCall | Handing:
        """A call that was to be answered from the recording goes on after all, under the number that it has."""
        lane, call, event = taped.lane, taped.asked, taped.event
        own = OwnCall(self, lane, call, event, scope=taped.scope)
        with self._lock:
            if not is_incoming(call):
                self._require_keys(lane, call)
            if is_incoming(call):
                self.course.frozen -= 1
                self.schedule.time.listens(event)
                return own
            waits = waits_for_message(call)
            self.schedule.time.sets_out(
                event, self._counterparts.then(event) if waits else None, transport=is_transport(call)
            )
            if waits:
                self.course.frozen -= 1
                self.course.live += 1
            goes_on = own if waits or is_of_connection(call) else self._cancelled_calls.goes_on(taped, own)
            if goes_on is own:
                self._goes_live(call, event)
                self.frozen_scopes.discard(taped.scope)
            return goes_on

    def makes(self, lane: Lane, call: Call, event: int, why: str) -> None:
        """A call that had no answer is made; a write once it is claimed."""
        self._require_keys(lane, call)
        self._address = self.child.effects.get(event, "")
        standing = self.standing(self._address)
        if self._address and not self._claimed(event, standing):
            raise self.doubted(lane, call, "another process has just begun it")
        if standing is not None:
            self._retried.add(event)
        self._performing.add(event)
        self._goes_live(call, event)
        self.course.frozen -= 1
        self.course.live += 1
        self.course.wrote |= call.effect is Effect.WRITE
        self.say(event, call, "live", why)

    def standing(self, address: str) -> WriteStanding | None:
        """How a write stands in this lineage; None for what is no write, or has not been begun. What cannot be read
        ends the fork, never the agent with an error of ours."""
        try:
            return self._ledger.standing(address) if address else None
        except StoreError as error:
            raise self._unreadable(error) from error

    def answers_whole(self, crossing: TapedCall) -> None:
        """A recorded answer is handed over: where something happened before it inside the call, that is not known of
        the fork. Of the prefix of a fork its branching event says so."""
        event = crossing.recorded
        if (self.schedule.cut or self.plan.resume) and holds_unseen(event) and self._held_something(event):
            self.child.put(Noted(crossing.event, ANSWERED, True))

    def _held_something(self, event: Event) -> bool:
        """Whether there are calls inside a recorded one, or may have been."""
        if event.number < 0:  # an answer from elsewhere
            return not is_transport(event.call)
        return is_whole(self.run, event) or event.number in self._holders

    @cached_property
    def _holders(self) -> frozenset[int | None]:
        """Numbers of the recorded calls that hold others. Reads every event, once."""
        return frozenset(event.parent for event in self.recording.events())

    def _arriving(self, lane: Lane, call: Call, found: Found) -> Crossing:
        """The request of a server comes from the recording, or from the change; who asked waits for the answer."""
        event = found.answer
        if call.name != GONE and event is not None:
            return self._answered(lane, call, self.as_asked(event))
        return self._answered(lane, call, self._unanswered(lane, call, found))

    def as_asked(self, event: Event) -> Event:
        """The request that a server is asked: the recorded one, or one with another body."""
        changes = event.call.name == REQUEST and (self.plan.input is not None or event.number in self.plan.answered)
        return self._with_change(event) if changes else event

    def _asked(self, lane: Lane, call: Call, found: Found, model: bool) -> Crossing:
        """Perform it, unless it has been made before, or may not be."""
        why = unwritable(self.plan, call)
        if why:
            raise self.stopped(lane, call, unwritten(self.run, self.plan, why), why)
        goes_out = as_sent(self.plan, call)
        if self._address and goes_out is not call:  # what a provider keeps is another write, rewritten
            self._address = self.child.identity(lane, goes_out)
        standing = self.standing(self._address)
        made = self._made_before(lane, call, found, standing)
        if made is not None:
            return made
        refused = self.refusal(lane, call, model)
        if refused:
            raise self._refused(lane, call, refused, found)
        return self._performed(lane, call, found, standing)

    def _made_before(self, lane: Lane, call: Call, found: Found, standing: WriteStanding | None) -> Crossing | None:
        """What came of a write that somebody of this lineage has made; None: it may be made. One in doubt stops the
        fork, unless the plan says what became of it."""
        if standing is None or standing.undone:
            return None
        failed = found.answer is not None and found.answer.number in self.plan.anew
        elsewhere = self._counterparts.is_elsewhere(call)
        if standing.outcome is not None and not failed and not elsewhere:
            self.say(self._top + 1, call, "frozen", standing.why)
            return self._given(lane, call, found, standing.outcome, standing.body)
        word = said_of(self.plan, self._address, found.answer)
        if word == "retry" or lane.parent in self._retried:
            return None
        if self._address in self.plan.given and call.kind is not Kind.HTTP:
            self.say(self._top + 1, call, "frozen", "said to have been done")
            return self._given(lane, call, found, Value(b"", head={}), encode(self.plan.given[self._address]).body)
        remark = " with an error" if failed else ", over another connection" if elsewhere else ""
        raise self.doubted(lane, call, standing.why + remark, standing.claim)

    def _given(self, lane: Lane, call: Call, found: Found, outcome: Outcome, body: bytes) -> Crossing:
        """An answer that does not stand in the parent's recording, at least not at this call."""
        event = replace(self._unanswered(lane, call, found), outcome=outcome)
        self.changed[event.number] = Changed(outcome, body)
        crossing = self._answered(lane, call, event)
        place = found.answer or found.place
        if place is not None:
            self._counterparts.same(crossing.event, place.number)
        return crossing

    def _is_beneath(self, lane: Lane, call: Call) -> bool:
        """Whether a call that only reads is made by one that a replay has opened: it goes live with it."""
        return bool(self.plan.only) and lane.parent in self._performing and call.effect is Effect.READ

    def refusal(self, lane: Lane, call: Call, model: bool) -> str:
        """Why a call without a recorded answer may not be made. What a tool that goes live asks of the world is part of
        it, whatever its method; a tool that it calls in turn is judged by itself."""
        if self._is_beneath(lane, call) or (lane.parent in self._performing and call.kind is not Kind.TOOL):
            return ""
        return refusal(self.plan, call, model=model)

    def _is_stale(self, call: Call, *, model: bool) -> bool:
        """Whether what was recorded may no longer be so: a live write came before this read."""
        return self.course.wrote and call.effect is Effect.READ and not model and self.plan.live != "none"

    def outgoing(self, call: Call, event: int, url: str, body: bytes) -> tuple[str, bytes]:
        """Where a call that is performed goes, and what it says."""
        if redirects(call):
            url = self.bases.today(url)
        if not is_rewritten(self.plan, call):
            return url, body
        self.child.put(Noted(event, "rewritten", said(self.plan)))
        return sent(self.plan, call, url, body)

    # --- the three ways ----------------------------------------------------------------------------------------

    def _answered(self, lane: Lane, call: Call, event: Event) -> Crossing:
        """From the recording."""
        if call.observed:
            return self._own_code(lane, call, event, event if not self.schedule.cut else None)
        number = self._number(event)
        self.schedule.numbers[event.number] = number
        self._comes_to(lane, event)
        if event.outcome is not None:
            came_us = event.first_us or event.ended_us or event.issued_us
            self.schedule.time.answers_later(event.number, event.issued_us, came_us)
        self._counterparts.same(number, event.number)
        self.course.frozen += not is_plumbing(call)
        self._issued(lane, call, number, event)
        scope = "" if is_transport(call) else lane.skip_scope(call.name)
        if scope:
            self.frozen_scopes.add(scope)
        crossing = TapedCall(self, lane, event, call, number, scope)
        self.resources.answered(crossing)
        ended_by = ended_by_signal(event)
        if ended_by is not None:
            self.child.put(Noted(number, INTERRUPTED, ended_by))
        return crossing

    def _own_code(self, lane: Lane, call: Call, place: Event | None, compared: Event | None) -> OwnCall:
        """The agent's own code, which runs in any case."""
        number = self._number(place)
        if place is not None:
            self._stands_at[number] = place.number
            self._comes_to(lane, place)
        for inside in (self._performing, self._retried):
            if lane.parent in inside:
                inside.add(number)
        self._issued(lane, call, number, place)
        return OwnCall(self, lane, call, number, compared)

    def _comes_to(self, lane: Lane, place: Event) -> None:
        """A lane makes a call that it made in the parent."""
        if self.schedule.time.by_time:
            self.schedule.time.comes_to(place.issued_us, self.ambience.unread_ns(lane.path))

    def _changed(self, call: Call) -> Value | None:
        """What the change itself answers a call with."""
        try:
            return flag_answer(call, self.plan)
        except ForkError as error:
            self.fault(error)
            raise self.gate.halted or Halt(error.message) from None

    def _handed(self, lane: Lane, call: Call, found: Found, value: Value | None) -> GivenCall | OwnCall:
        """By the change; without a value, by the standard input that it gives the process."""
        place = found.answer or found.place
        number = self._number(None)
        self.schedule.time.sets_out(number, place.number if place is not None else None, transport=False)
        self.course.given.add(call.name)
        self.say(number, call, "frozen", "its answer is the change")
        self._issued(lane, call, number, place)
        own = OwnCall(self, lane, call, number)
        if value is None:
            return own
        lane.skip_scope(call.name)
        return GivenCall(own, value)

    def _performed(self, lane: Lane, call: Call, found: Found, standing: WriteStanding | None) -> Crossing:
        """By the world; a write once it is claimed."""
        self._require_keys(lane, call)
        place = found.answer or found.place
        number = self._number(None)
        if found.answer is not None:
            self._counterparts.same(number, found.answer.number)
        if self._address and not self._claimed(number, standing):
            first = self.child.repeated(call, number) if "key" in call.head else None
            if first is None:
                raise self.doubted(lane, call, "another process has just begun it")
            self._issued(lane, call, number, place)
            return RepeatedCall(LiveCall(self.child, lane, call, number), first)
        self.child.repeated(call, number)
        stands_for = place.number if place is not None else None
        self.schedule.time.sets_out(number, stands_for, transport=is_transport(call), works=call.kind in _OWN_WORK)
        self._performing.add(number)
        self._goes_live(call, number)
        self.resources.went_live(number)
        if standing is not None:
            self._retried.add(number)
        if not is_of_connection(call):
            self.course.live += 1
            why = found.why if found.answer is None else "sent live again"
            self.say(number, call, "live", why + self._elsewhere(call))
        self.course.wrote |= call.effect is Effect.WRITE
        self._issued(lane, call, number, place)
        return OwnCall(self, lane, call, number)

    def _goes_live(self, call: Call, number: int) -> None:
        """It may ask a model: what that costs is the fork's own, and not the parent's."""
        if call.kind in (Kind.HTTP, Kind.MODEL):
            self.course.asked.add(number)

    def _require_keys(self, lane: Lane, call: Call) -> None:
        """What is about to be sent has the keys that it needs, and carries none to where none belongs; else the fork
        stops here."""
        error = self._keys.refused(self._where_it_goes(call), self.run, self.plan)
        if error is not None:
            raise self.stopped(lane, call, error, error.message)

    def _lacks(self, call: Call) -> str:
        return self._keys.missing(call)

    def _where_it_goes(self, call: Call) -> Call:
        """A call with the address that it is sent to today; one that cannot be sent there is told of."""
        url = str(call.head.get("url") or "")
        there = self.bases.today(url)
        if there == url:
            return call
        if redirects(call):
            return replace(call, head={**call.head, "url": there})
        self.course.remarks.append(unmoved(call, there))
        return call

    def _elsewhere(self, call: Call) -> str:
        """The host that a call is sent to, where that is not the one in its name."""
        url = str(call.head.get("url") or "")
        there = self.bases.today(url) if redirects(call) else url
        return "" if there == url else f"; sent to {urlsplit(there).netloc}"

    def _claimed(self, number: int, standing: WriteStanding | None) -> bool:
        """Whether the write is this call's to make. What cannot be claimed is not made."""
        try:
            return self._ledger.claim(self._address, number, standing)
        except StoreError as error:
            raise self._unreadable(error) from error

    def _number(self, event: Event | None) -> int:
        """The number of a call in the fork: the parent's own up to the branching event, the next one after it."""
        kept = event is not None and (not self.schedule.cut or event.number == self._branching > self._top)
        number = event.number if event is not None and kept else self._top + 1
        self._top = max(self._top, number)
        return number

    def _issued(self, lane: Lane, call: Call, number: int, place: Event | None) -> None:
        known: dict[str, Any] = {}
        if (
            place is not None
            and place.number in self.schedule.numbers
            and self.schedule.numbers[place.number] == number
        ):
            known = {"fidelity": place.fidelity, "note": place.fidelity_note}
        if place is not None and place.number == number and not self.schedule.cut:
            known["at_us"] = place.issued_us
        if self._address:
            self.child.effects[number] = self._address
        self._settle(lane)
        self.child.issued(lane, call, number, **known)
        if not is_plumbing(call):  # which is no call of its lane
            self.ambience.moved(lane.path, lane.position, place, again=self.schedule.cut)

    def _with_change(self, event: Event) -> Event:
        outcome = changed_outcome(self.recording, event, self.plan)
        self.changed[event.number] = outcome
        return replace(event, outcome=outcome.outcome)

    # --- what calls use ----------------------------------------------------------------------------------------

    def holds(self, crossing: TapedCall) -> None:
        """Something recorded is about to be handed over: after the cut it must still be the answer. Raises."""
        then = began_by(crossing.recorded)
        if then is None:
            return
        with self._lock:
            self.resources.handed(crossing)
            why = self.resources.unfit(crossing) if self.schedule.cut else ""
        if why:
            asked = crossing.asked
            error = gone(self.run, self.plan, asked, self.recording.event(then), why)
            self._stop_kept = self._stop_kept or stopped_waiting()
            raise self._ends(crossing.event, asked, error, error.message)

    # --- order -------------------------------------------------------------------------------------------------

    def _stands_for(self, delivery: Delivery) -> bool:
        """Behind the cut also what telemetry was answered: no strand waits for it there."""
        if (
            self.schedule.cut
            and delivery.tag.kind == "e"
            and is_plumbing(self.recording.event(delivery.tag.number).call)
        ):
            return delivery.tag.number not in self.schedule.plumbing
        return super()._stands_for(delivery)

    def _nobody_awaits(self, delivery: Delivery) -> None:
        if not self.schedule.cut:
            super()._nobody_awaits(delivery)

    def flying(self) -> bool:
        """Whether the world is being asked."""
        return self.schedule.time.asks
