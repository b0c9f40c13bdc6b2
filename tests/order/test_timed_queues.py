"""Proves that a thread which drains a queue in batches, by time-outs, posts the same batches again."""

from __future__ import annotations

import contextlib
import queue
import threading

import pytest

import reenact
from reenact.seams.clock import REAL

from .driver import World, record, replay

BUSY = reenact.Policy(hold_ms=1)
"""A hold ends while a strand is still at work, as on a busy machine: the places of time-outs are not proven."""


def work(world: World, seconds: float) -> None:
    """Compute while it is recorded; the machine on which it is replayed is so fast that it takes no time."""
    assert REAL.thread_time_ns is not None
    end = REAL.thread_time_ns() + int(seconds * 1e9) if world.pace is not None else 0
    while REAL.thread_time_ns() < end:
        pass


def drains(world: World, items: queue.Queue[str | None], first: float = 0.25, further: float = 0.05) -> None:
    """Post what is in a queue, batch by batch, as exporters do; ``None`` ends it."""
    ends = False
    while not ends:
        batch: list[str | None] = []
        try:
            batch.append(items.get(timeout=first))
            while batch[-1] is not None:
                batch.append(items.get(timeout=further))
            ends = True
        except queue.Empty:
            pass
        if batch:
            world.did("posted", world.ask(" ".join(str(item) for item in batch), write=True))


def works_between_two(world: World, items: queue.Queue[str | None]) -> None:
    """A batch is over while the agent is at work: what it puts then belongs to the next one."""
    for n in range(3):
        items.put(f"{n} asked")
        world.did("answer", world.ask(f"model {n}", delay=0.001))
        work(world, 0.3)
        items.put(f"{n} answered")
        world.did("tool", world.ask(f"tool {n}", delay=0.3))


def test_a_queue_that_is_drained_by_time_outs_beside_an_agent_at_work() -> None:
    def program(world: World) -> None:
        items: queue.Queue[str | None] = queue.Queue()
        exporter = threading.Thread(target=drains, args=(world, items))
        exporter.start()
        works_between_two(world, items)
        items.put(None)
        exporter.join()

    recorded = record(program, policy=BUSY)
    assert recorded.run.totals.unproven > 0, "nothing was let go while the agent was at work"
    for _ in range(3):
        replayed = replay(recorded, program)
        assert replayed.replay.verdict == "same", replayed.replay.report.last_line
        assert sorted(replayed.said) == sorted(recorded.said)
        assert replayed.performed == 0
    recorded.store.close()


def test_a_time_out_that_was_not_recorded_ends_before_a_call_is_said_not_to_be_made() -> None:
    """Code that first looks in vain for more makes the call after it; what is left of the time-out is none."""

    def program(world: World, looks: int) -> None:
        items: queue.Queue[str] = queue.Queue()

        def exporter() -> None:
            for _ in range(looks):
                with contextlib.suppress(queue.Empty):
                    items.get(timeout=0.05)
            world.did("posted", world.ask("batch", write=True))

        thread = threading.Thread(target=exporter)
        thread.start()
        world.did("answer", world.ask("model", delay=0.1))
        thread.join()

    recorded = record(lambda world: program(world, 0))
    replayed = replay(recorded, lambda world: program(world, 3))
    assert replayed.replay.verdict == "same", replayed.replay.report.last_line
    assert "is assumed, not proven" in replayed.replay.report.last_line
    assert replayed.said == recorded.said
    assert replayed.performed == 0
    recorded.store.close()


def test_a_call_that_is_not_made_is_said_so_although_a_thread_polls_for_ever() -> None:
    def program(world: World, asks: bool) -> None:
        over = threading.Event()

        def polls() -> None:
            while not over.wait(0.05):
                world.did("looked")

        thread = threading.Thread(target=polls)
        thread.start()
        if asks:
            world.ask("first", delay=0.12)
        else:
            threading.Event().wait()
        over.set()
        thread.join()

    recorded = record(lambda world: program(world, True))
    with pytest.raises(reenact.Divergence, match="http ask was not made"):
        replay(recorded, lambda world: program(world, False))
    recorded.store.close()


def test_a_call_that_is_not_made_is_said_so_although_two_threads_wake_each_other_for_ever() -> None:
    def program(world: World, asks: bool) -> None:
        over = threading.Event()
        there: queue.Queue[int] = queue.Queue()
        back: queue.Queue[int] = queue.Queue()

        def passes(first: queue.Queue[int], then: queue.Queue[int]) -> None:
            while not over.is_set():
                then.put(first.get() + 1)

        threads = [threading.Thread(target=passes, args=each, daemon=True) for each in ((there, back), (back, there))]
        for thread in threads:
            thread.start()
        there.put(0)
        if asks:
            world.ask("first", delay=0.02)
        else:
            threading.Event().wait()
        over.set()
        for thread in threads:
            thread.join(5)

    recorded = record(lambda world: program(world, True))
    with pytest.raises(reenact.Divergence, match="http ask was not made"):
        replay(recorded, lambda world: program(world, False))
    recorded.store.close()
