"""What a replay answers a crossing with: the recorded outcome, or the agent's own body run again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reenact.facts.call import End, EndKind, Failure, Stream, Value
from reenact.facts.event import Event
from reenact.facts.order import event_tag
from reenact.seams import lanes
from reenact.seams.lanes import Lane
from reenact.seams.turns import NOW, GateTurn, rejoin_cancelled

if TYPE_CHECKING:
    from reenact.seams.gate import Gate


class Replayer(Protocol):
    """What the calls of a replay need of their session."""

    @property
    def gate(self) -> Gate:
        """Where turns are taken."""

    def body_of(self, event: Event) -> bytes:
        """The recorded value's bytes."""

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The recorded stream's segments."""

    def served(self, event: Event, part: int, data: bytes) -> None:
        """Something recorded has been handed over."""

    def read_past(self, event: Event) -> None:
        """The agent reads on where the recorded reader stopped. Raises."""

    def read_less(self, event: Event) -> None:
        """The agent stopped reading before the recorded reader did."""

    def settled(self, event: Event, outcome: Value | Failure) -> None:
        """A body that ran again has returned: compare."""


class Never:
    """A turn that never comes: what it waits for was never handed over in the recording."""

    __slots__ = ("gate", "owned")

    def __init__(self, gate: Gate, owned: bool) -> None:
        self.gate = gate
        self.owned = owned

    def wait(self) -> Any:
        """Wait in a thread, until the replay ends."""
        if not self.owned:
            self.gate.started()
        return self.gate.never(is_async=False)

    def __await__(self) -> Any:
        try:
            yield from self.gate.never(is_async=True)
        except asyncio.CancelledError as error:
            yield from rejoin_cancelled(error).__await__()
            raise
        raise AssertionError("a turn that never comes came")


class Sudden:
    """A turn that is never waited for: of an order that was not recorded, or of an end that raises."""

    __slots__ = ("act",)

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def wait(self) -> Any:
        """What it hands over."""
        return self.act()

    def __await__(self) -> Any:
        return self.act()
        yield


class FrozenCall:
    """A call answered from the recording (``abc.session.Frozen``)."""

    __slots__ = ("_lane", "_next", "_parts", "_session", "_spent", "event", "recorded")
    mode: Literal["frozen"] = "frozen"

    def __init__(self, session: Replayer, lane: Lane, recorded: Event) -> None:
        self._session = session
        self._lane = lane
        self.recorded = recorded
        self.event = recorded.number
        self._parts: Iterator[tuple[int | None, int, bytes]] | None = None
        self._next = 0
        self._spent = False

    @property
    def form(self) -> Literal["value", "failure", "stream", "open"]:
        """What the recording holds."""
        outcome = self.recorded.outcome
        if isinstance(outcome, Value):
            return "value"
        if isinstance(outcome, Failure):
            return "failure"
        return "stream" if isinstance(outcome, Stream) and outcome.head else "open"

    def outcome(self) -> Any:
        """The value or exception, in its turn."""
        recorded = self.recorded.outcome
        if isinstance(recorded, Value):
            return self._turn(0, self._value)
        if isinstance(recorded, Failure):
            return self._turn(0, self._failure)
        return Never(self._session.gate, self._lane.owned)

    def head(self) -> Any:
        """The head of the stream, in its turn."""
        if self.form != "stream":
            return Never(self._session.gate, self._lane.owned)
        return self._turn(0, self._head)

    def part(self) -> Any:
        """The next segment or the end, in its turn."""
        if self._parts is None:
            self._parts = self._session.parts_of(self.recorded)
        segment = next(self._parts, None)
        if segment is not None:
            self._next += 1
            return self._turn(self._next, partial(self._segment, self._next, segment[2]))
        outcome = self.recorded.outcome
        end = outcome.end if isinstance(outcome, Stream) else None
        if end is None or end.kind is EndKind.CANCELLED:
            return Never(self._session.gate, self._lane.owned)
        if end.kind is EndKind.CLOSED:
            return Sudden(lambda: self._session.read_past(self.recorded))
        self._spent = True
        return self._turn(-1, partial(self._end, end))

    def dropped(self) -> None:
        """The agent reads no further."""
        if self._spent:
            return
        self._spent = True
        outcome = self.recorded.outcome
        end = outcome.end if isinstance(outcome, Stream) else None
        if end is not None and end.kind in (EndKind.EOF, EndKind.ERROR):
            self._session.read_less(self.recorded)

    def _turn(self, part: int, then: Callable[[int | None], Any]) -> GateTurn | Sudden:
        if self.recorded.delivery is None:
            return Sudden(lambda: then(None))
        return GateTurn(self._session.gate, event_tag(self.event, part), self._lane.owned, then)

    def _value(self, number: int | None) -> Value:
        recorded = self.recorded.outcome
        assert isinstance(recorded, Value)
        body = self._session.body_of(self.recorded)
        self._session.served(self.recorded, 0, body)
        return Value(body, recorded.media, recorded.changes, recorded.head)

    def _failure(self, number: int | None) -> Failure:
        recorded = self.recorded.outcome
        assert isinstance(recorded, Failure)
        self._session.served(self.recorded, 0, recorded.error.type.encode())
        return recorded

    def _head(self, number: int | None) -> Stream:
        recorded = self.recorded.outcome
        assert isinstance(recorded, Stream)
        self._session.served(self.recorded, 0, repr(recorded.head.get("status")).encode())
        return recorded

    def _segment(self, index: int, data: bytes, _: int | None) -> bytes:
        self._session.served(self.recorded, index, data)
        return data

    def _end(self, end: End, _: int | None) -> End:
        self._session.served(self.recorded, -1, end.kind.value.encode())
        return end


class Unanswered:
    """A call without a recording, in a replay that only observes: it is never answered, and its strand waits."""

    __slots__ = ("_lane", "_session", "event")
    mode: Literal["frozen"] = "frozen"
    form: Literal["open"] = "open"

    def __init__(self, session: Replayer, lane: Lane) -> None:
        self._session = session
        self._lane = lane
        self.event = -1

    def outcome(self) -> Never:
        """Never."""
        return Never(self._session.gate, self._lane.owned)

    head = outcome
    part = outcome

    def dropped(self) -> None:
        """Nothing to drop."""


class RerunCall:
    """A call whose body runs again (``abc.session.Rerun``)."""

    __slots__ = ("_lane", "_numbered", "_scope", "_session", "event", "recorded")
    mode: Literal["rerun"] = "rerun"

    def __init__(self, session: Replayer, lane: Lane, recorded: Event, scope: Lane) -> None:
        self._session = session
        self._lane = lane
        self._scope = scope
        self.recorded = recorded
        self.event = recorded.number
        self._numbered = recorded.delivery is not None

    def enter(self) -> AbstractContextManager[None]:
        """The scope of the call, at the recorded address."""
        return lanes.inside(self._scope)

    def settle(self, outcome: Value | Failure) -> Any:
        """Take the recorded turn, then compare."""
        if not self._numbered:
            self._session.settled(self.recorded, outcome)
            return NOW
        return GateTurn(
            self._session.gate,
            event_tag(self.event, 0),
            self._lane.owned,
            lambda _: self._session.settled(self.recorded, outcome),
        )
