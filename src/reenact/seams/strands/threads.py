"""Threads: lanes at ``start``, and every way to block that Python code can see.

Starting, waking after ``notify``, returning from ``join`` and the end of a sleep are deliveries: if only answers were,
a third of the runs of threaded programs could not be repeated, because one ``Event.set`` may wake five threads at once.
``Condition.wait`` covers ``Event``, ``Semaphore``, ``queue.Queue``, ``Barrier`` and ``Future.result``.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from typing import Any

from reenact.errors import Halt
from reenact.facts.order import Tag, name_of
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.strands import main_thread_end
from reenact.seams.strands.waiters import StrandWaiter, wait_in_turn
from reenact.seams.turns import timer_due
from reenact.seams.waits import Rest, rest


def install() -> None:
    """Hook starting, joining, waiting and sleeping."""
    replace(threading.Thread, "start", _starting)
    replace(threading.Thread, "join", _joining)
    replace(threading.Condition, "wait", _waiting)
    replace(time, "sleep", _sleeping)
    main_thread_end.watch(_strands_left)


def _strands_left() -> bool:
    """Whether the interpreter waits for a thread of the agent."""
    left = (thread for thread in threading.enumerate() if not thread.daemon)
    return any(not finish.ended for thread in left if (finish := getattr(thread, "_reenact_finish", None)) is not None)


# --- start, end, join ----------------------------------------------------------------------------------------------


class Finish:
    """Tells the strands that join a thread of the agent that the thread's body has ended."""

    __slots__ = ("condition", "ended")

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.ended = False


def _starting(original: Callable[..., Any]) -> Callable[..., Any]:
    def start(self: threading.Thread) -> Any:
        lane = lanes.counted()
        if lane is None:
            if lanes.anybody():
                _keep_out(self, lanes.current())
            return original(self)
        target = getattr(self, "_target", None)
        child = lane.child(name_of(target if target is not None else type(self)))
        gate: Gate = lane.gate
        body, finish = self.run, Finish()
        self.run = lambda: run_strand(child, gate, body, finish)  # type: ignore[method-assign]
        self._reenact_finish = finish  # type: ignore[attr-defined]
        gate.started()
        try:
            with lanes.inside(None):  # the wait for the thread's start is not the agent's
                return original(self)
        except BaseException:
            gate.blocked()
            raise

    return start


def _keep_out(thread: threading.Thread, lane: Lane | None) -> None:
    """Note, before it runs, that a thread is no strand: it is started below a transport, or by a pool for itself.

    A thread of a session without a run is no strand either, but still asks that session for the time."""
    body = thread.run
    # ``run`` holds on to nothing else: a pool's worker outlives the run that it began in.
    adopted = lane if lane is not None and (lane.below or lanes.is_passive(lane)) else None

    def run() -> None:
        lanes.adopt_thread(adopted)
        body()

    thread.run = run  # type: ignore[method-assign]


def run_strand(lane: Lane, gate: Gate, body: Callable[[], Any], finish: Finish) -> None:
    """Run the body of a thread, in its lane and in its turn; the thread is counted from before its start to its end."""
    lanes.adopt_thread(lane)
    token = lanes._context.set(lane)
    try:
        gate.take(Tag("s", lane.path, 0, 0))
        body()
    except Halt:
        pass  # our own error, which the session reports
    finally:
        lane.ended = True
        with finish.condition:
            finish.ended = True
            finish.condition.notify_all()
        main_thread_end.one_has_ended()
        lanes._context.reset(token)
        lanes.adopt_thread(None)
        gate.blocked()


def _joining(original: Callable[..., Any]) -> Callable[..., Any]:
    def join(self: threading.Thread, timeout: float | None = None) -> Any:
        finish: Finish | None = getattr(self, "_reenact_finish", None)
        if finish is None or lanes.counted() is None or self is threading.current_thread():
            return original(self, timeout)
        with finish.condition:
            if not finish.ended and not finish.condition.wait_for(lambda: finish.ended, timeout):
                return None  # the join has timed out in the agent's time
        with lanes.inside(None):
            return original(self)

    return join


# --- waiting -------------------------------------------------------------------------------------------------------


def _waiting(original: Callable[..., Any]) -> Callable[..., Any]:
    def wait(self: Any, timeout: float | None = None) -> bool:
        lane = lanes.counted()
        if lane is None or (timeout is not None and timeout <= 0):
            return original(self, timeout)  # type: ignore[no-any-return]
        if not self._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        gate: Gate = lane.gate
        timer = lane.tag("t") if timeout is not None else None
        waiter = StrandWaiter(gate, lane.tag("w"), timer)
        self._waiters.append(waiter)
        saved = self._release_save()
        notified = False
        try:
            notified = wait_in_turn(lane, waiter, timeout)
            return notified
        finally:
            self._acquire_restore(saved)
            if not notified:
                try:
                    self._waiters.remove(waiter)
                except ValueError:
                    pass

    return wait


# --- sleeping ------------------------------------------------------------------------------------------------------


def _sleeping(original: Callable[..., Any]) -> Callable[..., Any]:
    def sleep(seconds: Any) -> None:
        lane = lanes.counted()
        if lane is None:
            return original(seconds)  # type: ignore[no-any-return]
        gate: Gate = lane.gate
        if not seconds >= 0:
            return original(seconds)  # type: ignore[no-any-return]  # raises as ever
        tag = lane.tag("t")
        due_us = timer_due(lane, tag, int(min(seconds, 1e9) * 1e6))
        if due_us is None:
            gate.blocked()
            try:
                rest(Rest(gate.waiting), original, seconds)
            except BaseException:  # a signal handler has raised: the strand runs again
                with gate.lock:
                    gate.goes_on(uncounted=True)
                raise
            gate.unblocked()
            gate.take(tag)
            return None
        door = _thread.allocate_lock()
        door.acquire()
        with gate.lock:
            gate.offer(tag, door.release, deadline_us=due_us, sleeper=True)
            gate.blocked()
        try:
            rest(Rest(gate.waiting, tag), door.acquire)
        except BaseException:  # an interrupt: we run again, whether or not our turn had come
            with gate.lock:
                gate.goes_on(uncounted=gate.withdraw(tag))
            raise
        if gate.halted is not None:
            raise gate.halted
        return None

    return sleep
