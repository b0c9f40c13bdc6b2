"""Threads: lanes at ``start``, and every way to block that Python code can see.

Starting, waking after ``notify``, returning from ``join`` and the end of a sleep are deliveries: with answers alone
two of three runs of threaded programs could be had again, because one ``Event.set`` wakes five threads at once.
``Condition.wait`` covers ``Event``, ``Semaphore``, ``queue.Queue``, ``Barrier`` and ``Future.result``.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from reenact.errors import Halt
from reenact.facts.order import Tag
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.strands.bells import Bell, await_bell
from reenact.seams.strands.loops import name_of


def install() -> None:
    """Hook starting, joining, waiting and sleeping."""
    replace(threading.Thread, "start", _starting)
    replace(threading.Thread, "join", _joining)
    replace(threading.Condition, "wait", _waiting)
    replace(time, "sleep", _sleeping)
    _watch_the_main_thread()


# --- the end of the main thread ------------------------------------------------------------------------------------

_watched = False
_waiting_main: list[Gate] = []
"""The gate at which the main thread no longer counts, while it waits for the threads that are left."""
_main_lock = _thread.allocate_lock()


def _watch_the_main_thread() -> None:
    """Learn when the main thread has run to its end and the interpreter waits for the threads that are left.

    What ``concurrent.futures`` uses to join its own threads there, since 3.9; an interpreter without it leaves the main
    thread counted, and every turn to the bounds of the gate."""
    global _watched
    register = getattr(threading, "_register_atexit", None)
    if _watched or register is None:
        return
    _watched = True
    with suppress(RuntimeError):  # the interpreter ends already
        register(_main_has_run)


def _main_has_run() -> None:
    """The main thread waits for the others; what it does after them, its exit handlers, is its own again."""
    lane = lanes.counted()
    if lane is None:
        return
    with _main_lock:
        if not _strands_left():
            return
        _waiting_main.append(lane.gate)
    atexit.register(_main_goes_on)  # an interrupt ends the wait before the threads
    gate: Gate = lane.gate
    gate.blocked()


def _strands_left() -> bool:
    """Whether the interpreter waits for a thread of the agent."""
    left = (thread for thread in threading.enumerate() if not thread.daemon)
    return any(not finish.ended for thread in left if (finish := getattr(thread, "_reenact_finish", None)) is not None)


def _main_goes_on(*, unless: Callable[[], bool] = lambda: False) -> None:
    """The main thread runs again, if it has waited."""
    with _main_lock:
        gate = _waiting_main.pop() if _waiting_main and not unless() else None
    if gate is not None:
        gate.started()


def _forked() -> None:
    """In a forked child: only the thread that forked is there."""
    global _main_lock
    _main_lock = _thread.allocate_lock()
    _waiting_main.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


# --- start, end, join ----------------------------------------------------------------------------------------------


class Finish:
    """How a thread of the agent tells those who join it that its body has ended."""

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
            with lanes.inside(None):  # the wait for its first instruction is below us
                return original(self)
        except BaseException:
            gate.blocked()
            raise

    return start


def _keep_out(thread: threading.Thread, lane: Lane | None) -> None:
    """A thread started below a transport, or by a pool for itself, is no strand: say so before it runs. Nor is one of a
    session without a run, which goes on to ask it for the time."""
    body = thread.run

    def run() -> None:
        lanes.adopt_thread(lane if lane is not None and (lane.below or lanes.is_passive(lane)) else None)
        body()

    thread.run = run  # type: ignore[method-assign]


def run_strand(lane: Lane, gate: Gate, body: Callable[[], Any], finish: Finish) -> None:
    """The body of a thread, in its lane and in its turn; it is counted from before its start to its end."""
    lanes.adopt_thread(lane)
    token = lanes._context.set(lane)
    try:
        gate.take(Tag("s", lane.path, 0, 0))
        body()
    except Halt:
        pass  # our own: the session tells of it
    finally:
        lane.ended = True
        with finish.condition:
            finish.ended = True
            finish.condition.notify_all()
        _main_goes_on(unless=_strands_left)  # the last one counts it before it is counted out itself
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
                return None  # timed out in the agent's time
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
        bell = Bell(gate, lane.tag("w"), timer)
        self._waiters.append(bell)
        saved = self._release_save()
        notified = False
        try:
            notified = await_bell(gate, bell, timeout)
            return notified
        finally:
            self._acquire_restore(saved)
            if not notified:
                try:
                    self._waiters.remove(bell)
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
        if not gate.virtual:
            gate.blocked()
            try:
                original(seconds)
            finally:
                gate.unblocked()
            gate.take(tag)
            return None
        door = _thread.allocate_lock()
        door.acquire()
        with gate.lock:
            gate.offer(tag, door.release, deadline_us=gate.now_us() + int(min(seconds, 1e9) * 1e6), sleeper=True)
            gate.blocked()
        try:
            door.acquire()
        except BaseException:  # an interrupt: we run again, whether or not our turn had come
            with gate.lock:
                if gate.withdraw(tag):
                    gate.running += 1
            raise
        if gate.halted is not None:
            raise gate.halted
        return None

    return sleep
