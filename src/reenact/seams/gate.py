"""The gate: it hands deliveries out one at a time, in an order that can be repeated.

A *delivery* is anything that makes a waiting strand go on: an answer, a chunk, a timer, the start of a thread, a
wake-up, a callback posted to a loop. The gate counts the strands that can run without one. When that count is zero
(quiescence) it releases the next delivery, and counts its receiver *before* waking it, so that the count never dips
falsely. The schedule of the gate (``seams.schedules``) decides which delivery is next.

The count is kept by the hooks in ``seams.strands``. A strand may block in a way that no hook sees. ``seams.watch`` then
notices that no strand runs, or that a bound has passed, and lets one delivery go without proof.
"""

from __future__ import annotations

import _thread
import functools
from collections.abc import Callable, Sized
from contextvars import ContextVar
from typing import Any

from reenact.errors import Halt
from reenact.facts.order import Tag
from reenact.seams import lanes
from reenact.seams.async_backends import AsyncBackend
from reenact.seams.counted_loops import CountedLoops
from reenact.seams.hold_clock import UNSEEN, HoldClock
from reenact.seams.lanes import Lane
from reenact.seams.loop_callbacks import post, stop_tasks
from reenact.seams.process_signals import SignalTurns
from reenact.seams.schedules import PendingChange, Schedule, Standstill
from reenact.seams.waits import RECALLED, Rest, Wait, Waiter, rest

near: ContextVar[Gate | None] = ContextVar("reenact_gate", default=None)
"""The gate of the run that a context stems from, set where several runs share a loop."""


class Gate:
    """Counts runnable strands and releases deliveries at quiescence.

    Args:
        schedule: Decides which delivery is next.

    Attributes:
        running: Strands that can run without a delivery.
        waiting: Deliveries in order of arrival.
        passes: The number of deliveries so far, by which the watch sees progress.
        loops: The loops that it counts.
        nested: The number of tasks in an eager first step: the creator of a task goes on when that step waits.
        lane_at: Gives the lane of a recorded address; None where there is no such lane yet.
        attend: Tells the watch that a delivery waits while strands run.
        shared: Whether its loop runs other runs too (a server's requests): then only this run's own strands count.
        blocked_us: How long a strand has blocked where no hook sees it, while a look asks for that; else -1.
        parting: The number of connections that are being closed in the world outside of calls. Their strands wait for
            the closing.
        signals: The state of the signals of the process.
        held_for: For how long no delivery has passed.
        halted: The reason why the replay stops; None while it goes on.
        closed: Whether the run has ended: its strands go on without turns.
    """

    ceiling_us = 10_000_000
    """The longest wait of one delivery that is not counted (``seams.hold_clock``)."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.lock = _thread.RLock()
        self.running = 1
        self.waiting: dict[Tag, Waiter] = {}
        self.passes = 0
        self.loops = CountedLoops(self)
        self.nested = 0
        self.shared = False
        self.blocked_us = -1
        self.parting = 0
        self.held_for = UNSEEN
        self.halted: Halt | None = None
        self.closed = False
        self._sleepers: dict[int, Callable[[], None]] = {}
        self.attend: Callable[[Gate], None] = lambda gate: None
        self.lane_at: Callable[[str], Lane | None] = lambda path: None
        self.signals = SignalTurns(schedule.follows)

    # --- signals -----------------------------------------------------------------------------------------------

    def signalled(self, turn: Tag, uncounted: bool, runs: bool = False) -> bool:
        """A signal has reached the main thread: whether its handler is to run now.

        Called in the middle of anything that the main thread does, so it never waits.

        Args:
            turn: Its turn (``SignalTurns.at``).
            uncounted: Whether the interrupted strand waits, so that the gate does not count it.
            runs: Whether that strand is to be counted from now on, because the handler runs in it."""
        if not self.signals.hears(turn.number):
            return self.schedule.signalled(turn, uncounted, runs)
        with self.lock:
            self.passes += 1
            self.signals.unnoticed = not runs
            self.signals.contained = None
            self.signals.handles_now(turn)
            self.schedule.grant(self.signals.turn(turn), self.running - (not uncounted) <= 0)
            self.running += runs
        return True

    def goes_on(self, *, uncounted: bool) -> None:
        """Let a strand run again once the error that interrupted its wait has been raised. The caller holds the lock.

        Args:
            uncounted: True if its turn had not come yet: then the gate does not count it. If a counted handler of a
                signal has raised, its count now stands for the strand."""
        self.running += uncounted - self.signals.raising
        self.signals.raising = 0

    # --- bounds ------------------------------------------------------------------------------------------------

    def look(self, now_us: int, *, still: bool = False, worked_us: int = 0, spared_us: int = 0) -> bool:
        """Let one delivery go although a strand runs that never rests: after the bound, or when all strands stand
        still.

        The watch looks every millisecond, where it is given the processor; a loop that never rests looks by itself.

        Args:
            now_us: Our own monotonic clock.
            still: Nothing has run since the last look: a strand blocks where no hook sees it.
            worked_us: For how much of the time since the last look the program has used the processor.
            spared_us: For how much of it the program was ready to run and got no processor: this is not counted.

        Returns:
            Whether no delivery has passed since the last look, so that the next look may find all strands still.
        """
        with self.lock:
            self.signals.send_due_alarm()
            if self.held_for.passes != self.passes:
                self.held_for = HoldClock(self.passes, now_us)
                return False
            clock = self.held_for = self.held_for.at(now_us, worked_us, spared_us, self.ceiling_us)
            waited_us = clock.waited_us
            if self.schedule.send_due_signal(waited_us):
                pass
            elif self.running <= 0:
                self.schedule.stalled(waited_us)
            elif still or self.schedule.overdue(waited_us, clock.worked_us):
                running, self.running = self.running, 0
                self.blocked_us = waited_us if still else -1
                try:
                    released = self.pump(settled=still, once=True)
                finally:
                    self.blocked_us = -1
                    self.running += running
                if still and not released:
                    self.schedule.silent(waited_us)
            return True

    def stirs(self) -> None:
        """The program has run since the last look: its standstill is counted from now. The caller holds the lock."""
        self.held_for = UNSEEN

    # --- counting ----------------------------------------------------------------------------------------------

    def started(self) -> None:
        """A strand that can run has come into being."""
        with self.lock:
            self.running += 1

    def blocked(self) -> None:
        """A strand has ended, or waits for the world or for another strand."""
        with self.lock:
            self.running -= 1
            if self.running <= 0:
                self.pump()
            elif self.waiting:
                self._some_wait()

    unblocked = started

    def _some_wait(self) -> None:
        """Tell the watch, and loops that may never rest, that a delivery waits while strands run."""
        self.attend(self)
        for poke in self.loops.pokes:
            poke()

    def parts(self, by: int) -> None:
        """A connection begins to be closed (1), or has been (-1)."""
        with self.lock:
            self.parting += by

    def pump(self, *, settled: bool = True, once: bool = False) -> bool:
        """Release one delivery if one may go. ``settled``: as for ``choose``; else the delivery goes without proof.

        The caller holds the lock. A delivery for a loop whose thread waits here itself (a blocking call in a coroutine)
        makes nothing run: then the next one goes too, unless ``once`` is set by a caller that has put the count
        aside."""
        if self.closed:
            return False
        released = False
        while True:
            waiter = self.schedule.choose(Standstill(self.waiting, settled, self.blocked_us, self.signals.held))
            if isinstance(waiter, PendingChange):
                if waiter.does(*waiter.args) or self.halted is not None:
                    return released
                continue
            if waiter is None:
                if self.schedule.follows:
                    self.attend(self)
                return released
            del self.waiting[waiter.tag]
            if waiter.alive is not None and not waiter.alive():
                continue
            self.release(waiter, proven=settled)
            released = True
            if once or self.running > 0:
                return True

    def release(self, waiter: Waiter, *, proven: bool) -> None:
        """Hand a delivery to its waiter, which is not in ``waiting`` any more. The caller holds the lock."""
        waiter.number = self.schedule.grant(waiter.tag, proven, waiter.deadline_us)
        self.passes += 1
        self.running += 1
        waiter.wake()

    # --- taking a turn -----------------------------------------------------------------------------------------

    def at_once(self, tag: Tag, *, lone: bool) -> int | None:
        """The number of a delivery that need not wait; None for one that must. The caller holds the lock."""
        if self.halted is not None:
            raise self.halted
        if self.closed:  # the strand outlives its run
            return -1
        if lone:
            number = self.schedule.alone(tag)
            self.passes += number is not None
            return number
        if not self.schedule.impatient():
            return None
        self._let_go()
        self.passes += 1
        return self.schedule.grant(tag, False)

    def _let_go(self) -> None:
        """If a delivery goes although other strands run, earlier ones go first. The caller holds the lock."""
        while self.waiting and self.pump(settled=False, once=True):
            pass

    def take(self, tag: Tag) -> int:
        """Block the calling thread until it is the turn of ``tag``; gives the number.

        Raises:
            Halt: The replay stopped while waiting.
        """
        with self.lock:
            if self.running == 1 and self.halted is None and not self.closed:
                number = self.schedule.alone(tag)  # as ``at_once`` does, without the call: 3 % of a tool's replay
                self.passes += number is not None
            else:
                number = self.at_once(tag, lone=False)
            if number is not None:
                return number
            door = _thread.allocate_lock()
            door.acquire()
            waiter = Waiter(tag, door.release)
            if not self.waiting:
                self.held_for = UNSEEN
            self.waiting[tag] = waiter
            self.running -= 1
            if self.running <= 0:
                self.pump()
            else:
                self._some_wait()
        try:
            rest(Rest(self.waiting, tag), door.acquire)
        except BaseException:  # an interrupt: we run again, whether or not our turn had come
            with self.lock:
                self.goes_on(uncounted=self.waiting.pop(tag, None) is not None)
            raise
        return self._taken(waiter)

    def _taken(self, waiter: Waiter) -> int:
        if waiter.halt is not None:
            raise waiter.halt
        assert waiter.number is not None
        return waiter.number

    def take_async(self, tag: Tag) -> Wait:
        """``take`` for a coroutine (``yield from``). Its loop is the counted strand, and leaves the count by itself."""
        loop = lanes.running_loop()
        if loop is None or lanes.current_task(loop) is None:
            backend = lanes.backend() if loop is None else None
            return self.take(tag) if backend is None else (yield from backend.take(self, tag))
        ready = getattr(loop, "_ready", None)
        with self.lock:
            rests = ready is not None and not self.has_ready(ready)
            number = self.at_once(tag, lone=self.running == 1 and not self.nested and rests)
            if number is not None:
                return number
        future = loop.create_future()
        waiter = self.offer(tag, self.loops.into(loop, lambda: None if future.done() else future.set_result(None)))
        try:
            yield from future
        except BaseException:
            with self.lock:
                self.waiting.pop(tag, None)
            raise
        return self._taken(waiter)

    def has_ready(self, ready: Sized) -> bool:
        """Whether a loop's queue holds something of this run. Callbacks of another run, or of the server, may go before
        or after: all that they can hand to this run waits for its turn here."""
        if not self.shared or not ready:
            return bool(ready)
        queue: Any = ready
        return any(handle._context.get(near) is self for handle in queue)

    def offer(
        self,
        tag: Tag,
        wake: Callable[[], None],
        *,
        alive: Callable[[], bool] | None = None,
        deadline_us: int | None = None,
        sleeper: bool = False,
    ) -> Waiter:
        """Put a delivery at the gate without blocking: a timer, a wake-up, a callback for a loop."""
        waiter = Waiter(tag, wake, alive, deadline_us, sleeper)
        with self.lock:
            if self.halted is not None:
                waiter.halt = self.halted
            elif self.closed:
                waiter.number = -1
            elif self.running > 0 and tag not in self.signals.held and self.schedule.impatient():
                self._let_go()
                self.passes += 1
                waiter.number = self.schedule.grant(tag, False)
            else:
                if not self.waiting:
                    self.held_for = UNSEEN
                self.waiting[tag] = waiter
                if self.running <= 0:
                    self.pump()
                elif deadline_us is None:
                    self._some_wait()
                return waiter
            self.running += 1
            wake()
        return waiter

    def withdraw(self, tag: Tag) -> bool:
        """Take a delivery back; False when its turn has already come."""
        with self.lock:
            return self.waiting.pop(tag, None) is not None

    def recall(self, tag: Tag) -> bool:
        """Wake the waiter for a turn, without giving it: ``take`` returns ``RECALLED``. False without a waiter."""
        with self.lock:
            waiter = self.waiting.pop(tag, None)
            if waiter is None:
                return False
            waiter.number = RECALLED
            self.running += 1
            waiter.wake()
            return True

    # --- waits without a delivery ------------------------------------------------------------------------------

    def sleeping(self, key: int, wake: Callable[[], None] | None) -> None:
        """Remember how to wake a strand that waits for another strand, so that a halt reaches it.

        None forgets the strand."""
        with self.lock:
            if wake is None:
                self._sleepers.pop(key, None)
            else:
                self._sleepers[key] = wake

    # --- stopping ----------------------------------------------------------------------------------------------

    def halt(self, reason: Halt) -> None:
        """Stop the replay: every strand that waits, or comes to wait, gets ``reason``."""
        with self.lock:
            if self.halted is None:
                self.halted = reason
            waiting = list(self.waiting.values())
            self.waiting.clear()
            for waiter in waiting:
                waiter.halt = self.halted
                self.running += 1
                waiter.wake()
            sleepers = list(self._sleepers.values())
            self._sleepers.clear()
            for wake in sleepers:
                self.running += 1
                wake()
            for loop in self.loops:
                stop = loop.stop if isinstance(loop, AsyncBackend) else functools.partial(stop_tasks, loop)
                post(loop, functools.partial(stop, self), here=False)

    def close(self) -> None:
        """The run has ended: let everything go, number nothing more."""
        with self.lock:
            self.closed = True
            waiting = list(self.waiting.values())
            self.waiting.clear()
            for waiter in waiting:
                waiter.number = -1
                self.running += 1
                waiter.wake()
