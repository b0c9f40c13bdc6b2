"""Programs recorded through the public command against a scripted world, and their kits read back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import commands

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_REPOSITORY = ("init -q -b trunk", "add -A", "commit -q -m first")


@dataclass
class Workbench:
    """A directory in which programs are recorded, with a store of its own.

    Attributes:
        folder: The directory.
        environ: Added to the environment of every command.
    """

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def copy(self, example: str) -> None:
        """Put an example into the directory."""
        shutil.copytree(EXAMPLES / example, self.folder / example, ignore=shutil.ignore_patterns("__pycache__"))

    def commit(self) -> None:
        """Make the directory a git repository with everything in it."""
        for words in _REPOSITORY:
            command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words.split()]
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def run(
        self, *words: str, status: int | None = 0, environ: Mapping[str, str] | None = None, typed: str = ""
    ) -> Any:
        """Type ``reenact WORDS``, with ``typed`` in its standard input; the status must be as told."""
        env = {**os.environ, "NO_COLOR": "1", "REENACT_STORE": str(self.folder / ".reenact"), **self.environ}
        env.update(environ or {})
        done = commands.run(
            [sys.executable, "-m", "reenact", *words],
            cwd=self.folder,
            env=env,
            **({"input": typed} if typed else {"stdin": subprocess.DEVNULL}),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
        assert status is None or done.returncode == status, done.stdout + done.stderr
        return done

    def record(self, *words: str, options: str = "", **how: Any) -> Any:
        """Record ``python WORDS``."""
        return self.run("record", *options.split(), "--", sys.executable, *words, **how)

    def script(self, text: str, name: str = "agent.py") -> None:
        """Write a program."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def kit(self, reference: str = "@") -> Kit:
        """The kit of a run, as ``--json`` prints it."""
        lines = [json.loads(line) for line in self.run("--json", "kit", reference).stdout.splitlines()]
        return Kit(
            next(line for line in lines if line["type"] == "kit"),
            {line["item"]: line for line in lines if line["type"] == "item"},
            {line["source"]: line for line in lines if line["type"] == "budget"},
        )


@dataclass
class Kit:
    """A kit as JSON: the whole, its items and its budget by their names."""

    whole: dict[str, Any]
    items: dict[str, Any]
    budget: dict[str, Any]

    def standing(self, name: str) -> str:
        """How one item stands."""
        return str(self.items[name]["standing"])
