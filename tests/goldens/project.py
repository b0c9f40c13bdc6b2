"""A small project for one test: an agent with tools and a model of its own, the command beside it, and perhaps git."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from reenact.testing.goldens.opened_golden import open_golden
from tests import commands
from tests.programs import read_program

AGENT = read_program("goldens/search_until_it_says.py")
FIX = 'if not found["count"]:\n            print("I have no documents.")\n            return'
ASKS_ON = 'prompt = question + ": nothing found"'
"""A fix that asks the model something else, which nobody has recorded."""


class Project:
    """One folder with an agent, recorded once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pyproject.toml").write_text("", encoding="utf-8")
        home = folder / "home"
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REENACT")}
        path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
        self.environment = {**kept, "PATH": path, "HOME": str(home), "NO_COLOR": "1"}
        self.write(AGENT)

    def write(self, text: str) -> None:
        """The agent's code from now on."""
        (self.folder / "agent.py").write_text(text, encoding="utf-8")

    def mend(self, line: str) -> None:
        """The agent with a line in place of the mark."""
        self.write(AGENT.replace("# FIX", line))

    def run(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """``reenact WORDS``, which must end with ``status``."""
        command = [sys.executable, "-m", "reenact", *words]
        done = commands.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=100
        )
        assert done.returncode == status, f"{done.returncode}: {done.stdout}{done.stderr}"
        return done

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """``reenact WORDS``, under way."""
        command = [sys.executable, "-m", "reenact", *words]
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, **pipes)

    def record(self) -> None:
        """The incident."""
        self.run("record", "--", sys.executable, "agent.py", "Refunds?", status=1)

    def add(self, name: str, *options: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """``golden add`` of the incident."""
        return self.run("golden", "add", "@", "--as", name, *options, status=status)

    def outcome(self, name: str, *options: str, status: int = 0) -> Any:
        """What ``golden run NAME --json`` says."""
        return json.loads(self.run("golden", "run", name, "--json", *options, status=status).stdout)

    def asked(self) -> tuple[int, int]:
        """How often the model and the search have really been asked."""
        return self._lines("asked.txt"), self._lines("searched.txt")

    def _lines(self, name: str) -> int:
        path = self.folder / name
        return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


class Kept(Project):
    """A project that git keeps, with one recorded incident."""

    incident = ""

    def git(self, *words: str) -> str:
        named = ("-c", "user.name=you", "-c", "user.email=you@localhost", "-c", "core.hooksPath=")
        done = subprocess.run(
            ["git", *named, *words], cwd=self.folder, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def runs(self) -> list[dict[str, Any]]:
        """Every run, newest first."""
        return [json.loads(line) for line in self.run("ls", "--json").stdout.splitlines()]

    def fork(self, event: str, *options: str) -> str:
        """A fork of the incident; gives its id."""
        self.run("fork", f"{self.incident}:{event}", "--live", "none", *options)
        return str(self.runs()[0]["run"])

    def keep(self, name: str, *options: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """``golden add`` of the incident."""
        return self.run("golden", "add", self.incident, "--as", name, *options, status=status)

    def proven(self, name: str) -> bool | None:
        """What the bundle says of it."""
        return open_golden(self.folder / "tests" / "goldens" / f"{name}.reenact").golden.proven


def recorded(folder: Path, *, in_git: bool) -> Kept:
    folder.mkdir()
    project = Kept(folder)
    (folder / ".gitignore").write_text(".reenact\n__pycache__\nhome\n*.txt\n", encoding="utf-8")
    if in_git:
        project.git("init", "-q", "-b", "main")
        project.git("add", "-A")
        project.git("commit", "-qm", "the agent")
    project.record()
    project.incident = str(project.runs()[0]["run"])
    return project
