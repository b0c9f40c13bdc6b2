"""Agents with a websocket server beside them, through the public commands; the server counts what reaches it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import commands
from tests.programs import read_program

SERVER = read_program("websockets/server_of_every_end.py")


class Agent:
    """A program in a folder of its own, and a server.

    Args:
        folder: Where it lives.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "server.py").write_text(SERVER)

    def write(self, text: str) -> None:
        """The program."""
        (self.folder / "agent.py").write_text(textwrap.dedent(text))

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Our command in the folder."""
        base = {**os.environ, "REENACT_STORE": str(self.folder / "store.sqlite"), **environment}
        command = (sys.executable, "-m", "reenact", *words)
        return commands.run(command, cwd=self.folder, env=base, capture_output=True, text=True, timeout=60, check=False)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The server; gives its address."""
        command = (sys.executable, "server.py")
        with subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None and server.stdout is not None
            yield f"ws://127.0.0.1:{server.stdout.readline().strip()}"
            server.stdin.close()
            server.wait(20)

    @property
    def marks(self) -> list[str]:
        """What has reached the server so far."""
        place = self.folder / "marks"
        return place.read_text().splitlines() if place.exists() else []

    def same(self, text: str) -> str:
        """Record and replay a program, with the server gone: the same and exact. Gives what it printed."""
        self.write(text)
        with self.serving() as url:
            recorded = self.run("record", "--", sys.executable, "agent.py", WHERE=url)
        assert recorded.returncode == 0, recorded.stderr
        before = self.marks
        replayed = self.run("replay", "@", WHERE=url)
        assert replayed.returncode == 0, replayed.stderr
        assert "verdict: same (exact)" in replayed.stderr, replayed.stderr
        assert replayed.stdout == recorded.stdout
        assert self.marks == before
        return recorded.stdout


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent of one test."""
    return Agent(tmp_path)
