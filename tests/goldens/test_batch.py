"""A batch of goldens that is interrupted starts no other one: it ends when those that are under way have ended."""

from __future__ import annotations

import threading

import pytest

from reenact.replaying.agent_process import Starter
from reenact.testing.goldens.golden_batch import several


def test_an_interrupt_waits_for_what_is_under_way_and_starts_nothing_more() -> None:
    started: list[str] = []
    never = threading.Event()

    def run(name: str, start_it: Starter) -> str:
        started.append(name)
        if name != "0":
            never.wait(0.3)
        return name

    def done(name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        several([str(number) for number in range(50)], run, 2, done=done)
    assert len(started) < 25, "the first, and the few that had begun until it was known"
