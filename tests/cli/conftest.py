"""Recorded runs behind the command line, and a way to call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reenact.interfaces.cli import run_opening
from reenact.interfaces.cli.main import cli
from tests.cli import scenes
from tests.cli.record_store import RecordStore


@dataclass
class Answer:
    """What one command line did."""

    code: int
    out: str
    err: str
    raw: bytes

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def data(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def record_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RecordStore:
    """An empty store, in an empty directory without settings."""
    record_store = RecordStore()
    monkeypatch.chdir(tmp_path)
    for name in ("REENACT_STORE", "REENACT_DEBUG", "REENACT_DISABLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(run_opening, "open_store", lambda url=None: record_store)
    return record_store


@pytest.fixture
def filled(record_store: RecordStore) -> RecordStore:
    """A loop, a failure and a stepped run, oldest first."""
    scenes.loop(record_store)
    scenes.broken(record_store)
    scenes.stepped(record_store)
    return record_store


@pytest.fixture
def reenact(record_store: RecordStore) -> Callable[..., Answer]:
    """Call the command line as ``reenact(*words)``."""

    def call(*words: str, **extra: Any) -> Answer:
        result = CliRunner().invoke(cli, list(words), **extra)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)

    return call
