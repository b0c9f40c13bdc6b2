"""trio: lanes for its tasks, an order that can be repeated, and gates for its runs.

Within a run trio shuffles ready tasks, so that no code relies on an order. In a followed run they go first in, first
out, which is one of the possible orders. Tasks of a followed run hash by their lane, because trio walks sets of tasks
where it wakes or cancels several.

A run that cannot be followed (in guest mode, with a clock of the program's own, in an unknown version of trio) is left
alone: nothing inside it is recorded, the run says so, and its replay refuses to begin there instead of answering one
task with another's call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from reenact.facts.order import identity, name_of
from reenact.seams import lanes
from reenact.seams.async_backends import cancels_by
from reenact.seams.lanes import Cell
from reenact.seams.patching import replace
from reenact.seams.strands import trio_threads, trio_timers
from reenact.seams.strands.trio_runs import TrioRun, entries, here
from reenact.seams.unfollowed_actions import refuse

FOLLOWED = 1 << 40
"""The offset of a followed task's identity in the place of trio's serial number: larger than any such number."""


_INSIDE = "nothing inside trio.run() is recorded"


def patch(module: Any) -> None:
    """Hook one trio, below the names that a program may have imported from it already."""
    lowlevel: Any = getattr(module, "lowlevel", None)
    if hasattr(lowlevel, "start_guest_run"):
        replace(lowlevel, "start_guest_run", _being_guest)
    if not _fits(module):
        replace(module, "run", _unlike)
        return
    core: Any = module._core
    cancels_by(module.Cancelled)
    replace(core._entry_queue.EntryQueue, "run_sync_soon", _posting)
    replace(core._run.Runner, "spawn_impl", _spawning)
    replace(core._run.Task, "__init__", _making)
    replace(core._run.Task, "__hash__", _hashing)
    replace(core._run.CancelStatus, "__attrs_post_init__", _nesting)
    replace(core._run.TheIOManager, "get_events", _selecting)
    core._run._r = _InOrder(core._run._r)
    trio_timers.patch(core._run.Deadlines, module._timeouts.sleep_until)
    trio_threads.patch(module)
    replace(module._subprocess, "_open_process", _starting_processes)
    module._subprocess.open_process = module.lowlevel.open_process = module._subprocess._open_process
    replace(core._run, "setup_runner", lambda original: _beginning(original, module))
    under_way = getattr(core._run.GLOBAL_RUN_CONTEXT, "runner", None)
    if under_way is not None and not under_way.is_guest and asyncio._get_running_loop() is None:
        TrioRun(module, None).attach(under_way)


def _fits(module: Any) -> bool:
    """Whether all functions that are hooked, and all that the hooks use, exist as expected."""
    try:
        core = module._core
        runner = core._run
        needed = (
            (core._entry_queue.EntryQueue, ("run_sync_soon", "queue", "idempotent_queue")),
            (runner.Runner, ("spawn_impl", "deadlines", "tasks", "main_task", "entry_queue")),
            (runner.Task, ("_counter", "_abort_func", "_attempt_abort", "_next_send_fn")),
            (runner.CancelStatus, ("_children", "__attrs_post_init__")),
            (runner.Deadlines, ("add", "remove", "expire", "_heap", "_active")),
            (runner.TheIOManager, ("get_events",)),
            (runner._r, ("random", "shuffle")),
            (runner, ("setup_runner", "GLOBAL_RUN_CONTEXT")),
            (module._timeouts, ("sleep_until",)),
            (module._threads, ("_send_message_to_trio", "Run", "RunSync")),
            (module._subprocess, ("_open_process",)),
            (core._thread_cache.ThreadCache, ("start_thread_soon",)),
        )
    except AttributeError:
        return False
    return all(hasattr(owner, name) for owner, names in needed for name in names)


# --- runs ----------------------------------------------------------------------------------------------------------


def _beginning(original: Callable[..., Any], module: Any) -> Callable[..., Any]:
    """The hook of ``trio.run``'s runner; by then trio has checked the arguments of the call."""

    def setup_runner(clock: Any, instruments: Any, *rest: Any) -> Any:
        if here.guest:
            return original(clock, instruments, *rest)
        lane = lanes.current()
        if clock is not None or asyncio._get_running_loop() is not None or here.run is not None:
            refuse(lane, _INSIDE, "it has a clock of its own, or runs inside another loop")
            run = TrioRun(module, None)
        else:
            run = TrioRun(module, lane)
            clock = trio_timers.TrioClock(run)
        run.begin()
        try:
            run.runner = original(clock, (run, *instruments), *rest)
        except BaseException:
            run.after_run()
            raise
        return run.runner

    return setup_runner


def _being_guest(original: Callable[..., Any]) -> Callable[..., Any]:
    def start_guest_run(*args: Any, **options: Any) -> Any:
        refuse(lanes.current(), _INSIDE, "trio runs as a guest of another loop")
        here.guest = True
        try:
            with lanes.inside(None):
                return original(*args, **options)
        finally:
            here.guest = False

    return start_guest_run


def _unlike(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **options: Any) -> Any:
        refuse(lanes.current(), _INSIDE, "this version of trio works in another way than those that are known")
        with lanes.inside(None):
            return original(*args, **options)

    return run


def _selecting(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_events(self: Any, timeout: float) -> Any:
        run = here.run
        if run is None or not run.gates or run.runner.io_manager is not self:
            return original(self, timeout)
        return run.select(lambda seconds: original(self, seconds), timeout)

    return get_events


def _starting_processes(original: Callable[..., Any]) -> Callable[..., Any]:
    """``trio.run_process`` and ``trio.lowlevel.open_process``: named, not followed."""

    async def open_process(*args: Any, **options: Any) -> Any:
        refuse(
            lanes.current(),
            "processes that trio starts are not recorded",
            "trio reads their pipes itself; subprocess.run in trio.to_thread.run_sync is recorded",
        )
        with lanes.inside(None):
            return await original(*args, **options)

    return open_process


class _InOrder:
    """Stands in for trio's random generator; in a followed run it gives a fixed order."""

    def __init__(self, chance: Any) -> None:
        self._chance = chance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chance, name)

    def random(self) -> float:
        """A number below 0.5 in a followed run, so that trio runs a batch first in, first out."""
        run = here.run
        return 0.0 if run is not None and run.gates else float(self._chance.random())

    def shuffle(self, batch: list[Any]) -> None:
        """Where the plug-in of Hypothesis is loaded, trio sorts and shuffles a batch, and takes from its end."""
        run = here.run
        if run is not None and run.gates:
            batch.sort(key=lambda task: -run.ready[task])
        else:
            self._chance.shuffle(batch)


def _posting(original: Callable[..., Any]) -> Callable[..., Any]:
    """``TrioToken.run_sync_soon``: from a thread of the agent a delivery; from elsewhere the run is counted at once."""

    def run_sync_soon(self: Any, sync_fn: Any, *args: Any, idempotent: bool = False) -> Any:
        run = entries.get(id(self))
        if run is None or run is here.run or not run.gates:
            return original(self, sync_fn, *args, idempotent=idempotent)
        lane = lanes.counted()
        if lane is None or lane.gate not in run.gates or self.done:
            for gate in run.gates:
                gate.loops.resume(run)
            return original(self, sync_fn, *args, idempotent=idempotent)

        def enter() -> None:
            try:
                original(self, sync_fn, *args, idempotent=idempotent)
            except RuntimeError:  # the run has ended meanwhile
                pass

        lane.gate.offer(lane.tag("p"), lane.gate.loops.into(run, lambda: run.post(enter)))
        return None

    return run_sync_soon


# --- tasks ---------------------------------------------------------------------------------------------------------


def _spawning(original: Callable[..., Any]) -> Callable[..., Any]:
    """Hooks every way to make a task: the task is a child of the lane that makes it, and is numbered at once."""

    def spawn_impl(self: Any, async_fn: Any, args: Any, nursery: Any, name: Any, **options: Any) -> Any:
        run = here.run
        if run is None or run.runner is not self:
            return original(self, async_fn, args, nursery, name, **options)
        main = self.main_task is None and nursery is not None and not options.get("system_task")
        lane = run.lane if main else lanes.current()
        if lane is not None and not lane.below:
            run.watch(lane.gate)
            lane = lane.child(_task_name(async_fn, name))
        before, run.pending = run.pending, Cell(lane, run)
        token = lanes._context.set(lane)
        try:
            return original(self, async_fn, args, nursery, name, **options)
        finally:
            lanes._context.reset(token)
            run.pending = before

    return spawn_impl


def _task_name(async_fn: Any, name: Any) -> str:
    """The name of a task's function. anyio runs a method of its own, and passes the name of the agent's function."""
    ours = str(getattr(async_fn, "__module__", "")).startswith("anyio.")
    return str(name).replace("<locals>.", "") if ours and type(name) is str else name_of(async_fn)


def _making(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807 - the method it replaces
        original(self, *args, **options)
        run = here.run
        if run is None or run.pending is None:
            return
        cell, run.pending = run.pending, None
        if cell.lane is not None and not cell.lane.below:
            self._counter = FOLLOWED + identity(cell.lane.path)
        run.cells[self] = cell

    return __init__


def _hashing(original: Callable[..., Any]) -> Callable[..., Any]:
    def __hash__(self: Any) -> int:  # noqa: N807 - the method it replaces
        serial: int = self._counter
        return serial if serial >= FOLLOWED else int(original(self))

    return __hash__


class _OrderedSet(dict[Any, None]):
    """A set, as far as trio uses it, walked in the order of adding."""

    def add(self, item: Any) -> None:
        """Add an item, at the end if it is new."""
        self[item] = None

    def remove(self, item: Any) -> None:
        """Remove an item.

        Raises:
            KeyError: It is not there.
        """
        del self[item]

    def discard(self, item: Any) -> None:
        """Remove an item if it is there."""
        self.pop(item, None)


def _nesting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Hook the making of cancel scopes: their children are cancelled in the order of entering."""

    def __attrs_post_init__(self: Any) -> None:  # noqa: N807 - the method it replaces
        run = here.run
        if run is not None and run.gates:
            self._children = _OrderedSet()
        original(self)

    return __attrs_post_init__
