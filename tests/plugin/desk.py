"""A desk: a project with an agent and goldens, where real sessions of pytest are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
_OURS = ("REENACT_", "PYTEST_", "OPENAI_", "ANTHROPIC_", "COV_")


@dataclass(frozen=True, slots=True)
class Session:
    """How a command ended.

    Attributes:
        code: Its exit status.
        out: Everything that it wrote.
    """

    code: int
    out: str

    @property
    def counts(self) -> dict[str, int]:
        """How many tests ended how, from the last line."""
        return {
            word.rstrip("s"): int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", self.out.splitlines()[-1])
        }


class Project:
    """A project in a folder.

    Args:
        folder: It.
        variables: Further environment variables.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        home = folder.parent / "home"
        home.mkdir(exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS) and name != "CI"}
        self.environment = {
            **kept,
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "COLUMNS": "160",
            "REENACT_HOLD_MS": "500",
            **(variables or {}),
        }

    @classmethod
    def new(cls, folder: Path, variables: Mapping[str, str] | None = None) -> Project:
        """A project with the agent, and nothing else yet."""
        folder.mkdir(parents=True)
        (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
        shutil.copy(HERE / "shop.py", folder / "shop.py")
        (folder / "tests").mkdir()
        return cls(folder, variables)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, name: str, before: str, after: str) -> None:
        """Change the text of a file."""
        text = (self.folder / name).read_text()
        assert before in text
        (self.folder / name).write_text(text.replace(before, after))

    def run(self, *argv: str, more: Mapping[str, str] | None = None) -> Session:
        """Run a command here."""
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env={**self.environment, **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=100,
            check=False,
        )
        return Session(done.returncode, done.stdout.decode(errors="replace"))

    def pytest(self, *options: str, plugins: str = "", more: Mapping[str, str] | None = None) -> Session:
        """Run the tests of the project, with ours and the named plugins alone: loading all takes longer than a test."""
        named = [part for name in ("reenact", *plugins.split()) for part in ("-p", name)]
        alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(more or {})}
        return self.run(sys.executable, "-m", "pytest", *named, *options, more=alone)


def results(path: Path) -> dict[str, tuple[str, str]]:
    """How each test of a JUnit file ended, and in which words."""
    found = {}
    for case in ElementTree.parse(path).iter("testcase"):
        bad = next((each for each in case if each.tag in ("failure", "error", "skipped")), None)
        found[case.attrib["name"]] = ("passed", "") if bad is None else (bad.tag, bad.text or "")
    return found
