"""Proves that a run which goes on waits as long as the program does by itself: its waits, alarms and clocks all follow
the world's time.

The length of a wait is measured from outside, by the times of two files. A program's own clocks could agree with each
other and be wrong together."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.desk import Desk
from tests.programs import read_program
from tests.ringing import ALARMS

SECONDS = dict.fromkeys(("sleep", "asyncio", "timeout", "monotonic", "perf_counter", "wall"), 0.6) | {"alarm": 2.0}


@ALARMS
def test_a_wait_after_a_computation_is_no_shorter_than_the_program_says(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(read_program("resume/waits_of_all_kinds.py"))
    (desk.folder / "fall").touch()
    assert desk.record(["python", "agent.py"]).code == -signal.SIGKILL
    (desk.folder / "fall").unlink()
    resumed = desk.run("reenact", "resume")
    assert (resumed.code, resumed.out.decode().split()) == (0, list(SECONDS)), resumed
    began, ended = (
        {name: (desk.folder / f"{name}.{mark}").stat().st_mtime for name in SECONDS} for mark in ("began", "ended")
    )
    short = {name: ended[name] - began[name] for name in SECONDS if ended[name] - began[name] < 0.95 * SECONDS[name]}
    assert short == {}
    assert b"verdict: same" in desk.replay().err
