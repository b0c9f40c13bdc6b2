"""Moving in a long run, and comparing two: look-ups, a watch over all events, the first difference and all of them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from statistics import median
from typing import Any

import reenact
from reenact.abc.store import Recording, Store
from reenact.timetravel.run_comparison import Comparison
from reenact.timetravel.timeline import Timeline
from tests.timetravel.long import TURN, keep_long

REPEATS = 7

LOOKS: Mapping[str, Callable[[Timeline, int], object]] = {
    "state": lambda timeline, size: timeline.at(size - 3).state,
    "messages": lambda timeline, size: timeline.at(size - 3).messages,
    "changed": lambda timeline, size: timeline.changed(size // 2 // TURN * TURN),
    "last_set": lambda timeline, size: timeline.last_set("docs"),
    "last_set_never": lambda timeline, size: timeline.last_set("goal"),
    "by_name": lambda timeline, size: timeline.event(f"search_docs#{size // 3}"),
    "next": lambda timeline, size: timeline.next("kind == 'tool'", after=size // 2),
    "previous": lambda timeline, size: timeline.previous("kind == 'tool'", before=size // 2),
}
"""What a person asks of a run. ``last_set_never`` is a value that never changed, the worst case for a key of the state;
that of a path below one is measured by itself."""

WATCHES = {
    "head": "status == 429 and duration > 0",
    "payload": "'d77' in result['docs']",
    "state": "len(state['docs']) > 7",
}
"""Watches that need the events alone, every payload, and every state."""


@contextmanager
def opened() -> Iterator[Store]:
    """A store in a folder that goes away."""
    with tempfile.TemporaryDirectory() as folder, reenact.open_store(f"sqlite:///{folder}/runs.db") as store:
        yield store


def took_ms(look: Callable[[], Any]) -> float:
    """Milliseconds that the thread works, the median of a few goes: a look waits for nothing."""
    took = []
    for _ in range(REPEATS):
        start = time.thread_time()
        look()
        took.append((time.thread_time() - start) * 1e3)
    return median(took)


def look_up(size: int) -> Mapping[str, float]:
    """Milliseconds of each look-up in a run of so many events, the store opened again for each kind."""
    found = {}
    with opened() as store:
        run = keep_long(store, size)
        for name, look in LOOKS.items():
            timeline = Timeline(store.open(run))
            found[f"{name}_ms"] = took_ms(lambda look=look, timeline=timeline: look(timeline, size))  # type: ignore[misc]
        timeline = Timeline(store.open(run))
        deep = took_ms(lambda: timeline.last_set("plan.goal"))
    return {**found, "slowest_ms": max(found.values()), "last_set_deep_ms": deep}


def watch(size: int) -> Mapping[str, float]:
    """Milliseconds of a watch over all events, and until its first hit."""
    found = {}
    with opened() as store:
        run = keep_long(store, size)
        for name, expression in WATCHES.items():
            start = time.thread_time()
            for _ in Timeline(store.open(run)).watch(expression):
                pass
            found[f"{name}_ms"] = (time.thread_time() - start) * 1e3
        first = took_ms(lambda: next(Timeline(store.open(run)).watch("kind == 'tool'")))
    return {**found, "slowest_ms": max(found.values()), "first_hit_ms": first}


def diff(size: int) -> Mapping[str, float]:
    """Milliseconds to the first difference of two runs of which the second half differs, and to all with patches."""
    with opened() as store:
        left, right = keep_long(store, size, 1), keep_long(store, size, 2, odd=size // TURN // 2)

        def whole() -> None:
            found = Comparison(store.open(left), store.open(right))
            assert all(pair.patch() for pair in found.differences)
            assert found.summary

        first = took_ms(lambda: Comparison(store.open(left), store.open(right)).first_difference)
        return {"first_ms": first, "full_ms": took_ms(whole)}


def list_steps(size: int) -> Mapping[str, float]:
    """Milliseconds to list the newest 100 steps of a run of so many, and all of them; then the states of all."""
    with opened() as store:
        run = keep_long(store, size * TURN)

        def states(recording: Recording) -> None:
            for place in recording.snapshots():
                recording.checkpoint_slots(place.event, place.phase)

        newest = took_ms(lambda: list(islice(store.open(run).snapshots(backwards=True), 200)))
        return {
            "newest_ms": newest,
            "all_ms": took_ms(lambda: list(store.open(run).snapshots())),
            "states_ms": took_ms(lambda: states(store.open(run))),
        }
