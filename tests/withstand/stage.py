"""Records a script of the corpus against its world, ends the world, and replays it: the stage of these tests."""

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

from reenact.testing import ProviderProcess

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
WORLD = HERE / "world.py"
SCRIPTS = tuple(sorted(path.stem for path in CORPUS.glob("*.py")))
ARGUMENTS = {"streams": ("20",), "ambient": ("an argument", "--flag")}
INPUT = b"alpha\nbeta\n\xce\xb3amma\n"
_OURS = ("PYTHON", "OPENAI", "ANTHROPIC", "REENACT", "SHOP")
LIMIT_S = 120


@dataclass
class Ended:
    """How a command ended, and the report it printed, if any."""

    out: bytes
    err: bytes
    status: int
    report: dict[str, Any] = field(default_factory=dict)


@dataclass
class Recorded:
    """A recorded script: the folder it lies in, and how it ended."""

    name: str
    folder: Path
    ended: Ended

    @property
    def script(self) -> Path:
        """The script, which a test may edit."""
        return self.folder / f"{self.name}.py"

    def copied(self, folder: Path) -> Recorded:
        """The same in another folder, to be altered: the run's paths still point to the first."""
        shutil.copytree(self.folder / ".reenact", folder / ".reenact")
        return Recorded(self.name, folder, self.ended)


def environment(**more: str) -> dict[str, str]:
    """This process's environment without keys, addresses of providers, and settings of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(*argv: str, cwd: Path, stdin: bytes = b"", variables: Mapping[str, str] | None = None) -> Ended:
    """Run a command to its end."""
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=environment(**(variables or {})),
        input=stdin,
        capture_output=True,
        check=False,
        timeout=LIMIT_S,
    )
    return Ended(done.stdout, done.stderr, done.returncode)


def reenact(*words: str, cwd: Path, **variables: str) -> Ended:
    """Run our command."""
    return run(sys.executable, "-m", "reenact", *words, cwd=cwd, variables=variables)


def record(name: str, folder: Path, *, source: str | None = None, **more: str) -> Recorded:
    """Record a script of the corpus, or a text, in a world that is gone afterwards."""
    script = folder / f"{name}.py"
    script.write_text(source if source is not None else (CORPUS / f"{name}.py").read_text())
    with ProviderProcess(WORLD) as world:
        live = {**world.environment(), "SHOP_URL": world.url, **more}
        words = ("-m", "reenact", "record", "--", sys.executable, script.name, *ARGUMENTS.get(name, ()))
        ended = run(sys.executable, *words, cwd=folder, stdin=INPUT, variables=live)
    return Recorded(name, folder, ended)


def replay(recorded: Recorded, *words: str, **variables: str) -> Ended:
    """Replay the last run of a store and read its report. The world is gone, keys are unset, there is no input."""
    store = str(recorded.folder / ".reenact")
    ended = reenact("--store", store, "--json", "replay", "@", *words, cwd=recorded.folder, **variables)
    lines = ended.out.splitlines()
    assert len(lines) == 1, (ended.status, ended.out[-2000:], ended.err[-3000:])
    ended.report = json.loads(lines[0])
    return ended
