"""Thread pools: a job is a lane, a pool's thread is not.

Each submitting lane counts for itself, so the order in which a pool takes jobs up does not matter. A job counts as
runnable from the moment a worker is free for it; counting all of twelve jobs on four workers would stall the gate.
"""

from __future__ import annotations

import _thread
import weakref
from collections.abc import Callable
from concurrent.futures import Future, thread
from types import ModuleType
from typing import Any

from reenact.errors import Halt
from reenact.facts.order import Tag, identity, name_of
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.strands import main_thread_end

_Pool = thread.ThreadPoolExecutor
_Item = thread._WorkItem


class Desk:
    """How many of one gate's jobs run, and how many wait for a worker, in one pool.

    Attributes:
        active, queued: The number of jobs that run, and of those that wait.
        awaited: How many strands wait for all of them, in ``shutdown``, and do not count meanwhile.
    """

    __slots__ = ("active", "awaited", "queued")

    def __init__(self) -> None:
        self.active = 0
        self.awaited = 0
        self.queued = 0

    @property
    def busy(self) -> bool:
        """Whether any job is not over yet."""
        return bool(self.active or self.queued)

    def waits(self, gate: Gate) -> bool:
        """A strand waits for the jobs that are left; False where no job is left."""
        with gate.lock:
            self.awaited += self.busy
            return self.busy

    def goes_on(self, gate: Gate) -> None:
        """The waiting strand runs again. The last job has already counted it, unless the wait was interrupted
        before."""
        with gate.lock:
            if self.awaited:
                self.awaited -= 1
                gate.running += 1


_desks: weakref.WeakKeyDictionary[Any, weakref.WeakKeyDictionary[Gate, Desk]] = weakref.WeakKeyDictionary()


def patch(module: ModuleType) -> None:
    """Hook submission, the running of a job, and callbacks on its future, which gets an identity."""
    replace(_Pool, "submit", _submitting)
    replace(_Pool, "shutdown", _shutting_down)
    replace(_Item, "run", _running)
    replace(Future, "add_done_callback", _calling_back)
    replace(Future, "__hash__", _hashing)
    main_thread_end.watch(_jobs_left)


def _jobs_left() -> bool:
    """Whether the interpreter waits for a job of the agent."""
    try:
        return any(desk.busy for desks in list(_desks.values()) for desk in list(desks.values()))
    except RuntimeError:  # another thread has just made a pool, which has a job
        return True


class PoolJob:
    """A job of a pool, in place of the agent's function: it runs the function in its lane and in its turn.

    The turn is taken before the pool marks the job as running, so that it can be cancelled until its turn has come:
    whether a cancellation is in time depends on the order alone, and not on how soon a worker gets the processor.

    Attributes:
        lane: The job's own lane.
        desk: Where the job is counted, together with its gate.
        begun: Whether a worker has taken the job.
    """

    __slots__ = ("_door", "_halt", "_over", "_tag", "begun", "desk", "function", "gate", "lane")

    def __init__(self, lane: Lane, gate: Gate, desk: Desk, function: Callable[..., Any]) -> None:
        self.begun = False
        self._over = False
        self._door: Any = None
        self._halt: Halt | None = None
        self._tag = Tag("s", lane.path, 0, 0)
        self.lane = lane
        self.gate = gate
        self.desk = desk
        self.function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run the job, in the pool's thread."""
        before = lanes.adopt_thread(self.lane)
        token = lanes._context.set(self.lane)
        try:
            if self._halt is not None:
                raise self._halt
            return self.function(*args, **options)
        finally:
            self.lane.ended = True
            lanes._context.reset(token)
            lanes.restore_thread(before)

    def begin(self) -> None:
        """A worker has taken the job: wait for the job's turn, or until it is cancelled. Never raises."""
        gate = self.gate
        with gate.lock:
            if self._over:
                return
            self.begun = True
            try:
                if gate.at_once(self._tag, lone=gate.running == 1) is not None:
                    return
            except Halt as halt:
                self._halt = halt
                return
            door = self._door = _thread.allocate_lock()
            door.acquire()
            gate.offer(self._tag, door.release)
            gate.blocked()
        door.acquire()
        self._halt = gate.halted

    def over(self) -> None:
        """The pool's thread has finished the job and the callbacks of its future."""
        with self.gate.lock:
            if self.desk.queued:
                self.desk.queued -= 1  # the worker goes on to the next job: it stays counted
                return
            self.desk.active -= 1
            if not self.desk.busy:  # the strand that waits for the pool goes on, counted before this one ends
                self.gate.running += self.desk.awaited
                self.desk.awaited = 0
        main_thread_end.one_has_ended()
        self.gate.blocked()

    def settled(self, future: Any) -> None:
        """The future of the job is done.

        A job that never began (cancelled, or dropped by the pool) is no longer counted."""
        with self.gate.lock:
            if self.begun:
                if future.cancelled() and self._door is not None and self.gate.withdraw(self._tag):
                    self.gate.running += 1  # its worker goes on and finds the job cancelled
                    self._door.release()
                return
        self.refused()

    def refused(self) -> None:
        """The job will never begin. Its count may have passed to another job meanwhile."""
        with self.gate.lock:
            self._over = True
        self.lane.ended = True
        self.over()


def _job_name(function: Any) -> str:
    """The name of the function that a job runs. Frameworks submit it through ``context.run`` or a partial."""
    try:
        while hasattr(function, "func") and hasattr(function, "args"):
            function = function.func
    except Exception:  # as in ``name_of``
        return type(function).__name__
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
        name = _named(fn, args)
        child = lane.child(name)
        desk = _desks.setdefault(self, weakref.WeakKeyDictionary()).setdefault(gate, Desk())
        with gate.lock:
            ready = desk.active < self._max_workers
            if ready:
                desk.active += 1
                gate.running += 1
            else:
                desk.queued += 1
        job = PoolJob(child, gate, desk, fn)
        try:
            with lanes.inside(None):  # a worker thread that starts now is no lane
                future = original(self, job, *args, **kwargs)
        except BaseException:
            job.refused()
            raise
        future._reenact_identity = identity(child.path)
        future._reenact_job = name
        with lanes.inside(None):
            future.add_done_callback(job.settled)
        return future

    return submit


def _shutting_down(original: Callable[..., Any]) -> Callable[..., Any]:
    """A strand that waits for a pool's jobs does not count until the last is over: no hook sees the join."""

    def shutdown(self: Any, wait: bool = True, **options: Any) -> Any:
        lane = lanes.counted()
        if lane is None or not wait:
            return original(self, wait, **options)
        gate: Gate = lane.gate
        desks = _desks.get(self)
        desk = desks.get(gate) if desks is not None else None
        original(self, False, **options)  # no job is accepted any more, and the cancelled ones are over
        if desk is None or not desk.waits(gate):
            return original(self, wait)
        gate.blocked()
        try:
            with lanes.inside(None):
                return original(self, wait)
        finally:
            desk.goes_on(gate)

    return shutdown


def _running(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, *args: Any) -> Any:
        job = getattr(self, "fn", None) or getattr(self, "task", (None,))[0]  # ``task`` since 3.14
        if isinstance(job, PoolJob):
            job.begin()
        try:
            return original(self, *args)
        finally:
            if isinstance(job, PoolJob) and job.begun:
                job.over()

    return run


def _calling_back(original: Callable[..., Any]) -> Callable[..., Any]:
    """``add_done_callback``: a strand named after the job, so that an added job with another name shifts no number."""

    def add_done_callback(self: Any, fn: Any) -> Any:
        lane = lanes.counted()
        if lane is None:
            return original(self, fn)
        job = getattr(self, "_reenact_job", "")
        child = lane.child(f"{job}.callback" if job else "callback")

        def callback(future: Any) -> Any:
            with lanes.inside(child):
                return fn(future)

        return original(self, callback)

    return add_done_callback


def _hashing(original: Callable[..., Any]) -> Callable[..., Any]:
    def __hash__(self: Any) -> int:  # noqa: N807 - the method it replaces
        return int(self.__dict__.get("_reenact_identity", original(self)))

    return __hash__
