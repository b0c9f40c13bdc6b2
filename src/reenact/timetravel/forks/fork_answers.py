"""The calls of a fork: answered from the recording, performed, or given a result; each noted in the fork's log."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Literal, Protocol

from reenact.abc.session import NeverLive
from reenact.errors import Halt
from reenact.facts.call import Call, End, EndKind, Failure, Kind, Stream, Value, calls_a_tool
from reenact.facts.event import Event
from reenact.facts.order import Tag, event_tag
from reenact.facts.record import CallSettled, HeadArrived, Record, SegmentArrived, StreamEnded
from reenact.recording.live_calls import LiveCall
from reenact.recording.recording_session import RecordingSession
from reenact.replaying.frozen_calls import FrozenCall, Replayer, ServingTurn
from reenact.seams.lanes import Lane
from reenact.seams.turns import ANYWHERE, NOW, GateTurn, MappedTurn, SuddenTurn, rejoining
from reenact.seams.waits import RECALLED, Wait, never_tag
from reenact.timetravel.forks.alarms import ended_by_alarm
from reenact.timetravel.forks.fork_course import ForkCourse
from reenact.timetravel.forks.fork_schedule import ForkSchedule, own_tag


class Fork(Protocol):
    """The part of a fork that its calls need."""

    course: ForkCourse
    schedule: ForkSchedule
    put: Callable[[Record], None]
    """Notes something in the fork's own log."""
    can_begin: Callable[[int, Call], None]
    """Notes that the resource which a call begins is answered from the recording, and can be begun later."""

    @property
    def session(self) -> Replayer:
        """The fork."""

    @property
    def child(self) -> RecordingSession:
        """The fork's own log."""

    def holds(self, crossing: TapedCall) -> None:
        """Check a recorded delivery that is about to be handed over: raises where it is no answer any more."""

    def answers(self, crossing: TapedCall) -> None:
        """Note that a recorded answer is handed over."""

    def live_instead(self, taped: TapedCall) -> OwnCall | MappedTurn:
        """Let a call go on live that was to be answered from the recording."""

    def outgoing(self, call: Call, event: int, url: str, body: bytes) -> tuple[str, bytes]:
        """The address and the body with which a call is really sent."""


class TapedServing(GateTurn):
    """A turn that hands over something recorded, and notes it in the fork."""

    __slots__ = ("call", "note", "serving")

    def __init__(self, call: TapedCall, note: Callable[[int | None], Record], serving: ServingTurn) -> None:
        super().__init__(serving.gate, serving.tag, serving.owned)
        self.call = call
        self.note = note
        self.serving = serving

    def then(self, number: int | None) -> Any:
        """Note the answer, and hand it over."""
        call, fork = self.call, self.call.taped
        fork.holds(call)
        if self.serving.part == 0:
            call.headed = True
            fork.answers(call)
        fork.put(self.note(number))
        unplaced = ended_by_alarm(call.recorded) and fork.schedule.alarms.rang_in(call.recorded.number) is None
        if unplaced and isinstance(self.serving.gives, (Failure, End)):
            fork.schedule.alarms.has_rung()
        return self.serving.then(number)


class TapedCall(FrozenCall):
    """A call answered from the parent's recording.

    Args:
        fork: The fork.
        lane: The lane of the call.
        recorded: The parent's event, with another outcome where the fork changes it.
        asked: The call.
        event: The number of the call in the fork.
        scope: Path of its inside; empty for a transport.
    """

    __slots__ = ("_tag", "asked", "goes_live", "headed", "scope", "taped")

    def __init__(self, fork: Fork, lane: Lane, recorded: Event, asked: Call, event: int, scope: str = "") -> None:
        super().__init__(fork.session, lane, recorded)
        self.event = event
        self.taped = fork
        self.asked = asked
        self.scope = scope
        self.goes_live = False
        self.headed = False
        self._tag: Tag | None = None

    def answer(self) -> AnswerOrLive:
        """The value or exception in its turn, or the call itself, to be performed."""
        self._tag = event_tag(self.recorded.number, 0) if self.form in ("value", "failure") else never_tag()
        return AnswerOrLive(self, self._tag, self.lane.owned)

    def can_begin(self) -> None:
        """Note that the resource which this call begins can be begun later."""
        self.taped.can_begin(self.event, self.asked)

    def go_live(self) -> None:
        """Perform the call after all."""
        self.goes_live = True
        if self._tag is not None:
            self._session.gate.recall(self._tag)

    def performed(self) -> OwnCall | MappedTurn:
        """The call that continues this one: performed by the fork, or with a result that a person gave."""
        return self.taped.live_instead(self)

    def _turn(self, part: int, data: bytes, gives: object) -> GateTurn | SuddenTurn:
        then_us = (self.recorded.first_us or 0) if isinstance(gives, Stream) else self.came[1]
        note = partial(self._record, part, gives, then_us)
        serving = ServingTurn(self._session, self.recorded, self.lane.owned, part, data, gives)
        turn = TapedServing(self, note, serving)
        return turn if self.recorded.delivery is not None else SuddenTurn(partial(turn.then, None))

    def _record(self, part: int, gives: Any, then_us: int, number: int | None) -> Record:
        recorded, now_us = self.recorded, self._moment(then_us)
        known = (recorded.fidelity, recorded.fidelity_note)
        if isinstance(gives, (Value, Failure)):
            return CallSettled(self.event, now_us, gives, number, *known)
        if isinstance(gives, Stream):
            return HeadArrived(self.event, now_us, gives.head, number, *known)
        if isinstance(gives, End):
            return StreamEnded(self.event, now_us, gives, number)
        return SegmentArrived(self.event, now_us, gives, number, *known)

    def _moment(self, then_us: int) -> int:
        """The noted time of a delivery: before the cut, the parent's time."""
        schedule = self.taped.schedule
        return schedule.now_us() if schedule.cut else then_us

    def dropped(self) -> None:
        """Note that the agent reads no further."""
        if self._spent:
            return
        super().dropped()
        outcome = self.recorded.outcome
        end = outcome.end if isinstance(outcome, Stream) else None
        if isinstance(outcome, Stream) and end is None and self.headed and self._next >= outcome.segments:
            return  # as in the parent, which did not reach the end either
        before_its_head = self.form == "stream" and not self.headed
        if end is None or before_its_head or end.kind not in (EndKind.CLOSED, EndKind.CANCELLED):
            end = End(EndKind.CLOSED if self.headed else EndKind.CANCELLED)
        self.taped.put(StreamEnded(self.event, self._moment(self.recorded.ended_us or self.came[1]), end))


class AnswerOrLive:
    """A turn that delivers the recorded answer, unless the call is performed after all.

    Args:
        call: The call.
        tag: The tag that the call waits for: the turn of its answer, or a turn that never comes.
        owned: Whether the gate counts the calling unit.
    """

    __slots__ = ("call", "owned", "tag")

    def __init__(self, call: TapedCall, tag: Tag, owned: bool) -> None:
        self.call = call
        self.tag = tag
        self.owned = owned

    def wait(self) -> Value | Failure | OwnCall:
        """Wait in a thread."""
        if self.call.goes_live:
            return _waited(self.call.performed())
        if self._is_sudden:
            return self.call.outcome().wait()  # type: ignore[no-any-return]
        schedule = self.call.taped.schedule
        gate = schedule.gate
        if not self.owned:
            gate.started()
        schedule.note_unanswered(self.tag, self.call)
        try:
            number = gate.take(self.tag)
        except BaseException as error:  # an alarm that rings earlier than in the parent, or where none rang
            if schedule.cut and not isinstance(error, Halt):
                self.call.dropped()
            raise
        finally:
            schedule.unanswered.pop(self.tag, None)
            if not self.owned:
                gate.blocked()
        return _waited(self.call.performed()) if number == RECALLED else self.call.outcome().then(number)

    def __await__(self) -> Generator[Any, Any, Value | Failure | OwnCall]:
        number = RECALLED
        if not self.call.goes_live:
            if self._is_sudden:
                return (yield from self.call.outcome().__await__())  # type: ignore[no-any-return]
            number = yield from rejoining(self._turn())
        if number != RECALLED:
            return self.call.outcome().then(number)  # type: ignore[no-any-return]
        goes_on = self.call.performed()
        return (yield from goes_on.__await__()) if isinstance(goes_on, MappedTurn) else goes_on

    def _turn(self) -> Wait:
        schedule = self.call.taped.schedule
        schedule.note_unanswered(self.tag, self.call)
        try:
            return (yield from schedule.gate.take_async(self.tag))
        finally:
            schedule.unanswered.pop(self.tag, None)

    @property
    def _is_sudden(self) -> bool:
        """Whether the recorded answer took no turn, so that it has no place in any order."""
        return self.call.form in ("value", "failure") and self.call.recorded.delivery is None


def _waited(goes_on: OwnCall | MappedTurn) -> Value | Failure | OwnCall:
    return goes_on.wait() if isinstance(goes_on, MappedTurn) else goes_on


class _AwaitScope:
    """The scope in which a strand awaits something of a call that the fork performs: while it reads, and in its turn. A
    cancelled strand awaits nothing more.

    Args:
        call: The call.
        inner: The scope of the call.
    """

    __slots__ = ("_call", "_inner")

    def __init__(self, call: OwnCall, inner: AbstractContextManager[None]) -> None:
        self._call = call
        self._inner = inner

    def __enter__(self) -> None:
        self._call.rests(False)
        self._inner.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            self._inner.__exit__(kind, error, trace)
        finally:
            self._call.rests(error is not None or self._call.pauses)


class OwnCall(LiveCall):
    """A call that the fork performs, in the place of its recorded counterpart.

    Args:
        fork: The fork.
        lane: The lane of the call.
        call: The call.
        event: The number of the call in the fork.
        compared: The parent's event with the outcome that the agent's own code must have too, before the cut.
        scope: The path of its inner lane, if the lane has been handed out already.
    """

    __slots__ = ("_compared", "_fork", "pauses")

    def __init__(
        self, fork: Fork, lane: Lane, call: Call, event: int, compared: Event | None = None, scope: str = ""
    ) -> None:
        super().__init__(fork.child, lane, call, event)
        if scope:
            self._scope = Lane(scope, lane.session, lane.gate, parent=event, origin=lane)
            self._scope.quiet = lane.quiet or not call.observed
            self._scope.in_tool = lane.in_tool or calls_a_tool(call)
        self._fork = fork
        self._compared = compared
        self.pauses = call.kind is Kind.PROCESS  # its output is read now and then: between two reads none is awaited

    def sends(self, url: str, body: bytes) -> tuple[str, bytes]:
        """The agent's request, as the plan rewrites it."""
        return self._fork.outgoing(self._call, self.event, url, body)

    def enter(self) -> AbstractContextManager[None]:
        """The scope of the call."""
        return _AwaitScope(self, super().enter()) if self._below else super().enter()

    def rests(self, rests: bool) -> None:
        """Note that no strand awaits anything of the call at present, or that one does again."""
        self._fork.schedule.time.rests(self.event, rests)

    def settle(self, outcome: Value | Failure) -> Any:
        """Note a value or an exception, in turn."""
        self._compare(outcome)
        self._fork.schedule.time.arrives(self.event)
        return super().settle(outcome)

    def at_hand(self, outcome: Value | Failure) -> None:
        """Note a value or an exception that takes no turn."""
        self._compare(outcome)
        self._fork.schedule.time.lost(self.event)
        super().at_hand(outcome)

    def unmade(self) -> None:
        """Note that the call was not performed after all."""
        self._fork.course.live -= 1
        super().unmade()

    def moment(self) -> int:
        """The noted time of the outcome: before the cut, the parent's time."""
        compared = self._compared
        if compared is None or compared.ended_us is None or self._fork.schedule.cut:
            return super().moment()
        return compared.ended_us

    def _compare(self, outcome: Value | Failure) -> None:
        if self._compared is not None and not self._fork.schedule.cut:
            self._fork.session.settled(self._compared, outcome)

    def end(self, end: End) -> Any:
        """Note the end that the agent is about to see, in turn."""
        self._fork.schedule.time.arrives(self.event)
        return super().end(end)

    def dropped(self, end: End) -> None:
        """Note an end that the agent itself made."""
        self._fork.schedule.time.lost(self.event)
        super().dropped(end)

    def _turn(self, part: int, make: Callable[..., Record], what: object) -> Any:
        turn = super()._turn(part, make, what)
        if turn is not NOW:
            turn.tag = own_tag(self.event, part)
            turn.scope = _AwaitScope(self, ANYWHERE)
        return turn


def handing_over(own: OwnCall, outcome: Value | Failure) -> MappedTurn:
    """The turn in which a call gets an outcome, which is noted in the fork's recording."""
    return MappedTurn(own.settle(outcome), lambda _: outcome)


class GivenCall(NeverLive):
    """A call answered with a value of the change's (``abc.session.Frozen``), an event of the fork's own.

    Args:
        own: The call in the form in which the fork would note it if it were performed.
        outcome: Its answer.
    """

    __slots__ = ("_outcome", "_own", "event")
    form: Literal["value"] = "value"

    def __init__(self, own: OwnCall, outcome: Value) -> None:
        self._own = own
        self._outcome = outcome
        self.event = own.event

    def outcome(self) -> MappedTurn:
        """The change's value, in its turn."""
        return handing_over(self._own, self._outcome)
