"""A recording keeps of each timer that fired when it was set and when it was due; a kept replay has the same."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from reenact.facts.order import TimerSpan

from .driver import World, record, replay

WAIT_S = 0.04


def runs_out(wait: Callable[[], Awaitable[object]]) -> object:
    """A wait in an event loop that nothing ends but its time."""

    async def main() -> str:
        try:
            await wait()
        except TimeoutError:
            return "out"
        return "over"

    return asyncio.run(main())


def takes() -> None:
    with pytest.raises(queue.Empty):
        queue.Queue[int]().get(timeout=WAIT_S)


WAITS = {
    "sleep": lambda: time.sleep(WAIT_S),
    "queue": takes,
    "event": lambda: threading.Event().wait(WAIT_S),
    "asyncio.sleep": lambda: runs_out(lambda: asyncio.sleep(WAIT_S)),
    "wait_for": lambda: runs_out(lambda: asyncio.wait_for(asyncio.Event().wait(), WAIT_S)),
}


def timers(wait: Callable[[], object]) -> list[tuple[int, TimerSpan | None]]:
    """When each timer of a program fired, and what is kept of it."""

    def program(world: World) -> None:
        wait()
        world.ask("and now?")

    recorded = record(program)
    order = recorded.store.open(recorded.run).deliveries()
    return [(each.at_us, each.times) for each in order if each.tag.kind == "t"]


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_says_when_it_began_and_how_long_it_was_to_last(name: str) -> None:
    ((at_us, times),) = timers(WAITS[name])
    assert times is not None
    assert 0 < times.due_us - times.set_us <= WAIT_S * 1e6 + 1, "to the next microsecond"
    assert 0 <= times.set_us < at_us


HOUR_S = 3_600
LONG: dict[str, Callable[[float], object]] = {
    "sleep": lambda wait_s: time.sleep(wait_s),
    "event": lambda wait_s: threading.Event().wait(wait_s),
    "asyncio.sleep": lambda wait_s: runs_out(lambda: asyncio.sleep(wait_s)),
    "wait_for": lambda wait_s: runs_out(lambda: asyncio.wait_for(asyncio.Event().wait(), wait_s)),
}


@pytest.mark.parametrize("name", LONG)
def test_a_timer_of_a_replay_is_none_of_the_worlds(name: str) -> None:
    """It fires where it fired: an hour, which the code waits now, would be an hour by the world's clock."""

    def program(world: World) -> None:
        LONG[name](WAIT_S if world.pace is not None else HOUR_S)
        world.ask("and now?")

    replayed = replay(record(program), program)
    assert (replayed.replay.verdict, replayed.performed) == ("exact", 0)


@pytest.mark.parametrize("library", ["trio", "uvloop"])
def test_so_do_the_waits_of_other_loops(library: str) -> None:
    loop = pytest.importorskip(library)
    if library == "trio":
        found = timers(lambda: loop.run(loop.sleep, WAIT_S))
    else:
        found = timers(lambda: asyncio.Runner(loop_factory=loop.new_event_loop).run(asyncio.sleep(WAIT_S)))
    ((at_us, times),) = found
    assert times is not None and times.set_us < at_us
    assert 0 < times.due_us - times.set_us <= WAIT_S * 1e6 + 1000, "uvloop counts in milliseconds"


def test_what_was_late_is_known_as_late() -> None:
    def works() -> None:
        async def main() -> None:
            waits = asyncio.ensure_future(asyncio.sleep(0.01))
            await asyncio.sleep(0)
            time.sleep(0.1)  # the loop stands still
            await waits

        asyncio.run(main())

    found = timers(works)
    late_us = [at_us - times.due_us for at_us, times in found if times and times.due_us - times.set_us < 20_000]
    assert len(late_us) == 1 and late_us[0] > 50_000
