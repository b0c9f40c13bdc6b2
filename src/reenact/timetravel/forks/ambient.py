"""Ambient reads of a fork: those that the parent had at the same place, and a clock that goes on from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reenact.abc.store import Recording
from reenact.facts.event import Event
from reenact.replaying.ambient import Ambient, Window
from reenact.seams.lanes import Lane


class ForkAmbient(Ambient):
    """Answers a read by what its lane has done last: a call that stands for a recorded one is followed by its reads.

    Args:
        recording: The parent.
        now_us: Microseconds since the run began, at the last delivery.
    """

    def __init__(self, recording: Recording, now_us: Callable[[], int]) -> None:
        super().__init__(recording, now_us)
        self._windows: dict[str, Window] = {}

    def moved(self, path: str, position: int, place: Event | None) -> None:
        """A lane has issued a call, which stands for a recorded one, or for none."""
        if place is not None:
            self._windows[path] = self._opened(place.lane, place.position + 1, position)
        else:
            self._windows[path] = Window(position, {})

    def jump(self, wall_us: int) -> None:
        """From now on the wall clock shows this moment, and goes on from there."""
        self._wall_us = wall_us - self._now_us()

    def read(self, lane: Lane, source: str) -> Any:
        """One read."""
        window = self._windows.get(lane.path)
        if window is None or window.position != lane.position:
            window = self._windows[lane.path] = self._opened(lane.path, lane.position, lane.position)
        return self.taken(window, lane, source)

    def _opened(self, path: str, recorded: int, position: int) -> Window:
        return Window(position, self._recording.ambient(path, recorded))
