"""A world to hand telemetry to, and a folder to record, change and replay programs in."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import commands

from .collector import Collectors


@dataclass
class Bench:
    """A folder with one program in it.

    Attributes:
        folder: Where it lies.
        world: What it talks to.
    """

    folder: Path
    world: Collectors

    def write(self, program: str, **settings: str) -> None:
        """Put the program there, and the settings of the project."""
        text = textwrap.dedent(program).replace("WORLD", self.world.url)
        (self.folder / "agent.py").write_text(text)
        rows = "".join(f"{name} = {value}\n" for name, value in settings.items())
        (self.folder / "reenact.toml").write_text(rows)

    def run(self, *argv: str, code: int = 0) -> list[str]:
        """A command of ours, and what it says."""
        known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REENACT"))}
        done = commands.run(
            (sys.executable, "-m", "reenact", *argv),
            cwd=self.folder,
            env={**known, "REENACT_HOLD_MS": "500", "WHERE": self.world.url},
            capture_output=True,
            timeout=60,
            check=False,
        )
        said: str = (done.stdout + done.stderr).decode()
        assert done.returncode == code, said
        return said.splitlines()

    def record(self, program: str, **settings: str) -> list[str]:
        """Write a program and record it."""
        self.write(program, **settings)
        return self.run("record", "--", sys.executable, "agent.py")

    def replay(self, *options: str, code: int = 0) -> str:
        """Replay the last run: the last line of the verdict."""
        before = len(self.world.asked)
        said = self.run("replay", "@", *options, code=code)
        assert len(self.world.asked) == before, "a replay asked the world"
        return next(line for line in reversed(said) if "verdict:" in line)

    def events(self) -> list[dict[str, Any]]:
        """The events of the last run."""
        lines = self.run("show", "@", "--all", "--json")
        return [json.loads(line) for line in lines]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A folder and its world."""
    world = Collectors()
    try:
        yield Bench(tmp_path, world)
    finally:
        world.stop()
