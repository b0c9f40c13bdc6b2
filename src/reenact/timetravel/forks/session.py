"""The fork session: a replay up to its cut; after it, whatever was asked before is answered and the rest goes live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reenact.abc.redaction import Redactor
from reenact.abc.session import Crossing
from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import Divergence, EffectRefused, Halt
from reenact.facts.call import Call, Effect, Json, Kind, is_transport
from reenact.facts.dialects import is_model_request, recognise
from reenact.facts.dialects.rewriting import NotRewritten, rewritten
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.keys import Rules
from reenact.facts.order import Delivery
from reenact.facts.record import Noted, Record
from reenact.facts.run import Run, Totals
from reenact.recording.session import RecordingSession
from reenact.replaying.matching import Miss
from reenact.replaying.options import Options
from reenact.replaying.session import ReplaySession
from reenact.seams.http.source import located
from reenact.seams.lanes import Lane
from reenact.seams.restating import restated
from reenact.timetravel.forks.ambient import ForkAmbient
from reenact.timetravel.forks.changes import Changed, changed_outcome
from reenact.timetravel.forks.gate import ForkGate
from reenact.timetravel.forks.ladder import Found, Ladder
from reenact.timetravel.forks.plan import Plan, opens, refusal
from reenact.timetravel.forks.taping import OwnCall, TapedCall

_REWRITABLE = ("httpx", "httpx2")
"""Transports that send what ``Live.sends`` says."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How one call of the fork was answered after the cut: ``frozen`` or ``live``, and why."""

    event: int
    name: str
    how: str
    why: str


@dataclass(slots=True)
class Course:
    """What a fork has come to so far."""

    frozen: int = 0
    live: int = 0
    reached: bool = False
    wrote: bool = False
    answers: list[Answer] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class ForkSession(ReplaySession):
    """Answers the prefix of a run from its recording, and lets it go on with something changed.

    Args:
        recording: The parent.
        redactor: Cleans calls as the parent's were, so that both sides compare.
        rules: How two calls are compared.
        options: Those of a replay.
        plan: What is to be different, and what may go live.
    """

    mode = "fork"

    def __init__(self, recording: Recording, redactor: Redactor, rules: Rules, options: Options, plan: Plan) -> None:
        self.plan = plan
        self.course = Course()
        self.child: RecordingSession = None  # type: ignore[assignment]
        self.answered: Callable[[int, int], object] = lambda recorded, event: None
        self.changed: dict[int, Changed] = {}
        super().__init__(recording, redactor, rules, options)
        self.gate: ForkGate
        self._ladder = Ladder(self.tape, rules)
        self._top = -1
        self.ambience: ForkAmbient = ForkAmbient(recording, self.gate.now_us)
        self._branching = -1
        self._stands_at: dict[int, int] = {}
        self._performing: set[int] = set()
        """Numbers of the fork's calls that went live, and of the agent's own code inside them."""
        self.restated: dict[str, Mapping[str, Json]] = {}
        """What has been set in states, by the numbers of the fork's steps: its own replay sets it again."""

    def _make_gate(self) -> ForkGate:
        def again() -> Iterator[Delivery]:
            return self.recording.deliveries(0)

        parts = (again(), again, self._stands_for, self._nobody_awaits, self._at_the_end)
        return ForkGate(CLOCK, self._lane_seen, *parts)

    def _lane_seen(self, path: str) -> None:
        self.child.lane_number(path)

    def records(self, child: RecordingSession, answered: Callable[[int, int], object]) -> None:
        """Everything that happens is noted in ``child``; ``answered`` is told of each recorded answer handed over."""
        self.child = child
        self.answered = answered

    # --- abc.session.Session -----------------------------------------------------------------------------------

    def decide(self, lane: Lane, call: Call) -> Crossing | None:  # type: ignore[override]
        """Before the cut the recorded call; after it whatever answers this one, or the world."""
        if self.gate.halted is not None:
            raise self.gate.halted
        if self.closed:
            return None
        call = located(call)
        self._lanes.setdefault(lane.path, lane)
        with self._lock:
            if not self.gate.cut:
                event = self._strictly(lane, call)
                if event.number != self.plan.at:
                    return self._answered(lane, call, event)
                self._cut()
                return self._at_the_cut(lane, call, event)
            return self._freely(lane, call, self._ladder.find(lane.path, self._redactor.call(call)))

    def _strictly(self, lane: Lane, call: Call) -> Event:
        """The recorded call by the ladder of a replay; its divergence when there is none."""
        found = self._matcher.identical(lane.path, call)
        if found is None:
            cleaned = self._redactor.call(call)
            other = self._matcher.find(lane.path, cleaned)
            if isinstance(other, Miss):
                raise self._diverged(self._miss(other, cleaned, lane))
            found = other
        self._count(found, lane.path)
        return found.event

    def _cut(self) -> None:
        self.gate.cut = self.course.reached = True

    def _at_the_cut(self, lane: Lane, call: Call, event: Event) -> Crossing:
        """The branching event itself: it has its answer, unless it is to be asked anew."""
        self._branching = event.number
        return self._taken(lane, call, Found(event, event, "the branching event"))

    def _freely(self, lane: Lane, call: Call, found: Found) -> Crossing:
        """Any call after the cut."""
        if found.answer is not None:
            self._ladder.used(lane.path, found.answer)
        elif found.place is not None:
            self._ladder.placed(lane.path, found.place)
        if call.observed:
            return self._own_code(lane, call, found.answer or found.place, None)
        return self._taken(lane, call, found)

    def _taken(self, lane: Lane, call: Call, found: Found) -> Crossing:
        """Answer it from the recording, perform it, or refuse it."""
        event = found.answer
        if event is not None and (event.number in self.plan.results or event.number in self.plan.errors):
            self._say(event.number, call, "frozen", "its answer is the change")
            return self._answered(lane, call, self._with_change(event))
        if call.observed:
            return self._own_code(lane, call, event, None)
        model = is_model(call)
        anew = opens(self.plan, call, model=model) or self._is_stale(call, model=model)
        if event is not None and event.outcome is not None and not anew:
            self._say(event.number, call, "frozen", found.why)
            return self._answered(lane, call, event)
        refused = self._refusal(lane, call, model) or (self._unwritable(call) if model else "")
        if refused:
            raise self._refused(lane, call, refused, found)
        return self._performed(lane, call, found, model)

    def _refusal(self, lane: Lane, call: Call, model: bool) -> str:
        """Why a call without a recorded answer may not be made. What a tool that goes live asks of the world is part of
        it, whatever its method; a tool that it calls in turn is judged by itself."""
        if lane.parent in self._performing and call.kind is not Kind.TOOL:
            return ""
        return refusal(self.plan, call, model=model)

    def _is_stale(self, call: Call, *, model: bool) -> bool:
        """Whether what was recorded may no longer be so: a live write came before this read."""
        return self.course.wrote and call.effect is Effect.READ and not model and self.plan.live != "none"

    def _unwritable(self, call: Call) -> str:
        """Why a model request cannot be sent with what the plan changes in it; empty where it can."""
        if not self.plan.rewrites:
            return ""
        if call.kind is not Kind.HTTP or call.head.get("transport") not in _REWRITABLE:
            return f"{call.name} cannot be rewritten on its way: {call.head.get('transport') or 'a tool'} sends it"
        try:
            self._rewritten(call, call.body)
        except NotRewritten as error:
            return str(error)
        return ""

    def _rewritten(self, call: Call, body: bytes) -> bytes:
        plan = self.plan
        dialect = recognise(call.head, body) or ""
        return rewritten(dialect, body, prompt=plan.prompt, model=plan.model, params=plan.params)

    def outgoing(self, call: Call, event: int, body: bytes) -> bytes:
        """What goes out for a call that is performed."""
        if not self.plan.rewrites or not is_model(call):
            return body
        sent = self._rewritten(call, body)
        said = {"prompt": self.plan.prompt, "model": self.plan.model, "params": dict(self.plan.params) or None}
        self.child.put(Noted(event, "rewritten", {name: value for name, value in said.items() if value is not None}))
        return sent

    # --- the three ways ----------------------------------------------------------------------------------------

    def _answered(self, lane: Lane, call: Call, event: Event) -> Crossing:
        """From the recording."""
        if call.observed:
            return self._own_code(lane, call, event, event if not self.gate.cut else None)
        number = self._number(event)
        self.gate.numbers[event.number] = number
        self.course.frozen += 1
        self._issued(lane, call, number, event)
        if not is_transport(call):
            self._frozen_scopes.add(lane.skip_scope(call.name))
        return TapedCall(self, lane, event, number)

    def _own_code(self, lane: Lane, call: Call, place: Event | None, compared: Event | None) -> OwnCall:
        """The agent's own code, which runs in any case."""
        number = self._number(place)
        if place is not None:
            self._stands_at[number] = place.number
        if lane.parent in self._performing:
            self._performing.add(number)
        self._issued(lane, call, number, place)
        return OwnCall(self, lane, call, number, compared)

    def _performed(self, lane: Lane, call: Call, found: Found, model: bool) -> OwnCall:
        """By the world."""
        place = found.answer or found.place
        number = self._number(None)
        self.gate.sets_out(number, place.number if place is not None else None, transport=is_transport(call))
        self._performing.add(number)
        self.course.live += 1
        self.course.wrote |= call.effect is Effect.WRITE
        self._say(number, call, "live", found.why if found.answer is None else "asked anew")
        self._issued(lane, call, number, place)
        return OwnCall(self, lane, call, number)

    def _refused(self, lane: Lane, call: Call, why: str, found: Found) -> Halt:
        """The fork stops at a call that it may not make."""
        near = found.place.number if found.place is not None else None
        self.course.refused.append(why)
        self._say(self._top + 1, call, "refused", why)
        error = EffectRefused(
            f"the fork may not make this call: {why} (at {call.source or 'an unknown place'}; {found.why})",
            cause="after the change the agent asks something that was not recorded",
            next_command=self._next(near),
        )
        self.stopped_by = error
        return self._stop(Halt(error.message))

    stopped_by: EffectRefused | None = None

    def _number(self, event: Event | None) -> int:
        """The number of a call in the fork: the parent's own up to the branching event, the next one after it."""
        kept = event is not None and (not self.gate.cut or event.number == self._branching > self._top)
        number = event.number if event is not None and kept else self._top + 1
        self._top = max(self._top, number)
        return number

    def _issued(self, lane: Lane, call: Call, number: int, place: Event | None) -> None:
        known: dict[str, Any] = {}
        if place is not None and place.number in self.gate.numbers and self.gate.numbers[place.number] == number:
            known = {"fidelity": place.fidelity, "note": place.fidelity_note}
        self.child.issued(lane, call, number, **known)
        self.ambience.moved(lane.path, lane.position, place, again=self.gate.cut)

    def _say(self, event: int, call: Call, how: str, why: str) -> None:
        self.course.answers.append(Answer(event, call.name, how, why))

    def _with_change(self, event: Event) -> Event:
        outcome = changed_outcome(self.recording, event, self.plan)
        self.changed[event.number] = outcome
        return replace(event, outcome=outcome.outcome)

    # --- what calls use ----------------------------------------------------------------------------------------

    def put(self, record: Record) -> None:
        """Note something in the fork's recording."""
        self.child.put(record)

    def body_of(self, event: Event) -> bytes:
        """The recorded value's bytes, or the change's."""
        changed = self.changed.get(event.number)
        return super().body_of(event) if changed is None else changed.body

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The recorded stream's segments, or the change's."""
        changed = self.changed.get(event.number)
        if changed is None:
            yield from super().parts_of(event)
        else:
            yield (None, 0, changed.body)

    def read_less(self, event: Event) -> None:
        """After the cut nobody is held to how far the parent read."""
        if not self.gate.cut:
            super().read_less(event)

    # --- the rest of the session -------------------------------------------------------------------------------

    def ambient(self, lane: Lane, source: str, fresh: Any) -> Any:
        """The recorded read of this place, or one that goes on from it."""
        if self.gate.halted is not None:
            raise self.gate.halted
        return self.child.ambient(lane, source, self.ambience.read(lane, source))

    @property
    def own_run(self) -> Run:
        """The run that is being written: the fork, where ``run`` is the one that it branched from."""
        return self.child.run

    def totals(self) -> Totals:
        """What the fork has added up to so far."""
        return self.child.totals()

    def note(self, lane: Lane, key: str, value: Json) -> None:
        """The agent's notes are the fork's own."""
        self.child.note(lane, key, value)

    def checkpoint(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        """The state of a step: before the cut it agrees with the recorded one."""
        if not self.gate.cut:
            super().checkpoint(event, phase, slots)
        self.child.checkpoint(event, phase, slots)

    def restate(self, event: int, state: Any) -> Any:
        """The branching step starts with what the plan sets, every other one with what the parent's did."""
        recorded = self.run.environment.get("restated") or {}
        changes = {**recorded.get(str(self._stands_at.get(event)), {})}
        if event == self._branching:
            changes |= self.plan.state
        if not changes:
            return state
        self.restated[str(event)] = changes
        return restated(state, changes)

    def printed(self, stream: int, data: bytes) -> None:
        """What the agent writes."""
        self.child.printed(stream, data)

    def gap(self, what: str, place: str) -> None:
        """What escapes."""
        self.child.gap(what, place)

    # --- what comes of the change ------------------------------------------------------------------------------

    def _diverged(self, divergence: Divergence) -> Halt:
        """What the recording cannot answer any more after the cut is no fault of the prefix."""
        if self.gate.cut and divergence.reason != "end":
            divergence.cause = f"what is different since the branching event reaches this; {divergence.cause}"
            divergence.next_command = f"reenact fork {tail(self.run.id)}:{self.plan.at} --live all"
        return super()._diverged(divergence)

    def _at_the_end(self) -> None:
        """Everything waits for what will never come: after the cut, for what the change has removed."""
        if not self.gate.cut:
            super()._at_the_end()
            return
        behind = [event for event in self.unused() if event.number > self._branching and not event.call.observed]
        left = min(behind, key=lambda event: event.number, default=None)
        removed = f": event {left.number} ({left.name}) was not made again" if left is not None else ""
        error = Divergence(
            f"the agent waits for what nothing will bring{removed}",
            event=left.number if left is not None else None,
            reason="end",
            cause="the change removed what others wait for, such as whoever sets an event or fills a queue",
            next_command=self._next(left.number if left is not None else None),
        )
        self._stop(self._diverged(error))

    # --- order -------------------------------------------------------------------------------------------------

    def _nobody_awaits(self, delivery: Delivery) -> None:
        if not self.gate.cut:
            super()._nobody_awaits(delivery)

    def flying(self) -> bool:
        """Whether the world is being asked."""
        return bool(self.gate.flights)


def is_model(call: Call) -> bool:
    """Whether a call asks a model."""
    if call.kind is Kind.MODEL:
        return True
    if call.kind is not Kind.HTTP:
        return False
    return is_model_request(str(call.head.get("method")), str(call.head.get("url")), call.body)
