"""A command that is forked from a loaded interpreter does what the one does that is started by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import commands

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="commands are started by themselves here"),
]

AGENT = """
import os, sys
print(input(), os.getcwd(), sys.argv[1:], os.environ["WHERE"])
print("said", file=sys.stderr)
sys.exit(3)
"""
OURS = [sys.executable, "-m", "reenact"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def options(place: Path, **more: str) -> dict[str, Any]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REENACT"))}
    return {"cwd": place, "env": {**kept, "NO_COLOR": "1", "WHERE": "here", **more}, "text": True}


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["show", "nosuch"],
        ["nosuch"],
        ["--json", "show", "nosuch"],
        ["ls", "--where", "1 +"],
        ["config"],
        ["golden", "run"],
    ],
    ids=" ".join,
)
def test_it_says_and_ends_the_same(place: Path, words: list[str]) -> None:
    alone = subprocess.run([*OURS, *words], capture_output=True, check=False, **options(place))
    forked = commands.run([*OURS, *words], capture_output=True, **options(place))
    assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    with commands.started([*OURS, "--version"], stdout=subprocess.DEVNULL) as process:
        assert isinstance(process, commands._Forked)


def test_what_it_starts_has_its_folder_environment_and_input(place: Path) -> None:
    command = [*OURS, "record", "--", sys.executable, "agent.py", "a", "b c"]
    done = commands.run(command, input="typed\n", capture_output=True, **options(place))
    assert (done.returncode, done.stdout) == (3, f"typed {place} ['a', 'b c'] here\n")
    assert done.stderr.startswith("said\nreenact: ")
    (run,) = commands.run(["reenact", "ls", "--json"], stdout=subprocess.PIPE, **options(place)).stdout.splitlines()
    assert json.loads(run)["entry"]["argv"][1:] == ["agent.py", "a", "b c"]


def test_nothing_of_one_command_is_seen_by_the_next(place: Path) -> None:
    for where in ("one", "other"):
        done = commands.run([*OURS, "config"], capture_output=True, **options(place, REENACT_STORE=where))
        assert where in done.stdout
    assert "other" not in commands.run([*OURS, "config"], capture_output=True, **options(place)).stdout


def test_a_signal_that_ends_it_is_its_status(place: Path) -> None:
    (place / "agent.py").write_text("import time\nprint('began', flush=True)\ntime.sleep(60)\n")
    command = [*OURS, "record", "--", sys.executable, "agent.py"]
    with commands.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options(place)) as process:
        assert process.stdout is not None and process.stdout.readline() == "began\n"
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL == process.poll()


def test_one_that_does_not_end_is_killed(place: Path) -> None:
    (place / "agent.py").write_text("import time\ntime.sleep(60)\nopen('ended', 'w')\n")
    with pytest.raises(subprocess.TimeoutExpired):
        commands.run([*OURS, "record", "--", sys.executable, "agent.py"], timeout=0.5, **options(place))
    assert not (place / "ended").exists()


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "PYTHONPATH", "PYTHONUTF8"])
def test_one_whose_interpreter_starts_otherwise_is_started_by_itself(place: Path, variable: str) -> None:
    process = commands.started([*OURS, "--version"], stdout=subprocess.DEVNULL, **options(place, **{variable: "0"}))
    assert process.wait(60) == 0
    assert not isinstance(process, commands._Forked)
    assert commands.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\n"
