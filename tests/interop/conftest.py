"""What the tests of open formats share: a server that is gone when it counts, and a desk to try programs at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fresh.desk import Desk, Ended
from tests.http.server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on loopback; a test closes it before a replay, so that nothing can be fetched."""
    made = Server()
    yield made
    made.close()


class Tried(Desk):
    """A desk with a program on it."""

    def writes(self, name: str, text: str) -> None:
        """Put a program on the desk."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def records_with_vcr(self, program: str, *words: str, cassette: str = "cassette.yaml", **options: object) -> Ended:
        """Run an unmodified program with VCR.py itself recording it."""
        code = (
            "import runpy, sys, vcr\n"
            f"sys.argv = {[program, *words]!r}\n"
            f"with vcr.use_cassette({cassette!r}, **{options!r}):\n"
            f"    runpy.run_path({program!r}, run_name='__main__')\n"
        )
        return self.run(sys.executable, "-c", code)

    def reenact(self, *words: str) -> Ended:
        """One of our commands."""
        return self.run("reenact", *words)


@pytest.fixture
def desk(tmp_path: Path) -> Tried:
    """An empty desk."""
    return Tried(tmp_path)
