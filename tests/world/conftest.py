"""Programs in a folder of their own, recorded and replayed by the public commands."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests import commands

HOLD_MS = "500"
"""A machine that runs other things too may not get to a thread within the usual bound; what is proven here is else."""


class Place:
    """A folder with one program, its store, and whatever the program reads.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, text: str, name: str = "agent.py") -> None:
        """A file of the folder; a program by default."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def run(self, *words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Any command in the folder."""
        own = {"NO_COLOR": "1", "REENACT_STORE": str(self.folder.parent / "store.sqlite"), "REENACT_HOLD_MS": HOLD_MS}
        base = {**os.environ, **own, **environment}
        return commands.run(
            words, cwd=self.folder, env=base, input=stdin, capture_output=True, text=True, timeout=90, check=False
        )

    def reenact(self, *words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Our command."""
        return self.run(sys.executable, "-m", "reenact", *words, stdin=stdin, **environment)

    def record(
        self, text: str = "", *, stdin: str = "", options: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Record a program; it must end well."""
        if text:
            self.write(text)
        done = self.reenact("record", *options.split(), "--", sys.executable, "agent.py", stdin=stdin, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def replay(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Replay the last run."""
        return self.reenact("replay", "@", *options, **environment)

    def exact(self, recorded: subprocess.CompletedProcess[str], **environment: str) -> None:
        """The last run replays as it was recorded."""
        replayed = self.replay(**environment)
        assert replayed.returncode == 0, replayed.stdout + replayed.stderr
        assert "verdict: same (exact)" in replayed.stderr
        assert replayed.stdout == recorded.stdout

    def kept(self) -> bytes:
        """Everything in the store, as it lies on the disk."""
        place = self.folder.parent / "store.sqlite"
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        return b"".join(path.read_bytes() for path in files if path.is_file())

    def shown(self) -> str:
        """The whole story of the last run."""
        return self.reenact("show", "@", "--all").stdout

    def kit(self) -> str:
        """The kit of the last run."""
        return self.reenact("kit", "@").stdout


@pytest.fixture
def world(tmp_path: Path) -> Place:
    """The folder of one test; the store lies beside it, so that it is no part of the project."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Place(folder)
