"""The order in which things happened: deliveries, their tags, and the packed form in which they are stored."""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple

from reenact.facts.integer_columns import column, read, steps, sums
from reenact.facts.interruptions import let_through


class Tag(NamedTuple):
    """The identity of one delivery, which is the same in a recording and its replay.

    ``kind`` is one letter:

    - ``e`` part of a recorded event: ``number`` is the event, ``n`` the part (0 the value or head, 1… the
      segments, -1 the end of a stream); ``lane`` is empty.
    - ``t`` a timer of the agent, ``w`` a wake-up, ``p`` a callback posted to a loop, ``j`` the return of a coroutine
      that has closed a connection or was cancelled (it returns to the agent's code without a value): ``lane`` is the
      path of the lane, ``number`` how many calls it had issued, ``n`` a count since then.
    - ``s`` the start of a thread or job: ``lane`` is its own path.
    - ``i`` a signal that reached a handler of the program: ``lane`` is the interrupted one, ``number`` the signal's. A
      negative ``n`` gives the call of that lane in which it came (``call_around``); any other ``n`` gives its place in
      the lane (``Interruption``).
    """

    kind: str
    lane: str
    number: int
    n: int


ALARM_SIGNAL: Final = 14
"""The number of the signal that an alarm sends, on every system that has one."""


class TimerSpan(NamedTuple):
    """When a timer or an alarm was set, and for when: microseconds of monotonic time since the run began. The timer
    fires after its due time if the code or the machine was busy."""

    set_us: int
    due_us: int


class Delivery(NamedTuple):
    """One turn at the gate.

    Attributes:
        number: Position in the run's order, from 0.
        tag: The identity of the turn.
        at_us: Microseconds of monotonic time since the run began.
        proven: False when the gate let the delivery through without knowing that nothing else could run.
        times: For a timer, and an alarm's signal; None where it is not known, as in old recordings.
    """

    number: int
    tag: Tag
    at_us: int
    proven: bool
    times: TimerSpan | None = None


def take_all(fresh: list[Delivery]) -> tuple[Delivery, ...]:
    """Take the deliveries of a list out of it, while another thread may add to it."""
    count = len(fresh)
    taken = tuple(fresh[:count])
    del fresh[:count]
    return taken


def event_tag(event: int, part: int) -> Tag:
    """The tag of one part of an event: 0 its value or head, 1… its segments, -1 its end."""
    return _make(Tag, ("e", "", event, part))


def signal_tag(lane: str, number: int, event: int) -> Tag:
    """The tag of a signal that came during a call of a lane, if the call is answered as a whole."""
    return Tag("i", lane, number, -1 - event)


def call_around(tag: Tag) -> int | None:
    """The number of the call during which a signal came; None if it came outside of calls."""
    return -1 - tag.n if tag.kind == "i" and tag.n < 0 else None


class Interruption(NamedTuple):
    """The place where a signal reached a handler of the program, outside of calls that are answered as a whole.

    Attributes:
        run: The number of the handler's run, from 1.
        position: The number of calls that the interrupted lane had issued.
        steps: The number of ambient reads and pieces of text since the last call; -1: not known.
    """

    run: int
    position: int
    steps: int

    def packed(self) -> int:
        """The place as the ``n`` of a tag. If one of its numbers has too many bits, the place is left out."""
        fits = self.position < _POSITIONS and -1 <= self.steps < _STEPS - 1
        position, steps = (self.position, self.steps + 1) if fits else (0, 0)
        return ((self.run % _COUNTED) * _POSITIONS + position) * _STEPS + steps


_COUNTED, _POSITIONS, _STEPS = 1 << 23, 1 << 20, 1 << 20
_OLDEST = _POSITIONS * _STEPS
"""The smallest ``n`` that holds a place. A smaller ``n`` is from a recording that does not have the place of a
signal."""


def interruption(tag: Tag) -> Interruption | None:
    """Where a signal came; None where it came in a call, or the recording does not say."""
    if tag.kind != "i" or tag.n < _OLDEST:
        return None
    rest, steps = divmod(tag.n, _STEPS)
    return Interruption(*divmod(rest, _POSITIONS), steps - 1)


_KINDS = "etwpjsi"
_COLUMNS = 5
_TIMER_COLUMNS = 3
_COUNT = struct.Struct("<I")
_make = tuple.__new__
"""Makes a named tuple of a tuple, in C. The speed matters, because a replay reads one delivery for each turn."""


def pack(deliveries: Sequence[Delivery], lanes: Mapping[str, int]) -> bytes:
    """Pack consecutive deliveries into bytes.

    After their count (four bytes) come five columns (``facts.integer_columns``): kind and proof, number of the lane,
    number, n, and time. Numbers and times are kept as the difference from the delivery before (the first: from zero).
    If there are timers among them, their count and three more columns follow: their places, how long before its turn
    each was set, and the length of its wait.

    Args:
        deliveries: At least one.
        lanes: Numbers of lane paths; -1 stands for no lane.
    """
    _, tags, moments, proofs, timers = zip(*deliveries, strict=True)
    kinds, paths, numbers, counts = zip(*tags, strict=True)
    marks = [_KINDS.index(kind) << 1 | (not proven) for kind, proven in zip(kinds, proofs, strict=True)]
    strands = [lanes[path] if path else -1 for path in paths]
    packed = [column(each) for each in (marks, strands, steps(numbers), counts, steps(moments))]
    return _COUNT.pack(len(moments)) + b"".join(packed) + _pack_timers(moments, timers)


def _pack_timers(moments: Sequence[int], timers: Sequence[TimerSpan | None]) -> bytes:
    known = [
        (place, at_us - one.set_us, one.due_us - one.set_us)
        for place, (at_us, one) in enumerate(zip(moments, timers, strict=True))
        if one is not None
    ]
    if not known:
        return b""
    places, lives, waits = zip(*known, strict=True)
    return _COUNT.pack(len(known)) + column(steps(places)) + column(lives) + column(waits)


def unpack(data: bytes, first: int, lanes: Mapping[int, str]) -> Iterator[Delivery]:
    """Read a pack back; ``first`` is the number of its first delivery, ``lanes`` maps numbers to paths. It takes about
    0.4 µs per delivery.
    """
    (count,) = _COUNT.unpack_from(data)
    columns = []
    at = _COUNT.size
    for _ in range(_COLUMNS):
        found, at = read(data, at, count)
        columns.append(found)
    marks, strands, numbers, counts, times = columns
    kinds = [_KINDS[mark >> 1] for mark in marks]
    paths = [lanes[strand] if strand >= 0 else "" for strand in strands]
    tags = map(_make, repeat(Tag), zip(kinds, paths, sums(numbers), counts, strict=True))
    proofs = [not mark & 1 for mark in marks]
    numbered = range(first, first + count)
    if at == len(data):
        return map(_make, repeat(Delivery), zip(numbered, tags, sums(times), proofs, repeat(None), strict=False))
    moments = list(sums(times))
    timers = _unpack_timers(data, at, moments)
    return map(_make, repeat(Delivery), zip(numbered, tags, moments, proofs, timers, strict=True))


def _unpack_timers(data: bytes, at: int, moments: Sequence[int]) -> list[TimerSpan | None]:
    (count,) = _COUNT.unpack_from(data, at)
    columns = []
    at += _COUNT.size
    for _ in range(_TIMER_COLUMNS):
        found, at = read(data, at, count)
        columns.append(found)
    places, lives, waits = columns
    timers: list[TimerSpan | None] = [None] * len(moments)
    for place, life, wait in zip(sums(places), lives, waits, strict=True):
        if not 0 <= place < len(moments):
            raise ValueError("a timer has a place that its pack does not have")
        set_us = moments[place] - life
        timers[place] = TimerSpan(set_us, set_us + wait)
    return timers


def name_of(work: Any) -> str:
    """The qualified name by which sibling strands are numbered."""
    while isinstance(work, functools.partial):
        work = work.func
    try:
        name = str(getattr(work, "__qualname__", None) or getattr(work, "__name__", None) or type(work).__name__)
    except Exception as error:  # an object of the agent may raise anything when it is asked for an attribute
        let_through(error)
        return type(work).__name__
    last = name.rpartition(".")[2]
    if last in ("_do_shutdown", "shutdown_default_executor", "shutdown_asyncgens"):
        return last  # a loop's cleanup is the same strand in every loop class
    return name.replace("<locals>.", "")


def identity(path: str) -> int:
    """A number for a path, the same in a recording and its replay, for every hash seed. About 0.2 µs."""
    return zlib.crc32(path.encode())
