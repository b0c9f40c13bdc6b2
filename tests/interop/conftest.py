"""What the tests of open formats share: a server that is gone when it counts, a desk, a store and a way into it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.facts.policy import Policy
from reenact.facts.run import Run
from reenact.interop.file_formats import read
from reenact.interop.importing import import_runs
from reenact.interop.readers import ReaderOptions
from reenact.recording.recording_opening import Who
from reenact.store import open_store
from tests.desk import Desk, Ended
from tests.http.server import Server

Bring = Callable[..., list[Run]]


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on loopback; a test closes it before a replay, so that nothing can be fetched."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with open_store(str(tmp_path / ".reenact")) as opened:
        yield opened


@pytest.fixture
def bring(store: Store, tmp_path: Path) -> Bring:
    """Imports a file (or a text, which becomes one) into the store, as the command does."""

    def brought(form: str, file: Path | str, asked: ReaderOptions | None = None) -> list[Run]:
        if isinstance(file, str):
            path = tmp_path / "recorded"
            path.write_text(file, encoding="utf-8")
            file = path
        found, origin = read(form, file, asked or ReaderOptions())
        arrived = import_runs(store, found, origin, who=Who(), policy=Policy(), clock=CLOCK, entropy=ENTROPY)
        return [each.run for each in arrived]

    return brought


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
