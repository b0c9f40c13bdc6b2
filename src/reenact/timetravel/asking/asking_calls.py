"""A model call that a replay makes, and the order in which its answer comes.

The agent's own client performs it. While the world is asked, time stands still for the agent: none of the agent's
timers fires, so that a time limit on the call does not run out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reenact.errors import Halt
from reenact.facts.call import Call, End, Failure, Json, Value
from reenact.facts.record import HeadArrived, Record, SegmentArrived
from reenact.facts.tracecontext import Propagation
from reenact.recording.live_calls import LiveCall
from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.turns import NOW

LARGEST = 16 << 20
"""Most bytes of an answer that are kept to be read; the agent gets all of them."""


class ModelReply:
    """The answer of a model that was asked, kept to be read at the end (``recording.live_calls.Taper``).

    Args:
        schedule: The schedule of the gate at which turns are taken.
        fault: Called with errors of this code.
        over: Called for each call that the world has answered, or that the agent no longer waits for.
    """

    ordered = True
    propagation: Propagation | None = None

    def __init__(
        self, schedule: RecordedSchedule, fault: Callable[[Exception], bool], over: Callable[[int], object]
    ) -> None:
        self._schedule = schedule
        self._fault = fault
        self._over = over
        self.closed = False
        self.heads: dict[int, Mapping[str, Json]] = {}
        """Status and headers, by the number of the call."""
        self.bodies: dict[int, bytearray] = {}
        """The bytes that came, by the number of the call."""

    @property
    def gate(self) -> Gate:
        """The gate at which turns are taken."""
        return self._schedule.gate

    def now_us(self) -> int:
        """The agent's time."""
        return self._schedule.now_us()

    def put(self, record: Record) -> None:
        """Keep the bytes of the answer; other records are not needed here."""
        if isinstance(record, HeadArrived):
            self.heads[record.event] = record.head
        elif isinstance(record, SegmentArrived):
            body = self.bodies.setdefault(record.event, bytearray())
            body += record.data[: max(0, LARGEST - len(body))]

    def taken(self, event: int) -> tuple[Mapping[str, Json] | None, bytes]:
        """The head and body of an answer, which are then released; no head if none came."""
        return self.heads.pop(event, None), bytes(self.bodies.pop(event, b""))

    def fault(self, error: Exception) -> bool:
        """Raise a halt of the replay, because our code failed."""
        return isinstance(error, Halt) or self._fault(error)

    def intent(self, *, in_place: bool) -> Any:
        """Do nothing, because this replay writes nothing."""
        return NOW

    def came(self, call: Call, event: int, outcome: Value | Failure) -> None:
        """Do nothing, because no tool runs here."""

    def over(self, event: int) -> None:
        """Note that the world has answered, or that the agent no longer waits for it."""
        with self._schedule.gate.lock:
            first = event in self._schedule.under_way
            self._schedule.under_way.discard(event)
        if first:
            self._over(event)


class AskedCall(LiveCall):
    """A model call that the world answers.

    Args:
        heard: Keeps the answer that the world gives.
        lane: The lane of the call.
        call: The call.
        event: A number that no event of the recording has.
    """

    __slots__ = ("_heard",)

    def __init__(self, heard: ModelReply, lane: Lane, call: Call, event: int) -> None:
        super().__init__(heard, lane, call, event)
        self._heard = heard

    def sends(self, url: str, body: bytes) -> tuple[str, bytes]:
        """The agent's own request, signed now."""
        return url, body

    def settle(self, outcome: Value | Failure) -> Any:
        """Note that the call failed before the head of its answer came."""
        self._heard.over(self.event)
        return super().settle(outcome)

    def end(self, end: End) -> Any:
        """Note that the call's answer has ended."""
        self._heard.over(self.event)
        return super().end(end)

    def dropped(self, end: End) -> None:
        """Note that the agent reads no further."""
        self._heard.over(self.event)
        super().dropped(end)
