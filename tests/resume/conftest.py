"""The scene of these tests: an agent that pays at a counting server, and a desk to record and resume it at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.desk import Desk, Ended
from tests.programs import read_program

AGENT = read_program("resume/orders_paid_one_by_one.py")


class Scene:
    """An agent, its bank, and what came of both.

    Args:
        folder: An empty folder.
        bank: Address of the counting server.
    """

    def __init__(self, folder: Path, bank: str) -> None:
        self.bank = bank
        self.desk = Desk(folder, {"BANK": bank})
        self.folder = self.desk.folder
        (self.folder / "agent.py").write_text(AGENT)

    def mark(self, name: str, there: bool = True) -> None:
        """Make something happen to the agent, or no more."""
        if there:
            (self.folder / name).touch()
        else:
            (self.folder / name).unlink()

    def record(self) -> Ended:
        """Record the agent."""
        return self.desk.record(["python", "agent.py"])

    def reenact(self, *argv: str, code: int = 0) -> Ended:
        """One of our commands, which must end so."""
        done = self.desk.run("reenact", *argv)
        assert done.code == code, (argv, done)
        return done

    def runs(self) -> list[dict[str, Any]]:
        """All runs, newest first."""
        return [json.loads(line) for line in self.reenact("ls", "--json").out.splitlines()]

    def counts(self) -> dict[str, dict[str, int]]:
        """What reached the bank: how often each key was asked for, and the receipts given."""
        with urllib.request.urlopen(self.bank + "/counts") as response:
            counted: dict[str, dict[str, int]] = json.load(response)
        return counted

    def replays_exactly(self, run: str) -> None:
        """Its replay agrees in everything."""
        assert "same (exact)" in self.reenact("replay", run).err.decode()


def at_a_terminal(desk: Desk, typed: str, *argv: str) -> tuple[int, str, str]:
    """Status and output of one of our commands, with ``typed`` at a terminal as its standard input."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed.encode())
        done = subprocess.run(
            ["reenact", *argv],
            cwd=desk.folder,
            env=desk.environment,
            stdin=theirs,
            capture_output=True,
            timeout=40,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"it still waits: {error.stdout!r} {error.stderr!r}")
    finally:
        os.close(ours)
        os.close(theirs)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def bank() -> Iterator[str]:
    """The counting server, a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("world.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()


@pytest.fixture
def scene(tmp_path: Path, bank: str) -> Scene:
    """A fresh scene."""
    return Scene(tmp_path, bank)
