"""Ambient reads of a fork: the parent's reads at the same place, and after them a clock that goes on.

Once the fork has left its parent's times, clocks that only measure show its own (``ForkTime.reads_clock``). The
wall clock stays as it was, so that a request with a time in it is answered. In a resumption, all clocks go on with the
world's.
"""

from __future__ import annotations

from typing import Any, Final

from reenact.abc.store import Recording
from reenact.facts.clock_ids import moment_of, moved
from reenact.facts.event import Event
from reenact.facts.texts import text_of
from reenact.replaying.ambient_replay import Ambient, Window
from reenact.seams.ambient import TIMED, extrapolate, from_timed, timed
from reenact.seams.lanes import Lane
from reenact.seams.turns import SET
from reenact.timetravel.forks.due_moments import LATE_US
from reenact.timetravel.forks.fork_schedule import ForkSchedule
from reenact.timetravel.forks.fork_time import WALL

_DRAWN: Final = "bits/128"
_NEAR_US: Final = 24 * 3600 * 1_000_000
"""How far the clock in an id may differ from ours: an id may be made in advance, or on a suspended machine."""


_MEASURING: Final = frozenset({"mono", "perf"})
"""Clocks that only measure. Clocks of processor time are not the gate's: waits do not count in them."""


_VARIABLE: Final = "env/"
"""The beginning of a variable's source (``seams.environment_variables``)."""

_LEFT: Final = frozenset({"times/1", "times/2"})
"""Reads of the time left of an alarm."""


class ForkAmbient(Ambient):
    """Answers a read by the last call of its lane: after the counterpart of a recorded call, the fork gets the reads
    that were recorded after that call.

    Args:
        recording: The parent.
        schedule: The fork's.
    """

    def __init__(self, recording: Recording, schedule: ForkSchedule) -> None:
        super().__init__(recording, schedule.now_us)
        self._time = schedule.time
        self._order = schedule.order
        self._windows: dict[str, Window] = {}
        self._left: dict[int, Window] = {}
        self._by_us = 0
        self.variables: dict[str, str] = {}
        """Variables that were answered from the recording."""
        self.kept_moves = self.moves
        """Moves of the wall clock that the fork's own replay makes again: those of the parent, and its own."""

    def move_to(self, moment_us: int) -> None:
        """From now on the wall clock goes on from ``moment_us``, microseconds since the epoch."""
        self._by_us = moment_us - self._as_recorded("wall", None) // 1000
        self.kept_moves = (*self.moves, (self._order.at_us, self._by_us))  # by the clock of the fork's own replay

    def clock(self, lane: Lane, source: str, fresh: object) -> Any:
        """The reading of a clock at the last delivery, in nanoseconds. The clock of timers shows when a timer would be
        set now, because code reads it unrecorded only to set a timer."""
        if source == "mono":
            reads = self._reads(self._window(lane), SET)
            then_ns: Any = reads.values[reads.at] if reads.at < len(reads.values) else None
            return self._mono_us * 1000 + self._time.would_set_at(then_ns)
        return self._moved(source, self._as_recorded(source, fresh))

    def _moved(self, source: str, value: Any) -> Any:
        if not self._by_us:
            return value
        if source == "wall":
            return value + self._by_us * 1000
        if source == TIMED:
            return timed(moved(from_timed(value), self._by_us), value)
        if source == _DRAWN and self._holds_the_clock(value):
            return moved(value, self._by_us)
        return value

    def _holds_the_clock(self, drawn: int) -> bool:
        """Whether a number is an id that was made from the clock, such as those of uuid-utils. A random number may look
        like such an id, but its moment is arbitrary."""
        moment_us = moment_of(drawn)
        return moment_us is not None and abs(moment_us - self._as_recorded("wall", None) // 1000) < _NEAR_US

    def moved(self, path: str, position: int, place: Event | None, *, again: bool) -> None:
        """Note that a lane has issued a call, which stands for a recorded call or for none.

        ``again``: another call may still stand for the same recorded call. Its reads continue after those of the first
        call, because no random number may be handed out twice.
        """
        if place is None:
            window = Window(position, {})
        elif place.number in self._left:
            window = Window(position, self._left[place.number].packs)
            window.sources = self._left[place.number].sources
        else:
            window = self._opened(place.lane, place.position + 1, position)
            if again:
                self._left[place.number] = window
        self._windows[path] = window

    def unread_ns(self, path: str) -> int | None:
        """The next reading of a clock that only measures, after a lane's last call, if the lane has read that clock
        here: nanoseconds since the run began. None without such a reading."""
        window = self._windows.get(path)
        unread = [each for each in map(window.unread, _MEASURING) if each is not None] if window is not None else []
        return min(unread) - self._mono_us * 1000 if unread else None

    def read(self, lane: Lane, source: str, fresh: object = None) -> Any:
        """Answer one read. ``fresh``: the remaining time of an alarm in the fork, where the read asks for that time."""
        window = self._window(lane)
        value = self.taken(window, lane, source)
        if source == SET:
            return self._time.sets_at(None if window.surplus(SET) else value)
        if self._time.is_real and (source in _MEASURING or source == "wall"):
            value -= extrapolate(source, 0, window.surplus(source))  # time passes here without being read
        if source.startswith(_VARIABLE):
            self.variables[source.removeprefix(_VARIABLE)] = text_of(value)
        if source in _LEFT and self._time.cut:
            return self._of_an_alarm(source, value, fresh, window)
        if source in _MEASURING:
            return self._measured(source, value, lane, window)
        return self._moved(source, self._of_the_wall(value, window) if source == "wall" else value)

    def _of_an_alarm(self, source: str, then: Any, fresh: Any, window: Window) -> Any:
        """The time left of an alarm: the recorded time where the alarm is the same as in the parent."""
        if window.surplus(source) or not self._time.is_the_same(then, fresh):
            return fresh
        return then

    def _measured(self, source: str, value: int, lane: Lane, window: Window) -> int:
        """The reading of a clock that only measures."""
        surplus = window.surplus(source)
        step_ns = extrapolate(source, 0, surplus) - extrapolate(source, 0, surplus - 1) if surplus else 0
        began_ns = self._mono_us * 1000
        shown_ns = self._time.reads_clock((lane.path, source), value - began_ns, step_ns)
        if shown_ns is None:  # a killed run has no more reads: show at least the time of its last event
            return max(value, began_ns + self._now_us() * 1000) if surplus else value
        return shown_ns + began_ns

    def _of_the_wall(self, value: int, window: Window) -> int:
        """The wall clock as recorded. A surplus read goes on with the fork's time."""
        now_ns: int = self._as_recorded("wall", None)
        if window.surplus("wall"):
            return max(value, now_ns)
        if not self._time.departed:
            return value
        if abs(value - now_ns) > LATE_US * 1000:
            self._time.remark(WALL)
        return value

    def _window(self, lane: Lane) -> Window:
        """The reads that were recorded at the lane's place."""
        window = self._windows.get(lane.path)
        if window is None or window.position != lane.position:
            window = self._windows[lane.path] = self._opened(self.address(lane), lane.position, lane.position)
        return window

    def _opened(self, path: str, recorded: int, position: int) -> Window:
        return Window(position, self._recording.ambient(path, recorded))
