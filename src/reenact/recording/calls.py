"""A call that is being performed and noted: whatever fails in the noting costs the recording, never the call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from reenact.facts.call import TRANSPORTS, Call, Effect, End, Failure, Json, Value
from reenact.facts.order import event_tag
from reenact.facts.record import CallSettled, HeadArrived, Record, SegmentArrived, StreamEnded
from reenact.seams import lanes
from reenact.seams.lanes import Lane
from reenact.seams.turns import NOW, GateTurn

if TYPE_CHECKING:
    from reenact.seams.gate import Gate

F = TypeVar("F", bound=Callable[..., Any])


class Taper(Protocol):
    """What a call needs of its session."""

    closed: bool
    ordered: bool

    @property
    def gate(self) -> Gate:
        """Where turns are taken."""

    def now_us(self) -> int:
        """Microseconds since the run began."""

    def put(self, record: Record) -> None:
        """Queue a record. Never raises."""

    def fault(self, error: Exception) -> bool:
        """Something failed: whether it must be raised, because it is the program's own."""

    def intent(self) -> Any:
        """A turn that comes when all that is queued is on the disk."""

    def below(self, lane: Lane, *, brief: bool = False) -> AbstractContextManager[None]:
        """The scope below a transport; ``brief``: nothing in it waits for the world."""


def total(method: F) -> F:
    """Make a method of a call total: a fault in it costs the recording, and the agent waits for nothing.

    What a signal handler of the program raised meanwhile is the program's, and goes on to it."""

    @functools.wraps(method)
    def guarded(self: LiveCall, *args: Any) -> Any:
        try:
            return method(self, *args)
        except Exception as error:
            if self.session.fault(error):
                raise
            return NOW

    return guarded  # type: ignore[return-value]


class Entered:
    """The scope of one call. Where it cannot be entered or left, the agent's code runs as it stands.

    Args:
        session: Told of faults.
        scope: Makes the scope.
    """

    __slots__ = ("_inner", "_scope", "_session")

    def __init__(self, session: Taper, scope: Callable[[], AbstractContextManager[None]]) -> None:
        self._session = session
        self._scope = scope
        self._inner: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        try:
            inner = self._scope()
            inner.__enter__()
            self._inner = inner
        except Exception as error:
            if self._session.fault(error):
                raise

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        inner, self._inner = self._inner, None
        if inner is None:
            return
        try:
            inner.__exit__(kind, error, trace)
        except Exception as fault:
            if fault is error or self._session.fault(fault):
                raise


class LiveCall:
    """One call being performed (``abc.session.Live``)."""

    __slots__ = ("_below", "_call", "_ended", "_lane", "_parts", "_scope", "event", "session")
    mode: Literal["live"] = "live"

    def __init__(self, session: Taper, lane: Lane, call: Call, event: int) -> None:
        self.session = session
        self._lane = lane
        self._call = call
        self._below = call.kind in TRANSPORTS
        self._parts = 0
        self._ended = False
        self._scope: Lane | None = None
        self.event = event

    @total
    def ready(self) -> Any:
        """Reads at once; a write once its intent is on the disk."""
        if self._call.effect is not Effect.WRITE or self._call.observed:
            return NOW
        return self.session.intent()

    def enter(self, *, brief: bool = False) -> AbstractContextManager[None]:
        """The scope of the call."""
        try:
            return Entered(self.session, self._briefly if brief and self._below else self._inside)
        except Exception as error:
            if self.session.fault(error):
                raise
            return nullcontext()

    def _inside(self) -> AbstractContextManager[None]:
        if self._below:
            return self.session.below(self._lane)
        if self._scope is None:  # the body of a generator is entered at each step, always in one scope
            self._scope = self._lane.scope(self._call.name, self.event)
        return lanes.inside(self._scope)

    def _briefly(self) -> AbstractContextManager[None]:
        return self.session.below(self._lane, brief=True)

    @total
    def settle(self, outcome: Value | Failure) -> Any:
        """Note a value or an exception, in turn."""
        self._ended = True

        def settled(number: int | None) -> Record:
            return CallSettled(self.event, self.session.now_us(), outcome, number)

        return self._unordered(settled) if self._call.observed else self._turn(0, settled)

    @total
    def head(self, head: Mapping[str, Json]) -> Any:
        """Note the head of a stream, in turn."""
        return self._turn(0, lambda number: HeadArrived(self.event, self.session.now_us(), head, number))

    @total
    def segment(self, data: bytes) -> Any:
        """Note bytes of the stream, in turn."""
        self._parts += 1
        return self._turn(self._parts, lambda number: SegmentArrived(self.event, self.session.now_us(), data, number))

    @total
    def end(self, end: End) -> Any:
        """Note the end that the agent is about to see, in turn."""
        if self._ended:
            return NOW
        self._ended = True
        return self._turn(-1, lambda number: StreamEnded(self.event, self.session.now_us(), end, number))

    @total
    def dropped(self, end: End) -> None:
        """Note an end that the agent itself made."""
        if not self._ended:
            self._ended = True
            self.session.put(StreamEnded(self.event, self.session.now_us(), end))

    def _unordered(self, make: Callable[[int | None], Record]) -> Any:
        self.session.put(make(None))
        return NOW

    def _turn(self, part: int, make: Callable[[int | None], Record]) -> Any:
        """A turn at the gate; when it has come, what ``make`` gives is noted."""
        session = self.session
        if session.closed or not session.ordered:
            return self._unordered(make)

        def note(number: int | None) -> None:
            try:
                session.put(make(number))
            except Exception as error:
                if session.fault(error):
                    raise

        return GateTurn(session.gate, event_tag(self.event, part), self._lane.owned, note)
