"""Proves that racing threads replay exactly: starts, wake-ups, time-outs, pools and joins come in their order again."""

from __future__ import annotations

import concurrent.futures
import queue
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from .driver import World, record, record_and_replay, replay


def run(*bodies: Any) -> None:
    """Start each body as a thread, and join them all."""
    threads = [threading.Thread(target=body[0], args=body[1:]) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_that_sleep_and_share_a_list() -> None:
    def program(world: World) -> object:
        def branch(name: int) -> None:
            for n in range(3):
                time.sleep(world.pause(0.003))
                world.did(name, world.ask(f"{name}/{n}/{len(world.said)}"))

        run(*((branch, n) for n in range(5)))
        return len(world.said)

    record_and_replay(program, rounds=5)


def test_identical_questions_from_five_threads() -> None:
    def program(world: World) -> None:
        def branch(name: int) -> None:
            world.did(name, world.ask("the same question"))

        run(*((branch, n) for n in range(5)))

    record_and_replay(program)


def test_one_event_wakes_five_threads() -> None:
    def program(world: World) -> None:
        go = threading.Event()

        def waits(name: int) -> None:
            go.wait()
            world.did(name, "woke")
            world.did(name, world.ask(f"{name}"))

        def wakes() -> None:
            world.ask("ready?")
            go.set()
            world.did("set")

        run(*((waits, n) for n in range(5)), (wakes,))

    record_and_replay(program, rounds=5)


def test_queue_with_timeouts() -> None:
    def program(world: World) -> None:
        items: queue.Queue[int] = queue.Queue(3)

        def producer(name: int) -> None:
            for n in range(4):
                items.put(world.ask(f"{name}/{n}"))

        def consumer(name: str) -> None:
            misses = 0
            while misses < 3:
                try:
                    world.did(name, items.get(timeout=0.003))
                except queue.Empty:
                    misses += 1
                    world.did(name, "nothing")

        def rest() -> None:
            for _ in range(12):
                try:
                    world.did("rest", items.get(timeout=0.02))
                except queue.Empty:
                    return

        run((producer, 1), (producer, 2), (consumer, "a"), (consumer, "b"), (rest,))

    record_and_replay(program, rounds=5)


def test_conditions_semaphores_and_barriers() -> None:
    def program(world: World) -> None:
        limit, barrier, condition = threading.Semaphore(2), threading.Barrier(4), threading.Condition()
        arrived: list[int] = []

        def worker(name: int) -> None:
            with limit:
                answer = world.ask(f"{name}")
            world.did(name, answer)
            place = barrier.wait()
            world.did(name, "place", place)
            with condition:
                arrived.append(name)
                condition.notify()

        def more_than(known: int) -> bool:
            return len(arrived) > known

        def collector() -> None:
            seen = 0
            while seen < 4:
                with condition:
                    if not condition.wait_for(partial(more_than, seen), timeout=0.5):
                        continue
                    seen = len(arrived)
                world.did("seen", tuple(arrived[:seen]))

        run(*((worker, n) for n in range(4)), (collector,))

    record_and_replay(program, rounds=5)


def test_reused_pool_threads() -> None:
    """Twelve jobs on three threads: which thread takes which job is chance, whose answer it gets is not."""

    def program(world: World) -> object:
        def job(n: int) -> int:
            time.sleep(world.pause(0.002))
            world.did(n, world.ask("one of many"))
            return world.ask(f"{n}/{len(world.said)}")

        with ThreadPoolExecutor(3) as pool:
            first = [pool.submit(job, n) for n in range(12)]
            return [future.result() for future in first]

    record_and_replay(program, rounds=5)


def test_pool_map_as_completed_and_wait() -> None:
    def program(world: World) -> object:
        def job(n: int) -> int:
            return world.ask(f"{n}")

        with ThreadPoolExecutor(4) as pool:
            mapped = list(pool.map(job, range(6)))
            completed = []
            for future in concurrent.futures.as_completed([pool.submit(job, n) for n in range(6)]):
                completed.append(future.result())
                world.did("completed", future.result())
            pending = {pool.submit(job, n) for n in range(10, 16)}
            while pending:
                done, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    world.did("done", future.result(), len(pending))
        return mapped, completed

    record_and_replay(program, rounds=5)


def test_results_that_came_before_anybody_asked() -> None:
    """Sets of finished futures are walked alike: their order is no chance of addresses."""

    def program(world: World) -> object:
        with ThreadPoolExecutor(8) as pool:
            futures = {pool.submit(world.ask, f"{n}", delay=0.0) for n in range(8)}
        world.did(*(future.result() for future in futures))
        world.did(*(future.result() for future in concurrent.futures.as_completed(futures)))
        done, _ = concurrent.futures.wait(futures)
        return [future.result() for future in done]

    record_and_replay(program, rounds=3)


def test_pool_time_outs_and_failures() -> None:
    def program(world: World) -> object:
        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(world.ask, f"{n}", fail=n % 3 == 0) for n in range(8)]
            for n, future in enumerate(futures):
                try:
                    world.did(n, future.result(timeout=0.001))
                except TimeoutError:
                    world.did(n, "late")
                except ConnectionError as error:
                    world.did(n, str(error))
            return [str(future.exception()) for future in futures]

    record_and_replay(program, rounds=5)


def test_callbacks_of_futures() -> None:
    def program(world: World) -> None:
        def told(name: int, done: Future[int]) -> None:
            world.did(name, done.result(), world.ask("after"))

        with ThreadPoolExecutor(3) as pool:
            for n in range(6):
                pool.submit(world.ask, f"{n}").add_done_callback(partial(told, n))

    record_and_replay(program, rounds=5)


def test_pools_inside_threads_inside_pools() -> None:
    def program(world: World) -> object:
        def leaf(name: str) -> int:
            world.did(name, world.ask("leaf"))
            return len(world.said)

        def node(name: int) -> list[int]:
            with ThreadPoolExecutor(2) as inner:
                return list(inner.map(leaf, [f"{name}.{n}" for n in range(3)]))

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(node, range(3)))

    record_and_replay(program, rounds=4)


def test_generators_read_by_threads() -> None:
    def program(world: World) -> object:
        def pages(name: int) -> Iterator[int]:
            for n in range(3):
                yield world.ask(f"{name}/page {n}")

        def reader(name: int) -> None:
            for page in pages(name):
                world.did(name, page)

        run(*((reader, n) for n in range(3)))
        return list(pages(9))

    record_and_replay(program)


def test_timers_and_daemons() -> None:
    def program(world: World) -> None:
        done = threading.Event()

        def ticks() -> None:
            while not done.wait(0.002):
                world.did("tick")

        daemon = threading.Thread(target=ticks, daemon=True)
        daemon.start()
        timer = threading.Timer(0.003, lambda: world.did("timer", world.ask("late")))
        timer.start()
        for n in range(3):
            world.did(n, world.ask(f"{n}"))
        timer.join()
        done.set()
        daemon.join()

    record_and_replay(program, rounds=5)


def test_joins_with_a_time_out() -> None:
    def program(world: World) -> None:
        threads = [threading.Thread(target=world.ask, args=(f"{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for n, thread in enumerate(threads):
            thread.join(0.001)
            world.did(n, thread.is_alive())
        for thread in threads:
            thread.join()

    record_and_replay(program, rounds=5)


def test_an_interpreter_without_its_lock_is_named_and_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(world: World) -> object:
        return world.ask("anything")

    locked = record(program)
    assert not locked.run.degraded
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    recorded = record(program)
    assert recorded.output >= 1000
    assert any("the order of threads is not followed" in fault for fault in recorded.run.degraded)
    replayed = replay(locked, program)
    assert (replayed.replay.verdict, replayed.performed) == ("different", 0)
    assert any("the order of threads" in difference.text for difference in replayed.replay.report.differences)
