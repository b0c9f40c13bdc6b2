"""Proves that clocks which only measure follow the timers of a fork, and the wall clock what was recorded.

The expectations are worked out by hand from what the programs wait for; what decides between two of them is far enough
apart for a busy machine.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.forks.conftest import Forks
from tests.programs import read_program

CLOSE_S = 0.09
"""How late all of a program's waits may be together, for what is worked out by hand to hold."""
TRIES = 10


def told(printed: str) -> list[str | float]:
    """What a program printed, word by word; moments as numbers."""
    return [float(word) if "." in word else word for word in printed.split()]


def agrees(printed: str, expected: str) -> bool:
    """Whether two programs printed the same, moments within bounds."""
    ours, theirs = told(printed), told(expected)
    return len(ours) == len(theirs) and all(
        abs(one - other) < CLOSE_S if isinstance(one, float) and isinstance(other, float) else one == other
        for one, other in zip(ours, theirs, strict=True)
    )


def records(forks: Forks, program: str, expected: str) -> None:
    """Record a program on a machine that is not late: what is proved is what forks make of such a recording, so one
    that a busy machine has made late is made again."""
    for _ in range(TRIES):
        printed = forks.record(program)
        if agrees(printed, expected):
            return
    raise AssertionError(f"each time the machine was late, or the clocks are wrong: {printed}")


def forked(forks: Forks, *settings: str, live: str = "none") -> dict[str, Any]:
    """A fork with other settings, whose replay prints the same, and a fork of it that changes nothing."""
    options = [word for setting in settings for word in ("--set", setting)]
    report = forks.fork("plan#1", *options, "--live", live)
    forks.replays_exactly(report["run"])
    parent, forks.parent = forks.parent, report["run"]
    clone = forks.fork("plan#1", "--live", "none")
    assert clone["printed"] == report["printed"]
    assert clone["remarks"] == []
    forks.parent = parent
    return report


def prints(forks: Forks, expected: str, *settings: str, again: bool = False) -> None:
    """A fork with other settings prints what is expected; ``again``: so does what comes after it."""
    options = [word for setting in settings for word in ("--set", setting)]
    report = forked(forks, *settings) if again else forks.fork("plan#1", *options, "--live", "none")
    assert agrees(report["printed"], expected), report["printed"]


QUEUE = read_program("forks/queue_with_a_time_out.py")


def test_a_queue_that_is_asked_with_another_time_out(forks: Forks) -> None:
    records(forks, QUEUE, "A 3 1.0 B 1.2")
    prints(forks, "A 5 1.0 B 1.2", "limit=0.18", again=True)
    prints(forks, "A 1 1.0 B 1.2", "limit=0.7")
    prints(forks, "2 0.6 B 0.8", "total=0.45", again=True)
    prints(forks, "3 0.54 B 0.74", "limit=0.18", "total=0.45")
    prints(forks, "A 1 1.0 B 1.2", "limit=0.7", "total=0.9")


def test_a_queue_beside_a_call_that_goes_live(forks: Forks) -> None:
    forks.record(QUEUE.replace('"seconds": 1.0', '"seconds": 0.1'))
    report = forked(forks, "seconds=1.0", "limit=0.4", live="all")
    answer, empty, took, _, after = told(report["printed"])
    assert isinstance(took, float)
    assert isinstance(after, float)
    assert (answer, empty) == ("A", str(math.floor(took / 0.4)))
    assert took >= 1.0
    assert abs(after - took - 0.2) < CLOSE_S


POLLED = read_program("forks/polled_task.py")


def test_a_loop_until_a_deadline(forks: Forks) -> None:
    records(forks, POLLED, "3 True 1.2 1.2 A 1.2")
    prints(forks, "5 True 1.0 1.0 A 1.0", "pause=0.2", again=True)
    prints(forks, "2 True 1.4 1.4 A 1.4", "pause=0.7")
    prints(forks, "1 True 3.0 3.0 A 3.0", "pause=3")
    prints(forks, "2 False 0.8 0.8 A 0.9", "patience=0.6", again=True)


def test_a_loop_behind_work(forks: Forks) -> None:
    worked = "hashlib.pbkdf2_hmac('sha256', b'', b'', 500_000)"  # a fifth of a second, at least
    imported = POLLED.replace("import asyncio\n", "import asyncio\nimport hashlib\n")
    forks.record(imported.replace("pass\n", f"{worked}\n", 1))
    prints(forks, "5 True 1.0 1.0 A 1.0", "pause=0.2")


RETRIED = read_program("forks/backoff_with_a_deadline.py")


def test_a_backoff_with_a_deadline_over_all(forks: Forks) -> None:
    records(forks, RETRIED, "found 3 1.8")
    prints(forks, "found 3 0.75", "pause=0.05", again=True)
    prints(forks, "gave_up 1 0.6", "pause=0.4", "total=1.25")
    prints(forks, "gave_up 1 1.2", "pause=1", again=True)
    prints(forks, "found 3 0.4", "pause=0")


WAITED = read_program("forks/future_with_a_time_out.py")


def test_a_time_out_that_lets_an_answer_come_and_sleeps_that_are_left_out(forks: Forks) -> None:
    records(forks, WAITED, "late 0.1 B 0.4 C 1.3")
    prints(forks, "A 0.3 B 0.6 C 1.5", "limit=5", again=True)
    prints(forks, "late 0.1 B 0.4 C 0.9", "times=1", again=True)
    prints(forks, "late 0.1 B 0.4 C 1.7", "times=5")


SIDE_BY_SIDE = read_program("forks/two_strands_that_sleep.py")


def test_strands_side_by_side_have_one_time(forks: Forks) -> None:
    records(forks, SIDE_BY_SIDE, "1.48 1.64 1.64")
    prints(forks, "1.18 3.64 3.64", "a=0.1", "b=1.3", again=True)
    prints(forks, "3.58 1.24 3.58", "a=1.3", "b=0.1", again=True)


SPUN = """
    import time
    import reenact

    @reenact.tool(effect="read")
    def look(query):
        time.sleep(0.2)
        return query.upper()

    with reenact.step("plan", {"spin": 0.4}) as state:
        pass
    began = time.perf_counter()
    while time.perf_counter() - began < state["spin"]:
        pass
    print(look("b"), time.perf_counter() - began)
"""


def test_a_loop_that_asks_nothing_but_the_clock(forks: Forks) -> None:
    records(forks, SPUN, "B 0.6")
    prints(forks, "B 0.3", "spin=0.1", again=True)
    prints(forks, "B 1.1", "spin=0.9", again=True)


PAUSED = read_program("forks/coroutine_with_a_time_out.py")


def test_forks_of_forks_and_time_outs_of_nothing(forks: Forks) -> None:
    records(forks, PAUSED.replace("datetime.datetime.now().isoformat()", '"2031"'), "a 0.3 0.5 2 0.8")
    prints(forks, "late 0.0 0.2 2 0.5", "limit=0")
    prints(forks, "late 0.0 0.2 2 0.5", "limit=-1")
    prints(forks, "a 0.3 0.3 2 0.6", "pause=-3")
    forks.parent = forked(forks, "pause=1.2")["run"]
    prints(forks, "a 0.3 1.5 2 1.8", "limit=9")
    forks.parent = forked(forks, "pause=0.7")["run"]
    prints(forks, "late 0.1 0.8 2 1.1", "limit=0.1", again=True)


def test_the_wall_clock_stays_and_that_is_said(forks: Forks) -> None:
    forks.record(PAUSED)
    report = forked(forks, "pause=1.2")
    assert agrees(report["printed"], "a 0.3 1.5 2 1.8"), "the request with a time in it has its answer"
    assert [remark for remark in report["remarks"] if "the wall clock" in remark]
    moved = forks.fork("plan#1", "--set", "pause=1.2", "--at-time", "1999-01-01", "--live", "reads")
    assert agrees(moved["printed"], "a 0.3 1.5 1 1.8"), "asked anew, of another year"


def test_where_no_timer_is_another_one_clocks_show_what_they_showed(forks: Forks) -> None:
    before = forks.record(PAUSED.replace("print(await look(", 'print(await look("x" + '))
    assert forks.fork("plan#1", "--live", "none")["printed"] == before
    report = forked(forks, "limit=7")
    assert (report["printed"], report["remarks"]) == (before, [])


def test_what_is_too_near_to_be_certain_is_said(forks: Forks) -> None:
    forks.record(PAUSED)
    looked = next(event for event in forks.events() if event.name == "look")
    assert looked.ended_us is not None
    took = (looked.ended_us - looked.issued_us) / 1e6
    near = forked(forks, f"limit={took - 0.02}")
    assert agrees(near["printed"], "a 0.3 0.5 2 0.8")
    assert [remark for remark in near["remarks"] if "their order is uncertain" in remark]
    little = forked(forks, "pause=0.18")
    assert agrees(little["printed"], "a 0.3 0.5 2 0.8")
    assert [remark for remark in little["remarks"] if "a timer waits less than it did when it was recorded:" in remark]


KILLED = """
    import time
    import reenact
    @reenact.tool(effect="read")
    def look(query):
        if query == "slow":
            open("looking", "w").close()
            time.sleep(WAIT)
        return query.upper()
    with reenact.step("plan", {"query": "fast", "pause": 0.2}) as state:
        pass
    began = time.monotonic()
    time.sleep(state["pause"])
    print(time.monotonic() - began, flush=True)
    print(look(state["query"]), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a child does not hear that its parent has died")
def test_a_fork_that_is_killed_goes_on_with_what_its_clocks_have_shown(forks: Forks) -> None:
    forks.record(KILLED.replace("WAIT", "60"))
    folder = forks.desk.folder
    words = ("fork", f"{forks.parent}:plan#1", "--set", "query=slow", "--set", "pause=1.5", "--live", "reads")
    environment = {**os.environ, "HOME": str(folder.parent), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "reenact", *words]
    fork = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until = time.monotonic() + 60
    while not (folder / "looking").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    fork.send_signal(signal.SIGKILL)
    assert fork.wait(30) == -signal.SIGKILL
    assert fork.stdout is not None
    fork.stdout.read()
    (folder / "agent.py").write_text((folder / "agent.py").read_text().replace("(60)", "(0)"))
    resumed = forks.desk.run("resume", "@")
    assert agrees(resumed.stdout, "1.5 SLOW"), resumed
    forks.replays_exactly()


LATE = read_program("forks/loop_busy_with_work.py")


def test_a_timer_that_fired_late_is_no_shorter_one(forks: Forks) -> None:
    forks.record(LATE)
    for settings in ((), ("--set", "limit=2"), ("--set", "limit=2.0")):
        same = forks.fork("plan#1", *settings, "--live", "none")
        assert same["printed"].split()[0] == "slow" and same["remarks"] == []
    assert forks.fork("plan#1", "--set", "limit=3", "--live", "none")["printed"] == "slow 3\n"


WORKS = """
    import time
    import reenact

    with reenact.step("plan", {"limit": 0.2}) as state:
        pass
    began = time.monotonic()
    turns = 0
    while time.monotonic() < began + state["limit"]:
        sum(range(300_000))
        turns += 1
    print("done" if turns < 5000 else "asked the clock instead of working")
"""


def test_work_until_a_later_deadline_ends_when_it_has_worked_so_long(forks: Forks) -> None:
    forks.record(WORKS)
    assert forks.fork("plan#1", "--set", "limit=0.8", "--live", "none")["printed"] == "done\n"
