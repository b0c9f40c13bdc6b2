"""trio's time: one clock for a followed run, and deadlines of cancel scopes as deliveries.

``trio.sleep``, ``move_on_after`` and ``fail_after`` are all deadlines of scopes. While recording, trio keeps them on
its own heap, and a due timer queues at the gate. In a replay they lie at the gate from the start.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Callable
from typing import Any

from reenact.facts.order import Tag
from reenact.seams import lanes
from reenact.seams.clock import REAL
from reenact.seams.gate import Gate
from reenact.seams.patching import replace
from reenact.seams.strands.trio_runs import TrioRun, here
from reenact.seams.turns import timer_due

_mono_ns = REAL.monotonic_ns
MOST_S = 1e9
"""Deadlines further off, infinite ones too, are kept as this many seconds."""
_SLEEP_FRAMES = 10
"""The number of frames above a new deadline in which ``trio.sleep_until`` is looked for."""


class TrioClock:
    """The clock of a run: the program's monotonic clock, or that of its session.

    Args:
        run: The run whose clock it is.
    """

    def __init__(self, run: TrioRun) -> None:
        self._run = run

    def start_clock(self) -> None:
        """trio says that the run begins."""

    def current_time(self) -> float:
        """The time in seconds.

        Reads of the program itself, by ``trio.current_time``, are recorded like those of any clock."""
        fresh = _mono_ns()
        lane = lanes.listening() or self._run.lane
        if lane is None or lane.below:
            return fresh / 1e9
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_name == "current_time":
            frame = frame.f_back
        reader = "" if frame is None else frame.f_globals.get("__name__", "")
        if reader.startswith(("trio.", "anyio.", "reenact.")):
            return lane.session.unrecorded(lane, "mono", fresh) / 1e9  # type: ignore[no-any-return]
        return lane.session.ambient(lane, "mono", fresh) / 1e9  # type: ignore[no-any-return]

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Seconds until ``deadline``; trio's own heap holds deadlines of the world."""
        return deadline - _mono_ns() / 1e9


class TrioTimer:
    """One deadline of one scope.

    Attributes:
        at_gate: Whether it lies at the gate, and no longer on trio's heap.
    """

    __slots__ = ("_expire", "at_gate", "deadline", "gate", "run", "scope", "tag")

    def __init__(self, run: TrioRun, gate: Gate, tag: Tag, scope: Any, deadline: float, expire: Any) -> None:
        self.run = run
        self.gate = gate
        self.tag = tag
        self.scope = scope
        self.deadline = deadline
        self.at_gate = False
        self._expire = expire

    def alive(self) -> bool:
        """Whether the cancel scope still has this deadline."""
        return self.run.timers.get(id(self.scope)) is self

    def queue(self, deadline_us: int | None = None, sleeper: bool = False) -> None:
        """Put the timer at the gate."""
        self.at_gate = True
        self.gate.offer(
            self.tag,
            self.gate.loops.into(self.run, self._fire),
            alive=self.alive,
            deadline_us=deadline_us,
            sleeper=sleeper,
        )

    def _fire(self) -> None:
        """The timer's turn has come. trio itself lets it expire, from a heap that holds nothing else."""
        if not self.alive():
            return
        heap = type(self.run.runner.deadlines)()
        heap._heap.append((self.deadline, 0, self.scope))
        heap._active += 1
        self._expire(heap, self.deadline)


def patch(deadlines: Any, sleep_until: Any) -> None:
    """Hook trio's collection of deadlines.

    Args:
        deadlines: The class of the collection.
        sleep_until: The function that sleeps by a deadline, and by nothing else.
    """
    expire = deadlines.expire

    def adding(original: Callable[..., Any]) -> Callable[..., Any]:
        def add(self: Any, deadline: float, cancel_scope: Any) -> Any:
            lane, run = lanes.counted(), here.run
            if lane is None or run is None or run.runner is None or run.runner.deadlines is not self:
                return original(self, deadline, cancel_scope)
            gate: Gate = lane.gate
            if gate.closed:
                return original(self, deadline, cancel_scope)
            run.watch(gate)
            timer = TrioTimer(run, gate, lane.tag("t"), cancel_scope, deadline, expire)
            run.timers[id(cancel_scope)] = timer
            wait_us = math.ceil(max(0.0, min(deadline - run.runner.clock.current_time(), MOST_S)) * 1e6)
            due_us = timer_due(lane, timer.tag, wait_us)
            if due_us is None:
                return original(self, deadline, cancel_scope)
            timer.queue(due_us, _sleeps(sleep_until))
            return None

        return add

    replace(deadlines, "add", adding)
    replace(deadlines, "remove", _removing)
    replace(deadlines, "expire", _expiring)


def _removing(original: Callable[..., Any]) -> Callable[..., Any]:
    def remove(self: Any, deadline: float, cancel_scope: Any) -> Any:
        run = here.run
        timer: TrioTimer | None = run.timers.pop(id(cancel_scope), None) if run is not None else None
        if timer is None or not timer.at_gate:
            return original(self, deadline, cancel_scope)
        timer.gate.withdraw(timer.tag)
        return None

    return remove


def _expiring(original: Callable[..., Any]) -> Callable[..., Any]:
    def expire(self: Any, now: float) -> bool:
        run = here.run
        due = not (run is None or not run.timers or run.runner.deadlines is not self) and self._heap
        if run is None or not due or due[0][0] > now:
            return original(self, now)  # type: ignore[no-any-return]
        queued = False
        for deadline, _, scope in sorted((entry for entry in due if entry[0] <= now), key=lambda entry: entry[0]):
            timer: TrioTimer | None = run.timers.get(id(scope))
            if timer is None or timer.scope is not scope or timer.deadline != deadline or timer.at_gate:
                continue
            self.remove.__wrapped__(self, deadline, scope)  # trio no longer counts it; its heap entry is stale
            timer.queue()
            queued = True
        self._heap[:] = [entry for entry in self._heap if not _queued(run, entry[2])]
        heapq.heapify(self._heap)
        return bool(original(self, now)) or queued

    return expire


def _queued(run: TrioRun, scope: Any) -> bool:
    timer: TrioTimer | None = run.timers.get(id(scope))
    return timer is not None and timer.at_gate


def _sleeps(sleep_until: Any) -> bool:
    """Whether the deadline being added belongs to a plain sleep."""
    frame: Any = sys._getframe(2)
    for _ in range(_SLEEP_FRAMES):
        if frame is None:
            return False
        if frame.f_code is sleep_until.__code__:
            return True
        frame = frame.f_back
    return False
