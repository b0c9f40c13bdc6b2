"""An interrupt, or a fault, while a session begins never lets the program run as if nobody had asked for one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reenact.seams.boot.parent import Boot

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes to hold a boot with")


@pytest.mark.parametrize("mode", ["record", "replay", "fork", "golden", "experiment"])
def test_an_interrupt_in_the_boot_ends_the_program_before_its_first_line(tmp_path: Path, mode: str) -> None:
    (tmp_path / "agent.py").write_text("open('ran', 'w').close()\n")
    with Boot({"mode": mode}, os.environ) as boot:
        held = boot.place / "instructions.json"
        held.unlink()
        os.mkfifo(held)
        program = subprocess.Popen([sys.executable, "agent.py"], cwd=tmp_path, env=boot.environment)
        reading = os.open(held, os.O_WRONLY)  # until the boot reads it
        program.send_signal(signal.SIGINT)
        assert program.wait(30) == -signal.SIGINT
        os.close(reading)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("mode", "runs"), [("record", True), ("replay", False), ("experiment", False)])
def test_a_fault_in_the_boot_costs_a_recording_and_ends_whatever_must_not_touch_the_world(
    tmp_path: Path, mode: str, runs: bool
) -> None:
    (tmp_path / "agent.py").write_text("open('ran', 'w').close()\n")
    with Boot({"mode": mode}, os.environ) as boot:
        (boot.place / "instructions.json").write_text("[]")  # no instructions that this version gives
        program = subprocess.run(
            [sys.executable, "agent.py"], cwd=tmp_path, env=boot.environment, capture_output=True, check=False
        )
        assert "could not begin" in boot.failure
    assert (program.returncode == 0, (tmp_path / "ran").exists()) == (runs, runs), program.stderr


@pytest.mark.parametrize("instructions", ["[]", '{"mode": "replay", "store": "", "run": "", "options": {}}'])
def test_a_boot_that_cannot_say_why_it_failed_ends_the_program_all_the_same(tmp_path: Path, instructions: str) -> None:
    """As on a full disk: what could not be left for the parent is said on standard error."""
    (tmp_path / "agent.py").write_text("open('ran', 'w').close()\n")
    with Boot({"mode": "replay"}, os.environ) as boot:
        (boot.place / "instructions.json").write_text(instructions)
        (boot.place / "failed").mkdir()
        program = subprocess.run(
            [sys.executable, "agent.py"], cwd=tmp_path, env=boot.environment, capture_output=True, check=False
        )
    assert program.returncode in (2, 3, 4) and b"could not begin" in program.stderr, program
    assert not (tmp_path / "ran").exists()


def test_a_script_that_is_not_there_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("print('ran')\n")
    said = []
    for script in ("agnt.py", "none/such.py"):
        words = [sys.executable, "-m", "reenact", "record", "--", sys.executable, script]
        said.append(subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False).stderr)
    assert "there is no file agnt.py; did you mean agent.py?" in said[0], said
    assert said[0].endswith(f"next: reenact record -- {sys.executable} agent.py\n"), said
    assert "there is no file none/such.py\n  next: ls\n" in said[1], said
