"""Agents that act on the world, a server that counts whatever reaches it, and a folder that is watched."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .counting import Counting


class Agent:
    """A program in a watched folder of its own, with a server that counts.

    Args:
        folder: Where everything is.
    """

    def __init__(self, folder: Path) -> None:
        self.watched = folder / "watched"
        self.home = folder / "home"
        self.watched.mkdir()
        self.home.mkdir()
        self._store = folder / "store"
        self.counting = Counting()

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command in the watched folder."""
        plain = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        state = str(self._store.parent / "state")  # where the seal's key lies, which the home would hide
        base = {**plain, "HOME": str(self.home), "XDG_STATE_HOME": state, "REENACT_STORE": str(self._store)}
        base |= {"PORT": str(self.counting.port), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        where = self.watched
        return subprocess.run(words, cwd=where, env=base, capture_output=True, text=True, timeout=60, check=False)

    def write(self, text: str) -> None:
        """The program."""
        (self.watched / "agent.py").write_text(textwrap.dedent(text))

    def record(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Record it; it must end well."""
        done = self.run(sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py", **environment)
        assert done.returncode == 0, done.stderr
        return done

    def replay(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Replay the last run."""
        return self.run(sys.executable, "-m", "reenact", "replay", "@", *options, **environment)

    def report(self, *options: str, **environment: str) -> dict[str, Any]:
        """The report of a replay."""
        done = self.replay("--json", *options, **environment)
        found: dict[str, Any] = json.loads(done.stdout)
        assert found["exit_code"] == done.returncode
        return found

    def picture(self) -> dict[str, str]:
        """Every file that is watched, with a digest of its contents and when it was last written."""
        found = {}
        for folder in (self.watched, self.home):
            for path in sorted(folder.rglob("*")):
                data = path.read_bytes() if path.is_file() else b""
                found[str(path)] = f"{hashlib.sha256(data).hexdigest()} {path.stat().st_mtime_ns}"
        return found


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent of one test."""
    made = Agent(tmp_path)
    yield made
    made.counting.close()


def in_force(report: dict[str, Any], what: str) -> None:
    """Skip where the system does not permit a means of enforcement, which the report must then say with its reason.

    Whether it permits it is asked of the system's own tool, not of the code under test."""
    if any(each.startswith(what) for each in report["enforcement"]):
        return
    said = [each for each in report["enforcement"] if each.startswith(("no ", "files not isolated ("))]
    assert said, report["enforcement"]
    assert not _permitted(), f"the system permits {what}, and it is not in force: {said}"
    pytest.skip(f"this system does not permit {what}: {said[0]}")


def _permitted() -> bool:
    tool = shutil.which("unshare")
    ways = ("-mn", "-rmn")
    return tool is not None and any(subprocess.run([tool, way, "true"], check=False).returncode == 0 for way in ways)
