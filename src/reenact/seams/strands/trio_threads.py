"""trio's worker threads: jobs are lanes, and what a job calls back into trio is a strand of that job.

A job is counted from the moment when it gets a thread until it has posted its result. The result is a delivery, so no
other delivery is released in between. A job that calls back into trio waits, uncounted, while its coroutine runs.

The hooks sit where all public ways meet, below any name that a program may have imported before they were put there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from reenact.facts.order import Tag, name_of
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace

_WRAPPED = ("sync_fn", "func")
"""The name of the agent's own function in the closures of the functions that trio and anyio give to a thread."""


def patch(module: Any) -> None:
    """Hook the cache of threads, and the function by which threads call back into trio."""
    replace(module._core._thread_cache.ThreadCache, "start_thread_soon", _starting)
    replace(module._threads, "_send_message_to_trio", _calling_back)


def _job_name(function: Any) -> str:
    """The name of the agent's function, inside any wrapper of a library."""
    while str(getattr(function, "__module__", "")).partition(".")[0] in ("trio", "anyio"):
        free = getattr(getattr(function, "__code__", None), "co_freevars", ())
        wrapped = next((name for name in _WRAPPED if name in free), None)
        if wrapped is None:
            break
        function = function.__closure__[free.index(wrapped)].cell_contents
    return name_of(function)


def _starting(original: Callable[..., Any]) -> Callable[..., Any]:
    def start_thread_soon(self: Any, fn: Any, deliver: Any, name: Any = None) -> Any:
        lane = lanes.counted()
        if lane is None or lanes.backend() is None:
            return original(self, fn, deliver, name)
        job = _Job(lane.child(_job_name(fn)), lane.gate)
        job.gate.started()
        try:
            with lanes.inside(None):  # a thread that starts now is no lane
                return original(self, lambda: job.run(fn), lambda result: job.deliver(deliver, result), name)
        except BaseException:
            job.gate.blocked()
            raise

    return start_thread_soon


class _Job:
    """The work of a worker thread for one call: it computes, then it posts the result."""

    __slots__ = ("gate", "lane")

    def __init__(self, lane: Lane, gate: Gate) -> None:
        self.lane = lane
        self.gate = gate

    def _inside(self, act: Callable[[], Any]) -> Any:
        before = lanes.adopt_thread(self.lane)
        token = lanes._context.set(self.lane)
        try:
            return act()
        finally:
            lanes._context.reset(token)
            lanes.restore_thread(before)

    def run(self, fn: Callable[[], Any]) -> Any:
        """Run the call's function, in its turn."""

        def compute() -> Any:
            self.gate.take(Tag("s", self.lane.path, 0, 0))
            return fn()

        return self._inside(compute)

    def deliver(self, deliver: Callable[[Any], Any], result: Any) -> None:
        """Post the result; the strand ends."""
        try:
            self._inside(lambda: deliver(result))
        finally:
            self.lane.ended = True
            self.gate.blocked()


def _calling_back(original: Callable[..., Any]) -> Callable[..., Any]:
    """``from_thread.run`` and ``run_sync``: the thread is counted until the function runs, and from its end."""

    def _send_message_to_trio(trio_token: Any, message_to_trio: Any) -> Any:
        lane = lanes.counted()
        if lane is None or lanes.is_carried():
            return original(trio_token, message_to_trio)
        gate: Gate = lane.gate
        name = "afn" if hasattr(message_to_trio, "afn") else "fn"
        asked = getattr(message_to_trio, name)
        wrap = _coroutine if inspect.iscoroutinefunction(asked) else _call
        object.__setattr__(message_to_trio, name, wrap(lane.child(name_of(asked)), gate, asked))
        gate.take(lane.tag("p"))
        try:
            with lanes.inside(None):
                return original(trio_token, message_to_trio)
        finally:
            gate.take(lane.tag("w"))

    return _send_message_to_trio


class _Errand:
    """The work that trio does for a thread that waits: while it is done, the thread is not counted."""

    __slots__ = ("_gate", "_inside", "_lane")

    def __init__(self, lane: Lane, gate: Gate) -> None:
        self._lane = lane
        self._gate = gate
        self._inside = lanes.inside(lane)

    def __enter__(self) -> None:
        self._gate.blocked()
        self._inside.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._inside.__exit__(*exc)
        self._lane.ended = True
        self._gate.started()


def _coroutine(lane: Lane, gate: Gate, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def errand(*args: Any) -> Any:
        with _Errand(lane, gate):
            return await function(*args)

    return errand


def _call(lane: Lane, gate: Gate, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def errand(*args: Any) -> Any:
        with _Errand(lane, gate):
            return function(*args)

    return errand
