"""Proves that a fork or resumption with ``--cmd`` keeps the command, and that all that is made from it runs it."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.forks.conftest import Forks

AGENT = """
    import os, signal, sys, reenact

    @reenact.tool(effect="read")
    def flip(text):
        return text[::-1]

    print(flip(sys.argv[1]), os.getcwd())
    if os.path.exists("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    print(flip(sys.argv[1] + "!"))
    """
BLOCK = AGENT.replace("print(flip(sys.argv[1]), os.getcwd())", "with reenact.record(): print(flip(sys.argv[1]))")
OTHER = [sys.executable, "agent.py", "one two"]
CMD = ("--cmd", shlex.join(OTHER))


def written(forks: Forks, agent: str = AGENT, *, die: bool = False) -> None:
    forks.desk.script(textwrap.dedent(agent))
    if die:
        (forks.desk.folder / "die").touch()


def recorded(forks: Forks, *, status: int | None = 0) -> None:
    forks.desk.record("agent.py", "abc", status=status)
    forks.parent = forks.runs()[0]["run"]


def entry(forks: Forks, run: str = "@") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(forks.desk.run("show", run, "--json").stdout.splitlines()[0])["entry"]
    return found


def test_a_fork_keeps_the_command_that_it_ran(forks: Forks) -> None:
    written(forks)
    recorded(forks)
    planned = forks.desk.run("fork", f"{forks.parent}:0", *CMD, "--dry-run").stdout
    assert f"  change          command {CMD[1]}\n" in planned
    report = forks.fork(0, *CMD)
    assert report["change"] == f"command {CMD[1]}" and f"change: command {CMD[1]}" in report["first_line"]
    assert report["printed"].startswith("owt eno ")
    assert "agent.py 'one two'" in forks.desk.run("show", report["run"]).stdout
    assert entry(forks, report["run"])["argv"] == OTHER
    forks.replays_exactly(report["run"])
    assert entry(forks, forks.parent)["argv"] == [sys.executable, "agent.py", "abc"]
    forks.parent = report["run"]
    again = forks.fork(1, "--live", "none")
    assert (again["change"], again["printed"]) == ("none", report["printed"])
    forks.replays_exactly(again["run"])
    assert forks.fork(0, *CMD)["change"] == "none", "it is the command of this run"


def test_it_runs_again_in_the_folder_where_it_was_typed(forks: Forks) -> None:
    written(forks)
    recorded(forks)
    there = forks.desk.folder / "sub folder"
    there.mkdir()
    forks.desk.folder = there
    forks.desk.environ = {"REENACT_STORE": str(there.parent / ".reenact")}
    report = forks.fork(0, "--cmd", shlex.join([sys.executable, "../agent.py", "xyz"]))
    assert report["printed"].startswith(f"zyx {there.resolve()}\n")
    forks.desk.folder = there.parent
    forks.replays_exactly(report["run"])


def test_a_fork_of_a_block_keeps_it_too(forks: Forks) -> None:
    written(forks, BLOCK)
    subprocess.run([sys.executable, "agent.py", "abc"], cwd=forks.desk.folder, check=True, timeout=60)
    forks.parent = forks.runs()[0]["run"]
    assert entry(forks)["kind"] == "block"
    report = forks.fork(0, *CMD)
    assert report["change"] == f"command {CMD[1]}"
    forks.replays_exactly(report["run"])


def test_a_fork_with_another_revision_keeps_both(forks: Forks) -> None:
    (forks.desk.folder / ".gitignore").write_text(".reenact\n__pycache__\n")
    written(forks)
    forks.desk.commit()
    recorded(forks)
    written(forks, AGENT.replace('+ "!"', '+ "?"'))
    report = forks.fork(0, *CMD, "--rev", "HEAD")
    assert report["printed"].endswith("!owt eno\n")
    assert Path(entry(forks)["cwd"]) == forks.desk.folder.resolve()
    forks.replays_exactly(report["run"])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_fork_goes_on_with_it(forks: Forks) -> None:
    written(forks)
    recorded(forks)
    written(forks, die=True)
    forks.fork(0, *CMD, status=None)
    (forks.desk.folder / "die").unlink()
    killed = forks.runs()[0]
    assert (killed["status"], killed["relation"]) == ("interrupted", "fork")
    done = forks.desk.run("resume", killed["run"])
    assert done.stdout.endswith("!owt eno\n")
    assert entry(forks, killed["run"])["argv"] == OTHER
    forks.replays_exactly(killed["run"])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_resumed_run_keeps_it(forks: Forks) -> None:
    written(forks, die=True)
    recorded(forks, status=-signal.SIGKILL)
    (forks.desk.folder / "die").unlink()
    command = [*OTHER[:2], "abc", "further"]
    assert forks.desk.run("resume", forks.parent, "--cmd", shlex.join(command)).stdout.endswith("!cba\n")
    assert entry(forks, forks.parent)["argv"] == command
    forks.replays_exactly(forks.parent)
    left = next(run["run"] for run in forks.runs() if run["relation"] == "attempt")
    assert entry(forks, left)["argv"] == [*OTHER[:2], "abc"]
