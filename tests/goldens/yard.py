"""A project of its own with an agent in it, runs of that agent, and goldens made of them by the public command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reenact.store import open_store
from reenact.store.bundles import read_bundle, write_bundle
from reenact.testing.expectations.expectation import expect as parse
from reenact.testing.goldens.golden_dir import GoldenDir, open_golden_dir
from reenact.testing.goldens.golden_trace import Golden
from reenact.timetravel.bundling.packing import pack
from tests import commands


class Yard:
    """A project in an empty folder.

    Args:
        folder: It.
        variables: Further environment variables for every command.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        (folder / "home").mkdir(parents=True)
        (folder / "project").mkdir()
        (folder / "project" / "pyproject.toml").touch()
        self.project = folder / "project"
        self.environment = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE")},
            **(variables or {}),
        }

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project."""
        return commands.run(
            argv, cwd=self.project, env=self.environment, capture_output=True, text=True, timeout=100, check=False
        )

    def reenact(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ours."""
        return self.run(sys.executable, "-m", "reenact", *argv)

    @contextmanager
    def seeing(self, **variables: str) -> Iterator[None]:
        """Commands see further variables for the length of a block."""
        before = dict(self.environment)
        self.environment.update(variables)
        try:
            yield
        finally:
            self.environment = before

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make this process what a command in the project would be."""
        monkeypatch.chdir(self.project)
        for name in set(os.environ) - set(self.environment):
            monkeypatch.delenv(name)
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.project / name
        path.write_text(text, encoding="utf-8")
        return path

    def record(self, program: str, *arguments: str) -> None:
        """Record a run of a program of the project."""
        done = self.reenact("record", "--", "python", program, *arguments)
        assert "-> reenact show" in done.stderr, done.stderr

    def add(self, name: str, expect: Sequence[str], *options: str, reference: str = "@") -> None:
        """Make a golden of a run."""
        given = [word for each in expect for word in ("--expect", each)]
        done = self.reenact("golden", "add", reference, "--as", name, *given, *options)
        assert done.returncode == 0, done.stdout + done.stderr

    def keep(self, name: str, expect: Sequence[str], reference: str = "@", **told: Any) -> None:
        """Make a golden of a run as it is: nothing is tried out."""
        path = self.golden_dir.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        golden = Golden(name, expect=tuple(parse(each).to_json() for each in expect), any_seed=True, **told)
        with open_store(f"sqlite:///{self.project / '.reenact' / 'store.db'}") as store:
            pack(store, [("recorded", store.run(reference))], path, golden.to_json())

    def keep_as(self, name: str, other: str, expect: Sequence[str]) -> None:
        """Make a golden of the run of another one, with other expectations."""
        golden = Golden(name, expect=tuple(parse(each).to_json() for each in expect), any_seed=True)
        write_bundle(self.golden_dir.path(name), read_bundle(self.golden_dir.path(other)).runs, golden.to_json())

    def outcomes(self, *argv: str) -> dict[str, dict[str, Any]]:
        """What ``golden run`` says of each golden."""
        done = self.reenact("golden", "run", *argv, "--json")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines, done.stderr
        return {each["name"]: each for each in lines if "name" in each}

    @property
    def golden_dir(self) -> GoldenDir:
        """Where the goldens lie."""
        return open_golden_dir(self.project)
