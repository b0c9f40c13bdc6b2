"""Agents with an MCP server of their own, through the public commands; what the server did leaves marks that count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.programs import read_program

SERVER = read_program("mcp/server_of_orders.py")


class Agent:
    """A program in a folder of its own, with a server beside it.

    Args:
        folder: Where it lives.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = folder / "server.py"
        self.server.write_text(SERVER)

    def write(self, text: str) -> None:
        """The program."""
        (self.folder / "agent.py").write_text(textwrap.dedent(text))

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Our command in the folder."""
        base = {**os.environ, "REENACT_STORE": str(self.folder / "store.sqlite"), **environment}
        command = (sys.executable, "-m", "reenact", *words)
        return commands.run(command, cwd=self.folder, env=base, capture_output=True, text=True, timeout=60, check=False)

    def record(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Record it; it must end well."""
        done = self.run("record", "--", sys.executable, "agent.py", **environment)
        assert done.returncode == 0, done.stderr
        return done

    def replay(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Replay the last run."""
        return self.run("replay", "@", *options, **environment)

    @contextmanager
    def serving(self, how: str) -> Iterator[str]:
        """The server behind an address of its own: ``http`` or ``sse``."""
        command = (sys.executable, "server.py", how)
        with subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None and server.stdout is not None
            port = server.stdout.readline().strip()
            assert port
            yield f"http://127.0.0.1:{port}/{'mcp' if how == 'http' else 'sse'}"
            server.stdin.close()
            server.wait(20)

    @property
    def marks(self) -> list[str]:
        """What the server has done so far."""
        place = self.folder / "marks"
        return place.read_text().splitlines() if place.exists() else []

    def same(self, **environment: str) -> str:
        """Replay the last run without a server: the same and exact. Gives what it printed."""
        before = self.marks
        if self.server.exists():
            self.server.write_text("raise SystemExit('the server must not run')\n")
        replayed = self.replay(**environment)
        assert replayed.returncode == 0, replayed.stderr
        assert "verdict: same (exact)" in replayed.stderr, replayed.stderr
        assert self.marks == before
        return replayed.stdout

    def events(self) -> list[dict[str, Any]]:
        """The events of the last run."""
        shown = self.run("--json", "show", "@", "--all")
        return [json.loads(line) for line in shown.stdout.splitlines()]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent of one test."""
    return Agent(tmp_path)
