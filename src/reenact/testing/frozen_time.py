"""Frozen time: in a block of a test, the clock stands at a given time, and chance comes from a seed.

It uses the seams that recordings use, so it reaches what they reach: the clocks of ``time`` and ``datetime`` (the wall,
monotonic and performance counters, however they were imported), the functions of ``random`` and unseeded ``Random()``,
``os.urandom``, ``secrets``, ``uuid4`` and ``uuid1``, and numpy's ``default_rng()``; in the block's own thread, in
threads that it starts, and in tasks of asyncio. A sleep takes real time and moves no clock; so do waits inside asyncio,
queues and locks. numpy's global generator, the ids of ``uuid_utils`` and other processes are not reached, and a run
that is recorded inside the block has the real clock and its own chance.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import Any

from reenact.abc.sources import CLOCK
from reenact.errors import UsageError
from reenact.facts.order import Tag
from reenact.facts.run import Run
from reenact.recording.arrival_schedule import ArrivalSchedule
from reenact.seams import clock, entropy, lanes, numpy_random
from reenact.seams.ambient import CLOCKS
from reenact.testing.fake_sources import FrozenClock, SeededEntropy

__all__ = ["frozen_clock", "seeded_entropy"]

_WAITING = frozenset(("asyncio", "concurrent", "multiprocessing", "queue", "sched", "selectors", "threading", "trio"))
"""Packages that read a clock to compute how long to wait: with a clock that stands still they would wait for ever."""

_BETWEEN = ("reenact", "time_machine")
_lock = threading.Lock()
_ONE_S = 1_000_000


@contextmanager
def frozen_clock(at: datetime | str | float, *, step: float = 0.0) -> Iterator[FrozenClock]:
    """Time stands still in this block (a ``with`` statement, or a decorated function).

    Args:
        at: The time of the wall clock: a datetime, ISO 8601 text (in UTC where it names no zone), or seconds since the
            epoch.
        step: How far each read moves the clocks on, in seconds: for code that waits for a deadline.

    Yields:
        The clock: ``.advance(us)`` moves it on.

    Raises:
        UsageError: ``at`` is no time; or a recording, a replay or the frozen clock of another thread is active here.
    """
    still = FrozenClock(_microseconds(at))
    with _listening() as session:
        before = session.clock, session.step_us
        session.clock, session.step_us = still, round(step * _ONE_S)
        try:
            yield still
        finally:
            session.clock, session.step_us = before


@contextmanager
def seeded_entropy(seed: int | str = 0) -> Iterator[SeededEntropy]:
    """Chance comes from a seed in this block (a ``with`` statement, or a decorated function).

    The shared generator of ``random`` is seeded at the beginning and put back at the end; code that seeds it itself
    gets what it always gets.

    Args:
        seed: Any number or text.

    Yields:
        The source that replaces the operating system's randomness.

    Raises:
        UsageError: A recording, a replay or the frozen time of another thread is active here.
    """
    drawn = SeededEntropy(seed)
    with _listening() as session:
        before, state = session.entropy, entropy.snapshot()
        session.entropy = drawn
        random.seed(int.from_bytes(SeededEntropy(f"random {seed!r}").bytes(32), "big"))
        try:
            yield drawn
        finally:
            session.entropy = before
            entropy.restore(state)


class _FrozenTime:
    """The session that answers ambient reads and lets every call through."""

    run = Run("")
    passive = reaches_world = True
    cannot_go_on = UsageError

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.clock: FrozenClock | None = None
        self.step_us = 0
        self.entropy: SeededEntropy | None = None

    def decide(self, lane: Any, call: Any) -> None:
        """Calls go through untouched."""

    def ambient(self, lane: Any, source: str, fresh: Any) -> Any:
        """The frozen clock or the seeded chance; every other source gives its real value."""
        name, _, parameter = source.partition("/")
        if name in CLOCKS and self.clock is not None:
            return fresh if _waits(sys._getframe(1)) else self._now(self.clock, name)
        if self.entropy is None:
            return fresh
        match name:
            case "urandom" | "seed":
                return self.entropy.bytes(int(parameter))
            case "uuid1":
                return _as_uuid1(self.entropy.bytes(16)) + fresh[16:]
            case "node":
                return int.from_bytes(self.entropy.bytes(6), "big")
        return fresh

    def _now(self, still: FrozenClock, name: str) -> int:
        seen = still.wall_us() if name in ("wall", "clock") else still.mono_us()
        if self.step_us:
            still.advance(self.step_us)
        return seen * 1_000

    def unrecorded(self, lane: Any, source: str, fresh: Any) -> Any:
        """Give code that waits (locks, queues, asyncio) the real time: with the frozen one it would wait for ever."""
        return fresh

    def fault(self, error: Exception) -> bool:
        """Let the error be raised: a mistake here is a mistake in the test."""
        return True

    def note(self, lane: Any, key: str, value: Any) -> None:
        """Nothing is kept."""

    def checkpoint(self, event: int, phase: str, slots: Any) -> None:
        """Nothing is kept."""

    def growing(self, step: str, declared: tuple[str, ...]) -> tuple[tuple[str, ...], None]:
        """Every list is read as a whole."""
        return declared, None

    def restate(self, event: int, state: Any) -> None:
        """None: the state stays as it is."""

    def printed(self, stream: int, data: bytes) -> None:
        """Nothing is kept."""

    def gap(self, what: str, place: str) -> None:
        """No gap is noted: nothing is recorded."""


class OpenSchedule(ArrivalSchedule):
    """The schedule of a gate that lets everything through at once: strands in this block are not counted."""

    def __init__(self) -> None:
        super().__init__(CLOCK, 0, "arrival", 0, repr)

    def grant(self, tag: Tag, proven: bool, due_us: int | None = None) -> int:
        """Grant each delivery at once."""
        return 0

    def now_us(self) -> int:
        """The time, which stands still."""
        return 0


_current: _FrozenTime | None = None


@contextmanager
def _listening() -> Iterator[_FrozenTime]:
    """The session of this block: that of a block around it, if there is one; else a new one."""
    global _current
    with _lock:
        outer, listener = _current, lanes.current()
        if outer is None and (listener is not None or lanes.anybody()):
            raise _busy("a recording or a replay listens here, and its clock and chance are its own")
        if outer is not None and outer.thread != threading.get_ident():
            raise _busy("another thread has stopped the clock, and there is one clock in a process")
        if outer is None:
            _current = _FrozenTime()
    if outer is not None:
        yield outer
        return
    session = _current
    assert session is not None
    fallback = lanes.unowned(session, OpenSchedule().gate)
    numpy_random.install()
    clock.rebinding.join()
    entropy.rebinding.join()
    lanes.session_began(fallback)
    try:
        with lanes.inside(fallback):
            yield session
    finally:
        lanes.session_ended(fallback)
        entropy.rebinding.leave()
        clock.rebinding.leave()
        with _lock:
            _current = None


def _waits(frame: FrameType | None) -> bool:
    """Whether the frames are those of a library that reads a clock in order to wait."""
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _BETWEEN:
            return package in _WAITING
        frame = frame.f_back
    return False


def _busy(why: str) -> UsageError:
    return UsageError(
        "time cannot be stopped here", cause=why, next_command="python -m pydoc reenact.testing.frozen_time"
    )


def _microseconds(at: datetime | str | float) -> int:
    """A moment as microseconds since the epoch."""
    try:
        if isinstance(at, str):
            at = datetime.fromisoformat(at)
        if isinstance(at, datetime):
            at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
            return round(at.timestamp() * _ONE_S)
        return round(at * _ONE_S)
    except (ValueError, TypeError, OverflowError) as error:
        raise UsageError(
            f"{at!r} is no moment: {error}",
            cause="it is a datetime, ISO 8601 text, or seconds since the epoch",
            next_command="python -m pydoc reenact.testing.frozen_time",
        ) from None


def _as_uuid1(drawn: bytes) -> bytes:
    """Sixteen bytes with the marks of a UUID of version 1."""
    return drawn[:6] + bytes((drawn[6] & 0x0F | 0x10, drawn[7], drawn[8] & 0x3F | 0x80)) + drawn[9:]
