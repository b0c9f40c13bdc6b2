"""Runs of trio: the gate's view of one ``trio.run``, and the waits of its tasks for their turns.

A run is its own instrument, in trio's sense: it counts the tasks that are ready, and before each step of a task makes
the cell of that task the cell of the thread. So code that asks for the current lane finds it as in any thread.

In trio a cancelled scope cancels each wait inside it, again and again. A turn therefore cannot be cancelled: an answer
from the world is handed over first, and the cancellation finds the task at its next wait, as if the answer had come a
little sooner. Only the wait for a delivery that never came ends when it is cancelled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any

from reenact.facts.order import Tag
from reenact.seams import lanes
from reenact.seams.async_backends import AsyncBackend
from reenact.seams.clock import REAL
from reenact.seams.gate import Gate
from reenact.seams.lanes import Cell, Lane

_mono_ns = REAL.monotonic_ns
STOP_AGAIN_S = 0.05
"""A halted run raises the halt again at this interval, in seconds: a task that caught it may wait for ever."""


class _Here(threading.local):
    run: TrioRun | None = None
    guest = False


here = _Here()
"""The run of the calling thread, and whether a run is being made that another loop will drive."""

entries: dict[int, TrioRun] = {}
"""The runs under way, by the identity of their entry queue, which other threads hold."""


class TrioRun(AsyncBackend[Gate]):
    """One ``trio.run`` while it is under way.

    Attributes:
        lane: The lane that called ``trio.run``; None where no session listened.
        runner: trio's own object, from the first moment of the run on.
        cells: Where each task keeps its lane.
        pending: The cell of the task that is about to be made.
        timers: Followed deadlines, by the identity of their scope (``trio_timers``).
        gates: The gates that count it.
        ready: The tasks that are scheduled and have not run since, in order, each with its position.
    """

    def __init__(self, trio: Any, lane: Lane | None) -> None:
        self._trio = trio
        self._enter: Callable[..., Any] = trio._core._entry_queue.EntryQueue.run_sync_soon.__wrapped__
        self._between: Cell | None = None
        self._outside: lanes.Inside | None = None
        self._before: TrioRun | None = None
        self._thread = threading.get_ident()
        self.lane = lane
        self.runner: Any = None
        self.cells: dict[Any, Cell] = {}
        self.pending: Cell | None = None
        self.timers: dict[int, Any] = {}
        self.gates: list[Gate] = []
        self.ready: dict[Any, int] = {}
        self._scheduled = 0

    def begin(self) -> None:
        """The calling thread becomes the run's. Between the steps of tasks no session listens to it."""
        self._before = here.run
        here.run = self
        if self.lane is not None and not self.lane.below and self.lane.owned:
            self.watch(self.lane.gate)
        self._outside = lanes.inside(None)
        self._outside.__enter__()
        self._between = lanes.adopt_thread(None)
        lanes.restore_thread(self._between)

    def attach(self, runner: Any) -> None:
        """A task of this run, which is under way, has put the hooks in place. No session listens to it yet."""
        self.runner = runner
        here.run = self
        entries[id(runner.entry_queue)] = self
        for task in runner.tasks:
            self.cells[task] = Cell(None, self)
            if task._next_send_fn is not None:
                self.task_scheduled(task)
        runner.instruments.add_instrument(self)
        self._between = lanes.adopt_thread(None)
        lanes.restore_thread(self.cells[self._trio.lowlevel.current_task()])

    # --- as an instrument of trio ------------------------------------------------------------------------------

    def before_run(self) -> None:
        """trio's loop begins."""
        entries[id(self.runner.entry_queue)] = self

    def task_scheduled(self, task: Any) -> None:
        """A task will run soon."""
        self._scheduled += 1
        self.ready[task] = self._scheduled

    def before_task_step(self, task: Any) -> None:
        """A task runs: the thread is its strand."""
        self.ready.pop(task, None)
        lanes.restore_thread(self.cells.get(task, self._between))

    def after_task_step(self, task: Any) -> None:
        """The task waits, or has ended."""
        lanes.restore_thread(self._between)

    def task_exited(self, task: Any) -> None:
        """The task has ended."""
        cell = self.cells.pop(task, None)
        lane = None if cell is None else cell.lane
        if lane is not None and not lane.below:
            lane.ended = True

    def after_run(self) -> None:
        """The run is over: the thread is its caller's again."""
        if self.runner is not None:
            entries.pop(id(self.runner.entry_queue), None)
        lanes.restore_thread(self._between)
        if self._outside is not None:
            self._outside.__exit__()
        here.run = self._before
        for gate in self.gates:
            gate.loops.leave(self)

    # --- as an async backend ------------------------------------------------------------------------------------------

    def take(self, gate: Gate, tag: Tag) -> Generator[Any, Any, int]:
        """Wait for a turn, which cannot be cancelled unless it never comes."""
        self.watch(gate)
        with gate.lock:
            number = gate.at_once(tag, lone=gate.running == 1 and self.rests())
            if number is not None:
                return number
        never = tag.lane == "~never"
        sleep = _Sleep(self._trio)
        waiter = gate.offer(tag, gate.loops.into(self, sleep.wake))
        try:
            yield from sleep.until_woken(lambda: never and gate.withdraw(tag))
        except BaseException:
            gate.withdraw(tag)
            raise
        return gate._taken(waiter)

    def rest(self, listen: Callable[[Callable[[], None]], bool]) -> Generator[Any, Any, None]:
        """Suspend the task, even if it is cancelled meanwhile."""
        sleep = _Sleep(self._trio)
        if listen(lambda: self.post(sleep.wake)):
            yield from sleep.until_woken(lambda: False)

    def post(self, go: Callable[[], Any]) -> None:
        """Run ``go``: at once in the run's own thread; from another thread in trio's own way."""
        if threading.get_ident() == self._thread:
            go()
            return
        try:
            self._enter(self.runner.entry_queue, go)
        except self._trio.RunFinishedError:  # no task is left to receive it
            pass

    def stop(self, gate: Gate) -> None:
        """Raise the halt the way trio raises Ctrl-C: in any wait that can be aborted."""

        def halted() -> None:
            assert gate.halted is not None
            raise gate.halted

        for task in list(self.runner.tasks):
            cell = self.cells.get(task)
            lane = None if cell is None else cell.lane
            if lane is not None and lane.gate is gate and task._abort_func is not None:
                task._attempt_abort(halted)

    def watch(self, gate: Gate) -> None:
        """Make ``gate`` count this run; in its own thread."""
        if gate not in self.gates and not gate.closed:
            self.gates.append(gate)
            gate.loops.join(self)

    def unwatch(self, gate: Gate) -> None:
        """The session of ``gate`` has ended."""
        if gate in self.gates:
            self.gates.remove(gate)
        gate.loops.forget(self)

    # --- quiescence --------------------------------------------------------------------------------------------

    def rests(self) -> bool:
        """Whether no task is ready, and nothing posted waits to be run."""
        queue = self.runner.entry_queue
        return not (self.ready or queue.queue or queue.idempotent_queue)

    def select(self, poll: Callable[[float], Any], timeout: float) -> Any:
        """Ask the system for events, with quiescence announced before the run blocks.

        Args:
            poll: trio's own way to ask, given the most seconds to wait.
            timeout: The time that trio would wait.
        """
        gates = self.gates[:]
        for gate in gates:
            if gate.halted is not None:
                self.stop(gate)
                timeout = min(timeout, STOP_AGAIN_S)
        if timeout <= 0 or not self.rests():
            now_us = _mono_ns() // 1000
            for gate in gates:
                if gate.waiting:
                    gate.look(now_us)
            return poll(timeout if not self.ready else 0)
        if any(gate.waiting and not gate.schedule.follows for gate in gates):
            events = poll(0)
            if events:
                return events
        idle = True
        for gate in gates:
            idle = gate.loops.rest(self) and idle
        try:
            return poll(timeout if idle and not self.ready else 0)
        finally:
            for gate in gates:
                gate.loops.resume(self)


class _Sleep:
    """One wait of the task that is executing."""

    __slots__ = ("_asleep", "_lowlevel", "_task", "_woken")

    def __init__(self, trio: Any) -> None:
        self._lowlevel = trio.lowlevel
        self._task = trio.lowlevel.current_task()
        self._asleep = self._woken = False

    def wake(self) -> None:
        """End the wait, before or after it began; in the run's own thread."""
        if not self._woken:
            self._woken = True
            if self._asleep:
                self._lowlevel.reschedule(self._task)

    def until_woken(self, give_up: Callable[[], bool]) -> Generator[Any, Any, None]:
        """Wait. ``give_up`` is called when the task is cancelled, and says whether the wait ends by that."""
        if self._woken:
            return
        abort = self._lowlevel.Abort

        def aborted(raise_cancel: Any) -> Any:
            if not give_up():
                return abort.FAILED
            self._woken = True
            return abort.SUCCEEDED

        self._asleep = True
        try:
            yield from self._lowlevel.wait_task_rescheduled(aborted).__await__()
        finally:
            self._asleep = False
