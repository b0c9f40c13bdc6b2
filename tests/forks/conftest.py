"""A desk for forks: a run recorded by the public command, forked by it, and replayed by it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact import Event
from tests.kit.recorded import Workbench


class Forks:
    """Records a program once and forks the run.

    Args:
        desk: Where the program is.
    """

    def __init__(self, desk: Workbench) -> None:
        self.desk = desk
        self.parent = ""
        self.typed = ""
        """What stands in the program's standard input while it is recorded."""

    def record(self, program: str, *, status: int = 0, options: str = "") -> str:
        """Record a program, with ``options`` of ``record``; gives what it printed."""
        (self.desk.folder / "agent.py").write_text(textwrap.dedent(program))
        printed: str = self.desk.record("agent.py", options=options, status=status, typed=self.typed).stdout
        with reenact.open_store(str(self.desk.folder / ".reenact")) as store:
            self.parent = store.run("@").id
        return printed

    def runs(self) -> list[dict[str, Any]]:
        """Every run, newest first."""
        return [json.loads(line) for line in self.desk.run("ls", "--json").stdout.splitlines()]

    def events(self, run: str = "@") -> list[Event]:
        """The events of a run."""
        with reenact.open_store(str(self.desk.folder / ".reenact")) as store:
            return [replace(event, attributes=dict(event.attributes)) for event in store.events(run)]

    def bodies(self, run: str, *numbers: int) -> list[bytes]:
        """The stored requests of events, as the agent's code made them."""
        with reenact.open_store(str(self.desk.folder / ".reenact")) as store:
            recording = store.open(store.run(run))
            return [recording.body(recording.event(number).request) for number in numbers]

    def fork(self, event: object, *options: str, status: int | None = 0) -> dict[str, Any]:
        """Fork the recorded run; gives the report, with what the agent printed under ``printed``."""
        done = self.desk.run("fork", f"{self.parent}:{event}", *options, "--json", status=status)
        report: dict[str, Any] = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        ours = "reenact: ", "  likely cause", "  next"
        report["printed"] = "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith(ours))
        report["said"] = done.stderr
        return report

    def replays_exactly(self, run: str = "@") -> None:
        """The run replays to *same (exact)*, without anything else running."""
        assert "verdict: same (exact)" in self.desk.run("replay", run).stderr


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[Forks]:
    """A desk in an empty folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    yield Forks(Workbench(folder))
