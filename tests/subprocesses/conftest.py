"""Agents that start processes, through the public commands; what they started leaves a mark that is counted."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import commands


class Agent:
    """A program in a folder of its own, with a helper script whose every run leaves a line in a file.

    Args:
        folder: Where it lives.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marks = folder / "marks"
        self.helper = folder / "helper.sh"
        self.helper.write_text('echo "$$" >> marks\n')

    def write(self, text: str) -> None:
        """The program."""
        (self.folder / "agent.py").write_text(textwrap.dedent(text))

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Our command, or any other, in the folder."""
        base = {**os.environ, "REENACT_STORE": str(self.folder / "store.sqlite"), **environment}
        return commands.run(words, cwd=self.folder, env=base, capture_output=True, text=True, timeout=60, check=False)

    def record(self) -> subprocess.CompletedProcess[str]:
        """Record it; it must end well."""
        done = self.run(sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py")
        assert done.returncode == 0, done.stderr
        return done

    def replay(self) -> subprocess.CompletedProcess[str]:
        """Replay the last run where no tool is to be found any more."""
        if self.helper.exists():
            self.helper.unlink()
        return self.run(sys.executable, "-m", "reenact", "replay", "@", PATH=str(self.folder / "no-such-folder"))

    def started(self) -> int:
        """How often anything was really started."""
        return len(self.marks.read_text().splitlines()) if self.marks.exists() else 0

    def same(self, text: str, starts: int | None = None) -> str:
        """Record and replay a program: the same and exact, nothing started. Gives what it printed.

        Args:
            text: The program.
            starts: How often it starts the helper.
        """
        self.write(text)
        recorded = self.record()
        before = self.started()
        if starts is not None:
            assert before == starts
        replayed = self.replay()
        assert replayed.returncode == 0, replayed.stderr
        assert "verdict: same (exact)" in replayed.stderr
        assert replayed.stdout == recorded.stdout
        assert self.started() == before
        return recorded.stdout


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent of one test."""
    return Agent(tmp_path)
