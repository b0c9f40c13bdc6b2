"""asyncio loops: lanes for tasks, timers and posted callbacks as deliveries, quiescence from the selector.

The hooks sit on ``asyncio.base_events.BaseEventLoop``, so they work for every loop derived from it, loops made
before the session began included. The selector is asked with a timeout other than 0 only when the ready queue is
empty: exact quiescence, at no cost.
"""

from __future__ import annotations

import asyncio
import asyncio.base_events
import contextvars
import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.facts.order import Tag, identity, name_of
from reenact.seams import lanes
from reenact.seams.async_backends import cancels_by
from reenact.seams.clock import REAL
from reenact.seams.gate import Gate
from reenact.seams.loop_callbacks import keep_originals, post
from reenact.seams.patching import replace
from reenact.seams.strands import deadlines, dropped_generators, futures
from reenact.seams.turns import timer_due

_Base = asyncio.base_events.BaseEventLoop
_mono_ns = REAL.monotonic_ns  # this module is loaded while the functions of ``time`` are replaced
_set_result = asyncio.futures._set_result_unless_cancelled  # type: ignore[attr-defined]


def patch(module: ModuleType) -> None:
    """Follow the tasks of asyncio, and hook the base class of all loops written in Python."""
    lanes.follow(module)
    keep_originals(module)
    cancels_by(module.CancelledError)
    futures.install()
    deadlines.install()
    dropped_generators.install()
    replace(_Base, "create_task", creating)
    replace(_Base, "run_forever", running)
    replace(_Base, "call_at", _timing)
    replace(_Base, "call_soon_threadsafe", posting)
    replace(_Base, "time", _telling)
    replace(asyncio, "run_coroutine_threadsafe", submitting)
    replace(asyncio.tasks, "as_completed", _completing)
    asyncio.as_completed = asyncio.tasks.as_completed
    if sys.version_info < (3, 12):
        replace(asyncio.tasks, "wait_for", _waiting_for)
        asyncio.wait_for = asyncio.tasks.wait_for


# --- tasks ---------------------------------------------------------------------------------------------------------


def creating(original: Callable[..., Any]) -> Callable[..., Any]:
    """``create_task``: the new task is a child of the lane that creates it, numbered there and then."""

    def create_task(self: Any, coro: Any, **options: Any) -> Any:
        near = lanes._context.get()
        if near is not None and near.expected:  # a hook nearer to the agent has numbered it already
            near.expected = False
            task = futures.make_task(original, self, coro, near, options)
            lanes.adopt_task(task, near)
            return task
        closer = dropped_generators.closer_of(self, coro)
        lane = closer or lanes.current()
        if lane is None:
            return original(self, coro, **options)
        if lane.below:
            if options.get("name") is None:
                options["name"] = "Task-below"  # uses up no number of the agent's tasks
            task = original(self, coro, **options)
            lanes.adopt_task(task, lane)
            return task
        watch(self, lane.gate)
        child = closer or lane.child(name_of(coro))
        if options.get("context") is not None:
            task = futures.make_task(original, self, coro, child, options)
            lanes.adopt_task(task, child)
            return task
        child.expected = True  # an eager task runs its first step before we hold the task
        token = lanes._context.set(child)
        try:
            task = futures.make_task(original, self, coro, child, options)
        finally:
            child.expected = False
            lanes._context.reset(token)
        lanes.adopt_task(task, child)
        return task

    return create_task


def submitting(original: Callable[..., Any]) -> Callable[..., Any]:
    """``run_coroutine_threadsafe``: the ordinal is taken where it is called, not when the loop gets to it."""

    def run_coroutine_threadsafe(coro: Any, loop: Any) -> Any:
        lane = lanes.counted()
        if lane is None:
            return original(coro, loop)
        child = lane.child(name_of(coro))
        child.expected = True
        token = lanes._context.set(child)
        try:
            future = original(coro, loop)
        finally:
            lanes._context.reset(token)
        future._reenact_identity = identity(child.path)
        return future

    return run_coroutine_threadsafe


def _completing(original: Callable[..., Any]) -> Callable[..., Any]:
    """``as_completed`` makes its tasks in the order of a set of coroutines, which depends on their addresses. Here they
    are made in the order of the arguments, which is one of the possible orders."""

    def as_completed(fs: Any, **options: Any) -> Any:
        if lanes.counted() is not None and lanes.running_loop() is not None and not asyncio.isfuture(fs):
            fs = [asyncio.ensure_future(f) for f in dict.fromkeys(fs)] if not asyncio.iscoroutine(fs) else fs
        return original(fs, **options)

    return as_completed


def _waiting_for(original: Callable[..., Any]) -> Callable[..., Any]:
    """``wait_for`` before 3.12 wraps a coroutine in a task of its own: that task keeps its caller's lane."""

    async def wait_for(fut: Any, timeout: float | None) -> Any:
        lane = lanes.counted()
        if lane is not None and timeout is not None and timeout > 0 and asyncio.iscoroutine(fut):
            lane.expected, unit = True, lane.unit
            token = lanes._context.set(lane)
            try:
                fut = asyncio.ensure_future(fut)
            finally:
                lane.expected, lane.unit = False, unit  # the lane does not end with that task
                lanes._context.reset(token)
        return await original(fut, timeout)

    return wait_for


# --- the selector --------------------------------------------------------------------------------------------------


WORK_US = 5_000
"""A turn of a loop that takes this long counts as computing (the import of an SDK); a shorter one may spin."""


class SelectorHook:
    """Stands before a loop's selector and tells the gates when the loop has nothing to run."""

    def __init__(self, selector: Any, loop: Any) -> None:
        self.selector = selector
        self.loop = loop
        self.gates: list[Gate] = []
        self._woke_us = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.selector, name)

    def select(self, timeout: float | None = None) -> Any:
        """The selector's own ``select``, with quiescence announced before it blocks."""
        if not self.gates:
            return self.selector.select(timeout)
        gates_now = self.gates[:]
        if timeout is not None and timeout <= 0:
            return self._busy(gates_now, timeout)
        if any(gate.waiting and not gate.schedule.follows for gate in gates_now):
            events = self.selector.select(0)
            if events:
                return events
        idle = True
        for gate in gates_now:
            idle = gate.loops.rest(self.loop) and idle
        try:
            return self.selector.select(timeout if idle and not self.loop._ready else 0)
        finally:
            for gate in gates_now:
                gate.loops.resume(self.loop)
            self._woke_us = 0

    def _busy(self, gates_now: list[Gate], timeout: float) -> Any:
        """Let a loop that never rests keep the gate's bound by itself: no other task may get to run."""
        now_us = _mono_ns() // 1000
        worked_us = now_us - self._woke_us if self._woke_us else 0
        if worked_us < WORK_US or not lanes.whole_process():
            worked_us = 0
        for gate in gates_now:
            rests = gate.waiting and gate.shared and not gate.has_ready(self.loop._ready)
            if rests and gate.loops.rest(self.loop):
                gate.loops.resume(self.loop)
            if gate.waiting:
                gate.look(now_us, worked_us=worked_us)
        self._woke_us = now_us
        return self.selector.select(timeout)


def hook(loop: Any) -> SelectorHook | None:
    """The hook before this loop's selector, installed if it is missing; None for loops without a selector."""
    selector = getattr(loop, "_selector", None)
    if selector is None:
        return None
    if not isinstance(selector, SelectorHook):
        selector = loop._selector = SelectorHook(selector, loop)
    return selector


def watch(loop: Any, gate: Gate) -> None:
    """Make ``gate`` count ``loop``, which may run in another thread."""
    if loop in gate.loops or gate.closed:
        return
    selector = hook(loop)
    if selector is None or not loop.is_running():
        return
    if gate not in selector.gates:
        selector.gates.append(gate)
    if lanes.running_loop() is loop:
        gate.loops.join(loop)
    else:  # the loop runs in another thread, and is counted until it next comes to its selector
        with gate.lock:
            if gate.loops.join(loop):
                gate.running += 1
        post(loop, lambda: None, here=False)


def unwatch(loop: Any, gate: Gate) -> None:
    """The session of ``gate`` has ended, or the loop has."""
    selector = getattr(loop, "_selector", None)
    if isinstance(selector, SelectorHook):
        if gate in selector.gates:
            selector.gates.remove(gate)
        if not selector.gates and (lanes.running_loop() is loop or not loop.is_running()):
            loop._selector = selector.selector  # in another thread, a session that begins could interfere
    gate.loops.forget(loop)


def running(original: Callable[..., Any]) -> Callable[..., Any]:
    """``run_forever``: the calling strand becomes the loop's thread."""

    def run_forever(self: Any) -> Any:
        lane = lanes.counted()
        if lane is None:
            return original(self)
        gate: Gate = lane.gate
        selector = hook(self)
        if selector is None:
            return original(self)
        if gate not in selector.gates:
            selector.gates.append(gate)
        joined = gate.loops.join(self)
        try:
            return original(self)
        finally:
            if joined:
                gate.loops.leave(self)
            unwatch(self, gate)

    return run_forever


# --- timers --------------------------------------------------------------------------------------------------------


class GateTimer(asyncio.TimerHandle):
    """A timer of a replay: it lives at the gate, not on the loop's heap."""

    __slots__ = ("gate", "tag")
    gate: Gate
    tag: Tag

    def cancel(self) -> None:
        """Cancel the timer and take it back from the gate."""
        if not self.cancelled():
            self.gate.withdraw(self.tag)
        super().cancel()

    def fire(self) -> None:
        """Run the due callback, unless it was cancelled after it had been handed to the loop."""
        if not self.cancelled():
            self._run()


def _timing(original: Callable[..., Any]) -> Callable[..., Any]:
    """``call_at`` (and so ``call_later``, ``sleep``, ``wait_for``, ``timeout``): firing is a delivery."""

    def call_at(self: Any, when: float, callback: Any, *args: Any, context: Any = None) -> Any:
        lane = lanes.counted()
        if lane is None:
            return original(self, when, callback, *args, context=context)
        gate: Gate = lane.gate
        watch(self, gate)
        tag = lane.tag("t")
        delay_us = max(0, math.ceil((when - self.time()) * 1e6))
        due_us = timer_due(lane, tag, delay_us)
        if due_us is None:
            context = context if context is not None else contextvars.copy_context()
            due = asyncio.Handle(callback, args, self, context)
            return due_at_gate(gate, tag, due, lambda fire: original(self, when, fire, context=context))
        timer = GateTimer(when, callback, args, self, context)
        timer.gate = gate
        timer.tag = tag
        gate.offer(
            tag,
            gate.loops.into(self, timer.fire),
            alive=lambda: not timer.cancelled(),
            deadline_us=due_us,
            sleeper=callback is _set_result,
        )
        return timer

    return call_at


def due_at_gate(gate: Gate, tag: Tag, due: asyncio.Handle, arm: Callable[[Callable[[], None]], Any]) -> Any:
    """Arm a timer of the world that queues at the gate when it is due.

    Args:
        gate: The gate at which the timer queues.
        tag: The identity of the timer.
        due: The callback to run when its turn comes.
        arm: Sets the world's timer.

    Returns:
        The loop's own handle, which the agent may cancel at any time.
    """
    handle: list[Any] = []

    def fire() -> None:
        gate.offer(
            tag,
            gate.loops.into(due._loop, lambda: None if handle[0].cancelled() else due._run()),  # type: ignore[attr-defined]
            alive=lambda: not handle[0].cancelled(),
        )

    handle.append(arm(fire))
    return handle[0]


# --- callbacks from other threads ----------------------------------------------------------------------------------


def posting(original: Callable[..., Any]) -> Callable[..., Any]:
    """``call_soon_threadsafe``: from a strand of the agent a delivery; from elsewhere the loop is counted at once."""

    def call_soon_threadsafe(self: Any, callback: Any, *args: Any, context: Any = None) -> Any:
        lane = lanes.counted()
        if lane is None or lanes.running_loop() is self:
            selector = getattr(self, "_selector", None)
            if isinstance(selector, SelectorHook):
                for each in selector.gates:
                    each.loops.resume(self)
            return original(self, callback, *args, context=context)
        gate: Gate = lane.gate
        watch(self, gate)
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        gate.offer(
            lane.tag("p"),
            gate.loops.into(self, lambda: None if handle.cancelled() else handle._run()),
            alive=lambda: not handle.cancelled(),
        )
        return handle

    return call_soon_threadsafe


def _telling(original: Callable[..., Any]) -> Callable[..., Any]:
    """``loop.time``: the time of its session. The agent's own reads are recorded like those of any clock."""

    def time(self: Any) -> float:
        lane = lanes.listening()
        if lane is None:
            return original(self)  # type: ignore[no-any-return]
        caller = sys._getframe(1)
        if caller.f_code.co_name == "_run_once":  # the loop's own heap holds only timers of the world
            return _mono_ns() / 1e9
        session = lane.session
        fresh = int(original(self) * 1e9)
        if caller.f_globals.get("__name__", "").startswith(("asyncio.", "anyio.", "reenact.")):
            return session.unrecorded(lane, "mono", fresh) / 1e9  # type: ignore[no-any-return]
        return session.ambient(lane, "mono", fresh) / 1e9  # type: ignore[no-any-return]

    return time
