"""anyio: its own worker threads, and task groups that build eager tasks themselves."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.facts.order import Tag
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.strands.loops import name_of


class _Handover:
    """Awaits the turn of a result that has already come back from a worker thread."""

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
    """With an eager task factory anyio bypasses ``create_task``: the lane is numbered here, for both ways."""

    def _spawn(self: Any, *args: Any, **options: Any) -> Any:
        lane = lanes.counted()
        near = lanes._context.get()
        if lane is None or (near is not None and near.expected):
            return original(self, *args, **options)
        child = lane.child(name_of(args[0]) if args else "task")
        child.expected = True
        token = lanes._context.set(child)
        try:
            return original(self, *args, **options)
        finally:
            child.expected = False
            lanes._context.reset(token)

    return _spawn


def run_job(lane: Lane, gate: Gate, function: Callable[..., Any], *args: Any) -> Any:
    """A job in one of anyio's worker threads, counted from its submission to its end."""
    before = lanes.adopt_thread(lane)
    token = lanes._context.set(lane)
    try:
        gate.take(Tag("s", lane.path, 0, 0))
        return function(*args)
    finally:
        lane.ended = True
        lanes._context.reset(token)
        lanes.restore_thread(before)


def _working(original: Any) -> Any:
    function = original.__func__ if isinstance(original, classmethod) else original

    async def run_sync_in_worker_thread(cls: Any, func: Any, args: Any, *rest: Any, **options: Any) -> Any:
        lane = lanes.counted()
        if lane is None:
            return await function(cls, func, args, *rest, **options)
        gate: Gate = lane.gate
        child = lane.child(name_of(func))
        handover = _Handover(gate, lane.tag("p"))
        gate.started()
        begun = False

        def job(*values: Any) -> Any:
            nonlocal begun
            begun = True
            try:
                return run_job(child, gate, func, *values)
            finally:
                gate.blocked()

        below = Lane(lane.path, lane.session, gate, below=True)
        try:
            with lanes.inside(below):  # anyio's worker thread and its plumbing are no lanes
                result = await function(cls, job, args, *rest, **options)
        except Exception:
            await handover
            raise
        except BaseException:  # cancelled: the job, if it began, gives its count back itself
            if not begun:
                gate.blocked()
            raise
        await handover
        return result

    return classmethod(run_sync_in_worker_thread)
