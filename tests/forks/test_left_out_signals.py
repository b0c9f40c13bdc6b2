"""Proves that a signal which came in the middle of a call is not sent into another one that a fork makes instead."""

from __future__ import annotations

import signal

import pytest

from tests.forks.conftest import Forks
from tests.programs import read_program

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms to speak of")

LIMITED = read_program("forks/signal_that_gives_up.py")


def test_a_signal_whose_call_is_made_anew_is_left_out_and_named(forks: Forks) -> None:
    assert forks.record(LIMITED) == "late ['fired']\n"
    same = forks.fork("plan#1", "--live", "none")
    assert (same["printed"], same["remarks"]) == ("late ['fired']\n", [])
    other = forks.fork("plan#1", "--set", "seconds=0.05", "--live", "all")
    assert other["printed"] == "worked []\n"
    assert any("a signal that came while a call was at work is left out" in each for each in other["remarks"])
    forks.replays_exactly(other["run"])
