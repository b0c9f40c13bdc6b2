"""A project whose incident is kept as goldens that were written as they are: nothing was tried out, so it is quick."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from reenact.store import open_store
from reenact.testing.expectations.expectation import expect
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_trace import Golden
from reenact.timetravel.bundling.packing import pack

from .project import Project

EXPECTED = ("calls(search) <= 3", "'no documents' in answer")


class Reviewed(Project):
    """One folder with an agent, recorded once."""

    @property
    def golden_dir(self) -> GoldenDir:
        """Where the goldens lie."""
        return GoldenDir(self.folder, self.folder / "tests" / "goldens")

    def keep(self, name: str, *expectations: str, run: str = "@", **told: Any) -> Path:
        """Make a golden of a run, by default of the last one."""
        path = self.golden_dir.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        golden = Golden(name, expect=tuple(expect(each).to_json() for each in expectations), any_seed=True, **told)
        with open_store(f"sqlite:///{self.folder / '.reenact' / 'store.db'}") as store:
            pack(store, [("recorded", store.run(run))], path, golden.to_json())
        return path

    def said(self, name: str) -> Any:
        """What a golden's bundle says of it."""
        with zipfile.ZipFile(self.golden_dir.path(name)) as file:
            return json.loads(file.read("golden.json"))

    def review(self, name: str, *options: str, status: int) -> tuple[list[Any], Any]:
        """The differences that a review shows, and what it came to."""
        done = self.run("--json", "golden", "run", name, "--mode", "review", *options, status=status)
        *found, ended = map(json.loads, done.stdout.splitlines())
        return found, ended

    def typed(self, answers: str, *names: str) -> tuple[int, str]:
        """Review at a pseudo-terminal, with these lines typed; how it ended, and what was on the screen."""
        import pty

        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "reenact", "--no-pager", "golden", "run", *names, "--mode", "review"]
        os.write(ours, answers.encode())
        ended = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        screen = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # Linux says so when the other side is closed
                break
            if not piece:
                break
            screen += piece
        os.close(ours)
        return ended.wait(timeout=100), screen.decode(errors="replace")
