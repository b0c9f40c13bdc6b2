"""The replay's answer to a crossing: the recorded outcome, or the agent's own body run again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reenact.abc.session import NeverLive
from reenact.facts.call import EndKind, Failure, Stream, Value
from reenact.facts.event import Event
from reenact.facts.order import event_tag
from reenact.seams import lanes
from reenact.seams.lanes import Lane
from reenact.seams.turns import NOW, GateTurn, SuddenTurn
from reenact.seams.waits import never_tag

if TYPE_CHECKING:
    from reenact.seams.gate import Gate


class Replayer(Protocol):
    """The part of a session that the calls of a replay need."""

    @property
    def gate(self) -> Gate:
        """The gate at which turns are taken."""

    def body_of(self, event: Event) -> bytes:
        """The recorded value's bytes."""

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The recorded stream's segments."""

    def served(self, event: Event, part: int, data: bytes) -> None:
        """Note that a recorded part of a call has been handed over."""

    def read_past(self, event: Event) -> object:
        """The agent reads on where the recorded reader stopped. Raises, or gives the end of the stream for the
        agent."""

    def read_less(self, event: Event) -> None:
        """Note that the agent stopped reading before the recorded reader did."""

    def settled(self, event: Event, outcome: Value | Failure) -> None:
        """Compare the outcome of a body that ran again."""

    def ends_in(self, event: Event) -> bool:
        """Whether the run was stopped before the body of an event ended."""


class NeverTurn(GateTurn):
    """A turn that lasts until the replay ends, because the recording never handed its delivery over."""

    __slots__ = ()

    def __init__(self, gate: Gate, owned: bool) -> None:
        super().__init__(gate, never_tag(), owned)

    def then(self, number: int | None) -> Any:
        """Raise an error."""
        raise AssertionError("a turn that never comes came")


class ServingTurn(GateTurn):
    """A turn that hands over a recorded part of a call.

    Args:
        session: Called for each delivery.
        recorded: The call that the part belongs to.
        owned: Whether the gate counts the calling unit.
        part: Which part of the call (``facts.order.event_tag``).
        data: The bytes that go into the digest of the replay.
        gives: The value for the agent's side.
    """

    __slots__ = ("data", "gives", "part", "recorded", "session")

    def __init__(self, session: Replayer, recorded: Event, owned: bool, part: int, data: bytes, gives: object) -> None:
        self.session = session
        self.recorded = recorded
        self.part = part
        self.data = data
        self.gives = gives
        super().__init__(session.gate, event_tag(recorded.number, part), owned)

    def then(self, number: int | None) -> Any:
        """Hand the part over."""
        self.session.served(self.recorded, self.part, self.data)
        return self.gives


class SettlingTurn(GateTurn):
    """The recorded turn of a body that ran again: when the turn has come, the body's outcome is compared."""

    __slots__ = ("outcome", "recorded", "session")

    def __init__(self, session: Replayer, recorded: Event, owned: bool, outcome: Value | Failure) -> None:
        self.session = session
        self.recorded = recorded
        self.outcome = outcome
        super().__init__(session.gate, event_tag(recorded.number, 0), owned)

    def then(self, number: int | None) -> None:
        """Compare the outcome."""
        self.session.settled(self.recorded, self.outcome)


class FrozenCall:
    """A call answered from the recording (``abc.session.Frozen``). ``came``: the recorded number and moment, in
    microseconds, of the part that is handed over next (of a stream, its head comes first)."""

    __slots__ = ("_next", "_parts", "_session", "_spent", "came", "event", "lane", "recorded")
    mode: Literal["frozen"] = "frozen"

    def __init__(self, session: Replayer, lane: Lane, recorded: Event) -> None:
        self._session = session
        self.lane = lane
        self.recorded = recorded
        self.event = recorded.number
        self._parts: Iterator[tuple[int | None, int, bytes]] | None = None
        self._next = 0
        self._spent = False
        self.came = recorded.delivery, recorded.first_us or recorded.ended_us or recorded.issued_us

    @property
    def form(self) -> Literal["value", "failure", "stream", "open"]:
        """The form of the recorded result."""
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
            body = self._session.body_of(self.recorded)
            return self._turn(0, body, Value(body, recorded.media, recorded.changes, recorded.head))
        if isinstance(recorded, Failure):
            return self._turn(0, recorded.error.type.encode(), recorded)
        return NeverTurn(self._session.gate, self.lane.owned)

    def answer(self) -> Any:
        """``outcome``: a replay performs nothing."""
        return self.outcome()

    def go_live(self) -> None:
        """Without effect: a replay performs nothing."""

    def can_begin(self) -> None:
        """Without effect: a replay performs nothing."""

    def head(self) -> Any:
        """The head of the stream, in its turn."""
        recorded = self.recorded.outcome
        if not isinstance(recorded, Stream) or not recorded.head:
            return NeverTurn(self._session.gate, self.lane.owned)
        return self._turn(0, repr(recorded.head.get("status")).encode(), recorded)

    def part(self) -> Any:
        """The next segment or the end, in its turn."""
        if self._parts is None:
            self._parts = self._session.parts_of(self.recorded)
        segment = next(self._parts, None)
        if segment is not None:
            self._next += 1
            self.came = segment[0], segment[1]
            return self._turn(self._next, segment[2], segment[2])
        outcome = self.recorded.outcome
        end = outcome.end if isinstance(outcome, Stream) else None
        if end is None or end.kind is EndKind.CANCELLED:
            return NeverTurn(self._session.gate, self.lane.owned)
        if end.kind is EndKind.CLOSED:
            return SuddenTurn(lambda: self._session.read_past(self.recorded))
        self._spent = True
        self.came = None, self.recorded.ended_us or 0
        return self._turn(-1, end.kind.value.encode(), end)

    def dropped(self) -> None:
        """Note that the agent reads no further."""
        if self._spent:
            return
        self._spent = True
        outcome = self.recorded.outcome
        end = outcome.end if isinstance(outcome, Stream) else None
        if end is not None and end.kind in (EndKind.EOF, EndKind.ERROR):
            self._session.read_less(self.recorded)

    def _turn(self, part: int, data: bytes, gives: object) -> GateTurn | SuddenTurn:
        turn = ServingTurn(self._session, self.recorded, self.lane.owned, part, data, gives)
        return turn if self.recorded.delivery is not None else SuddenTurn(partial(turn.then, None))


class UnansweredCall(NeverLive):
    """A call without a recording, in a replay that only observes: it is never answered, and its strand waits."""

    __slots__ = ("_session", "event", "lane")
    form: Literal["open"] = "open"

    def __init__(self, session: Replayer, lane: Lane) -> None:
        self._session = session
        self.lane = lane
        self.event = -1

    def outcome(self) -> NeverTurn:
        """A turn that never comes."""
        return NeverTurn(self._session.gate, self.lane.owned)

    head = outcome
    part = outcome


class UnrecordedCall:
    """A call of the agent's own code in the replay of an imported run, which has only the traffic on the wire: the code
    runs, and is not compared.

    Args:
        scope: The inside of the call.
    """

    __slots__ = ("_scope", "event")
    mode: Literal["rerun"] = "rerun"

    def __init__(self, scope: Lane) -> None:
        self._scope = scope
        self.event = -1

    def enter(self) -> AbstractContextManager[None]:
        """The scope of the call."""
        return lanes.inside(self._scope)

    def settle(self, outcome: Value | Failure) -> Any:
        """Do nothing: there is nothing to compare."""
        return NOW


class RerunCall:
    """A call whose body runs again (``abc.session.Rerun``)."""

    __slots__ = ("_numbered", "_scope", "_session", "event", "lane", "recorded")
    mode: Literal["rerun"] = "rerun"

    def __init__(self, session: Replayer, lane: Lane, recorded: Event, scope: Lane) -> None:
        self._session = session
        self.lane = lane
        self._scope = scope
        self.recorded = recorded
        self.event = recorded.number
        self._numbered = recorded.delivery is not None

    def enter(self) -> AbstractContextManager[None]:
        """The scope of the call, at the recorded address."""
        return lanes.inside(self._scope)

    def settle(self, outcome: Value | Failure) -> Any:
        """Take the recorded turn, then compare."""
        if self._session.ends_in(self.recorded):
            return NeverTurn(self._session.gate, self.lane.owned)
        if not self._numbered:
            self._session.settled(self.recorded, outcome)
            return NOW
        return SettlingTurn(self._session, self.recorded, self.lane.owned, outcome)
