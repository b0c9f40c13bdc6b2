"""anyio: its own worker threads, and task groups that build eager tasks themselves."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.facts.order import Tag, name_of
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace


class _Handover:
    """An awaitable for the turn of a result that has already come back from a worker thread."""

    __slots__ = ("gate", "tag")

    def __init__(self, gate: Gate, tag: Tag) -> None:
        self.gate = gate
        self.tag = tag

    def __await__(self) -> Any:
        return self.gate.take_async(self.tag)


def patch(module: ModuleType) -> None:
    """Hook the asyncio back end of anyio."""
    replace(module.TaskGroup, "_spawn", _spawning)
    replace(module.AsyncIOBackend, "run_sync_in_worker_thread", _working)


def _spawning(original: Callable[..., Any]) -> Callable[..., Any]:
    """With an eager task factory anyio bypasses ``create_task``: the lane is numbered here, for both ways, and an eager
    task finds it in its context when it first runs.
    """

    def _spawn(self: Any, *args: Any, **options: Any) -> Any:
        lane = lanes.counted()
        near = lanes._context.get()
        if lane is None or (near is not None and near.expected):
            return original(self, *args, **options)
        child = lane.child(name_of(args[0]) if args else "task")
        child.expected = True
        token = lanes._context.set(child)
        child.gate.nested += 1
        try:
            return original(self, *args, **options)
        finally:
            child.gate.nested -= 1
            lanes._context.reset(token)

    return _spawn


class AnyioJob:
    """A job in one of anyio's worker threads.

    It is counted from its submission until its result has come back to the loop, so that nothing else is released in
    between; an abandoned job, whose result is no longer awaited, gives its count back itself.
    """

    __slots__ = ("_abandoned", "_begun", "_ended", "function", "gate", "lane")

    def __init__(self, lane: Lane, gate: Gate, function: Callable[..., Any]) -> None:
        self.lane = lane
        self.gate = gate
        self.function = function
        self._begun = self._ended = self._abandoned = False

    def __call__(self, *args: Any) -> Any:
        """Run the job in its lane and in its turn, in the worker thread."""
        self._begun = True
        before = lanes.adopt_thread(self.lane)
        token = lanes._context.set(self.lane)
        try:
            self.gate.take(Tag("s", self.lane.path, 0, 0))
            return self.function(*args)
        finally:
            self.lane.ended = True
            lanes._context.reset(token)
            lanes.restore_thread(before)
            with self.gate.lock:
                self._ended = True
                abandoned = self._abandoned
            if abandoned:
                self.gate.blocked()

    def abandon(self) -> None:
        """The job is no longer awaited."""
        with self.gate.lock:
            self._abandoned = True
            running = self._begun and not self._ended
        if not running:
            self.gate.blocked()


def _working(original: Any) -> Any:
    function = original.__func__ if isinstance(original, classmethod) else original

    async def run_sync_in_worker_thread(cls: Any, func: Any, args: Any, *rest: Any, **options: Any) -> Any:
        lane = lanes.counted()
        if lane is None:
            return await function(cls, func, args, *rest, **options)
        gate: Gate = lane.gate
        child = lane.child(name_of(func))
        handover = _Handover(gate, Tag("p", child.path, 0, 0))  # its own tag, so that a job shifts no other tag
        job = AnyioJob(child, gate, func)
        gate.started()
        try:
            with lanes.inside(Lane(lane.path, lane.session, gate, below=True)):  # its threads are no lanes
                result = await function(cls, job, args, *rest, **options)
        except Exception:
            gate.blocked()
            await handover
            raise
        except BaseException:
            job.abandon()
            raise
        gate.blocked()
        await handover
        return result

    return classmethod(run_sync_in_worker_thread)
