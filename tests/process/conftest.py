"""Runs scripts bare and booted, so that tests compare the two."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.servers.conftest import upstream as upstream  # a fixture

_START = Path(__file__).with_name("start.py")


@dataclass
class Ended:
    """How a program ended, and what the session saw."""

    out: bytes
    err: bytes
    status: int
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def visible(self) -> tuple[bytes, bytes, int]:
        """What anybody outside can see."""
        return self.out, self.err, self.status

    @property
    def session(self) -> dict[str, Any]:
        """What the session kept."""
        kept: dict[str, Any] = self.said["session"]
        return kept


class Programs:
    """Starts programs in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self._runs = 0

    def script(self, text: str, name: str = "agent.py") -> str:
        """A script in the folder."""
        (self.folder / name).write_text(text)
        return name

    def bare(self, *argv: str, stdin: bytes = b"", **environment: str) -> Ended:
        """Run without us."""
        done = subprocess.run(argv, input=stdin, capture_output=True, check=False, **self._options(environment))
        return Ended(done.stdout, done.stderr, done.returncode)

    def booted(
        self, *argv: str, stdin: bytes = b"", instructions: dict[str, Any] | None = None, **environment: str
    ) -> Ended:
        """Run with the session of these tests."""
        command, said = self.command(argv, instructions)
        done = subprocess.run(command, input=stdin, capture_output=True, check=False, **self._options(environment))
        return Ended(done.stdout, done.stderr, done.returncode, json.loads(said.read_text()) if said.exists() else {})

    def command(self, argv: tuple[str, ...], instructions: dict[str, Any] | None = None) -> tuple[list[str], Path]:
        """The command that boots another, and where it reports."""
        self._runs += 1
        said = self.folder / f"run-{self._runs}" / "said.json"
        said.parent.mkdir()
        text = json.dumps({"mode": "record", **(instructions or {})})
        return [sys.executable, str(_START), text, str(said), *argv], said

    def replayed(self, before: Ended, *argv: str, **environment: str) -> Ended:
        """Run again, everything answered from what the session kept; standard input is closed."""
        tape = self.folder / "tape.json"
        tape.write_text(json.dumps(before.session))
        return self.booted(*argv, stdin=b"", instructions={"mode": "replay", "tape": str(tape)}, **environment)

    def _options(self, environment: dict[str, str]) -> dict[str, Any]:
        return {"cwd": self.folder, "env": {**self.environment, **environment}, "timeout": 60}


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """Programs of one test."""
    return Programs(tmp_path)


@pytest.fixture(scope="package", autouse=True)
def _signals_as_at_a_terminal() -> Iterator[None]:
    """A suite started in the background, or under ``nohup``, has signals ignored, and its children inherit that."""
    before = {}
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            before[number] = signal.SIG_IGN
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
