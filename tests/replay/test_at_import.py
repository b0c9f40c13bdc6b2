"""Recorded functions and blocks that nothing can call alone: the message says what to write, and that then works."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

FUNCTIONS = """
import random, reenact

@reenact.record()
def first():
    print(random.random())

@reenact.record()
def second():
    print(random.random())

"""
BLOCKS = """
import random, reenact
with reenact.record():
    print(random.random())
with reenact.record():
    print(random.random())
"""


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "REENACT_STORE": str(folder / "store.sqlite")}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def _reenact(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return _run(folder, sys.executable, "-m", "reenact", *words)


@pytest.mark.parametrize("program", [FUNCTIONS + "first()\nsecond()\n", BLOCKS], ids=["functions", "blocks"])
def test_what_nothing_can_call_alone_says_what_to_write_and_the_next_command_leads_on(
    program: str, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(program)
    assert _run(tmp_path, sys.executable, "agent.py").returncode == 0
    refused = _reenact(tmp_path, "replay", "@")
    assert refused.returncode == 3
    assert 'if __name__ == "__main__":' in refused.stderr
    assert "differs" not in refused.stderr  # the code is as it was, and nothing of it was compared
    assert "were not made" not in refused.stderr
    next_command = refused.stderr.split("next: ")[1].splitlines()[0]
    assert next_command == f"reenact record -- {shlex.join([sys.executable, 'agent.py'])}"
    assert _reenact(tmp_path, *shlex.split(next_command)[1:]).returncode == 0
    assert "same (exact)" in _reenact(tmp_path, "replay", "@").stderr


def test_each_of_two_functions_under_a_guard_replays(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(FUNCTIONS + 'if __name__ == "__main__":\n    first()\n    second()\n')
    assert _run(tmp_path, sys.executable, "agent.py").returncode == 0
    for run in ("@", "@~1"):
        assert "same (exact)" in _reenact(tmp_path, "replay", run).stderr


def test_a_function_that_is_gone_is_no_difference_of_what_it_printed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(FUNCTIONS + 'if __name__ == "__main__":\n    second()\n')
    assert _run(tmp_path, sys.executable, "agent.py").returncode == 0
    (tmp_path / "agent.py").write_text(FUNCTIONS.replace("second", "third"))
    replayed = _reenact(tmp_path, "replay", "@")
    assert replayed.returncode == 3
    assert "differs" not in replayed.stderr
    assert replayed.stderr.splitlines()[-1].startswith("reenact: verdict: cannot be replayed")
