"""The calls of a fork: answered from the parent's recording or performed, they are noted in the fork's own alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from reenact.facts.call import Call, End, EndKind, Failure, Stream, Value
from reenact.facts.event import Event
from reenact.facts.record import CallSettled, HeadArrived, Record, SegmentArrived, StreamEnded
from reenact.recording.calls import LiveCall
from reenact.replaying.calls import FrozenCall, Serving, Sudden
from reenact.seams.lanes import Lane
from reenact.seams.turns import NOW
from reenact.timetravel.forks.gate import own_tag

if TYPE_CHECKING:
    from reenact.timetravel.forks.session import ForkSession


class TapedServing(Serving):
    """A turn that hands over something recorded, and notes it in the fork."""

    __slots__ = ("call", "note")

    def __init__(self, call: TapedCall, note: Callable[[int | None], Record], *serving: Any) -> None:
        super().__init__(*serving)
        self.call = call
        self.note = note

    def wait(self) -> Any:
        """Wait in a thread."""
        if self.owned:
            return self.then(self.gate.take(self.tag))
        self.gate.started()
        try:
            return self.then(self.gate.take(self.tag))
        finally:
            self.gate.blocked()

    def then(self, number: int | None) -> Any:
        """Note it, and hand it over."""
        fork = self.call.taped
        if self.part == 0:
            fork.answered(self.recorded.number, self.call.event)
        fork.put(self.note(number))
        return super().then(number)


class TapedCall(FrozenCall):
    """A call answered from the parent's recording.

    Args:
        session: The fork.
        lane: Who asks.
        recorded: The parent's event, with another outcome where the fork changes it.
        event: Its number in the fork.
    """

    __slots__ = ("taped",)

    def __init__(self, session: ForkSession, lane: Lane, recorded: Event, event: int) -> None:
        super().__init__(session, lane, recorded)
        self.event = event
        self.taped = session

    def _turn(self, part: int, data: bytes, gives: Any) -> Serving | Sudden:
        note = partial(self._record, part, gives)
        turn = TapedServing(self, note, self._session, self.recorded, self._lane.owned, part, data, gives)
        return turn if self.recorded.delivery is not None else Sudden(partial(turn.then, None))

    def _record(self, part: int, gives: Any, number: int | None) -> Record:
        recorded, now_us = self.recorded, self.taped.gate.now_us()
        known = (recorded.fidelity, recorded.fidelity_note)
        if isinstance(gives, (Value, Failure)):
            return CallSettled(self.event, now_us, gives, number, *known)
        if isinstance(gives, Stream):
            return HeadArrived(self.event, now_us, gives.head, number, *known)
        if isinstance(gives, End):
            return StreamEnded(self.event, now_us, gives, number)
        return SegmentArrived(self.event, now_us, gives, number, *known)

    def dropped(self) -> None:
        """The agent reads no further."""
        if self._spent:
            return
        super().dropped()
        outcome = self.recorded.outcome
        end = outcome.end if isinstance(outcome, Stream) else None
        if end is None or end.kind not in (EndKind.CLOSED, EndKind.CANCELLED):
            end = End(EndKind.CLOSED if self.form == "stream" else EndKind.CANCELLED)
        self.taped.put(StreamEnded(self.event, self.taped.gate.now_us(), end))


class OwnCall(LiveCall):
    """A call that the fork performs, in the place of the recorded one that it stands for.

    Args:
        session: The fork.
        lane: Who calls.
        call: What it asks.
        event: Its number in the fork.
        compared: The parent's event that what it comes to must agree with: before the cut, the agent's own code.
    """

    __slots__ = ("_compared", "_fork")

    def __init__(self, session: ForkSession, lane: Lane, call: Call, event: int, compared: Event | None = None) -> None:
        super().__init__(session.child, lane, call, event)
        self._fork = session
        self._compared = compared

    def sends(self, url: str, body: bytes) -> tuple[str, bytes]:
        """The agent's request, as the plan rewrites it."""
        return self._fork.outgoing(self._call, self.event, url, body)

    def settle(self, outcome: Value | Failure) -> Any:
        """Note a value or an exception, in turn."""
        self._compare(outcome)
        self._fork.gate.arrives(self.event)
        return super().settle(outcome)

    def at_hand(self, outcome: Value | Failure) -> None:
        """Note a value or an exception that takes no turn."""
        self._compare(outcome)
        self._fork.gate.lost(self.event)
        super().at_hand(outcome)

    def _compare(self, outcome: Value | Failure) -> None:
        if self._compared is not None and not self._fork.gate.cut:
            self._fork.settled(self._compared, outcome)

    def end(self, end: End) -> Any:
        """Note the end that the agent is about to see, in turn."""
        self._fork.gate.arrives(self.event)
        return super().end(end)

    def dropped(self, end: End) -> None:
        """Note an end that the agent itself made."""
        self._fork.gate.lost(self.event)
        super().dropped(end)

    def _turn(self, part: int, make: Callable[..., Record], what: Any) -> Any:
        turn = super()._turn(part, make, what)
        if turn is not NOW:
            turn.tag = own_tag(self.event, part)
        return turn
