"""What takes more than a moment says on a terminal what it does, for how long, and how long it will take; nothing
elsewhere."""

from __future__ import annotations

import io
import re
import sys
import threading
import time

import pytest

from reenact.interfaces.cli.progress import Progress, ReadingProgress, WorkProgress, remaining


class Terminal(io.StringIO):
    """Standard error as a terminal; says when something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        """A terminal."""
        return True

    def write(self, text: str) -> int:
        """Take it in."""
        count = super().write(text)
        self.written.set()
        return count


def _terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error, from inside a test: between a fixture and its test pytest puts its own there."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


@pytest.mark.parametrize(
    ("done", "total", "spent", "said"),
    [
        (0, 10, 60.0, ""),
        (1, 10, 1.0, ""),
        (10, 10, 60.0, ""),
        (5, 10, 60.0, ", about 60 s left"),
        (9, 10, 9.0, ", about 1 s left"),
        (1, 100, 3.0, ", about 297 s left"),
    ],
)
def test_the_rest_is_estimated_from_what_is_done(done: int, total: int, spent: float, said: str) -> None:
    assert remaining(done, total, spent) == said


def test_a_batch_says_how_long_it_will_take(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    now = iter((0.0, 1.0, 6.0, 9.0, 12.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    shown = Progress(6, "not passed", known=2)
    for _ in range(4):
        shown.one(bad=False)
    shown.end()
    told = re.split(r"\r", terminal.getvalue())
    assert "3/6" in told[1] and "left" not in told[1]
    assert "4/6  0 not passed  6 s, about 6 s left" in told[2]
    assert "5/6  0 not passed  9 s, about 3 s left" in told[3] and "left" not in told[4]


def test_one_long_piece_of_work_says_what_it_is_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with WorkProgress("packing 1 event", quiet_s=0.0):
        assert terminal.written.wait(30)
    assert terminal.getvalue().startswith("\rreenact: packing 1 event  0 s\x1b[K")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_one_long_piece_of_work_whose_share_is_known_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    working = WorkProgress("reading a.jsonl", quiet_s=0.0)
    working.reached(1, 4)
    with working:
        assert terminal.written.wait(30)
    assert terminal.getvalue().startswith("\rreenact: reading a.jsonl  25 %  0 s\x1b[K")


def test_a_long_reading_says_how_much_is_left_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    now = iter((0.0, 0.25, 1.0, 1.0, 1.0, 11.0, 11.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    shown = ReadingProgress()
    for done in (10, 20, 60):
        shown.at("reenact: importing spans", done, 100)
    shown.end()
    first, last = re.split(r"\r", terminal.getvalue())[1:3]
    assert first.startswith("reenact: importing spans 20/100") and "left" not in first
    assert last.startswith("reenact: importing spans 60/100, about 7 s left")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_what_ends_in_a_moment_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    with WorkProgress("packing", quiet_s=3600.0):
        pass
    with pytest.raises(LookupError), WorkProgress("packing", quiet_s=3600.0):
        raise LookupError
    assert terminal.getvalue() == ""


def test_nothing_is_said_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        working = WorkProgress("packing", quiet_s=0.0)
        with working:
            assert working.idle
        assert stream is None or stream.getvalue() == ""
