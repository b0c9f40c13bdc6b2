"""A recording and a replaying session in memory, and the harness that proves one against the other.

They implement ``reenact.abc.session`` without a gate: turns are taken at once (asynchronous ones after one tick of the
loop, so that nothing relies on their not suspending). The replay answers by method, URL and body, first come first
served, and refuses whatever was not recorded.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from reenact.abc.sources import CLOCK
from reenact.errors import Halt
from reenact.facts.call import Call, End, EndKind, Failure, Stream, Value
from reenact.facts.run import Run
from reenact.recording.arrival_schedule import ArrivalSchedule
from reenact.seams import http
from reenact.seams.async_backends import cancels_by
from reenact.seams.lanes import Lane, follow, inside, session_began, session_ended, unowned
from reenact.seams.source import located

http.install()
follow(asyncio)  # a process that records does both when its program imports asyncio
cancels_by(asyncio.CancelledError)


class Turn:
    """A turn that is taken at once."""

    def __init__(self, take: Callable[[], Any]) -> None:
        self.take = take

    def wait(self) -> Any:
        return self.take()

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from asyncio.sleep(0).__await__()
        return self.take()


class Never:
    """A turn that never comes."""

    def wait(self) -> Any:
        raise AssertionError("a synchronous wait for an answer that never came")

    def __await__(self) -> Generator[Any, Any, Any]:
        return asyncio.get_running_loop().create_future().__await__()


@dataclass
class Exchange:
    """One recorded exchange."""

    call: Call
    lane: str
    outcome: Value | Failure | None = None
    head: Any = None
    segments: list[bytes] = field(default_factory=list)
    end: End | None = None

    @property
    def ended(self) -> EndKind | None:
        """How it ended, if it did."""
        return self.end.kind if self.end is not None else None

    @property
    def payload(self) -> bytes:
        return b"".join(self.segments)


class Session:
    """What both fakes share."""

    run = Run("fake")
    reaches_world = True
    strict: bool
    """Whether a fault stops the agent."""

    def __init__(self) -> None:
        self.faults: list[Exception] = []
        self.gaps: list[tuple[str, str]] = []

    def fault(self, error: Exception) -> bool:
        self.faults.append(error)
        return self.strict

    def gap(self, what: str, place: str) -> None:
        self.gaps.append((what, place))

    def ambient(self, lane: Lane, source: str, fresh: Any) -> Any:
        return fresh

    def unrecorded(self, lane: Lane, source: str, fresh: Any) -> Any:
        return fresh

    def note(self, lane: Lane, key: str, value: Any) -> None:
        """Evidence is no part of these tests."""

    def checkpoint(self, event: int, phase: str, slots: Any) -> None:
        """Nor are states."""

    def growing(self, step: str, declared: tuple[str, ...]) -> tuple[tuple[str, ...], None]:
        """Lists are looked at whole."""
        return declared, None

    def restate(self, event: int, state: Any) -> None:
        """Nothing is changed."""

    def printed(self, stream: int, data: bytes) -> None:
        """Nor is output."""


class LiveCrossing:
    mode = "live"

    def __init__(self, lane: Lane, exchange: Exchange) -> None:
        self.event = 0
        self.lane, self.exchange = lane, exchange

    def ready(self) -> Turn:
        return Turn(lambda: None)

    def sends(self, url: str, body: bytes) -> None:
        return None

    def adds(self) -> dict[str, str]:
        return {}

    @contextmanager
    def enter(self) -> Iterator[None]:
        lane = self.lane
        with inside(Lane(lane.path, lane.session, lane.gate, below=True)):
            yield

    def settle(self, outcome: Value | Failure) -> Turn:
        return Turn(lambda: self._set("outcome", outcome))

    def at_hand(self, outcome: Value | Failure) -> None:
        self._set("outcome", outcome)

    def head(self, head: Any) -> Turn:
        return Turn(lambda: self._set("head", dict(head)))

    def segment(self, data: bytes) -> Turn:
        assert type(data) is bytes
        assert self.exchange.head is not None, "a segment before the head"
        assert self.exchange.end is None, "a segment after the end"
        return Turn(lambda: self.exchange.segments.append(data))

    def end(self, end: End) -> Turn:
        return Turn(lambda: self._set("end", end))

    def dropped(self, end: End) -> None:
        if self.exchange.end is None and self.exchange.outcome is None:
            self.exchange.end = end

    def _set(self, name: str, value: Any) -> None:
        if getattr(self.exchange, name) is None:
            setattr(self.exchange, name, value)


class Recording(Session):
    """Notes every exchange in memory."""

    strict = False

    def __init__(self) -> None:
        super().__init__()
        self.exchanges: list[Exchange] = []

    def decide(self, lane: Lane, call: Call) -> LiveCrossing:
        exchange = Exchange(located(call), lane.path)
        self.exchanges.append(exchange)
        return LiveCrossing(lane, exchange)


class FrozenCrossing:
    mode = "frozen"

    def __init__(self, exchange: Exchange) -> None:
        self.event = 0
        self.exchange = exchange
        self.at = 0
        self.ended = False

    @property
    def form(self) -> str:
        if isinstance(self.exchange.outcome, Failure):
            return "failure"
        return "open" if self.exchange.head is None else "stream"

    def outcome(self) -> Any:
        if self.form == "open":
            return Never()
        return Turn(lambda: self.exchange.outcome)

    answer = outcome

    def head(self) -> Turn:
        exchange = self.exchange
        stream = Stream(exchange.head, exchange.end, len(exchange.payload), len(exchange.segments))
        return Turn(lambda: stream)

    def part(self) -> Any:
        assert not self.ended, "reading after the end"
        segments, end = self.exchange.segments, self.exchange.end
        if self.at < len(segments):
            self.at += 1
            part = segments[self.at - 1]
            return Turn(lambda: part)
        if end is None or end.kind is EndKind.CANCELLED:
            return Never()
        if end.kind is EndKind.CLOSED:
            raise Halt("the recorded reader stopped here")
        return Turn(lambda: self._over(end))

    def _over(self, end: End) -> End:
        self.ended = True
        return end

    def dropped(self) -> None:
        self.ended = True


def key_of(call: Call) -> tuple[str, str, bytes]:
    """Method, URL and body; the boundary of a multipart body is no part of it."""
    body = call.body
    found = re.search(r"boundary=([^;]+)", call.media)
    if found:
        body = body.replace(found.group(1).strip('"').encode(), b"boundary")
    return call.head["method"], call.head["url"], body


class Replaying(Session):
    """Answers from a recording."""

    strict = True

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.left: dict[Any, deque[Exchange]] = defaultdict(deque)
        for exchange in recording.exchanges:
            self.left[key_of(exchange.call)].append(exchange)

    def decide(self, lane: Lane, call: Call) -> FrozenCrossing:
        waiting = self.left[key_of(call)]
        if not waiting:
            raise Halt(f"nothing recorded for {call.name} {call.body[:200]!r}")
        return FrozenCrossing(waiting.popleft())

    @property
    def unused(self) -> list[Exchange]:
        return [exchange for waiting in self.left.values() for exchange in waiting]


@contextmanager
def listened(session: Any) -> Iterator[None]:
    """Run the block, and every thread it starts, in a lane of ``session``."""
    # other tests of this process may have hooked threads and loops, which ask every lane for its gate
    gate = ArrivalSchedule(CLOCK, CLOCK.mono_us(), "arrival", 0, lambda path: None).gate
    fallback = unowned(session, gate)
    session_began(fallback)
    try:
        with inside(Lane("root", session, gate)):
            yield
    finally:
        session_ended(fallback)
        gate.close()


def proven(agent: Callable[[], Any], server: Any, *, exchanges: int | None = None) -> tuple[Any, Recording]:
    """Record ``agent``, take the server away, replay it, and compare what it returned.

    Returns:
        What the agent returned, and the recording.
    """
    recording = Recording()
    with listened(recording):
        live = agent()
    assert not recording.faults, recording.faults
    if exchanges is not None:
        assert len(recording.exchanges) == exchanges, [exchange.call.name for exchange in recording.exchanges]
    server.close()
    asked = len(server.requests)
    replaying = Replaying(recording)
    with listened(replaying):
        again = agent()
    assert not replaying.faults, replaying.faults
    assert again == live
    assert not replaying.unused, [exchange.call.name for exchange in replaying.unused]
    assert len(server.requests) == asked, "the replay reached the server"
    return live, recording


def told(error: BaseException | None) -> Any:
    """An exception and its causes as something to compare."""
    if error is None:
        return None
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{type(error).__module__}.{type(error).__qualname__}", str(error), told(cause)
