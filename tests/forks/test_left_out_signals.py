"""Proves that a signal which came in the middle of a call is not sent into another one that a fork makes instead."""

from __future__ import annotations

import signal

import pytest

from tests.forks.conftest import Forks

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms to speak of")

LIMITED = """
    import os, signal, threading, time
    import reenact

    fired = []

    def give_up(number, frame):
        fired.append("fired")
        raise TimeoutError

    @reenact.tool(effect="read")
    def work(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.01)
        return "worked"

    signal.signal(signal.SIGUSR1, give_up)
    with reenact.step("plan", {"seconds": 5.0}) as state:
        seconds = state["seconds"]
    if seconds > 1:
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGUSR1]).start()
    try:
        print(work(seconds), fired)
    except TimeoutError:
        print("late", fired)
"""


def test_a_signal_whose_call_is_made_anew_is_left_out_and_named(forks: Forks) -> None:
    assert forks.record(LIMITED) == "late ['fired']\n"
    same = forks.fork("plan#1", "--live", "none")
    assert (same["printed"], same["remarks"]) == ("late ['fired']\n", [])
    other = forks.fork("plan#1", "--set", "seconds=0.05", "--live", "all")
    assert other["printed"] == "worked []\n"
    assert any("a signal that came while a call was at work is left out" in each for each in other["remarks"])
    forks.replays_exactly(other["run"])
