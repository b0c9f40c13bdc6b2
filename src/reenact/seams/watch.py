"""The watch: it looks after gates at which a delivery waits although a strand still counts as running.

It is one thread for the whole process, and sleeps while no gate needs it. It lets a delivery go without proof in two
cases: the kernel says that no thread of this process ran between two looks (a strand blocks where no hook sees it), or
the gate's own bound has passed (a busy strand, a spinning wait).
"""

from __future__ import annotations

import _thread
import importlib._bootstrap
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from reenact.seams import background, lanes
from reenact.seams.gate import Gate
from reenact.seams.hold_clock import LOOK_US, WatchLook

_mono_ns = time.monotonic_ns
_process_ns = time.process_time_ns
_own_ns = time.thread_time_ns
QUIET_NS = 200_000
"""The most processor time of the other threads between two looks at which a closer look is worth its price."""
_imports_under_way = getattr(importlib._bootstrap, "_module_locks", {})
"""CPython's own list of imports: one can take a second of the processor, and no agent's code spins there."""
WORKING = 5
"""Without ``/proc``, a program computes if it takes one part in this many of the processor between two looks."""
VIGIL_S = 0.05
"""The interval of looks at a gate that is watched although no strand waits there."""
IDLE_NS = 1_000_000
"""The most processor time between two of those looks for a program that counts as waiting: it may poll now and then."""
PROMPTS = frozenset({"bdb", "pdb", "code", "pydevd", "debugpy", "IPython"})
"""Modules in which a program waits for a person: if it stands still there, it has not stopped for good."""
STILL_US = 50_000
"""Without ``/proc``, a gate that makes no progress for this long counts as still."""


Picture = dict[str, tuple[bytes, ...]]
"""The kernel's figures of each thread, by its number: processor time, time of waiting for a core, number of turns."""


class _State:
    __slots__ = ("picture", "since_us")

    def __init__(self, since_us: int) -> None:
        self.since_us = since_us
        self.picture: Picture | None = None


class Watch:
    """Looks at attended gates once a millisecond, and sleeps when there is none."""

    def __init__(self, picture: Callable[[int], Picture | None] | None) -> None:
        self._picture = picture
        self._gates: weakref.WeakKeyDictionary[Gate, _State] = weakref.WeakKeyDictionary()
        self._kept: weakref.WeakSet[Gate] = weakref.WeakSet()
        self._lock = _thread.allocate_lock()
        self._bell = _thread.allocate_lock()
        self._bell.acquire()
        self._asleep = False
        self._alive = False

    def attend(self, gate: Gate) -> None:
        """A delivery waits at ``gate`` while strands run.

        Called with the gate locked; cheap for a gate that is known already."""
        if gate in self._gates:
            return
        with self._lock:
            self._gates[gate] = _State(_mono_ns() // 1000)
            self._wake()

    def keep(self, gate: Gate) -> None:
        """Look at a gate now and then although no strand waits there: the program may wait, where no hook sees it, for
        a delivery that never comes. Used by a replay that has its process to itself."""
        with gate.lock, self._lock:
            self._kept.add(gate)
            self._wake()

    def _wake(self) -> None:
        """Begin to look, or go on. The caller holds the lock."""
        if not self._alive:
            self._alive = True
            background.start(self._run)
        elif self._asleep:
            self._asleep = False
            self._bell.release()

    def forked(self) -> None:
        """In a forked child: the thread is gone."""
        self.__init__(self._picture)  # type: ignore[misc]

    def _run(self) -> None:
        lanes.adopt_thread(None)
        me = threading.get_native_id()
        others_ns, mine_ns, now_ns = 0, 0, _mono_ns()
        picture: Picture | None = None
        while True:
            with self._lock:
                gates = list(self._gates.items())
                kept = list(self._kept) if not gates else []
                if not gates:
                    self._asleep = True
            if not gates:
                self._rest(me, kept)
                del kept
                continue
            self._bell.acquire(timeout=LOOK_US / 1e6)
            before_ns, looked_ns, mine_ns = others_ns, mine_ns, _own_ns()
            others_ns = _process_ns() - mine_ns
            then_ns, now_ns = now_ns, _mono_ns()
            used_ns = others_ns - before_ns
            quiet = used_ns < QUIET_NS  # reading /proc against a busy interpreter takes 0.1 s and more
            pictured, picture = picture, self._picture(me) if self._picture is not None and quiet else None
            ready = not quiet or picture is None if self._picture is not None else used_ns * WORKING > now_ns - then_ns
            past_us, used_us, looking_us = ((now_ns - then_ns) // 1000, used_ns // 1000, (mine_ns - looked_ns) // 1000)
            delayed_us = delayed(pictured, picture) if picture is not None and pictured is not None else 0
            look = WatchLook(past_us, used_us, looking_us, delayed_us, ready, bool(_imports_under_way))
            worked_us, spared_us = look.reckoned()
            for gate, state in gates:
                self._look(gate, state, picture, worked_us, spared_us)
            del gates, gate, state  # while asleep, nothing of a run that has ended is kept

    def _rest(self, me: int, kept: list[Gate]) -> None:
        """Sleep until a gate is attended. Gates that are kept in view are looked at during the sleep."""
        if not kept:
            self._bell.acquire()
            return
        then_ns, used_ns = _mono_ns(), _process_ns() - _own_ns()
        if self._bell.acquire(timeout=VIGIL_S):
            return
        with self._lock:
            if not self._asleep:  # a gate was attended just now
                self._bell.acquire(False)
                return
            self._asleep = False
        past_ns, used_ns = _mono_ns() - then_ns, _process_ns() - _own_ns() - used_ns
        waits = used_ns < IDLE_NS and past_ns < 20 * VIGIL_S * 1e9  # else the machine stood still, not this program
        waits = waits and (self._picture is None or self._picture(me) is not None) and not _at_a_prompt()
        for gate in kept:
            with gate.lock:
                if gate.closed or gate.halted is not None:
                    self._kept.discard(gate)
                elif waits:
                    gate.look(_mono_ns() // 1000, still=True)
                else:
                    gate.stirs()

    def _look(self, gate: Gate, state: _State, picture: Picture | None, worked_us: int, spared_us: int) -> None:
        """Look once at one gate, and forget the gate when it needs no more looks.

        Processor time counts as that of the gate's own program only where no other run shares the process."""
        now_us = _mono_ns() // 1000
        with gate.lock:
            if gate.closed or not (
                gate.waiting or (gate.schedule.follows and gate.running <= 0) or gate.schedule.awaits_signal()
            ):
                with self._lock:
                    self._gates.pop(gate, None)
                return
            before, state.picture = state.picture, picture
            still = picture is not None and picture == before
            if self._picture is None:
                still = now_us - state.since_us > STILL_US
            if not lanes.whole_process():
                worked_us = spared_us = 0
            if not gate.look(now_us, still=still, worked_us=worked_us, spared_us=spared_us):
                state.since_us = now_us


def _at_a_prompt() -> bool:
    """Whether a debugger is open in some thread."""
    for frame in sys._current_frames().values():
        here: Any = frame
        while here is not None:
            if str(here.f_globals.get("__name__")).partition(".")[0] in PROMPTS:
                return True
            here = here.f_back
    return False


def kernel_picture(me: int) -> Picture | None:
    """The work of every thread but ``me`` so far, or None when one of them is running (Linux only).

    Two equal pictures mean that nothing ran in between: each thread sleeps, with the same processor time, the same time
    of waiting for a core, and the same number of turns. About 20 µs a thread.
    """
    picture: Picture = {}
    try:
        for name in os.listdir("/proc/self/task"):
            if int(name) == me:
                continue
            with open(f"/proc/self/task/{name}/stat", "rb") as file:
                fields = file.read().rsplit(b")", 1)[1].split()
            if fields[0] != b"S":
                return None
            with open(f"/proc/self/task/{name}/schedstat", "rb") as file:
                done = file.read().split()
            if done[2:] != [b"0"]:
                picture[name] = tuple(done)
                continue
            with open(f"/proc/self/task/{name}/status", "rb") as file:  # a kernel without these figures
                switches = [line for line in file if b"ctxt" in line]
            picture[name] = (fields[11] + b" " + fields[12], b"0", *switches)
    except (OSError, IndexError):
        return None
    return picture


def delayed(before: Picture, now: Picture) -> int:
    """The longest that one thread has waited for a core between two pictures, in microseconds."""
    waits = (int(done[1]) - int(before[name][1]) for name, done in now.items() if name in before)
    return max(waits, default=0) // 1000


WATCH = Watch(kernel_picture if os.path.isdir("/proc/self/task") else None)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WATCH.forked)
