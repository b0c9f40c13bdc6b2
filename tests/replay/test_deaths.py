"""A replay, a fork or a golden whose process dies says what ended it, after which event, and where it stood."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.kit.recorded import Workbench
from tests.programs import read_program

AGENT = read_program("replay/deaths_of_every_kind.py")


@pytest.fixture
def desk(tmp_path: Path) -> Workbench:
    desk = Workbench(tmp_path)
    desk.script(AGENT)
    desk.record("agent.py")
    return desk


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills otherwise")
@pytest.mark.parametrize(
    ("how", "ended", "cause"),
    [
        ("crash", "was ended by SIGSEGV after event 2", "native code of an extension module crashed"),
        ("abort", "was ended by SIGABRT after event 2", "native code gave up"),
        ("kill", "was ended by SIGKILL after event 2", "the system was short of memory"),
        ("end", "ended without a report (exit status 1) after event 2", "the program, or an extension module in it"),
    ],
)
def test_a_death_names_the_signal_the_last_event_and_where_it_stood(
    desk: Workbench, how: str, ended: str, cause: str
) -> None:
    for words in [["replay", "@"], *([["fork", "@:3", "--live", "none"]] if how == "crash" else [])]:
        died = desk.run(*words, status=3, environ={"HOW": how}).stderr
        assert ended in died and f"likely cause: {cause}" in died
        assert died.splitlines()[-1].startswith("  next: reenact show ") and died.splitlines()[-1].endswith(":2")
        assert ("in give_up" in died) == (how in ("crash", "abort"))
        assert ("Fatal Python error" in died) == (how in ("crash", "abort"))


def test_a_golden_that_dies_says_so_too(desk: Workbench) -> None:
    desk.run("golden", "add", "@", "--as", "looks")
    died = desk.run("golden", "run", "looks", status=None, environ={"HOW": "crash"})
    assert "was ended by SIGSEGV after event 2" in died.stdout + died.stderr


def test_a_fault_of_ours_leaves_its_traceback(desk: Workbench) -> None:
    desk.script(AGENT + "\nfrom reenact.replaying import replay_process\nreplay_process.conclude = None\n")
    died = desk.run("replay", "@", status=3).stderr
    assert "was ended by a fault of reenact" in died and "after event 3" in died
    assert "'NoneType' object is not callable" in died and "in _finish" in died


SLOW = """
import sys, threading, time
import reenact
from reenact.replaying import replay_process

replay_process.GRACE_S, conclude = 0.01, replay_process.conclude

def slowly(*args):
    while not any(f.f_code.co_name == "finish" for n, f in sys._current_frames().items() if n != threading.get_ident()):
        time.sleep(0.001)
    return conclude(*args)

replay_process.conclude = slowly

@reenact.tool(effect="read")
def look(what):
    return what

look("another")
"""


def test_a_report_that_takes_long_is_waited_for(desk: Workbench) -> None:
    """A replay that has stopped is ended after some seconds, but not while it writes its report."""
    desk.script("import reenact\nreenact.tool(lambda what: what, effect='read', name='look')('this')\n")
    desk.record("agent.py")
    desk.script(SLOW)
    ended = desk.run("replay", "@", status=1).stderr
    assert "differs at arguments.what" in ended and "verdict: different" in ended
