"""Locks: the gate decides which strand gets a contended lock next, and a waiter for a lock does not count as running.

The interpreter's own locks are written in C: a strand that waits for one seems to run, so the gate never finds
quiescence, and the next holder is random. So locks that a strand of the agent makes while a session listens are of the
classes here. Where the whole program is recorded, this includes the locks of its SDKs. A free lock of these classes
costs one more C call. A lock that another strand of the same run holds is handed over to the longest waiter, which goes
on in its turn. Between turns one strand runs at a time, so an uncontended lock needs no turn.

All others (a thread below a transport, another run, code of our own) wait for the C lock inside, as always.
"""

from __future__ import annotations

import _queue
import _thread
import queue
import sys
import threading
from collections import deque
from types import GenericAlias
from typing import Any

from reenact.seams import lanes
from reenact.seams.lanes import Lane
from reenact.seams.patching import replace
from reenact.seams.strands.waiters import StrandWaiter, wait_in_turn

_NativeLock = _thread.LockType
_NativeRLock = _thread.RLock
_get_ident = _thread.get_ident
_queueing = _NativeRLock()
"""Guards all lists of waiters, on slow paths only. Re-entrant, because a finaliser may run while it is held."""
_OF_POOLS = "concurrent.futures.thread"
"""A pool's own queue of jobs: ``strands.pools`` counts the jobs, and its workers are no strands."""
_SOMEBODY: Any = object()
"""Stands for a holder that is no strand of an agent."""
_MOMENT_S = 0.0005
"""How long to wait for a lock whose holder is just changing."""


def install() -> None:
    """Put the classes in the places of the interpreter's own."""
    replace(threading, "Lock", lambda _: Lock)
    replace(threading, "RLock", lambda _: RLock)
    replace(queue, "SimpleQueue", lambda _: SimpleQueue)
    _bear_names()


class _Stand(type):
    """Makes the ordered object for a strand of the agent, and the interpreter's own for other code."""

    native: Any
    native_type: type

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if "native" in cls.__dict__:
            if lanes.counted() is None:
                return cls.native(*args, **options)
            frame = sys._getframe(1)
            while frame.f_globals.get("__name__") == "threading" and frame.f_back is not None:
                frame = frame.f_back  # a condition or an event makes its lock for its own maker
            caller = frame.f_globals.get("__name__", "")
            if caller.startswith("reenact.") or caller == _OF_POOLS:
                return cls.native(*args, **options)
        return super().__call__(*args, **options)

    def __instancecheck__(cls, item: Any) -> bool:
        return super().__instancecheck__(item) or ("native" in cls.__dict__ and isinstance(item, cls.native_type))


class _LockWaiter(StrandWaiter):
    """The waiter of a strand that waits for a lock. The strand holds the lock once it is woken."""

    __slots__ = ("lane",)

    def __init__(self, lane: Lane, timer: Any) -> None:
        super().__init__(lane.gate, lane.tag("w"), timer)
        self.lane = lane


class Lock(metaclass=_Stand):
    """``threading.Lock`` for strands of an agent."""

    __slots__ = ("__weakref__", "_holder", "_inner", "_waiters")
    native = staticmethod(_thread.allocate_lock)
    native_type = _NativeLock

    def __init__(self) -> None:
        self._inner = _thread.allocate_lock()
        self._holder: Any = None  # a lane, ``_SOMEBODY``, or None
        self._waiters: deque[_LockWaiter] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire, as the interpreter's own lock does; about 0.3 µs where the lock is free.

        Raises:
            Halt: The replay stopped while waiting.
        """
        if timeout == -1:
            if self._inner.acquire(False):
                self._holder = lanes.counted() or _SOMEBODY
                return True
            if not blocking:
                return False
        return self._contend(blocking, timeout)

    def _contend(self, blocking: bool, timeout: float) -> bool:
        """Wait for a lock that is held."""
        _thread.allocate_lock().acquire(blocking, timeout)  # raises the interpreter's own error for bad arguments
        while True:
            lane, holder = lanes.counted(), self._holder
            if holder is None and lane is not None and timeout == -1:
                if self._inner.acquire(True, _MOMENT_S):
                    self._holder = lane
                    return True
                continue
            if lane is None or holder is None or holder is _SOMEBODY or holder.gate is not lane.gate or timeout == 0:
                if not self._inner.acquire(blocking, timeout):
                    return False
                self._holder = lane or _SOMEBODY
                return True
            waiter = _LockWaiter(lane, lane.tag("t") if timeout > 0 else None)
            with _queueing:
                if self._inner.acquire(False):
                    self._holder = lane
                    return True
                self._waiters.append(waiter)
                if self._holder is holder:
                    break
                self._waiters.remove(waiter)  # the holder has changed meanwhile: look again
        return self._wait(lane, waiter, None if timeout < 0 else timeout)

    def _wait(self, lane: Lane, waiter: _LockWaiter, timeout: float | None) -> bool:
        """Wait to be handed the lock; a waiter that fails to take it hands it on."""
        try:
            if wait_in_turn(lane, waiter, timeout):
                return True
        except BaseException:
            self._forget(waiter)
            if waiter.woken:
                self._pass_on()
            raise
        self._forget(waiter)
        return False

    def _forget(self, waiter: _LockWaiter) -> None:
        with _queueing:
            try:
                self._waiters.remove(waiter)
            except ValueError:
                pass

    def release(self) -> None:
        """Release, as the interpreter's own lock does.

        Raises:
            Halt: The replay has stopped, and took the lock from the strand that would release it.
        """
        if not self._inner.locked():
            lane = lanes.counted()
            if lane is not None and lane.gate.halted is not None:
                raise lane.gate.halted
        self._pass_on()

    def _pass_on(self) -> None:
        """Hand the lock to the longest waiter; without a waiter, free it."""
        while True:
            if self._waiters and self._inner.locked() and self._hand_over():
                return
            self._holder = None
            self._inner.release()
            if not self._waiters or not self._inner.acquire(False):
                return  # no strand took it in between, or its holder will pass it on

    def _hand_over(self) -> bool:
        """Wake the first waiter that still waits; False when none does."""
        while True:
            with _queueing:
                if not self._waiters:
                    return False
                waiter = self._waiters.popleft()
            self._holder = waiter.lane
            if waiter.release():
                return True

    def locked(self) -> bool:
        """Whether the lock is held."""
        return self._inner.locked()

    def _at_fork_reinit(self) -> None:
        self._inner._at_fork_reinit()  # type: ignore[attr-defined]
        self._holder = None
        self._waiters.clear()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *failure: object) -> None:
        self.release()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__module__}.{type(self).__qualname__}' object")

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        return f"<{state} {type(self).__module__}.{type(self).__qualname__} object at {id(self):#x}>"


class RLock(metaclass=_Stand):
    """``threading.RLock`` for strands of an agent."""

    __slots__ = ("__weakref__", "_block", "_count", "_owner")
    native = staticmethod(threading.RLock)
    native_type = _NativeRLock

    def __init__(self) -> None:
        self._block: Lock = type.__call__(Lock)
        self._owner = 0
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire, as the interpreter's own lock does; about 0.4 µs where the lock is free or the caller's.

        Raises:
            Halt: The replay stopped while waiting.
        """
        me = _get_ident()
        if self._owner == me:
            self._count += 1
            return True
        if not self._block.acquire(blocking, timeout):
            return False
        self._owner = me
        self._count = 1
        return True

    def release(self) -> None:
        """Release, as the interpreter's own lock does.

        Raises:
            RuntimeError: The caller does not hold the lock.
            Halt: The replay has stopped, and took the lock from the strand that would release it.
        """
        if self._owner != _get_ident():
            lane = lanes.counted()
            if lane is not None and lane.gate.halted is not None:
                raise lane.gate.halted
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = 0
            self._block.release()

    def locked(self) -> bool:
        """Whether the lock is held."""
        return self._block.locked()

    def _is_owned(self) -> bool:
        return self._owner == _get_ident()

    def _recursion_count(self) -> int:
        return self._count if self._owner == _get_ident() else 0

    def _release_save(self) -> tuple[int, int]:
        saved = (self._count, self._owner)
        self._count = self._owner = 0
        self._block.release()
        return saved

    def _acquire_restore(self, saved: tuple[int, int]) -> None:
        self._block.acquire()
        self._count, self._owner = saved

    def _at_fork_reinit(self) -> None:
        self._block._at_fork_reinit()
        self._count = self._owner = 0

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *failure: object) -> None:
        self.release()

    __reduce_ex__ = Lock.__reduce_ex__

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        return f"<{state} {name} object owner={self._owner} count={self._count} at {id(self):#x}>"


class SimpleQueue(metaclass=_Stand):
    """``queue.SimpleQueue`` for strands of an agent: a waiter for an item is woken in turn, as at a ``Queue``."""

    native = _queue.SimpleQueue
    native_type = _queue.SimpleQueue
    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._filled = threading.Condition()  # re-entrant, as the interpreter's own ``put`` is

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Add an item; never waits, whatever ``block`` and ``timeout`` say."""
        with self._filled:
            self._items.append(item)
            self._filled.notify()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the oldest item, waiting up to ``timeout`` seconds for one.

        Raises:
            queue.Empty: There is no item, or none came in time.
        """
        if timeout is not None and timeout < 0 and block:
            raise ValueError("'timeout' must be a non-negative number")
        with self._filled:
            if not block or timeout == 0:
                found = bool(self._items)
            else:
                found = self._filled.wait_for(lambda: bool(self._items), timeout)
            if not found:
                raise queue.Empty
            return self._items.popleft()

    def put_nowait(self, item: Any) -> None:
        """``put``."""
        self.put(item)

    def get_nowait(self) -> Any:
        """``get`` that does not wait."""
        return self.get(block=False)

    def empty(self) -> bool:
        """Whether there is no item now."""
        return not self._items

    def qsize(self) -> int:
        """How many items there are now."""
        return len(self._items)


def _bear_names() -> None:
    """Give the classes the interpreter's names, which errors, logs and recorded values show."""
    for cls, native in ((Lock, _NativeLock), (RLock, _NativeRLock), (SimpleQueue, _queue.SimpleQueue)):
        cls.__module__, cls.__qualname__, cls.__name__ = native.__module__, native.__qualname__, native.__name__
