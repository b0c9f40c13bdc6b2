"""Thread pools: a job is a lane, a pool's thread is not.

Each submitting lane counts for itself, so the order in which a pool takes jobs up does not matter. A job counts as
runnable from the moment a worker is free for it; counting all of twelve jobs on four workers would stall the gate.
"""

from __future__ import annotations

import concurrent.futures
import concurrent.futures.thread
import weakref
from collections.abc import Callable
from typing import Any

from reenact.facts.order import Tag
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.strands.identity import identity
from reenact.seams.strands.loops import name_of

_Pool = concurrent.futures.thread.ThreadPoolExecutor
_Item = concurrent.futures.thread._WorkItem


class Desk:
    """How many of one gate's jobs run, and how many wait for a worker, in one pool."""

    __slots__ = ("active", "queued")

    def __init__(self) -> None:
        self.active = 0
        self.queued = 0


_desks: weakref.WeakKeyDictionary[Any, weakref.WeakKeyDictionary[Gate, Desk]] = weakref.WeakKeyDictionary()


def install() -> None:
    """Hook submission, the running of a job, and callbacks on its future."""
    replace(_Pool, "submit", _submitting)
    replace(_Item, "run", _running)
    replace(concurrent.futures.Future, "add_done_callback", _calling_back)


class Job:
    """What a pool runs in place of the agent's function: the function in its lane and in its turn.

    Attributes:
        lane: The job's own lane.
        desk: Where the job is counted, together with its gate.
    """

    __slots__ = ("begun", "desk", "function", "gate", "lane")

    def __init__(self, lane: Lane, gate: Gate, desk: Desk, function: Callable[..., Any]) -> None:
        self.begun = False
        self.lane = lane
        self.gate = gate
        self.desk = desk
        self.function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run it, in the pool's thread."""
        self.begun = True
        before = lanes.adopt_thread(self.lane)
        token = lanes._context.set(self.lane)
        try:
            self.gate.take(Tag("s", self.lane.path, 0, 0))
            return self.function(*args, **options)
        finally:
            self.lane.ended = True
            lanes._context.reset(token)
            lanes.restore_thread(before)

    def over(self) -> None:
        """The pool's thread is through with the job, its future's callbacks included."""
        with self.gate.lock:
            if self.desk.queued:
                self.desk.queued -= 1  # the worker goes on to the next job: it stays counted
                return
            self.desk.active -= 1
        self.gate.blocked()

    def settled(self, future: Any) -> None:
        """Its future is done. One that never began (cancelled, or dropped by the pool) is counted no more."""
        if not self.begun:
            self.lane.ended = True
            self.over()


def _job_name(function: Any) -> str:
    """Frameworks submit ``context.run`` or a partial of it: the name is that of what it runs."""
    args: tuple[Any, ...] = ()
    while hasattr(function, "func") and hasattr(function, "args"):
        args = (*function.args, *args)
        function = function.func
    return name_of(function)


def _named(function: Any, args: tuple[Any, ...]) -> str:
    name = _job_name(function)
    if name.endswith("Context.run") or name == "run":
        inner = [*getattr(function, "args", ()), *args]
        if inner and callable(inner[0]):
            return _job_name(inner[0])
    return name


def _submitting(original: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        lane = lanes.counted()
        if lane is None:
            return original(self, fn, *args, **kwargs)
        gate: Gate = lane.gate
        child = lane.child(_named(fn, args))
        desk = _desks.setdefault(self, weakref.WeakKeyDictionary()).setdefault(gate, Desk())
        with gate.lock:
            ready = desk.active < self._max_workers
            if ready:
                desk.active += 1
                gate.running += 1
            else:
                desk.queued += 1
        job = Job(child, gate, desk, fn)
        try:
            with lanes.inside(None):  # a worker thread that starts now is no lane
                future = original(self, job, *args, **kwargs)
        except BaseException:
            with gate.lock:
                if ready:
                    desk.active -= 1
                    gate.running -= 1
                else:
                    desk.queued -= 1
            raise
        future._reenact_identity = identity(child.path)
        with lanes.inside(None):
            future.add_done_callback(job.settled)
        return future

    return submit


def _running(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, *args: Any) -> Any:
        job = getattr(self, "fn", None) or getattr(self, "task", (None,))[0]  # ``task`` since 3.14
        try:
            return original(self, *args)
        finally:
            if isinstance(job, Job) and job.begun:
                job.over()

    return run


def _calling_back(original: Callable[..., Any]) -> Callable[..., Any]:
    def add_done_callback(self: Any, fn: Any) -> Any:
        lane = lanes.counted()
        if lane is None:
            return original(self, fn)
        child = lane.child("callback")

        def callback(future: Any) -> Any:
            with lanes.inside(child):
                return fn(future)

        return original(self, callback)

    return add_done_callback
