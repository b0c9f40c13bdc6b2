"""The clocks: each read that the agent's code makes is an ambient read of its lane.

The wall clock is reached in C (``seams.wallclock``), the others by replacing the functions of ``time``, also where a
module has imported them by name. The name of the calling module decides which clock a read gets:

- the agent, and any library above a transport: recorded, and answered from the recording;
- the machinery of waiting (``EXEMPT``): sees the session's time, unrecorded, because how often it looks is not
  the agent's doing;
- the module ``logging``: reads on behalf of its caller, since a program's log has times in it and must read the same;
- code below a transport, and all code while no session listens: the real clock.

Sleeps, timers and the event loop's time are not here (``seams.strands``); ``REAL`` keeps the real functions for them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from reenact.seams.ambient import answer, unrecorded
from reenact.seams.lanes import listening
from reenact.seams.rebinding import Rebinding
from reenact.seams.wallclock import WallClock

__all__ = ["EXEMPT", "REAL", "rebinding"]

EXEMPT: Final = frozenset(
    {"asyncio", "hypothesis", "multiprocessing", "reenact", "selectors", "socketserver", "subprocess", "trio", "uvloop"}
)
"""Packages whose reads are not the agent's: how often they read the clock depends on the system, not on the agent.
``hypothesis`` looks whenever the collector runs.

``threading``, ``queue``, ``concurrent`` and ``sched`` are not among them: they read the clock once for each turn that
the gate orders, and the agent goes on differently if a wait has no time left."""

_frame = sys._getframe


class _Real:
    """The functions of ``time`` as they were before any seam, unaffected by later changes of ``time``."""

    __slots__ = (
        "asctime",
        "clock_gettime_ns",
        "ctime",
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "process_time_ns",
        "sleep",
        "thread_time_ns",
        "time_ns",
        "times",
    )

    def __init__(self) -> None:
        self.monotonic: Callable[[], float] = time.monotonic
        self.monotonic_ns: Callable[[], int] = time.monotonic_ns
        self.perf_counter: Callable[[], float] = time.perf_counter
        self.perf_counter_ns: Callable[[], int] = time.perf_counter_ns
        self.process_time_ns: Callable[[], int] = time.process_time_ns
        self.thread_time_ns: Callable[[], int] | None = getattr(time, "thread_time_ns", None)
        self.clock_gettime_ns: Callable[[int], int] | None = getattr(time, "clock_gettime_ns", None)
        self.sleep: Callable[[float], None] = time.sleep
        self.times: Callable[[], Any] = os.times
        self.time_ns: Callable[[], int] = time.time_ns
        self.ctime: Callable[..., str] = time.ctime
        self.asctime: Callable[..., str] = time.asctime


REAL: Final = _Real()
"""The real clock functions. ``time_ns`` stays real while a program, or a session, travels in time."""

_BETWEEN = frozenset({"time_machine", __name__, "logging", "logging.handlers"})
_exempt: dict[str, bool] = {}


def _is_exempt(module_name: str) -> bool:
    """Whether the names of this module are the machinery's."""
    return module_name.partition(".")[0] in EXEMPT


def _by_machinery(frame: FrameType | None) -> bool:
    """Whether machinery made this read, behind frames of time-machine, logging and ours. Cached by module name."""
    name = ""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name not in _BETWEEN:
            break
        frame = frame.f_back
    found = _exempt.get(name)
    if found is None:
        found = _exempt[name] = _is_exempt(name)
    return found


class _Clock:
    """One clock, in its integer form (``ns``) and its float form (``seconds``).

    The two functions are handed out as bound methods. A class may hold one (``class Timer: clock =
    time.perf_counter``); there a function would turn into a method, and a bound method does not, like the builtin that
    it replaces.
    """

    __slots__ = ("_real", "_source")

    def __init__(self, source: str, real: Callable[[], int]) -> None:
        self._source = source
        self._real = real

    def ns(self) -> int:
        """Nanoseconds, as the caller may see them."""
        fresh = self._real()
        lane = listening()
        if lane is None:
            return fresh
        frame = _frame(1)
        exempt = _exempt.get(frame.f_globals.get("__name__", ""))
        if exempt is None:
            exempt = _by_machinery(frame)
        seen: int = (unrecorded if exempt else answer)(lane, self._source, fresh)
        return seen

    def seconds(self) -> float:
        """Seconds, as the caller may see them."""
        fresh = self._real()
        lane = listening()
        if lane is None:
            return fresh / 1e9
        frame = _frame(1)
        exempt = _exempt.get(frame.f_globals.get("__name__", ""))
        if exempt is None:
            exempt = _by_machinery(frame)
        seen: int = (unrecorded if exempt else answer)(lane, self._source, fresh)
        return seen / 1e9

    def __deepcopy__(self, _memo: object) -> _Clock:
        return self


class _System:
    """The functions that are more than one clock: ``clock_gettime``, ``os.times``, ``ctime`` and ``asctime``.

    They name their clock by argument, give several at once, or read the wall clock where time-machine does not reach.
    """

    __slots__ = ("_mono", "_realtime")

    def __init__(self) -> None:
        self._realtime = getattr(time, "CLOCK_REALTIME", None)
        self._mono = getattr(time, "CLOCK_MONOTONIC", None)

    def gettime_ns(self, clk_id: int, /) -> int:
        """``time.clock_gettime_ns``."""
        return self._read(clk_id, _frame(1))

    def gettime(self, clk_id: int, /) -> float:
        """``time.clock_gettime``."""
        return self._read(clk_id, _frame(1)) / 1e9

    def times(self) -> Any:
        """``os.times``."""
        fresh = REAL.times()
        lane = listening()
        if lane is None or _by_machinery(_frame(1)):
            return fresh
        return type(fresh)(answer(lane, "times/5", tuple(fresh)))

    def loadavg(self) -> Any:
        """``os.getloadavg``."""
        fresh = _loadavg()
        lane = listening()
        if lane is None or _by_machinery(_frame(1)):
            return fresh
        return answer(lane, "times/3", fresh)

    def ctime(self, *moment: float | None) -> str:
        """``time.ctime``, which reads the clock when it is given no moment."""
        return REAL.ctime(*moment) if moment and moment != (None,) else self._written(REAL.ctime, _frame(1))

    def asctime(self, *moment: Any) -> str:
        """``time.asctime``, which reads the clock when it is given no moment."""
        return REAL.asctime(*moment) if moment else self._written(REAL.asctime, _frame(1))

    def _written(self, real: Callable[..., str], frame: FrameType) -> str:
        """The present moment, as both functions write it."""
        lane = listening()
        if lane is None:
            return real()
        seen: int = (unrecorded if _by_machinery(frame) else answer)(lane, "wall", REAL.time_ns())
        return REAL.ctime(seen // 1_000_000_000)

    def _read(self, clk_id: int, frame: FrameType) -> int:
        assert REAL.clock_gettime_ns is not None
        fresh = REAL.clock_gettime_ns(clk_id)
        lane = listening()
        if lane is None or clk_id == self._realtime:
            return fresh  # the wall clock: its answer has been replaced in C already
        source = "mono" if clk_id == self._mono else f"clock/{int(clk_id)}"
        seen: int = (unrecorded if _by_machinery(frame) else answer)(lane, source, fresh)
        return seen

    def __deepcopy__(self, _memo: object) -> _System:
        return self


def _read_wall() -> int:
    """Called from C for each read of the wall clock; the next frame is the reader's."""
    fresh = _wall.real_ns()
    lane = listening()
    if lane is None:
        return fresh
    frame = _frame(1)
    exempt = _exempt.get(frame.f_globals.get("__name__", ""))
    if exempt is None:
        exempt = _by_machinery(frame)
    seen: int = (unrecorded if exempt else answer)(lane, "wall", fresh)
    return seen


_wall = WallClock(_read_wall)
REAL.time_ns = _wall.real_ns
rebinding = Rebinding(_wall.install, _wall.remove, exempt=_is_exempt)
_system = _System()
_loadavg: Any = getattr(os, "getloadavg", None)


def _prepare() -> None:
    clocks = {
        "mono": ("monotonic", REAL.monotonic_ns),
        "perf": ("perf_counter", REAL.perf_counter_ns),
        "process": ("process_time", REAL.process_time_ns),
        "thread": ("thread_time", REAL.thread_time_ns),
    }
    for source, (name, real) in clocks.items():
        if real is None:
            continue
        clock = _Clock(source, real)
        rebinding.add(time, name, getattr(time, name), clock.seconds)
        rebinding.add(time, f"{name}_ns", getattr(time, f"{name}_ns"), clock.ns)
    if REAL.clock_gettime_ns is not None:
        rebinding.add(time, "clock_gettime", time.clock_gettime, _system.gettime)
        rebinding.add(time, "clock_gettime_ns", time.clock_gettime_ns, _system.gettime_ns)
    rebinding.add(os, "times", os.times, _system.times)
    if hasattr(os, "getloadavg"):
        rebinding.add(os, "getloadavg", _loadavg, _system.loadavg)
    rebinding.add(time, "ctime", REAL.ctime, _system.ctime)
    rebinding.add(time, "asctime", REAL.asctime, _system.asctime)


_prepare()
