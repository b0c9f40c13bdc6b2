"""A forked child of a recorded program goes on unrecorded, waits for nobody, and may record itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

import reenact

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

PATIENCE_S = 20


@reenact.tool(effect="write")
def order(what: str) -> str:
    """A write waits for its durable intent, which only the writer's thread can give."""
    return what


@reenact.tool(effect="write")
def divide(what: str) -> tuple[str, int]:
    """A tool that forks: both processes return from it."""
    return what, os.fork()


def _ended(child: int) -> int:
    """Exit status of the child; it is ended when it hangs."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the forked child hangs")


def _forked(body: Callable[[], bool]) -> int:
    """Fork, run ``body`` in the child, which exits with 0 if it gave True; the child's process id."""
    child = os.fork()
    if child:
        return child
    try:
        os._exit(0 if body() else 3)
    finally:
        os._exit(4)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking with threads, since 3.12
def test_a_child_goes_on_unrecorded_and_may_record_itself() -> None:
    store = reenact.open_store("memory:forks")

    def body() -> bool:
        answered = order("cold") == "cold"
        with reenact.record(agent="child", store="memory:of-the-child") as own:
            order("tea")
        with reenact.open_store("memory:of-the-child") as kept:
            calls = [event.name for event in kept.events(kept.run(own.id))]
        return answered and own.parent is None and calls == ["order"]

    with store, reenact.record(agent="parent", store=store) as run:
        order("hot")
        status = _ended(_forked(body))
        order("more")
        assert status == 0
    with reenact.open_store("memory:forks") as store:
        names = [event.name for event in store.events(store.run(run.id))]
        assert [name for name in names if name != "fork waitpid"] == ["order", "fork", "order"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_made_inside_a_call_returns_from_it_and_leaves_the_block() -> None:
    with reenact.open_store("memory:forks-inside") as store:
        child = -1
        try:
            with reenact.record(agent="parent", store=store) as run:
                _, child = divide("us")
        finally:
            if child == 0:
                os._exit(7)
        assert _ended(child) == 7
        kept = store.run(run.id)
        assert (kept.status, [event.name for event in store.events(kept)]) == ("ok", ["divide", "fork"])
