"""Ambient reads of a replay: the recorded ones, and a clock that goes on from the last delivery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

from reenact.abc.store import Recording
from reenact.facts.clock_ids import made
from reenact.facts.run import Run
from reenact.seams.ambient import TIMED, extrapolate, timed, unpack
from reenact.seams.lanes import Lane
from reenact.seams.turns import SET


class _Source:
    """The recorded reads of one source, and the number of reads so far (larger with surplus reads)."""

    __slots__ = ("at", "values")

    def __init__(self, values: list[object]) -> None:
        self.values = values
        self.at = 0


MOVES: Final = "clock_moves"
"""The key under which the moves of a fork's clock are kept."""


class Window:
    """The recorded reads of one lane since one of its calls."""

    __slots__ = ("packs", "position", "sources")

    def __init__(self, position: int, packs: Mapping[str, bytes]) -> None:
        self.position = position
        self.packs = packs
        self.sources: dict[str, _Source] = {}

    def count(self) -> int:
        """How many reads have been given out. (Older recordings do not hold the reads that tell when timers were
        set.)"""
        return sum(reads.at for source, reads in self.sources.items() if source != SET or reads.values)

    def surplus(self, source: str) -> int:
        """How many more reads of a source have been given out than were recorded here."""
        reads = self.sources.get(source)
        return max(0, reads.at - len(reads.values)) if reads is not None else 0

    def unread(self, source: str) -> Any:
        """The next recorded read of a source that has been read here; None: there is none."""
        reads = self.sources.get(source)
        return reads.values[reads.at] if reads is not None and reads.at < len(reads.values) else None


def clock_of(run: Run) -> tuple[int, int]:
    """The agent's clocks at the beginning of the run, wall and monotonic, in microseconds.

    A fork's clocks continue its parent's."""
    kept = run.environment.get("clock")
    return (int(kept[0]), int(kept[1])) if kept else (run.started_us, run.origin_us)


def moves_of(recording: Recording) -> tuple[tuple[int, int], ...]:
    """The moves of a fork's wall clock: for each, when the clock was moved, in microseconds since the run began, and by
    how many microseconds. A move is noted when it is made, because a fork may be killed, and all moves are kept with
    the run when it ends."""
    kept = recording.notes(None).get(MOVES) or recording.run.environment.get(MOVES) or ()
    return tuple((int(at_us), int(by_us)) for at_us, by_us in kept)


class Ambient:
    """Answers ambient reads by lane, last call, and the number of reads since that call.

    Args:
        recording: The recording with the reads.
        now_us: Microseconds since the run began, at the last delivery.
        keeping: Whether to remember the served values, for a replay that is kept as a run.
    """

    def __init__(self, recording: Recording, now_us: Callable[[], int], *, keeping: bool = False) -> None:
        self.kept: dict[tuple[str, int], list[tuple[str, object]]] | None = {} if keeping else None
        self._recording = recording
        self._now_us = now_us
        self._wall_us, self._mono_us = clock_of(recording.run)
        self.moves = moves_of(recording)
        self.address: Callable[[Lane], str] = attrgetter("path")
        """Gives the address under which the reads of a lane are recorded."""
        self.said: Callable[[str], str] = str
        """Gives the name of a source as the recording has it: without credentials."""

    def read(self, lane: Lane, source: str, fresh: object = None) -> Any:
        """One read, remembered if the replay is kept."""
        window: Window | None = lane.data
        if window is None or window.position != lane.position:
            window = lane.data = Window(lane.position, self._recording.ambient(self.address(lane), lane.position))
        return self.taken(window, lane, source)

    def taken(self, window: Window, lane: Lane, source: str) -> Any:
        """The next read of a window."""
        reads = self._reads(window, source)
        at = reads.at
        reads.at += 1
        value = reads.values[at] if at < len(reads.values) else self._beyond(lane, source, reads)
        if self.kept is not None:
            self.kept.setdefault((lane.path, lane.position), []).append((source, value))
        return value

    def _reads(self, window: Window, source: str) -> _Source:
        reads = window.sources.get(source)
        if reads is None:
            packed = window.packs.get(source) or window.packs.get(self.said(source), b"")
            reads = window.sources[source] = _Source(_values(source, packed))
        return reads

    def _beyond(self, lane: Lane, source: str, reads: _Source) -> Any:
        """A surplus read goes on from the last read of its source and always increases.

        A clock never shows a time before the last delivery. So code that computes the rest of a time-out, where the
        recording has no such time-out, finds that the time-out is over."""
        salt = f"{lane.path} {lane.position}".encode()
        now = self._as_recorded(source, None)
        last = now if not reads.values else max(reads.values[-1], now) if now is not None else reads.values[-1]
        if last is None and source == TIMED:
            last = timed(made(self._as_recorded("wall", None) // 1000, salt))
        return extrapolate(source, last, reads.at - len(reads.values), salt)

    def clock(self, lane: Lane, source: str, fresh: object) -> Any:
        """A clock at the last delivery, in nanoseconds; ``fresh`` for a clock that is not ours."""
        return self._as_recorded(source, fresh)

    def _as_recorded(self, source: str, fresh: object) -> Any:
        """The time that the recorded run would have read from ``clock``."""
        if source == "wall":
            now_us = self._now_us()
            return (self._wall_us + now_us + sum(by_us for at_us, by_us in self.moves if at_us <= now_us)) * 1000
        if source in ("mono", "perf"):
            return (self._mono_us + self._now_us()) * 1000
        return fresh


def _values(source: str, data: bytes) -> list[Any]:
    """The values of all packs of one address; each pack comes after its length in four bytes."""
    values: list[object] = []
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        values += unpack(source, data[at + 4 : end])
        at = end
    return values
