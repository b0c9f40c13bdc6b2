"""Proves that a timer which a fork sets for longer, or for less, comes by time among recorded answers, and no other."""

from __future__ import annotations

import pytest

from tests.forks.conftest import Forks
from tests.programs import read_program

LIMITED = read_program("forks/time_outs_of_coroutines.py")
ANSWERED = "A\nB\n['C', 'D']\ndone\n"
TIMED_OUT = "timed out\n" * 3 + "done\n"


def test_a_shorter_time_out_comes_before_a_recorded_answer(forks: Forks) -> None:
    forks.typed = "5 0.3 3\n"
    assert forks.record(LIMITED) == ANSWERED
    report = forks.fork("plan#1", "--set", "limit=0.05", "--live", "none")
    assert report["printed"] == TIMED_OUT
    forks.replays_exactly(report["run"])
    kept = forks.fork("plan#1", "--set", "limit=3", "--live", "none")
    assert kept["printed"] == ANSWERED
    forks.replays_exactly(kept["run"])


def test_a_longer_time_out_waits_for_a_recorded_answer(forks: Forks) -> None:
    forks.typed = "0.1 0.4 1\n"
    assert forks.record(LIMITED) == "timed out\ndone\n"
    report = forks.fork("plan#1", "--set", "limit=5", "--live", "none")
    assert report["printed"] == "A\ndone\n"
    forks.replays_exactly(report["run"])
    shorter = forks.fork("plan#1", "--set", "limit=0.25", "--live", "none")
    assert shorter["printed"] == "timed out\ndone\n", "longer than it was, and not long enough"
    forks.replays_exactly(shorter["run"])


AS_BEFORE = """\
from reenact.recording.arrival_schedule import ArrivalSchedule
ArrivalSchedule.timer_set = lambda *_: 0
"""


def test_a_recording_that_does_not_say_when_its_timers_were_due_is_refused(forks: Forks) -> None:
    forks.typed = "0.1 0.4 1\n"
    assert forks.record(AS_BEFORE + LIMITED) == "timed out\ndone\n"
    refused = forks.fork("plan#1", "--set", "limit=5", "--live", "none", status=2)
    assert "does not say when its timers were set and due" in refused["said"]
    planned = forks.desk.run("fork", f"{forks.parent}:plan#1", "--dry-run", status=2).stderr
    assert "does not say when its timers were set and due" in planned
    forks.replays_exactly(forks.parent)


SIDE_BY_SIDE = """
    import asyncio, threading, time
    import reenact

    @reenact.tool(effect="read")
    def look(query):
        time.sleep(0.4)
        return query.upper()

    with reenact.step("plan", {"pause": 0.1, "name": "main"}) as state:
        pass

    def answers():
        print(look("a"))
    thread = threading.Thread(target=answers)
    thread.start()
    time.sleep(state["pause"])
    print(state["name"])
    thread.join()
"""


@pytest.mark.parametrize(("recorded", "changed"), [("0.1", "2"), ("1.0", "0.05")])
def test_a_sleep_that_is_longer_or_shorter_lets_others_go_first_or_not(
    forks: Forks, recorded: str, changed: str
) -> None:
    first = forks.record(SIDE_BY_SIDE.replace("0.1", recorded))
    assert first == ("main\nA\n" if recorded == "0.1" else "A\nmain\n")
    report = forks.fork("plan#1", "--set", f"pause={changed}", "--live", "none")
    assert report["printed"] == "".join(reversed(first.splitlines(keepends=True)))
    forks.replays_exactly(report["run"])
    same = forks.fork("plan#1", "--set", "name=other", "--live", "none")
    assert same["printed"] == first.replace("main", "other")


BUSY = read_program("forks/future_beside_a_busy_thread.py")


def test_a_time_out_behind_long_work_of_the_code_itself_is_not_taken_for_a_shorter_one(forks: Forks) -> None:
    assert forks.record(BUSY) == "main A\n"
    report = forks.fork("plan#1", "--set", "name=other", "--live", "none")
    assert report["printed"] == "other A\n"


WORKED = read_program("forks/time_out_behind_work.py")


def test_a_timer_that_did_not_fire_is_set_as_late_as_it_was(forks: Forks) -> None:
    """Behind work that is much quicker today: the recorded answers of the clock of the processor end it at once."""
    assert forks.record(WORKED) == "A\n"
    report = forks.fork("plan#1", "--set", "limit=0.8", "--live", "none")
    assert report["printed"] == "A\n", "0.3 s of work and 0.8 s of waiting are longer than the answer took"
    assert "uncertain" not in str(report["remarks"])
    forks.replays_exactly(report["run"])


BY_THE_CLOCK = read_program("forks/deadline_by_the_clock_of_the_loop.py")


@pytest.mark.parametrize("work", ["0", "0.12"])
@pytest.mark.parametrize("way", ["call_at", "timeout_at"])
def test_a_deadline_that_the_code_computes_of_the_loops_clock_comes_when_it_is_due(
    forks: Forks, way: str, work: str
) -> None:
    """As HTTP clients do. The code works before it reads the clock, and before it sets the timer."""
    forks.desk.environ["REENACT_HOLD_MS"] = "500"  # a busy machine may not get to the loop within 20
    printed = "CancelledError\n" if way == "call_at" else "TimeoutError\n"
    program = BY_THE_CLOCK.replace('way, later = "call_at", 0', f"way, later = {way!r}, {work}")
    assert forks.record(program) == printed
    for change in ((), ("--set", "limit=1.5")):
        report = forks.fork("plan#1", *change, "--live", "none")
        assert report["printed"] == printed, report["said"]
        forks.replays_exactly(report["run"])


SKEWED = read_program("forks/skewed_coroutines.py")


def test_a_strand_that_is_early_gets_its_answers_before_its_time_outs(forks: Forks) -> None:
    assert forks.record(SKEWED) == "SLOW\nA\nB\n"
    report = forks.fork("plan#1", "--set", "pause=0.01", "--live", "none")
    assert "timed out" not in report["printed"]
    forks.replays_exactly(report["run"])
