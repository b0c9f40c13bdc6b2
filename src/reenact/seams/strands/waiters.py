"""Waiters: how a strand that waits for another strand is woken in its turn, or times out in its turn."""

from __future__ import annotations

import _thread
import math
import threading

from reenact.facts.order import Tag
from reenact.seams.gate import Gate
from reenact.seams.lanes import Lane
from reenact.seams.turns import timer_due
from reenact.seams.waits import Rest, rest


class StrandWaiter:
    """Wakes one waiting strand: ``release`` makes the strand runnable in its turn at the gate.

    A condition keeps this object in its list of waiters in the place of a lock, and wakes it by ``release``.

    Args:
        gate: The gate that gives the turn.
        wake: Identity of the wake-up.
        timer: Identity of the time-out; None for a wait without one.
    """

    __slots__ = ("door", "gate", "noticed", "timed_out", "timer", "wake", "woken")

    def __init__(self, gate: Gate, wake: Tag, timer: Tag | None) -> None:
        self.gate = gate
        self.wake = wake
        self.timer = timer
        self.noticed = False
        self.woken = False
        self.timed_out = False
        self.door = _thread.allocate_lock()
        self.door.acquire()

    def release(self) -> bool:
        """Wake the strand; False when it waits no more (timed out, or interrupted)."""
        with self.gate.lock:
            if self.noticed or self.timed_out:
                return False
            self.noticed = self.woken = True
            if self.timer is not None:
                self.gate.withdraw(self.timer)
            self.gate.offer(self.wake, self.open)
            return True

    def open(self) -> None:
        """Let the strand go on (gate locked). A halt may call this twice: for a timer, and for a sleeper."""
        if self.door.locked():
            self.door.release()

    def expire(self) -> None:
        """The timer's turn has come (gate locked, we are counted)."""
        self.timed_out = True
        self.open()

    def expired(self) -> None:
        """The world's time is up: queue for our turn, unless notified meanwhile."""
        with self.gate.lock:
            if not self.noticed and self.timer is not None:
                self.gate.offer(self.timer, self.expire, alive=lambda: not self.noticed)


class WaiterRest(Rest):
    """The uncounted wait of a strand until its waiter is woken."""

    __slots__ = ("waiter",)

    def __init__(self, waiter: StrandWaiter) -> None:
        super().__init__(waiter.gate.waiting, waiter.wake, *([waiter.timer] if waiter.timer is not None else []))
        self.waiter = waiter

    def counted(self) -> bool:
        """Whether the strand was woken, or its time is up, and its turn has come. The caller holds the gate's lock."""
        return self.waiter.timed_out or (self.waiter.noticed and super().counted())


def wait_in_turn(lane: Lane, waiter: StrandWaiter, timeout: float | None) -> bool:
    """Block the calling, counted strand until the waiter is woken, or its time is up, and its turn has come.

    Args:
        lane: The lane of the strand.
        waiter: The waiter, which its waker knows already.
        timeout: Seconds; None waits for ever.

    Returns:
        True when it was woken, False when the time was up.

    Raises:
        Halt: The replay stopped while waiting.
    """
    gate: Gate = lane.gate
    due_us = None
    if timeout is not None and waiter.timer is not None:
        wait_us = math.ceil(min(timeout, 1e9) * 1e6) + 1  # so that no time is left when the agent computes the rest
        due_us = timer_due(lane, waiter.timer, wait_us)
        if due_us is not None:
            gate.offer(waiter.timer, waiter.expire, deadline_us=due_us, alive=lambda: not waiter.noticed)
    gate.sleeping(id(waiter), waiter.open)
    out = WaiterRest(waiter)
    gate.blocked()
    try:
        if timeout is None or due_us is not None:
            rest(out, waiter.door.acquire)
        elif not rest(out, waiter.door.acquire, True, min(timeout, threading.TIMEOUT_MAX)):
            waiter.expired()
            rest(out, waiter.door.acquire)
    except BaseException:  # an interrupt: we run again, counted once, whether or not a turn had come
        with gate.lock:
            taken_back = gate.withdraw(waiter.wake) or (waiter.timer is not None and gate.withdraw(waiter.timer))
            gate.goes_on(uncounted=taken_back or not (waiter.noticed or waiter.timed_out))
            waiter.noticed = True
        raise
    finally:
        gate.sleeping(id(waiter), None)
    if gate.halted is not None:
        raise gate.halted
    return not waiter.timed_out
