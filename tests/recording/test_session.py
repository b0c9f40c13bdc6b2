"""A recording costs what is under way, not what has been: and neither signals nor late strands can make it wait."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

import reenact
from reenact.facts.call import Call, Effect, Kind
from reenact.recording.recording_session import RecordingSession
from reenact.recording.writer import Writer
from reenact.replaying.ambient_replay import _values
from reenact.seams import lanes


@reenact.tool(effect="write")
def order(what: str) -> str:
    """A write, which waits for its durable intent."""
    return what


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[reenact.Store]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def _session() -> RecordingSession:
    lane = lanes.current()
    assert lane is not None
    assert isinstance(lane.session, RecordingSession)
    return lane.session


def _flush() -> None:
    """In a recording, wait until the writer has looked; in its replay there is none."""
    lane = lanes.current()
    if lane is not None and isinstance(lane.session, RecordingSession):
        lane.session.flush()


def test_lanes_that_have_ended_cost_the_writer_nothing(store: reenact.Store) -> None:
    kept: list[int] = []

    async def look() -> float:
        return time.time()

    async def agent() -> list[float]:
        seen = [await asyncio.create_task(look()) for _ in range(200)]
        _flush()
        lane = lanes.current()
        kept.append(len(getattr(lane and lane.session, "_reads", ())))
        return seen

    @reenact.record(store=store)
    def entry() -> list[float]:
        return asyncio.run(agent())

    seen = entry()
    assert kept == [0]
    replayed = reenact.replay("@", entry=entry, store=store)
    assert (replayed.verdict, replayed.output) == ("exact", seen)


def test_reads_are_kept_whenever_the_writer_looks(store: reenact.Store) -> None:
    def agent() -> list[int]:
        seen = []
        for number in range(300):
            seen.append(time.time_ns())
            if number % 7 == 0:
                _flush()
        return seen

    entry = reenact.record(store=store)(agent)
    seen = entry()
    assert reenact.replay("@", entry=entry, store=store).output == seen


@pytest.mark.interrupts
@pytest.mark.parametrize("watched", [Writer._account, RecordingSession.decide, RecordingSession.lane_number])
def test_a_signal_handler_may_print_and_call_wherever_it_interrupts(store: reenact.Store, watched: Any) -> None:
    """The handler runs before each line of the recorder in turn, as a signal may make it do."""
    numbers = itertools.count()

    def handler(session: RecordingSession) -> None:
        session.printed(1, b"interrupted\n")
        lane = lanes.Lane(f"root/handler#{next(numbers)}", session, session.gate)
        session.decide(lane, Call(Kind.TOOL, "inside", Effect.READ, "value/1"))

    def interrupted(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            sys.settrace(None)
            handler(session)
            sys.settrace(entered)
        return interrupted

    def entered(frame: FrameType, _event: str, _: Any) -> Any:
        return interrupted if frame.f_code is watched.__code__ else None

    def program() -> None:
        before = sys.gettrace()
        sys.settrace(entered)
        try:
            session.printed(1, b"hello\n")
            lane = lanes.Lane("root/main#1", session, session.gate)
            session.decide(lane, Call(Kind.TOOL, "outside", Effect.READ, "value/1"))
        finally:
            sys.settrace(before)

    with reenact.record(store=store) as run:
        session = _session()
        with lanes.inside(None):
            thread = threading.Thread(target=program, daemon=True)
            thread.start()
            thread.join(20)
            assert not thread.is_alive(), "the recorder waits for itself"
    events = list(store.events(run))
    assert [event.number for event in events] == list(range(len(events)))
    assert len(events) == next(numbers) + 1 > 3


def test_a_strand_that_outlives_its_run_is_neither_held_nor_kept(store: reenact.Store) -> None:
    """Another run goes on beside it, so that its crossings still reach the session of the run that has ended."""
    go, done = threading.Event(), threading.Event()
    late: list[Any] = []

    def outlives() -> None:
        session = _session()
        with lanes.inside(None):
            go.wait()
        session.closed = False  # it asked just before the run ended, and goes on just after
        late.append(order("late"))
        session.closed = True
        for _ in range(100):
            time.time()
            session.printed(1, b"late\n")
        late.append((len(session.writer._queue), len(session._reads)))
        done.set()

    with reenact.record(store=store) as run:
        threading.Thread(target=outlives, daemon=True).start()
        order("in time")
    with lanes.inside(None), reenact.record(store="memory:"):
        go.set()
        with lanes.inside(None):
            assert done.wait(20), "a strand of the agent waits for a recorder that has ended"
    assert late == ["late", (0, 0)]
    assert [event.name for event in store.events(run)] == ["order"]


class _Interrupting(dict[Any, Any]):
    """Lanes with reads; the agent reads once more at the very moment when the writer takes one of them out."""

    def __init__(self, read: Any) -> None:
        super().__init__()
        self._read = read

    def pop(self, *args: Any) -> Any:
        self._read()
        return super().pop(*args)


def test_a_read_at_the_moment_the_writer_looks_loses_none_that_follow(store: reenact.Store) -> None:
    seen: list[int] = []

    def read() -> None:
        lane = lanes.current()
        if lane is not None:
            seen.append(time.monotonic_ns())

    with reenact.record(store=store):
        session, root = _session(), lanes.current()

        def as_agent() -> None:
            with lanes.inside(root):
                read()

        session._reads = _Interrupting(as_agent)
        for _ in range(3):
            read()
            _flush()
            read()
        session._reads = dict(session._reads)
        _flush()
    recording = store.open("@")
    packed = recording.ambient("root", 0)["mono"]
    assert len(seen) > 6
    assert _values("mono", packed) == seen
