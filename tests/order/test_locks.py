"""Proves that plain locks and simple queues are ordered: who gets a contended one next is the same again.

And that what strands get in their place keeps the promises of the interpreter's own.
"""

from __future__ import annotations

import _queue
import _thread
import copy
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import reenact
from reenact.seams.lanes import Lane
from reenact.seams.strands import locks
from reenact.seams.strands.waiters import StrandWaiter, wait_in_turn
from tests.conftest import SWEEP

from .driver import World, assert_exact, record, record_and_replay, replay
from .test_threads import run


@contextmanager
def recorded() -> Iterator[None]:
    """The block is a strand of an agent that is being recorded."""
    with reenact.record(store="memory:"):
        yield


# --- order ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, threading.Condition], ids=["lock", "rlock", "cond"])
def test_a_lock_held_across_calls(make: Callable[[], Any]) -> None:
    def program(world: World) -> None:
        lock = make()

        def worker(name: int) -> None:
            for n in range(3):
                with lock:
                    world.did(name, n, world.ask(f"{name}/{n}"))
                world.did(name, "out", world.ask("between"))

        run(*((worker, n) for n in range(4)))

    record_and_replay(program, rounds=4)


def test_locks_with_the_usual_bound_on_holds() -> None:
    """Nothing here needs more patience than every recording has: a waiter for a lock does not count as running."""

    def program(world: World) -> None:
        lock = threading.Lock()

        def worker(name: int) -> None:
            for n in range(3):
                with lock:
                    world.did(name, n, world.ask(f"{name}/{n}", delay=0.03))

        run(*((worker, n) for n in range(3)))

    recorded = record(program, policy=reenact.Policy())
    assert recorded.run.totals.unproven == 0
    assert_exact(recorded, replay(recorded, program))


def test_the_longest_waiter_gets_it_next() -> None:
    """Also where its holder asks for it again at once: nobody starves."""

    def program(world: World) -> object:
        lock = threading.Lock()
        turns: list[int] = []

        def worker(name: int) -> None:
            for _ in range(4):
                with lock:
                    turns.append(name)
                    world.ask(f"{name}")

        run(*((worker, n) for n in range(3)))
        return turns

    recorded = record(program)
    assert recorded.output[:3] == [0, 1, 2] or sorted(recorded.output[:3]) == [0, 1, 2]
    assert all(sorted(recorded.output[n : n + 3]) == [0, 1, 2] for n in range(0, 12, 3))
    assert_exact(recorded, replay(recorded, program))


def test_locks_with_time_outs_and_tries() -> None:
    def program(world: World) -> None:
        lock = threading.Lock()

        def patient(name: int) -> None:
            for n in range(4):
                if lock.acquire(timeout=0.002):
                    try:
                        world.did(name, n, world.ask(f"{name}/{n}"))
                    finally:
                        lock.release()
                else:
                    world.did(name, n, "late")

        def tries(name: int) -> None:
            for n in range(4):
                got = lock.acquire(blocking=False)
                world.did(name, n, got, world.ask(f"{name}/{n}"))
                if got:
                    lock.release()

        run(*((patient, n) for n in range(3)), (tries, 7), (tries, 8))

    record_and_replay(program, rounds=6)


def test_simple_queues() -> None:
    def program(world: World) -> None:
        items: queue.SimpleQueue[int] = queue.SimpleQueue()

        def consumer(name: int) -> None:
            for _ in range(3):
                world.did(name, items.get())

        def impatient() -> None:
            for _ in range(4):
                try:
                    world.did("impatient", items.get(timeout=0.002))
                except queue.Empty:
                    world.did("impatient", "nothing")

        def producer() -> None:
            for n in range(10):
                items.put(world.ask(f"{n}"))

        run((consumer, 1), (consumer, 2), (impatient,), (producer,))

    record_and_replay(program, rounds=6)


def test_a_lock_between_jobs_of_a_pool() -> None:
    def program(world: World) -> object:
        lock, log = threading.Lock(), []

        def job(n: int) -> int:
            answer = world.ask(f"{n % 3}")
            with lock:
                log.append(n)
                world.did(n, answer, world.ask(f"{n} of {len(log)}"))
            return len(log)

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(job, range(10)))

    record_and_replay(program, rounds=5)


def test_a_lock_that_was_there_before() -> None:
    """One made before the recording is the interpreter's own; held across no call, it never needs an order."""
    lock = threading.Lock()
    assert type(lock) is _thread.LockType

    def program(world: World) -> None:
        def worker(name: int) -> None:
            answer = world.ask(f"{name}")
            with lock:
                world.did(name, answer)

        run(*((worker, n) for n in range(4)))

    record_and_replay(program)


def test_a_replay_that_stops_while_strands_wait_for_a_lock_ends() -> None:
    """A changed call diverges under a lock: whoever waits for that lock is told to stop, and nothing hangs."""

    def program(world: World, question: str) -> None:
        lock = threading.Lock()

        def worker(name: int) -> None:
            with lock:
                world.did(name, world.ask(f"{question} {name}"))

        run(*((worker, n) for n in range(4)))

    recorded = record(lambda world: program(world, "who is"))
    with pytest.raises(reenact.Divergence):
        replay(recorded, lambda world: program(world, "who was"))


# --- what they are -------------------------------------------------------------------------------------------------


def test_only_strands_get_them() -> None:
    natives = (_thread.LockType, _thread.RLock, _queue.SimpleQueue)
    makers: tuple[Any, ...] = (threading.Lock, threading.RLock, queue.SimpleQueue)
    assert tuple(type(make()) for make in makers) == natives
    with recorded():
        assert tuple(type(make()) for make in makers) == (locks.Lock, locks.RLock, locks.SimpleQueue)
        with ThreadPoolExecutor(1) as pool:
            assert isinstance(pool._work_queue, _queue.SimpleQueue)
    assert tuple(type(make()) for make in makers) == natives


def test_they_pass_for_the_interpreters_own() -> None:
    native = threading.Lock()
    with recorded():
        lock, rlock = threading.Lock(), threading.RLock()
        items: queue.SimpleQueue[int] = queue.SimpleQueue()
        assert isinstance(native, threading.Lock) and isinstance(lock, threading.Lock)
        assert not isinstance(rlock, threading.Lock)
        assert repr(lock).startswith("<unlocked _thread.lock object at 0x")
        with lock:
            assert repr(lock).startswith("<locked _thread.lock object at 0x")
        assert repr(rlock).startswith("<unlocked _thread.RLock object owner=0 count=0 at 0x")
        for item in (lock, rlock):
            for copies in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="cannot pickle"):
                    copies(item)
        assert queue.SimpleQueue[int] is not None
        assert isinstance(items, queue.SimpleQueue)
        optional = threading.Lock | None
        assert optional is not None


@pytest.mark.parametrize("make", [_thread.allocate_lock, lambda: type.__call__(locks.Lock)], ids=["native", "ours"])
def test_a_lock_alone(make: Callable[[], Any]) -> None:
    lock = make()
    with recorded():
        assert lock.acquire() is True and lock.locked()
        assert lock.acquire(False) is False
        assert lock.acquire(True, 0) is False
        assert lock.acquire(timeout=0.001) is False
        assert lock.release() is None
        with pytest.raises(RuntimeError, match="release unlocked lock"):
            lock.release()
        with pytest.raises(ValueError):
            lock.acquire(False, 1)
        with pytest.raises(ValueError):
            lock.acquire(True, -2)
        with lock as got:
            assert got is True
        assert not lock.locked()


@pytest.mark.parametrize("make", [_thread.RLock, lambda: type.__call__(locks.RLock)], ids=["native", "ours"])
def test_a_re_entrant_lock_alone(make: Callable[[], Any]) -> None:
    lock = make()
    with recorded():
        with pytest.raises(RuntimeError, match="cannot release un-acquired lock"):
            lock.release()
        assert lock.acquire() is True and lock.acquire(False) is True and lock._is_owned()
        seen: list[Any] = []
        other = threading.Thread(target=lambda: seen.extend([lock.acquire(False), lock._is_owned()]))
        other.start()
        other.join()
        assert seen == [False, False]
        saved = lock._release_save()
        assert not lock._is_owned()
        lock._acquire_restore(saved)
        lock.release()
        assert lock._is_owned()
        lock.release()
        assert not lock._is_owned()


def test_a_simple_queue_alone() -> None:
    for make in (_queue.SimpleQueue, lambda: type.__call__(locks.SimpleQueue)):
        items: Any = make()
        with recorded():
            assert (items.empty(), items.qsize()) == (True, 0)
            for get in (
                items.get_nowait,
                lambda items=items: items.get(timeout=0.001),
                lambda items=items: items.get(False),
            ):
                with pytest.raises(queue.Empty):
                    get()
            with pytest.raises(ValueError):
                items.get(timeout=-1)
            items.put(1)
            items.put_nowait(2)
            items.put(3, block=False)
            items.put(4, timeout=1)
            assert (items.empty(), items.qsize()) == (False, 4)
            assert [items.get(), items.get(True, 1), items.get_nowait(), items.get(False)] == [1, 2, 3, 4]


def test_a_lock_handed_over_between_a_strand_and_others() -> None:
    """A thread of nobody, threads of two runs and the end of one run share a lock: it excludes, and nobody starves."""
    shared: list[Any] = []
    inside: list[int] = []
    overlaps: list[int] = []
    rounds = 200 if SWEEP else 40

    def works() -> None:
        lock = shared[0]
        for n in range(rounds):
            with lock:
                inside.append(1)
                if len(inside) > 1:
                    overlaps.append(n)
                time.sleep(0.0001) if n % 7 == 0 else None
                inside.pop()

    def of_a_run() -> None:
        with reenact.record(store="memory:"):
            if not shared:
                shared.append(threading.Lock())
            run((works,), (works,))

    with recorded():
        shared.append(threading.Lock())
    assert type(shared[0]) is locks.Lock
    threads = [threading.Thread(target=each) for each in (of_a_run, of_a_run, works, works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert overlaps == []
    assert not shared[0].locked()


def test_an_interrupted_waiter_hands_on_what_it_was_handed() -> None:
    """An exception in the middle of waiting (a signal handler's) leaves the lock to the next."""
    with recorded():
        lock = threading.Lock()
    held = threading.Event()
    after: list[str] = []

    class Interrupt(BaseException):
        pass

    def waits() -> None:
        with reenact.record(store="memory:"):

            def body() -> None:
                lock.acquire()
                held.set()
                time.sleep(0.05)
                lock.release()

            def interrupted() -> None:
                held.wait()

                def raising(lane: Lane, waiter: StrandWaiter, timeout: float | None) -> bool:
                    wait_in_turn(lane, waiter, timeout)
                    raise Interrupt

                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(locks, "wait_in_turn", raising)
                    with pytest.raises(Interrupt):
                        lock.acquire()
                after.append("interrupted")

            run((body,), (interrupted,))

    thread = threading.Thread(target=waits)
    thread.start()
    thread.join(30)
    assert (thread.is_alive(), after, lock.locked()) == (False, ["interrupted"], False)
