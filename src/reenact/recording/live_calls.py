"""A call that is performed and noted: a fault in the noting costs the recording, never the call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from reenact.facts.call import Call, Effect, End, Failure, Json, Kind, Value, calls_a_tool, is_transport
from reenact.facts.effects import UNMADE
from reenact.facts.interruptions import INTERRUPTED, signal_behind
from reenact.facts.order import event_tag
from reenact.facts.plumbing import is_plumbing
from reenact.facts.record import CallSettled, EvidenceNoted, HeadArrived, Record, SegmentArrived, StreamEnded
from reenact.facts.tracecontext import HEADER, Propagation
from reenact.seams import lanes
from reenact.seams.lanes import Lane
from reenact.seams.turns import NOW, GateTurn

if TYPE_CHECKING:
    from reenact.seams.gate import Gate

F = TypeVar("F", bound=Callable[..., Any])
_PATIENT = frozenset({Kind.HUMAN, Kind.INPUT})
"""The kinds of call that wait for the world and are no transports."""
_BODIES = frozenset({Kind.TOOL, Kind.MODEL, Kind.RETRIEVAL})
"""The kinds of call whose body is code of the agent's process."""
_ENDS = (StopIteration, StopAsyncIteration)
"""The normal ends of a stream. They are errors if a signal handler raises them, and not the source of the stream."""


class Taper(Protocol):
    """The part of a session that a call needs."""

    closed: bool
    ordered: bool
    propagation: Propagation | None
    """Decides which requests carry the trace of the run."""

    @property
    def gate(self) -> Gate:
        """The gate at which turns are taken."""

    def now_us(self) -> int:
        """Microseconds since the run began."""

    def put(self, record: Record) -> None:
        """Queue a record. Never raises."""

    def fault(self, error: Exception) -> bool:
        """Whether an error must be raised, because it is the program's own."""

    def intent(self, *, in_place: bool) -> Any:
        """A turn that comes when all queued records are on the disk; ``in_place``: no other task runs meanwhile."""

    def came(self, call: Call, event: int, outcome: Value | Failure) -> None:
        """Take the result of a tool that acts under its own key."""


def total(method: F) -> F:
    """Make a method of a call total: a fault in it costs the recording, and does not keep the agent waiting.

    An error that a signal handler of the program raises meanwhile is passed on to the program."""

    @functools.wraps(method)
    def guarded(self: LiveCall, *args: object) -> Any:
        try:
            return method(self, *args)
        except Exception as error:
            if self.session.fault(error):
                raise
            return NOW

    return guarded  # type: ignore[return-value]


class CallScope:
    """The scope of one call. If it cannot be entered or left, the agent's code runs without it.

    Args:
        session: The session, which notes faults.
        lane: The lane inside the call.
        blocked: Whether the gate must count the calling thread as waiting for the world.
        event: The call.
    """

    __slots__ = ("_blocked", "_event", "_inside", "_lane", "_session")

    def __init__(self, session: Taper, lane: Lane, blocked: bool, event: int) -> None:
        self._event = event
        self._session = session
        self._lane = lane
        self._blocked = blocked
        self._inside: lanes.Inside | None = None

    def __enter__(self) -> None:
        try:
            if self._blocked:
                self._session.gate.blocked()
            try:
                inside = lanes.Inside(self._lane)
                inside.__enter__()
            except BaseException:
                if self._blocked:
                    self._session.gate.unblocked()
                raise
            self._inside = inside
        except Exception as error:
            if self._session.fault(error):
                raise

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        inside, self._inside = self._inside, None
        if inside is None:
            return
        try:
            try:
                inside.__exit__()
            finally:
                if self._blocked:
                    self._session.gate.unblocked()
                if error is not None and self._lane.below and not isinstance(error, _ENDS):
                    self._interrupted(error)
        except Exception as fault:
            if fault is error or self._session.fault(fault):
                raise

    def _interrupted(self, error: BaseException) -> None:
        """If a signal has ended a transport, keep its number: the error of the signal's handler is the outcome."""
        number = signal_behind(error)
        if number is not None:
            self._session.put(EvidenceNoted(self._event, INTERRUPTED, number))


class RecordTurn(GateTurn):
    """A turn at the gate that notes a record when it has come.

    Args:
        call: The call that the record belongs to.
        part: The part of the call (``facts.order.event_tag``).
        make: The class of the record.
        what: The content of the record.
    """

    __slots__ = ("event", "make", "session", "what")

    def __init__(self, call: LiveCall, part: int, make: Callable[..., Record], what: object) -> None:
        self.session = session = call.session
        self.event = call.event
        self.make = make
        self.what = what
        super().__init__(session.gate, event_tag(call.event, part), call.owned)

    def then(self, number: int | None) -> None:
        """Note the delivery under this number; a delivery after the end of the run is not noted."""
        session = self.session
        if session.closed:
            return
        try:
            session.put(self.make(self.event, session.now_us(), self.what, number))
        except Exception as error:
            if session.fault(error):
                raise


class LiveCall:
    """One call being performed (``abc.session.Live``)."""

    __slots__ = ("_around", "_below", "_call", "_ended", "_lane", "_parts", "_scope", "event", "owned", "session")
    mode: Literal["live"] = "live"

    def __init__(self, session: Taper, lane: Lane, call: Call, event: int) -> None:
        self.session = session
        self._lane = lane
        self._call = call
        self._below = is_transport(call)
        self._parts = 0
        self._ended = False
        self._scope: Lane | None = None
        self.owned = lane.owned
        self.event = event
        self._around = lane.call
        if self._below:
            lane.call = event

    @total
    def ready(self) -> Any:
        """The turn before the call is performed: at once for reads and telemetry; for a write, once its intent is on
        the disk."""
        call = self._call
        if call.effect is not Effect.WRITE or call.observed or is_plumbing(call):
            return NOW
        return self.session.intent(in_place=call.kind in _BODIES)

    def enter(self) -> AbstractContextManager[None]:
        """The scope of the call. Below a transport the calling thread waits for the world. A thread does not wait if a
        loop goes on in it, or if the answer has come and only the connection is given back."""
        try:
            inner = self._scope
            if inner is None:  # a generator's body is entered at each step, always in the same scope
                inner = self._scope = self._inner_lane()
            waits = self._below or self._call.kind in _PATIENT
            waits = waits and self.owned and not self._ended and not lanes.is_carried()
            return CallScope(self.session, inner, waits, self.event)
        except Exception as error:
            if self.session.fault(error):
                raise
            return nullcontext()

    def _inner_lane(self) -> Lane:
        lane = self._lane
        if self._below:
            below = lane.beneath()
            below.call = self.event
            return below
        scope = lane.scope(self._call.name, self.event)
        scope.quiet = scope.quiet or not self._call.observed
        scope.in_tool = scope.in_tool or calls_a_tool(self._call)
        return scope

    @total
    def settle(self, outcome: Value | Failure) -> Any:
        """Note a value or an exception, in turn."""
        if not self._call.observed:
            self._came(outcome)
            return self._turn(0, CallSettled, outcome)
        self.at_hand(outcome)
        return NOW

    @total
    def at_hand(self, outcome: Value | Failure) -> None:
        """Note a value or an exception that takes no turn."""
        self._came(outcome)
        if not self.session.closed:
            self.session.put(CallSettled(self.event, self.moment(), outcome))

    @total
    def unmade(self) -> None:
        """Note that the call was not performed."""
        if not self.session.closed:
            self.session.put(EvidenceNoted(self.event, UNMADE, True))

    def moment(self) -> int:
        """When a value at hand has come, in microseconds since the run began."""
        return self.session.now_us()

    def _answers(self) -> None:
        """End the call in its lane: a later error there is not its outcome."""
        if self._lane.call == self.event:
            self._lane.call = self._around

    def _came(self, outcome: Value | Failure) -> None:
        self._ended = True
        self._answers()
        if "key" in self._call.head:
            self.session.came(self._call, self.event, outcome)

    def sends(self, url: str, body: bytes) -> tuple[str, bytes] | None:
        """The agent's own request, unchanged."""
        return None

    def adds(self) -> Mapping[str, str]:
        """The header with the call's place in the run's trace, where the policy names the host. It is noted on the
        event."""
        propagation = self.session.propagation
        if propagation is None:
            return {}
        try:
            header = propagation.header(self._call, self.event)
            if header:
                self.session.put(EvidenceNoted(self.event, HEADER, header))
        except Exception as error:
            if self.session.fault(error):
                raise
            return {}
        return {HEADER: header} if header else {}

    @total
    def head(self, head: Mapping[str, Json]) -> Any:
        """Note the head of a stream, in turn."""
        return self._turn(0, HeadArrived, head)

    @total
    def segment(self, data: bytes) -> Any:
        """Note bytes of the stream, in turn."""
        self._parts += 1
        return self._turn(self._parts, SegmentArrived, data)

    @total
    def end(self, end: End) -> Any:
        """Note the end that the agent is about to see, in turn."""
        if self._ended:
            return NOW
        self._ended = True
        return self._turn(-1, StreamEnded, end)

    @total
    def dropped(self, end: End) -> None:
        """Note an end that the agent itself made."""
        self._answers()
        if not self._ended:
            self._ended = True
            if not self.session.closed:
                self.session.put(StreamEnded(self.event, self.session.now_us(), end))

    def _turn(self, part: int, make: Callable[..., Record], what: object) -> Any:
        """A turn at the gate; when it has come, the record is noted."""
        self._answers()
        session = self.session
        if session.closed:
            return NOW
        if not session.ordered:
            session.put(make(self.event, session.now_us(), what, None))
            return NOW
        return RecordTurn(self, part, make, what)
