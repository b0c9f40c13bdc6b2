"""A fork whose command is killed: the agent goes on with nothing, and who resumes it has the fork's own change."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.forks.conftest import Forks
from tests.programs import read_program

AGENT = read_program("forks/slow_look_and_a_payment.py")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a child does not hear that its parent has died")
def test_it_writes_nothing_more_and_is_resumed_with_its_change(forks: Forks) -> None:
    forks.record(AGENT)
    folder = forks.desk.folder
    change = ("--set", "query=slow", "--at-time", "2031-05-06")
    words = ("fork", f"{forks.parent}:plan#1", *change, "--allow-write", "pay")
    command = [sys.executable, "-m", "reenact", *words]
    environment = {**os.environ, "HOME": str(folder.parent), "NO_COLOR": "1"}
    fork = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    _wait_for(folder / "looking")
    fork.send_signal(signal.SIGKILL)
    assert fork.wait(30) == -signal.SIGKILL
    assert fork.stdout is not None
    fork.stdout.read()  # ends when the agent has, too
    assert (folder / "paid").read_text() == "fast", "the write of the recording alone"
    (folder / "agent.py").write_text((folder / "agent.py").read_text().replace("+ 2", "+ 0"))
    resumed = forks.desk.run("resume", "@")
    assert resumed.stdout == "SLOW 2031\nslow\n", resumed
    assert (folder / "paid").read_text() == "fastslow"
    forks.replays_exactly()


def _wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until, f"there is no {path.name}"
        time.sleep(0.02)


HANGS = """
    import os
    import reenact
    @reenact.tool(effect="read")
    def look():
        return 1
    if os.path.exists("hang"):
        open("up", "w").close()
        while True:
            pass
    print(look())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt is no signal there")
def test_one_that_is_interrupted_before_its_first_event_leaves_no_run(forks: Forks) -> None:
    forks.record(HANGS)
    folder = forks.desk.folder
    (folder / "hang").touch()
    command = [sys.executable, "-m", "reenact", "fork", f"{forks.parent}:0", "--result", "look#1=2"]
    environment = {**os.environ, "NO_COLOR": "1", "REENACT_STORE": str(folder / ".reenact")}
    fork = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, start_new_session=True)
    _wait_for(folder / "up")
    os.killpg(fork.pid, signal.SIGINT)
    _, said = fork.communicate(timeout=60)
    assert fork.returncode == 130 and b"interrupted" in said, said
    assert [each["run"] for each in forks.runs()] == [forks.parent]
