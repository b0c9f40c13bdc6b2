"""A further Ctrl-C does not cost the end of a recording, a replay or a fork."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from reenact.replaying.replay_process import ReplayingProcess
from reenact.seams.uncaught_exception import undisturbed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an interrupt is no signal there")


def test_an_interrupt_is_ignored_at_the_end_and_the_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with undisturbed():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_replay_and_so_a_fork_write_their_end_through_an_interrupt(tmp_path: Path) -> None:
    written = []

    class Ending(ReplayingProcess):
        def __init__(self) -> None:
            self._pid, self._lock, self._finished, self._place = os.getpid(), threading.RLock(), False, tmp_path

        def _finish(self) -> None:
            signal.raise_signal(signal.SIGINT)
            written.append("report")

    ending = Ending()
    ending.finish()
    ending.finish()
    assert written == ["report"], "once"
