"""A store of its own for each test, an agent recorded in it, and the command line over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import reenact
from reenact.interfaces.cli.main import cli


@dataclass
class Answer:
    """What one command line did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def data(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[reenact.Store]:
    """An empty store in a file."""
    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as opened:
        yield opened


@pytest.fixture
def command(store: reenact.Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Answer]:
    """Call the command line over the store as ``command(*words)``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REENACT_STORE", raising=False)
    monkeypatch.setenv("REENACT_GC", "0")  # the runs of these tests began years ago

    def call(*words: str) -> Answer:
        result = CliRunner().invoke(cli, ["--store", store.url, *words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    return call
