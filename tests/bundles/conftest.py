"""A project in a folder, its clone in another one, and the public commands in either."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from reenact.interfaces.cli.main import cli
from tests import commands

_STARTING = {"record", "replay", "fork", "resume"}

AGENT = """
    import os, pathlib, random, time
    import reenact

    here = pathlib.Path(__file__).resolve().parent

    @reenact.tool(effect="read")
    def fetch(what, folder):
        return {"rate": 17, "mail": "anna@kundin.de", "what": what, "key": "%s"}

    with reenact.record(agent="inner"):
        print(fetch("inner", str(here / "docs")))
    for n in range(2):
        print(fetch(f"euro {n}", str(here)), here, time.time(), random.random())
    print((here / "data.txt").read_text(), os.getcwd(), os.environ.get("SHOP_MODE"))
    """
SECRET = "shop-9f8e7d6c5b4a39281706"


class Place:
    """A folder with a project, and a home that nobody else has."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        home.mkdir(exist_ok=True)
        self.environment = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each.endswith("src")),
            **{name: os.environ[name] for name in ("SYSTEMROOT", "LANG", "TMPDIR") if name in os.environ},
        }

    def write(self, name: str, text: str) -> None:
        """A file of the project."""
        (self.folder / name).write_text(textwrap.dedent(text), encoding="utf-8")

    def reenact(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """One of our commands: in this process where it starts none itself, which is quicker."""
        environment = {**self.environment, **variables}
        if _STARTING.isdisjoint(words) and ("pack" not in words or "--no-check" in words):
            with contextlib.chdir(self.folder), patch.dict(os.environ, environment, clear=True):
                done = CliRunner().invoke(cli, list(words))
            if done.exception is not None and not isinstance(done.exception, SystemExit):
                raise done.exception
            return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)
        return commands.run(
            [sys.executable, "-m", "reenact", *words], cwd=self.folder, env=environment,
            capture_output=True, text=True, timeout=120, check=False, encoding="utf-8",
        )  # fmt: skip

    def told(self, *words: str, **variables: str) -> Any:
        """What a command says as JSON: its last line."""
        done = self.reenact("--json", *words, **variables)
        assert done.stdout, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A project with a recorded run, and that run as ``run.reenact``. Nothing in it is changed by a test."""
    folder = tmp_path_factory.mktemp("shop")
    place = Place(folder / "a" / "proj", folder / "home")
    place.write("agent.py", AGENT % "none")
    place.write("data.txt", "data")
    (place.folder / ".reenact").mkdir()
    done = place.reenact("record", "--agent", "shop", "--", "python", "agent.py", SHOP_MODE="test")
    assert done.returncode == 0, done.stderr
    done = place.reenact("pack", "@", "-o", "run.reenact")
    assert done.returncode == 0, done.stderr
    place.packed = done  # type: ignore[attr-defined]
    return place


@pytest.fixture
def clone(shop: Place, tmp_path: Path) -> Place:
    """The project elsewhere, with the bundle and without the store: on the machine of somebody else."""
    place = Place(tmp_path / "b" / "other" / "proj", tmp_path / "home")
    for name in ("agent.py", "data.txt", "run.reenact"):
        shutil.copy(shop.folder / name, place.folder)
    return place
