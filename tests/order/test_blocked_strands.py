"""Proves that a strand which blocks where no hook sees it (in a ``select``) replays: what came after its next call does
not overtake it, that call is not taken for one that is not made, and one that really is not made ends the replay."""

from __future__ import annotations

import os
import select
import selectors
import threading
from collections.abc import Callable

import pytest

import reenact
from reenact.replaying.options import Options
from reenact.replaying.replay_opening import open_session

from .driver import World, assert_exact, record, replay

Wait = Callable[[int, "float | None"], bool]
"""Waits until a descriptor can be read, or so many seconds; whether it can."""


def selects(descriptor: int, seconds: float | None) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def polls(descriptor: int, seconds: float | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def uses_a_selector(descriptor: int, seconds: float | None) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(seconds))


WAITS = [selects, polls, uses_a_selector]
pytestmark = pytest.mark.skipif(not hasattr(select, "poll"), reason="pipes are selected where there is poll")


@pytest.mark.parametrize("wait", WAITS)
def test_a_call_behind_a_time_out_is_not_missing(wait: Wait) -> None:
    """The thread waits for an answer that comes after calls which its creator makes only when its waits are over."""

    def program(world: World) -> object:
        readable, writable = os.pipe()

        def ask() -> None:
            world.did("thread", world.ask("slow", delay=0.3))
            os.write(writable, b".")

        thread = threading.Thread(target=ask)
        thread.start()
        for turn in range(3):
            world.did("waited", wait(readable, 0.02), world.ask(f"poll/{turn}", delay=0.001))
        world.did("woken", wait(readable, None), world.ask("last"))
        thread.join()
        os.close(readable)
        os.close(writable)
        return world.said

    recorded = record(program)
    for _ in range(3):
        assert_exact(recorded, replay(recorded, program))


@pytest.mark.parametrize("wait", WAITS)
def test_an_answer_does_not_overtake_a_call_that_had_been_made(wait: Wait) -> None:
    """The thread's answer, given at once, would end the wait that had timed out."""

    def program(world: World) -> object:
        readable, writable = os.pipe()

        def ask() -> None:
            world.did("thread", world.ask("slow", delay=0.15))
            os.write(writable, b".")

        thread = threading.Thread(target=ask)
        thread.start()
        found = wait(readable, 0.02)
        answer = world.ask("after the time-out", delay=0.4)  # made before the thread is answered, answered after it
        thread.join()
        os.close(readable)
        os.close(writable)
        return found, answer

    recorded = record(program)
    for _ in range(3):
        assert_exact(recorded, replay(recorded, program))


def test_a_call_that_is_not_made_ends_the_replay_all_the_same() -> None:
    def program(world: World, *, asks: bool = True) -> object:
        readable, writable = os.pipe()

        def ask() -> None:
            world.ask("slow", delay=0.1)
            os.write(writable, b".")

        thread = threading.Thread(target=ask)
        thread.start()
        if asks:
            world.ask("first", delay=0.001)
        selects(readable, 3)
        thread.join()
        os.close(readable)
        os.close(writable)
        return None

    recorded = record(program)
    with pytest.raises(reenact.Divergence, match="ask was not made"):
        replay(recorded, lambda world: program(world, asks=False))


def test_a_look_waits_for_the_call_that_is_looked_for() -> None:
    """A session and its gate have one lock: a thread that makes a call holds it, and one that looks at the gate too.

    With a lock each, the one thread could hold the session's and wait for the gate's, and the other the reverse."""
    recorded = record(lambda world: world.ask("first", delay=0.001))
    session = open_session(recorded.store.open(recorded.run.id), Options())
    session.schedule.stalled = lambda waited_us: found.append(waited_us)  # type: ignore[method-assign]
    session.gate.running = 0
    session.gate.look(0)
    looking = threading.Thread(target=lambda: session.gate.look(10), daemon=True)
    found: list[int] = []
    with session.lock:
        looking.start()
        looking.join(0.1)
        assert found == []
    looking.join(20)
    assert found == [10]
